import LoopbackHTTP
import OIDCCore
import Posix

/// The program that lends: it listens on a Unix socket, and answers those who may ask.
///
/// One thread serves all connections; each profile's requests are answered one after the other on another, so any
/// number of callers share one refresh.
final class LendServer {
    struct Configuration {
        /// The users that may ask, besides this one.
        var peers: Set<UInt32> = []
        /// The end by both clocks: one goes on while the machine sleeps, the other cannot be set.
        var end: (time: Instant, moment: MonotonicTime)
        /// The question to this user about a new caller; nil if nobody is asked.
        var question: LendQuestion?
        var log: (String) -> Void
    }

    enum Event: Hashable {
        case interrupted(signal: Int32)
        /// The time is over.
        case ended
        /// One of the other descriptors is readable.
        case readable
    }

    /// Who asks: the program at the other end as the kernel names it, and what it says of itself.
    private struct Caller: Hashable {
        let user: UInt32
        let program: String?
        let claim: LendRequest.Claim
        let profile: String

        /// The words of a log line and of a question.
        var text: String {
            let peer = program.map { " through \($0)" } ?? ""
            let other = user == FileStatus.currentUser ? "" : " of user \(user)"
            return "\(claim.text) (as it says)\(peer)\(other)"
        }
    }

    /// A request that waits for its answer.
    private struct Pending {
        let matter: LendRequest.Matter
        let caller: Caller
        let loan: Int
        let call: Loan.Call
        let connection: HTTP1Connection
    }

    private struct Outcome: Sendable {
        let result: Result<JSONObject, OIDCError>
    }

    /// The path of the socket.
    let path: String
    private let loans: [Loan]
    private let configuration: Configuration
    private let listener: SocketListener
    private let server: HTTP1Server
    private let wake: (reading: FileDescriptor, writing: FileDescriptor)
    private let jobs: [BackgroundJob<Outcome>]
    private let asking: BackgroundJob<Bool>
    private var queues: [[Pending]]
    private var running: [Pending?]
    private var unconfirmed: [Pending] = []
    private var asked: Caller?
    /// What this user said about callers, the latest last.
    private var answers: [(caller: Caller, isAllowed: Bool, until: MonotonicTime)] = []

    /// The number of requests that wait, for a token and for this user's answer.
    private static let limits = (waiting: 256, unconfirmed: 16, answers: 256)
    /// Milliseconds after a refusal in which the same caller is not asked about again.
    private static let silence: Int64 = 60_000

    init(_ path: String, _ loans: [Loan], _ configuration: Configuration) throws(OIDCError) {
        self.path = path
        self.loans = loans
        self.configuration = configuration
        listener = try SocketListener(path)
        var policy = HTTP1Server.Policy()
        policy.connections = 300
        policy.isOnSocket = true
        policy.requests.body = LendRequest.requestLimit
        policy.requests.headerBytes = 8_192
        policy.requests.headerCount = 32
        policy.idleMilliseconds = 5_000
        policy.requestMilliseconds = 10_000
        server = HTTP1Server([listener.descriptor], policy)
        do throws(Errno) {
            wake = try FileDescriptor.pipe()
            try wake.reading.setNonBlocking()
            try wake.writing.setNonBlocking()
        } catch {
            server.close()
            listener.remove()
            throw OIDCError(.failed, "the socket cannot be served: \(error)", hint: error.shortageHint)
        }
        jobs = loans.map { [wake] _ in BackgroundJob(wake: wake.writing) }
        asking = BackgroundJob(wake: wake.writing)
        queues = loans.map { _ in [] }
        running = loans.map { _ in nil }
    }

    deinit {
        server.close()
        listener.remove()
    }

    /// Serves until a signal arrives, the time is over, or another descriptor is readable.
    func run(also others: [Int32] = []) -> Event {
        let event = turns(also: others)
        server.close()
        listener.remove()
        // A refresh that has begun is finished: its answer may be the only copy of a token.
        for job in jobs { job.finish() }
        return event
    }

    private func turns(also others: [Int32]) -> Event {
        while true {
            if let signal = Interruption.pending { return .interrupted(signal: signal) }
            guard !isOver else { return .ended }
            server.expire(now: .now())
            var interests = ([wake.reading.rawValue] + others).map { Poll.Interest($0, .reading) }
            _ = server.round(until: nextMoment, also: &interests) { take($0, $1) }
            while let bytes = try? wake.reading.read(limit: 64), !bytes.isEmpty {}
            settle()
            if interests.dropFirst().contains(where: { !$0.ready.isEmpty }) { return .readable }
        }
    }

    private var isOver: Bool {
        Clock.now() >= configuration.end.time || MonotonicTime.now() >= configuration.end.moment
    }

    /// The wall clock may be ahead of the other one after the machine has slept, so it is looked at each minute.
    private var nextMoment: MonotonicTime {
        min(configuration.end.moment, .now().adding(seconds: 60))
    }

    // MARK: Requests

    private func take(
        _ request: HTTPServerRequest, _ connection: HTTP1Connection
    ) -> HTTP1Server.Disposition {
        guard let peer = SocketPeer(of: connection.descriptor),
            peer.user == FileStatus.currentUser || configuration.peers.contains(peer.user)
        else {
            return refuse(OIDCError(.refused, "this socket is for another user"), status: 403)
        }
        guard request.method == .post, request.target == LendRequest.path,
            request.host == LendRequest.host, request.mediaType == LendRequest.mediaType
        else { return refuse(.usage("this socket is for oidc with store=lent:PATH"), status: 404) }
        guard !isOver else { return refuse(OIDCError(.unreachable, "the session is no longer lent")) }
        let asked: LendRequest
        do throws(OIDCError) { asked = try LendRequest(parsing: request.body) } catch {
            return refuse(error, status: 400)
        }
        guard let index = asked.profile == nil ? 0 : loans.firstIndex(where: { $0.name == asked.profile })
        else {
            let names = loans.map(\.name).joined(separator: ", ")
            return refuse(
                .usage(
                    "profile \(DisplayText.quoted(asked.profile ?? "", limit: 80)) is not lent, only: \(names)"
                ))
        }
        let caller = Caller(
            user: peer.user, program: peer.process.flatMap { ProcessName.of($0) }, claim: asked.claim,
            profile: loans[index].name)
        let call = Loan.Call(caller: LendCaller(peer))
        return admit(
            Pending(matter: asked.matter, caller: caller, loan: index, call: call, connection: connection))
    }

    private func admit(_ pending: Pending) -> HTTP1Server.Disposition {
        if configuration.question != nil, !pending.matter.isHarmless {
            let now = MonotonicTime.now()
            let known = answers.last { $0.caller == pending.caller && now < $0.until }
            guard let known else {
                guard unconfirmed.count < Self.limits.unconfirmed else { return refuse(Self.busy) }
                unconfirmed.append(pending)
                askNext()
                return .hold(endsRound: false)
            }
            guard known.isAllowed else { return refuse(Self.denied) }
        }
        guard queues[pending.loan].count < Self.limits.waiting else { return refuse(Self.busy) }
        queues[pending.loan].append(pending)
        startNext(pending.loan)
        return .hold(endsRound: false)
    }

    private static let busy = OIDCError(.unreachable, "too many callers wait for the lender")
    private static let denied = OIDCError(.refused, "the lender's user refused")

    private func refuse(_ error: OIDCError, status: Int = 200) -> HTTP1Server.Disposition {
        .respond(Self.response(.failure(error), status: status), closes: true)
    }

    private static func response(
        _ result: Result<JSONObject, OIDCError>, status: Int = 200
    ) -> HTTPResponse {
        var object = JSONObject()
        switch result {
        case .success(let members): object = members
        case .failure(let error): object["error"] = error.lent
        }
        return HTTPResponse(
            status: status,
            headers: HTTPHeaders([("Content-Type", LendRequest.mediaType), ("Cache-Control", "no-store")]),
            body: Array(JSONValue.object(object).compact.utf8))
    }

    // MARK: Jobs

    private func startNext(_ index: Int) {
        guard !jobs[index].isRunning, !queues[index].isEmpty else { return }
        let pending = queues[index].removeFirst()
        running[index] = pending
        let (loan, matter, call, names) = (loans[index], pending.matter, pending.call, loans.map(\.name))
        do throws(Errno) {
            try jobs[index].start { Outcome(result: loan.answer(matter, call, profiles: names)) }
        } catch {
            running[index] = nil
            finish(
                pending, .failure(OIDCError(.failed, "no thread: \(error)", hint: error.startHint)))
        }
    }

    /// Hands out the results of jobs, and starts the next ones.
    private func settle() {
        for index in jobs.indices {
            if let outcome = jobs[index].take(), let pending = running[index] {
                running[index] = nil
                finish(pending, outcome.result)
            }
            startNext(index)
        }
        if let isAllowed = asking.take(), let caller = asked {
            asked = nil
            let end = MonotonicTime.now()
            answers.removeAll { $0.caller == caller || end >= $0.until }
            answers.append(
                (
                    caller, isAllowed,
                    isAllowed ? configuration.end.moment : end.adding(milliseconds: Self.silence)
                ))
            if answers.count > Self.limits.answers { answers.removeFirst() }
            for pending in unconfirmed where pending.caller == caller {
                if isAllowed {
                    queues[pending.loan].append(pending)
                } else {
                    finish(pending, .failure(Self.denied))
                }
            }
            unconfirmed.removeAll { $0.caller == caller }
            for index in jobs.indices { startNext(index) }
        }
        askNext()
    }

    private func finish(_ pending: Pending, _ result: Result<JSONObject, OIDCError>) {
        pending.connection.answer(Self.response(result), closes: true)
        let name = DisplayText.clean(pending.loan < loans.count ? loans[pending.loan].name : "")
        guard let what = pending.matter.name else { return }
        switch result {
        case .success(let members):
            let seconds = members["access"]?.object?["seconds"]?.integer
            let end = seconds.map { ", \(TimeWords.duration($0)) left" } ?? ""
            configuration.log("\(name): \(what)\(end), to \(pending.caller.text)")
        case .failure(let error):
            configuration.log("\(name): no \(what) to \(pending.caller.text): \(error.message)")
        }
    }

    // MARK: Questions

    private func askNext() {
        guard let question = configuration.question, !asking.isRunning, let first = unconfirmed.first else {
            return
        }
        asked = first.caller
        let text = "Lend profile \(DisplayText.clean(first.caller.profile)) to \(first.caller.text)?"
        do throws(Errno) { try asking.start { question.ask(text) } } catch {
            asked = nil
            for pending in unconfirmed {
                finish(pending, .failure(OIDCError(.failed, "no thread: \(error)")))
            }
            unconfirmed = []
        }
    }
}

extension LendRequest.Matter {
    /// Whether no token is in the answer.
    fileprivate var isHarmless: Bool { if case .terms = self { true } else { false } }

    /// The words of a log line; nil for what is not worth one.
    fileprivate var name: String? {
        switch self {
        case .terms: nil
        case .accessToken: "access token"
        case .idToken: "ID token"
        case .proof(let method, let url, _, _):
            "proof for \(DisplayText.clean(method.name)) \(DisplayText.clean(url.withoutQuery, limit: 200))"
        }
    }
}

/// The names of processes, for people.
enum ProcessName {
    /// Returns the name of a process; nil if the system does not say.
    static func of(_ process: Int32) -> String? {
        guard let file = try? FileDescriptor.open(reading: "/proc/\(process)/comm") else { return nil }
        defer { file.close() }
        guard let bytes = try? file.read(limit: 64) else { return nil }
        let name = DisplayText.clean(ASCII.trimmed(String(decoding: bytes, as: UTF8.self)), limit: 32)
        return name.isEmpty ? nil : name
    }
}
