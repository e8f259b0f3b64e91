import LoopbackHTTP
import OIDCCore
import Posix

/// The program that asks a lender, as the kernel names it: what a caller says of itself can be anything. Over SSH, it is
/// the lender's own `ssh`, whoever asks on the other side.
struct LendCaller: Hashable, Sendable {
    let user: UInt32
    /// Nil if the system does not say, or the program has ended.
    let process: ProcessFamily.Member?

    init(_ peer: SocketPeer) {
        user = peer.user
        process = peer.process.flatMap { ProcessFamily.Member(running: $0) }
    }

    /// Whether the program has certainly ended.
    var hasEnded: Bool { process?.isRunning == false }

    /// The name of the program, for people.
    var name: String? {
        guard let process, let file = try? FileDescriptor.open(reading: "/proc/\(process.processID)/comm")
        else { return nil }
        defer { file.close() }
        guard let bytes = try? file.read(limit: 64) else { return nil }
        let name = ASCII.trimmed(String(decoding: bytes, as: UTF8.self))
        return name.isEmpty ? nil : LendRequest.Claim.quoted(name, limit: 32)
    }
}

/// The requests to the provider that callers caused within the last minute: a caller may claim each token to be refused,
/// or want another scope each time.
struct LendBudget {
    private var spent: [(caller: LendCaller, moment: MonotonicTime)] = []
    /// The number for each caller, and for all.
    private static let limits = (each: 6, all: 18)

    mutating func spend(_ caller: LendCaller, at now: MonotonicTime) {
        forget(at: now)
        spent.append((caller, now))
    }

    /// Returns whether the caller may cause another request.
    mutating func allows(_ caller: LendCaller, at now: MonotonicTime) -> Bool {
        forget(at: now)
        return spent.count < Self.limits.all
            && spent.count { $0.caller == caller } < Self.limits.each
    }

    private mutating func forget(at now: MonotonicTime) {
        spent.removeAll { now >= $0.moment.adding(seconds: 60) }
    }
}
