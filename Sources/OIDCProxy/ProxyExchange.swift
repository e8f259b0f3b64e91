import CurlHTTP
import LoopbackHTTP
import OIDCCore
import OIDCSystem
import Posix

/// One request of a caller. It is sent with the token, and again if the token or its proof is refused; the
/// answer is passed on as it arrives.
final class ProxyExchange {
    enum Phase {
        case waitingForToken
        case sending
        /// The answer is read to its end before another attempt.
        case discarding(Next, bytes: Int)
        case answering(Framing)
        case done
    }

    enum Next {
        case anotherToken
        /// A token from a new sign-in that has more scope, is stronger or is more recent.
        case stepUp
        case proof
    }

    /// The framing of the answer, which shows the caller where it ends.
    enum Framing {
        case none
        case length(missing: Int)
        case chunked
        case untilClose
    }

    /// The size limit of a discarded answer, in bytes.
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
    /// The nonce of this request's last answer. Another request's may be single-use (RFC 9449 §8, §9).
    var nonce: String?
    var problem: ProxyProblem?
    var mayRefresh = true
    /// Whether a token that another process obtained may be refused once, and then refreshed.
    var mayAdopt = true
    var mayProveAgain = true
    var mayStepUp = true
    var mayRepeat = true
    /// Whether the caller waits for `100 Continue` before it sends the body. The expectation ends here; the
    /// server gets none (RFC 9110 §10.1.1).
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
        // The part of the body that has arrived is checked before anything is sent.
        if framing == .chunked { try connection.checkChunks() }
        let expects = try request.expectsContinue()
        owesContinue = framing != .length(0) && expects
        closes = request.closesConnection
        entry = ProxyLogEntry(
            time: server.now(), route: server.routes[admission.route].url, method: request.method.name,
            path: admission.shownPath, status: nil, bytes: 0, milliseconds: 0, refreshes: 0)
    }

    /// The configuration of the request, with the certificate of the route's own client.
    private var curl: CurlConfiguration {
        var curl = server.configuration.curl
        let source = server.tokens(of: admission.route).source
        curl.clientCertificate = source.clientCertificate
        curl.certificateOrigins = source.certificateOrigins
        return curl
    }

    var route: ProxyRoute { server.routes[admission.route] }
    /// The server's host and port, for messages.
    var host: String { route.url.hostAndPort }
    var isHead: Bool { request.method == HTTPMethod("HEAD") }

    /// Whether the caller has sent the whole request.
    var hasWholeBody: Bool { body.isWhole }
    /// Whether more of the request's body can be sent now.
    var awaitsBody: Bool { transfer?.isSendingPaused ?? false }

    /// Whether the server has sent its whole answer, and takes the rest of the request's body slowly or not at all.
    var isAnsweredEarly: Bool {
        guard case .answering = phase, let transfer else { return false }
        return transfer.isOnlySending && !transfer.isReceivingPaused
    }

    /// Milliseconds for which the server may take nothing of a body that it has already answered. With HTTP/2,
    /// libcurl then reads no more, so it never learns that the server would take more.
    private var patience: Int64 {
        min(server.configuration.timeout, transfer?.isHTTP2 == true ? 200 : 10_000)
    }

    /// The time limit for the server, or for the caller that sends a body; nil while the token is awaited or
    /// an answer arrives, however slowly.
    var deadline: MonotonicTime? {
        switch phase {
        case .answering where isAnsweredEarly: return lastActivity.adding(milliseconds: patience)
        case .sending, .discarding:
            let last = awaitsBody ? max(lastActivity, connection.lastActivity) : lastActivity
            return last.adding(milliseconds: server.configuration.timeout)
        case .answering where !hasWholeBody && !connection.isBlocked:
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
                if refused != nil, grant.delivery.isAdopted, mayAdopt {
                    mayAdopt = false
                    mayRefresh = true
                }
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
        let own = ProxyOwnURLs(
            address: server.listener.address, route: route, prefix: admission.prefix,
            hasSecret: server.gate.hasSecret)
        var fields = ProxyHeaders.request(request.headers) { server.acceptsCookie($0, on: admission.route) }
            .compactMap(own.forServer)
        do throws(OIDCError) {
            fields += try grant.authorization(
                request.method, admission.target, nonce: nonce ?? server.states[admission.route].nonce,
                server.tokens(of: admission.route).environment)
            let multi = try server.multi()
            let transfer = try ProxyTransfer(
                ProxyTransfer.Order(
                    method: request.method, url: admission.target, rawTarget: admission.rawTarget,
                    fields: fields, framing: framing,
                    usesClientCertificate: grant.isBoundToCertificate),
                multi.library, curl, owner: self)
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

    /// Resumes the answer after the caller has accepted the output.
    func resumeAnswer() {
        guard transfer?.isReceivingPaused == true else { return }
        transfer?.resume(receiving: true)
    }
}
