import LoopbackHTTP
import OIDCCore
import Posix
import Synchronization

/// The lender's server: it listens on a Unix socket, and answers callers that are allowed.
///
/// One thread serves all connections. Each profile has another one for requests that need the provider, one
/// after the other, so any number of callers share one refresh. Requests that the store can answer do not
/// wait for them.
final class LendServer {
    struct Configuration {
        /// The users that may call, besides this one.
        var peers: Set<UInt32> = []
        /// The end by two clocks: the wall clock also runs while the machine sleeps, and the monotonic clock
        /// cannot be set.
        var end: (time: Instant, moment: MonotonicTime)
        /// The question to this user about a new caller; nil if nobody is asked.
        var question: LendQuestion?
        /// The function that logs a line, and shows the prompt again that the line interrupts; nil if nothing is
        /// logged.
        var log: ((_ line: String, _ prompt: String?) -> Void)?
    }

    enum Event: Hashable {
        case interrupted(signal: Int32)
        /// The time limit has passed.
        case ended
        /// One of the other descriptors is readable.
        case readable
    }

    /// The calling program, and the profile whose tokens it requests.
    private struct Caller: Hashable {
        let program: LendCaller
        let profile: String
    }

    /// A request that waits for its answer.
    private struct Pending {
        let matter: LendRequest.Matter
        let caller: Caller
        /// Whether the caller executes another program next, to which the answer does not apply.
        let isOnce: Bool
        /// The description of the caller for the log and for a question.
        let words: String
        let loan: Int
        let arrivedAt: MonotonicTime
        let connection: HTTP1Connection

        /// Whether nobody waits for the answer any more.
        var isGone: Bool { connection.isEnded || Poll.isClosed(connection.descriptor.rawValue) }
    }

    private struct Outcome: Sendable {
        /// The answer; nil if it needs a request to the provider.
        let result: Result<JSONObject, OIDCError>?
    }

    /// Requests of a profile that are answered one after the other, on a thread of their own.
    private final class Lane {
        enum Kind: CaseIterable {
            /// Requests that the store can answer; they do not wait for those to the provider.
            case stored
            case proofs
            /// Callers that wait here share a refresh.
            case provider
        }

        let kind: Kind
        let loan: Int
        let job: BackgroundJob<Outcome>
        var waiting: [Pending] = []
        var running: Pending?

        init(_ kind: Kind, of loan: Int, waking wake: FileDescriptor) {
            self.kind = kind
            self.loan = loan
            job = BackgroundJob(wake: wake)
        }
    }

    /// A question that waits for this user.
    private struct Question {
        let caller: Caller
        let text: String
        let withdrawal = Withdrawal()
    }

    private final class Withdrawal: Sendable {
        private let isOver = Mutex(false)
        var isDone: Bool { isOver.withLock { $0 } }
        func withdraw() { isOver.withLock { $0 = true } }
    }

    /// The path of the socket.
    let path: String
    private let loans: [Loan]
    private let configuration: Configuration
    private let listener: SocketListener
    private let server: HTTP1Server
    private let wake: (reading: FileDescriptor, writing: FileDescriptor)
    private let lanes: [Lane]
    private let asking: BackgroundJob<Bool?>
    private var unconfirmed: [Pending] = []
    private var question: Question?
    /// This user's answers about callers, the latest last.
    private var answers: [(caller: Caller, isAllowed: Bool, until: MonotonicTime)] = []
    /// The users whose programs were refused within the last minute, or got no answer.
    private var refusals: [(user: UInt32, until: MonotonicTime)] = []
    /// The users whose new programs are refused for a time without a question, and how often this happened in
    /// a row.
    private var silenced: [UInt32: (times: Int, until: MonotonicTime)] = [:]
    /// The refusals in the log.
    private var logged = LendRefusals()
    /// The time of the last check of the connections that wait.
    private var lookedAt = MonotonicTime.now()

    /// The maximum numbers of requests that wait for a token, and for this user's answer, in total, for each
    /// program and for each user; of remembered answers; and of refusals before a user's programs are no
    /// longer asked about.
    private static let limits = (
        waiting: 256, unconfirmed: 16, each: 2, user: 8, answers: 256, refusals: 3
    )
    /// Milliseconds after a refusal for which there is no question about the same caller. After several
    /// refusals of a user's programs, there is none about the user's new programs either, as a refused
    /// program could start another. That time doubles with each repetition, up to an hour.
    private static let silence: Int64 = 60_000

    init(_ path: String, _ loans: [Loan], _ configuration: Configuration) throws(OIDCError) {
        self.path = path
        self.loans = loans
        self.configuration = configuration
        listener = try SocketListener(path)
        var policy = HTTP1Server.Policy()
        policy.connections = 400
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
        asking = BackgroundJob(wake: wake.writing)
        lanes = loans.indices.flatMap { [wake] loan in
            Lane.Kind.allCases.map { Lane($0, of: loan, waking: wake.writing) }
        }
    }

    deinit {
        server.close()
        listener.remove()
    }

    /// Serves until a signal arrives, the time limit passes, or another descriptor is readable.
    func run(also others: [Int32] = []) -> Event {
        let event = turns(also: others)
        for line in logged.ended(at: .now().adding(seconds: 60)) { log(line) }
        server.close()
        listener.remove()
        question?.withdrawal.withdraw()
        asking.finish()
        // A refresh that has begun is finished: its answer may be the only copy of a token.
        for lane in lanes { lane.job.finish() }
        return event
    }

    private func turns(also others: [Int32]) -> Event {
        while true {
            if let signal = Interruption.pending { return .interrupted(signal: signal) }
            guard !isOver else { return .ended }
            dropGone(now: .now())
            for line in logged.ended(at: .now()) { log(line) }
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

    /// The time of the next check: at most a minute from now, as the wall clock may be ahead of the monotonic
    /// one after the machine has slept, or a second if requests wait.
    private var nextMoment: MonotonicTime {
        let isAwaited = !unconfirmed.isEmpty || lanes.contains { !$0.waiting.isEmpty }
        return min(configuration.end.moment, .now().adding(seconds: isAwaited || question != nil ? 1 : 60))
    }

    /// Drops the requests of callers that have gone, and the question about a program that has ended.
    private func dropGone(now: MonotonicTime) {
        guard now >= lookedAt.adding(seconds: 1) else { return }
        lookedAt = now
        for lane in lanes { Self.dropGone(&lane.waiting) }
        Self.dropGone(&unconfirmed)
        if let question, question.caller.program.process?.isRunning != true,
            !unconfirmed.contains(where: { $0.caller == question.caller })
        {
            question.withdrawal.withdraw()
        }
    }

    private static func dropGone(_ waiting: inout [Pending]) {
        waiting.removeAll { pending in
            guard pending.isGone else { return false }
            pending.connection.end()
            return true
        }
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
        let caller = Caller(program: LendCaller(peer), profile: loans[index].name)
        return admit(
            Pending(
                matter: asked.matter, caller: caller, isOnce: asked.isOnce,
                words: Self.words(caller.program, asked.claim),
                loan: index, arrivedAt: .now(), connection: connection))
    }

    /// Returns the description of a caller, with its own claims in quotes, as they may be false: a program can
    /// choose the name that the kernel reports (PR_SET_NAME).
    static func words(_ caller: LendCaller, _ claim: LendRequest.Claim) -> String {
        let program = caller.name.map { " through \($0)" } ?? ""
        let other = caller.user == FileStatus.currentUser ? "" : " of user \(caller.user)"
        return "\(claim.text)\(program) (as it says)\(other)"
    }

    private func admit(_ pending: Pending) -> HTTP1Server.Disposition {
        if configuration.question != nil, !pending.matter.isHarmless {
            let now = MonotonicTime.now()
            let known = answers.last { $0.caller == pending.caller && now < $0.until }
            guard let known else {
                let program = pending.caller.program
                if let silenced = silenced[program.user], now < silenced.until { return refuse(Self.denied) }
                guard unconfirmed.count < Self.limits.unconfirmed,
                    unconfirmed.count(where: { $0.caller.program == program }) < Self.limits.each,
                    unconfirmed.count(where: { $0.caller.program.user == program.user }) < Self.limits.user
                else { return refuse(Self.busy) }
                unconfirmed.append(pending)
                askNext()
                return .hold(endsRound: false)
            }
            guard known.isAllowed else { return refuse(Self.denied) }
        }
        guard makeRoom(for: pending) else { return refuse(Self.busy) }
        enqueue(pending)
        return .hold(endsRound: false)
    }

    /// Makes room for a request, if necessary by refusing another one. Returns false if there is none. A
    /// request that waits has a connection, and some must be left for new callers. Each profile has a share
    /// of the room, which the profile with the most requests gives up.
    private func makeRoom(for pending: Pending) -> Bool {
        var waiting = lanes.enumerated().flatMap { lane in
            lane.element.waiting.indices.map { (lane: lane.offset, index: $0) }
        }
        let places = min(Self.limits.waiting, server.connectionLimit * 3 / 4)
        guard waiting.count >= places else { return true }
        func count(_ loan: Int) -> Int { waiting.count { lanes[$0.lane].loan == loan } }
        let isBelowShare = count(pending.loan) < places / (loans.count + 1)
        let loan = isBelowShare ? loans.indices.max { count($0) < count($1) } : pending.loan
        waiting.removeAll { lanes[$0.lane].loan != loan }
        let requests = waiting.map { lanes[$0.lane].waiting[$0.index] }
        let callers = requests.map { (caller: $0.caller.program, arrivedAt: $0.arrivedAt) }
        let index =
            isBelowShare
            ? LendPlaces.last(of: callers) { _ in true }
            : LendPlaces.taken(by: pending.caller.program, from: callers)
        guard let index else { return false }
        lanes[waiting[index].lane].waiting.remove(at: waiting[index].index)
        finish(requests[index], .failure(Self.busy))
        return true
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

    private func enqueue(_ pending: Pending) {
        if case .proof = pending.matter { return enqueue(pending, in: .proofs) }
        enqueue(pending, in: .stored)
    }

    private func enqueue(_ pending: Pending, in kind: Lane.Kind) {
        guard let lane = lanes.first(where: { $0.loan == pending.loan && $0.kind == kind }) else { return }
        lane.waiting.append(pending)
        startNext(lane)
    }

    private func startNext(_ lane: Lane) {
        guard !lane.job.isRunning else { return }
        Self.dropGone(&lane.waiting)
        guard !lane.waiting.isEmpty else { return }
        let pending = lane.waiting.removeFirst()
        lane.running = pending
        let (loan, matter, names) = (loans[lane.loan], pending.matter, loans.map(\.name))
        let call = Loan.Call(caller: pending.caller.program, arrivedAt: pending.arrivedAt)
        let isStored = lane.kind == .stored
        do throws(Errno) {
            try lane.job.start {
                Outcome(
                    result: isStored
                        ? loan.storedAnswer(matter, call, profiles: names)
                        : loan.answer(matter, call, profiles: names))
            }
        } catch {
            lane.running = nil
            finish(
                pending, .failure(OIDCError(.failed, "no thread: \(error)", hint: error.startHint)))
        }
    }

    /// Sends the results of finished jobs, and starts the next ones.
    private func settle() {
        for lane in lanes {
            if let outcome = lane.job.take(), let pending = lane.running {
                lane.running = nil
                if let result = outcome.result {
                    finish(pending, result)
                } else {
                    enqueue(pending, in: .provider)
                }
            }
            startNext(lane)
        }
        if let answer = asking.take(), let question {
            self.question = nil
            settle(question.caller, answer)
        }
        askNext()
    }

    private func finish(_ pending: Pending, _ result: Result<JSONObject, OIDCError>) {
        let isGone = pending.isGone
        if isGone {
            pending.connection.end()
        } else {
            pending.connection.answer(Self.response(result), closes: true)
        }
        let name = DisplayText.clean(pending.loan < loans.count ? loans[pending.loan].name : "")
        guard let what = pending.matter.name else { return }
        let reason: String
        switch result {
        case _ where isGone: reason = "it no longer waits"
        case .success(let members):
            let seconds = members["access"]?.object?["seconds"]?.integer
            let end = seconds.map { ", \(TimeWords.duration($0)) left" } ?? ""
            return log("\(name): \(what)\(end), to \(pending.words)")
        case .failure(let error): reason = error.message
        }
        let line = "\(name): no \(what) to \(pending.words): \(reason)"
        if logged.isShown(line, of: pending.caller.program, at: .now()) { log(line) }
    }

    private func log(_ line: String) {
        configuration.log?(line, question.flatMap { configuration.question?.prompt($0.text) })
    }

    // MARK: Questions

    private func askNext() {
        guard let terminal = configuration.question, !asking.isRunning, let first = unconfirmed.first else {
            return
        }
        let text = "Lend profile \(DisplayText.clean(first.caller.profile)) to \(first.words)?"
        let question = Question(caller: first.caller, text: text)
        do throws(Errno) {
            try asking.start { [withdrawal = question.withdrawal] in
                terminal.ask(text) { withdrawal.isDone }
            }
            self.question = question
        } catch {
            for pending in unconfirmed {
                finish(pending, .failure(OIDCError(.failed, "no thread: \(error)")))
            }
            unconfirmed = []
        }
    }

    /// Serves or refuses a caller's requests. An answer applies to the program until it ends. A permission
    /// for a program that cannot be identified, or that executes another one next, applies only to the requests that wait.
    private func settle(_ caller: Caller, _ answer: Bool?) {
        let now = MonotonicTime.now()
        let isAllowed = answer == true
        answers.removeAll { $0.caller == caller || now >= $0.until || $0.caller.program.hasEnded }
        let isOnce = unconfirmed.contains { $0.caller == caller && $0.isOnce }
        if !isAllowed || caller.program.process != nil && !isOnce {
            let silence = now.adding(milliseconds: Self.silence)
            answers.append((caller, isAllowed, isAllowed ? configuration.end.moment : silence))
            if answers.count > Self.limits.answers {
                answers.remove(at: answers.firstIndex { !$0.isAllowed } ?? 0)
            }
        }
        let isSilenced = note(isAllowed, of: caller.program.user, now)
        func isMeant(_ pending: Pending) -> Bool {
            pending.caller == caller || isSilenced && pending.caller.program.user == caller.program.user
        }
        let settled = unconfirmed.filter(isMeant)
        unconfirmed.removeAll(where: isMeant)
        for pending in settled {
            if isAllowed { enqueue(pending) } else { finish(pending, .failure(Self.denied)) }
        }
    }

    /// Records an answer about a user's program. Returns whether the user's other programs are refused for
    /// now.
    private func note(_ isAllowed: Bool, of user: UInt32, _ now: MonotonicTime) -> Bool {
        guard !isAllowed else {
            silenced[user] = nil
            return false
        }
        refusals.removeAll { now >= $0.until }
        refusals.append((user, now.adding(milliseconds: Self.silence)))
        guard refusals.count(where: { $0.user == user }) >= Self.limits.refusals else { return false }
        refusals.removeAll { $0.user == user }
        let times = silenced[user]?.times ?? 0
        silenced[user] = (times + 1, now.adding(milliseconds: Self.silence << min(times, 6)))
        return true
    }
}

extension LendRequest.Matter {
    /// Whether the answer contains no token.
    fileprivate var isHarmless: Bool { if case .terms = self { true } else { false } }

    /// The words of a log line; nil for a request that is not logged.
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
