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
    var transfer: ProxyTransfer?
    var head = ProxyResponseHead()
    var grant: ProxyTokens.Grant?
    var problem: ProxyProblem?
    var mayRefresh = true
    var mayProveAgain = true
    var mayStepUp = true
    var mayRepeat = true
    var expectsContinue: Bool
    var owesContinue: Bool
    var closes: Bool
    var began = MonotonicTime.now()
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

    func obtain(
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

    func send() {
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
            .compactMap(own.forServer)
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
}
