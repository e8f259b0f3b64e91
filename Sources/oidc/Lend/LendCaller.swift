import LoopbackHTTP
import OIDCCore
import Posix

/// The program that calls a lender, as the kernel identifies it: a caller's own claims cannot be trusted.
/// Over SSH, it is the lender's own `ssh`, whichever program on the other side calls.
struct LendCaller: Hashable, Sendable {
    let user: UInt32
    /// The process; nil if the system does not report it, or if it has ended.
    let process: ProcessFamily.Member?

    init(_ peer: SocketPeer) {
        user = peer.user
        process = peer.process.flatMap { ProcessFamily.Member(running: $0) }
    }

    init(user: UInt32, process: ProcessFamily.Member?) {
        self.user = user
        self.process = process
    }

    /// Whether the program has certainly ended.
    var hasEnded: Bool { process?.isRunning == false }

    /// The name that the program has now, for messages, in quotes.
    var name: String? {
        guard let process, let file = try? FileDescriptor.open(reading: "/proc/\(process.processID)/comm")
        else { return nil }
        defer { file.close() }
        guard let bytes = try? file.read(limit: 64) else { return nil }
        let name = ASCII.trimmed(String(decoding: bytes, as: UTF8.self))
        return name.isEmpty ? nil : LendRequest.Claim.quoted(name, limit: 32)
    }
}

/// The requests to the provider that callers caused within the last minute.
struct LendBudget {
    /// The purpose of a request.
    enum Purpose {
        /// The profile's own token, which is no longer fresh. All callers share it.
        case own
        /// A token that a caller chose: it may request another scope each time, or claim that each token was
        /// refused.
        case chosen
    }

    private var spent: [(caller: LendCaller, purpose: Purpose, moment: MonotonicTime)] = []
    /// The number of users that may call.
    private let users: Int
    /// The limits per minute: for all requests, and for chosen tokens of all callers, of one user if there
    /// are several, and of one caller. The rest is for the profile's own token, which may then have a
    /// lifetime of only eight seconds.
    private static let limits = (all: 18, chosen: 10, chosenByUser: 8, chosenByCaller: 6)

    init(users: Int = 1) { self.users = users }

    mutating func spend(_ caller: LendCaller, _ purpose: Purpose, at now: MonotonicTime) {
        forget(at: now)
        spent.append((caller, purpose, now))
    }

    /// Returns whether the caller may cause another request.
    mutating func allows(_ caller: LendCaller, _ purpose: Purpose, at now: MonotonicTime) -> Bool {
        forget(at: now)
        guard spent.count < Self.limits.all else { return false }
        let alike = spent.filter { $0.purpose == purpose }
        let own = alike.count { $0.caller == caller }
        // A caller that accepts no token leaves some requests to the others.
        guard purpose == .chosen else { return own < Self.limits.all - Self.limits.chosen }
        return own < Self.limits.chosenByCaller && alike.count < Self.limits.chosen
            && (users == 1 || alike.count { $0.caller.user == caller.user } < Self.limits.chosenByUser)
    }

    private mutating func forget(at now: MonotonicTime) {
        spent.removeAll { now >= $0.moment.adding(seconds: 60) }
    }
}

/// The refused requests of each program. The first ones of a minute are logged one by one, and the others as a number.
struct LendRefusals {
    private struct Minute {
        var count = 0
        var last = ""
        let end: MonotonicTime
    }

    private var minutes: [LendCaller: Minute] = [:]
    private static let limit = 5

    /// Returns whether a refusal is logged by itself.
    mutating func isShown(_ line: String, of caller: LendCaller, at now: MonotonicTime) -> Bool {
        var minute = minutes[caller] ?? Minute(end: now.adding(seconds: 60))
        minute.count += 1
        minute.last = line
        minutes[caller] = minute
        return minute.count <= LendRefusals.limit
    }

    /// Returns the lines about the refusals of the minutes that are over, and forgets them.
    mutating func ended(at now: MonotonicTime) -> [String] {
        let over = minutes.filter { now >= $0.value.end }
        for caller in over.keys { minutes[caller] = nil }
        return over.values.filter { $0.count > LendRefusals.limit }.map {
            "\($0.count - LendRefusals.limit) more refusals, the last: \($0.last)"
        }
    }
}

/// The choice of a waiting request that makes room for a new one. While there is room, a program may have any
/// number; over SSH, all programs of the other side are one. Once there is no room, the program with the most gives
/// one up, so no process keeps the others out.
enum LendPlaces {
    /// Returns the index of the latest request of the program with the most requests, among the callers that
    /// `isMeant` accepts.
    static func last(
        of waiting: [(caller: LendCaller, arrivedAt: MonotonicTime)], where isMeant: (LendCaller) -> Bool
    ) -> Int? {
        var programs: [LendCaller: Int] = [:]
        for (caller, _) in waiting { programs[caller, default: 0] += 1 }
        return waiting.indices.filter { isMeant(waiting[$0].caller) }.max { one, other in
            (programs[waiting[one].caller] ?? 0, waiting[one].arrivedAt)
                < (programs[waiting[other].caller] ?? 0, waiting[other].arrivedAt)
        }
    }

    /// Returns the index of the request that makes room for a new one: the latest of the program with the
    /// most requests, of the user with the most, or else of the caller's own user. Returns nil if the caller
    /// has its share already.
    static func taken(
        by caller: LendCaller, from waiting: [(caller: LendCaller, arrivedAt: MonotonicTime)]
    ) -> Int? {
        var users: [UInt32: Int] = [:]
        var programs: [LendCaller: Int] = [:]
        for (other, _) in waiting {
            users[other.user, default: 0] += 1
            programs[other, default: 0] += 1
        }
        // With a difference of one, callers would only displace each other.
        func isFair(_ most: Int?, _ own: Int?) -> Bool { (most ?? 0) > (own ?? 0) + 1 }
        let largest = users.max { ($0.value, $0.key) < ($1.value, $1.key) }
        let user = largest.flatMap { isFair($0.value, users[caller.user]) ? $0.key : nil } ?? caller.user
        let last = last(of: waiting) { $0.user == user }
        guard let last, user != caller.user || isFair(programs[waiting[last].caller], programs[caller])
        else { return nil }
        return last
    }
}
