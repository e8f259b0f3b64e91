import OIDCCore

/// One request of a caller: it is sent with the token, again if the token or its proof was not accepted, and
/// the answer is passed on as it comes.
final class ProxyExchange {
    enum Phase {
        case waitingForToken
        case sending
        /// The answer is read to its end, and another attempt follows.
        case discarding(Next, bytes: Int)
        case answering(Framing)
        case done
    }

    enum Next {
        case anotherToken
        /// A token of a sign-in with more scope, or a stronger or more recent one.
        case stepUp
        case proof
        case withoutExpectation
    }

    /// How the caller sees the end of the answer.
    enum Framing {
        case none
        case length(missing: Int)
        case chunked
        case untilClose
    }

    /// The most of a discarded answer that is read.
    static let discardLimit = 65_536

    unowned let connection: ProxyConnection
    unowned let server: ProxyServer
    let request: HTTPServerRequest
    let admission: ProxyGate.Admission
    private let framing: HTTP1.BodyFraming
    var body: ProxyRequestBody
    var phase = Phase.waitingForToken
    private var transfer: ProxyTransfer?
    var head = ProxyResponseHead()
    var grant: ProxyTokens.Grant?
    var problem: ProxyProblem?
    var mayRefresh = true
    var mayProveAgain = true
    var mayStepUp = true
    private var mayRepeat = true
    var expectsContinue: Bool
    var owesContinue: Bool
    var closes: Bool
    private var began = MonotonicTime.now()
    var entry: ProxyLogEntry
    /// The time of the last bytes to or from the server.
    var lastActivity = MonotonicTime.now()

    init(
        _ request: HTTPServerRequest, _ admission: ProxyGate.Admission, _ connection: ProxyConnection,
        _ server: ProxyServer
    ) throws(HTTP1.Rejection) {
        self.connection = connection
        self.server = server
        self.request = request
        self.admission = admission
        framing = try HTTP1.BodyFraming(of: request)
        if request.method == HTTPMethod("HEAD"), framing != .length(0) {
            throw HTTP1.Rejection(400, "a HEAD request has no body")
        }
        body = ProxyRequestBody(framing)
        // What has come of the body is checked before anything is sent.
        if framing == .chunked { try connection.checkChunks() }
        let expects = try request.expectsContinue()
        expectsContinue = framing != .length(0) && expects
        owesContinue = expectsContinue
        closes = request.closesConnection
        entry = ProxyLogEntry(
            time: server.now(), route: server.routes[admission.route].url, method: request.method.name,
            path: admission.shownPath, status: nil, bytes: 0, milliseconds: 0, refreshes: 0)
    }

    var route: ProxyRoute { server.routes[admission.route] }
    /// The server's name in messages.
    var host: String { route.url.hostAndPort }
    var isHead: Bool { request.method == HTTPMethod("HEAD") }

    /// Whether the caller has sent the whole request.
    var hasWholeBody: Bool { body.isWhole }
    /// Whether more of the request's body can be sent on now.
    var awaitsBody: Bool { transfer?.isSendingPaused ?? false }

    /// Returns when the server, or the caller that sends a body, has taken too long; nil while an answer
    /// comes, however slowly, or the token is awaited.
    var deadline: MonotonicTime? {
        switch phase {
        case .sending, .discarding:
            let last = awaitsBody ? max(lastActivity, connection.lastActivity) : lastActivity
            return last.adding(milliseconds: server.configuration.timeout)
        case .answering where awaitsBody && !connection.isBlocked:
            return max(lastActivity, connection.lastActivity)
                .adding(milliseconds: server.configuration.timeout)
        default: return nil
        }
    }

    // MARK: Sending

    func begin(now: MonotonicTime) {
        began = now
        obtain(insteadOf: nil, now: now)
    }

    private func obtain(
        insteadOf refused: Redacted<String>?, after answer: HTTPResponse? = nil, now: MonotonicTime
    ) {
        phase = .waitingForToken
        server.tokens(of: admission.route).obtain(insteadOf: refused, after: answer, now: now) {
            [weak self] result, count in
            guard let self, case .waitingForToken = phase else { return }
            entry.refreshes += count
            switch result {
            case .success(let grant):
                self.grant = grant
                send()
            case .failure(let error):
                if answer != nil, error.kind != .unreachable {
                    server.states[admission.route].withoutStepUp = refused
                }
                fail(server.problem(error))
            }
        }
    }

    private func send() {
        guard let grant else { return }
        head = ProxyResponseHead()
        problem = nil
        body.repeatFromStart()
        phase = .sending
        lastActivity = .now()
        let state = server.states[admission.route]
        let own = ProxyOwnURLs(
            address: server.listener.address, route: route, prefix: admission.prefix,
            hasSecret: server.gate.hasSecret)
        var fields = ProxyHeaders.request(request.headers) { server.acceptsCookie($0, on: admission.route) }
            .compactMap(own.mapped)
        do throws(OIDCError) {
            fields += try grant.authorization(
                request.method, admission.target, nonce: state.nonce,
                server.tokens(of: admission.route).environment)
            let multi = try server.multi()
            let transfer = try ProxyTransfer(
                ProxyTransfer.Order(
                    method: request.method, url: admission.target, rawTarget: admission.rawTarget,
                    fields: fields,
                    framing: framing,
                    expectsContinue: expectsContinue),
                multi.library, server.configuration.curl, owner: self)
            self.transfer = transfer
            guard multi.add(transfer) else {
                throw OIDCError(.failed, "libcurl has no memory for a request")
            }
        } catch {
            transfer = nil
            fail(server.problem(error))
        }
    }

    func resumeBody() {
        transfer?.resume(sending: true)
    }

    /// Lets the answer go on when the caller took what there was.
    func resumeAnswer() {
        guard transfer?.isReceivingPaused == true else { return }
        transfer?.resume(receiving: true)
    }

    // MARK: Ending

    /// Handles the end of the transfer.
    func transferEnded(_ ended: ProxyTransfer, _ code: Int32, now: MonotonicTime) {
        guard ended === transfer else { return }
        transfer = nil
        guard !connection.isEnded else { return cancel() }
        switch phase {
        case .discarding(let next, _): again(next, now: now)
        case .answering(let framing): finish(framing, isComplete: code == 0)
        case .sending where mayRepeat && problem == nil && body.canRepeat && ended.isRepeatable(after: code):
            mayRepeat = false
            send()
        case .sending, .waitingForToken:
            var problem = problem ?? server.problem(ended.failure(server.configuration.curl))
            if code == 0, self.problem == nil {
                problem = ProxyProblem(
                    502, "refused", "\(host) closed the connection within the header of its answer")
            }
            if code == 28, problem.status == 502 { problem.status = 504 }
            fail(problem)
        case .done: break
        }
    }

    private func again(_ next: Next, now: MonotonicTime) {
        switch next {
        case .anotherToken:
            mayRefresh = false
            mayProveAgain = true
            obtain(insteadOf: grant?.token, now: now)
        case .stepUp:
            mayStepUp = false
            mayRefresh = false
            mayProveAgain = true
            obtain(insteadOf: grant?.token, after: head.response, now: now)
        case .proof:
            mayProveAgain = false
            send()
        case .withoutExpectation:
            expectsContinue = false
            send()
        }
    }

    private func finish(_ framing: Framing, isComplete: Bool) {
        var isComplete = isComplete
        if case .length(let missing) = framing, missing > 0 { isComplete = false }
        guard isComplete else { return truncate() }
        if case .chunked = framing { connection.write(Array("0\r\n\r\n".utf8)) }
        settle()
        connection.finishExchange(closes: closes || !body.isWhole)
    }

    /// Ends an incomplete answer in a way that the caller notices.
    private func truncate() {
        let endsAtClose = if case .answering(.untilClose) = phase { true } else { false }
        settle()
        connection.flush(now: .now())
        // A plain close would be the orderly end of this answer.
        if endsAtClose { connection.resetOnClose() }
        connection.end()
    }

    /// Answers with a problem, unless the server's answer has started.
    func fail(_ problem: ProxyProblem) {
        abandonTransfer()
        switch phase {
        case .done: return
        case .answering: return truncate()
        default: break
        }
        entry.status = problem.status
        settle()
        connection.answer(problem.response, toHead: isHead, closes: closes || !body.isWhole)
    }

    /// Ends the request, as the caller left.
    func cancel() {
        abandonTransfer()
        settle()
    }

    private func abandonTransfer() {
        guard let transfer else { return }
        server.end(transfer)
        self.transfer = nil
    }

    /// Logs the request at its end.
    func settle() {
        if case .done = phase { return }
        phase = .done
        entry.milliseconds = (MonotonicTime.now().nanoseconds - began.nanoseconds) / 1_000_000
        server.log(entry)
    }
}
