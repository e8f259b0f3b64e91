import OIDCCore

/// One request of a caller: it is sent with the token, again if the token or its proof was not accepted, and
/// the answer is passed on as it comes.
final class ProxyExchange {
    private enum Phase {
        case waitingForToken
        case sending
        /// The answer is read to its end, and another attempt follows.
        case discarding(Next, bytes: Int)
        case answering(Framing)
        case done
    }

    private enum Next {
        case anotherToken
        case proof
        case withoutExpectation
    }

    /// How the caller sees the end of the answer.
    private enum Framing {
        case none
        case length(missing: Int)
        case chunked
        case untilClose
    }

    /// The most of a discarded answer that is read.
    private static let discardLimit = 65_536

    private unowned let connection: ProxyConnection
    private unowned let server: ProxyServer
    private let request: HTTPServerRequest
    private let admission: ProxyGate.Admission
    private let framing: HTTP1.BodyFraming
    private var body: ProxyRequestBody
    private var phase = Phase.waitingForToken
    private var transfer: ProxyTransfer?
    private var head = ProxyResponseHead()
    private var grant: ProxyTokens.Grant?
    private var problem: ProxyProblem?
    private var mayRefresh = true
    private var mayProveAgain = true
    private var expectsContinue: Bool
    private var owesContinue: Bool
    private var closes: Bool
    private var began = MonotonicTime.now()
    private var entry: ProxyLogEntry
    /// The time of the last bytes to or from the server.
    private(set) var lastActivity = MonotonicTime.now()

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
        let expects = try request.expectsContinue()
        expectsContinue = framing != .length(0) && expects
        owesContinue = expectsContinue
        closes = request.closesConnection
        entry = ProxyLogEntry(
            time: server.now(), route: server.routes[admission.route].url, method: request.method.name,
            path: admission.shownPath, status: nil, bytes: 0, milliseconds: 0, refreshes: 0)
    }

    private var route: ProxyRoute { server.routes[admission.route] }
    private var isHead: Bool { request.method == HTTPMethod("HEAD") }

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

    private func obtain(insteadOf refused: Redacted<String>?, now: MonotonicTime) {
        phase = .waitingForToken
        server.tokens(of: admission.route).obtain(insteadOf: refused, now: now) { [weak self] result, count in
            guard let self, case .waitingForToken = phase else { return }
            entry.refreshes += count
            switch result {
            case .success(let grant):
                self.grant = grant
                send()
            case .failure(let error): fail(server.problem(error))
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
        var fields = ProxyHeaders.request(request.headers) { server.acceptsCookie($0, on: admission.route) }
        do throws(OIDCError) {
            fields += try grant.authorization(
                request.method, admission.target, nonce: state.nonce,
                server.tokens(of: admission.route).environment)
            let transfer = try ProxyTransfer(
                ProxyTransfer.Order(
                    method: request.method, url: admission.target, fields: fields, framing: framing,
                    expectsContinue: expectsContinue),
                server.multi.library, server.configuration.curl, owner: self)
            self.transfer = transfer
            guard server.multi.add(transfer) else {
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
        case .sending, .waitingForToken:
            var problem = problem ?? server.problem(ended.failure(server.configuration.curl))
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

    /// Ends an incomplete answer so that the caller notices.
    private func truncate() {
        settle()
        connection.flush(now: .now())
        connection.end()
    }

    /// Answers with a problem, unless the server's answer has begun.
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
        server.multi.remove(transfer)
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

extension ProxyExchange: ProxyTransferOwner {
    func provideBody(_ buffer: UnsafeMutableRawBufferPointer) -> ProxyTransfer.Provision {
        if case .discarding = phase { return .refuse }
        lastActivity = .now()
        if owesContinue {
            owesContinue = false
            connection.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
        do {
            let provision = try body.provide(buffer, from: connection)
            if case .refuse = provision { problem = .slowCaller }
            return provision
        } catch {
            problem = ProxyProblem(error)
            return .refuse
        }
    }

    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        lastActivity = .now()
        switch head.take(line) {
        case .more: return true
        case .interim:
            passInterimOn()
            return true
        case .complete: return receiveHead()
        case .malformed:
            problem = ProxyProblem(
                502, "refused", "the header of the server's answer is malformed or too large")
            return false
        }
    }

    /// Passes an interim answer on, such as 103; 100 is sent when the body is wanted.
    private func passInterimOn() {
        guard request.minorVersion == 1, head.status != 100, head.status != 101 else { return }
        connection.write(statusAndFields())
        connection.write([.carriageReturn, .lineFeed])
    }

    private func receiveHead() -> Bool {
        let state = server.states[admission.route]
        if grant?.key != nil, let nonce = DPoP.nonce(in: head.response) { state.nonce = nonce }
        if let next = nextAttempt(state) {
            phase = .discarding(next, bytes: 0)
            return true
        }
        if head.status == 401, !mayRefresh { state.refused = grant?.token }
        return beginAnswer()
    }

    /// Returns the attempt that the answer asks for, if the request can be sent again and it was not yet made.
    private func nextAttempt(_ state: ProxyServer.RouteState) -> Next? {
        guard body.canRepeat else { return nil }
        switch head.status {
        case 417 where expectsContinue: return .withoutExpectation
        case 401:
            let response = head.response
            if grant?.key != nil, DPoP.isNonceDemand(resourceResponse: response) {
                return mayProveAgain ? .proof : nil
            }
            guard mayRefresh, StepUp(response.challenges) == nil, state.refused != grant?.token else {
                return nil
            }
            return .anotherToken
        default: return nil
        }
    }

    private func beginAnswer() -> Bool {
        let length: Int?
        do { length = try head.bodyLength() } catch {
            problem = ProxyProblem(error)
            return false
        }
        let hasNoBody = isHead || head.status == 204 || head.status == 304
        let framing: Framing =
            if hasNoBody { .none } else if let length {
                .length(missing: length)
            } else if request.minorVersion == 1 { .chunked } else { .untilClose }
        if case .untilClose = framing { closes = true }
        // libcurl stops sending a body that was refused.
        if !body.isWhole, head.status >= 400 { closes = true }
        body.forget()
        entry.status = head.status
        phase = .answering(framing)
        var bytes = statusAndFields()
        switch framing {
        case .length(let length): bytes += "Content-Length: \(length)\r\n".utf8
        case .chunked: bytes += "Transfer-Encoding: chunked\r\n".utf8
        case .none where head.status != 204: if let length { bytes += "Content-Length: \(length)\r\n".utf8 }
        case .none, .untilClose: break
        }
        bytes += (closes ? "Connection: close\r\n\r\n" : "\r\n").utf8
        connection.write(bytes)
        return true
    }

    private func statusAndFields() -> [UInt8] {
        let reason = head.reason.isEmpty ? Array(HTTP1.reasonPhrase(head.status).utf8) : head.reason
        var bytes = Array("HTTP/1.1 \(head.status) ".utf8) + reason + [.carriageReturn, .lineFeed]
        let named = ProxyHeaders.connectionOptions(head.values("Connection"))
        for field in head.fields where ProxyHeaders.passes(field.name, named: named) {
            bytes += field.name.utf8
            bytes += ": ".utf8
            switch ASCII.lowercased(field.name) {
            case "location", "content-location":
                bytes +=
                    ProxyHeaders.location(
                        field.text, from: admission.target, prefix: admission.prefix, route: route,
                        origin: server.origin(named: request.host)
                    ).utf8
            case "set-cookie":
                server.noteCookie(field.text, on: admission.route)
                bytes += ProxyHeaders.cookie(field.text, prefix: admission.prefix, route: route).utf8
            default: bytes += field.value
            }
            bytes += [.carriageReturn, .lineFeed]
        }
        return bytes
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> ProxyTransfer.Reception {
        lastActivity = .now()
        switch phase {
        case .discarding(let next, let count):
            phase = .discarding(next, bytes: count + bytes.count)
            return count + bytes.count <= Self.discardLimit ? .taken : .refuse
        case .answering(let framing):
            guard !connection.isEnded else { return .refuse }
            guard !connection.isBlocked else { return .pause }
            return pass(bytes, framing)
        case .waitingForToken, .sending, .done: return .refuse
        }
    }

    private func pass(_ bytes: UnsafeRawBufferPointer, _ framing: Framing) -> ProxyTransfer.Reception {
        switch framing {
        case .none: return .taken
        case .length(let missing):
            guard bytes.count <= missing else { return .refuse }
            phase = .answering(.length(missing: missing - bytes.count))
            connection.write(prefix: "", bytes, suffix: "", now: lastActivity)
        case .chunked:
            connection.write(
                prefix: "\(String(bytes.count, radix: 16))\r\n", bytes, suffix: "\r\n", now: lastActivity)
        case .untilClose: connection.write(prefix: "", bytes, suffix: "", now: lastActivity)
        }
        entry.bytes += bytes.count
        return connection.isEnded ? .refuse : .taken
    }
}
