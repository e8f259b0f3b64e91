import CurlHTTP
import LoopbackHTTP
import OIDCCore
import OIDCAccount
import Posix

/// One request of a caller. It is sent with the token, and again if the token or its proof is refused; the
/// answer is passed on as it arrives.
final class ProxyExchange: CurlClient, HTTP1Stream {
    private enum Phase {
        case waitingForToken
        case sending
        /// The answer is read to its end before another attempt, unless it reaches a limit.
        case discarding(RetryRule.Demand, bytes: Int, until: MonotonicTime)
        case answering(Framing)
        case done
    }

    /// The framing of the answer, which shows the caller where it ends.
    private enum Framing {
        case none
        case length(missing: Int)
        case chunked
        case untilClose
    }

    /// The limits of a discarded answer, beyond which its connection is closed.
    private static let discardLimits = (bytes: 65_536, milliseconds: Int64(2_000))
    /// The limit for the number of interim answers before the final one.
    private static let interimLimit = 32

    private unowned let connection: HTTP1Connection
    private unowned let server: ProxyServer
    private let state: ProxyServer.RouteState
    private let request: HTTPServerRequest
    private let admission: ProxyGate.Admission
    private let framing: HTTP1.BodyFraming
    private var body: ProxyRequestBody
    private var phase = Phase.waitingForToken
    private var transfer: CurlTransfer?
    private(set) var head = ResponseHead()
    private var grant: ProxyTokens.Grant?
    /// The nonce of this request's last answer. Another request's may be single-use (RFC 9449 §8, §9).
    private var nonce: String?
    /// How often a proof may be repeated since another request got a newer nonce while this one was out.
    private var overtakings = ProxyExchange.overtakingLimit
    private static let overtakingLimit = 3
    private var sentNonce: String?
    private var problem: ProxyProblem?
    private var retry = RetryRule(refreshes: true, stepsUp: true)
    /// Whether a token that another process obtained may be refused once, and then refreshed.
    private var mayAdopt = true
    private var mayRepeat = true
    /// Whether the caller waits for `100 Continue` before it sends the body. The expectation ends here; the
    /// server gets none (RFC 9110 §10.1.1).
    private var owesContinue: Bool
    /// Whether libcurl does not notice where the answer ends. Of an HTTP/2 stream, it sees the end only once it
    /// has sent the whole body, and after an error it sends no more.
    private var endsUnseen = false
    /// The time at which libcurl is to look for the end of the answer; nil if it notices that automatically.
    private var nextLook: MonotonicTime?
    private var closes: Bool
    private var began = MonotonicTime.now()
    private var entry: ProxyLogEntry
    /// The time of the last bytes to or from the server.
    private var lastActivity = MonotonicTime.now()
    /// The time of the last part of the answer.
    private var lastPart = MonotonicTime.now()

    init(
        _ request: HTTPServerRequest, _ admission: ProxyGate.Admission, _ connection: HTTP1Connection,
        _ server: ProxyServer
    ) throws(HTTP1.Rejection) {
        self.connection = connection
        self.server = server
        self.request = request
        self.admission = admission
        state = server.states[admission.route]
        try ProxyHeaders.checkCookies(request.headers)
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
        state.inProgress += 1
    }

    deinit { state.inProgress -= 1 }

    /// The configuration of the request, with the certificate of the route's own client.
    private var curl: CurlConfiguration {
        var curl = server.configuration.curl
        let source = server.tokens(of: admission.route).source
        curl.clientCertificate = source.clientCertificate
        curl.certificateOrigins = source.certificateOrigins
        return curl
    }

    private var route: ProxyRoute { server.routes[admission.route] }
    /// The server's host and port, for messages.
    private var host: String { route.url.hostAndPort }
    private var isHead: Bool { request.method == HTTPMethod("HEAD") }

    /// Whether the caller has sent the whole request.
    var hasWholeBody: Bool { body.isWhole }
    /// Whether more of the request's body can be sent now.
    var awaitsBody: Bool { transfer?.isSendingPaused ?? false }

    /// Whether a part of the body has not been sent on an HTTP/2 stream.
    private var hasUnsentStream: Bool {
        guard let transfer, transfer.isHTTP2 else { return false }
        return !body.isWhole || !transfer.hasSentAll
    }

    /// Whether the server has sent its whole answer, as far as can be known, and takes no more of the body.
    private var isAnsweredEarly: Bool { patience != nil }

    /// Milliseconds without activity after which an early answer ends the request; nil if it is not whole.
    private var patience: Int64? {
        guard case .answering(let framing) = phase, let transfer, !transfer.isReceivingPaused else {
            return nil
        }
        let limit = server.configuration.timeout
        let isAtEnd = transfer.isReadToEnd
        if isAtEnd, case .length(let missing) = framing, missing > 0 { return min(limit, 200) }
        guard transfer.isHTTP2 else { return isAtEnd && !awaitsBody ? min(limit, 10_000) : nil }
        // libcurl reads no more once it has the whole answer, so it does not learn that the server would take more.
        if isAtEnd { return min(limit, 200) }
        switch framing {
        case .none, .length(missing: 0):
            if endsUnseen { return 0 }
            return awaitsBody ? nil : min(limit, 2_000)
        case .length: return nil
        case .chunked, .untilClose: return endsUnseen ? min(limit, 2_000) : nil
        }
    }

    /// Lets libcurl look for the end of the answer. With HTTP/2, it overlooks one that comes while the body is sent.
    private func look(now: MonotonicTime) {
        nextLook = nil
        guard case .answering = phase, let transfer else { return }
        // While parts of the answer come, libcurl reads the stream anyway.
        let moment = lastPart.adding(milliseconds: Self.lookInterval)
        guard moment <= now else { return nextLook = moment }
        if hasUnsentStream { nextLook = now.adding(milliseconds: Self.lookInterval) }
        server.requests?.look(at: transfer)
    }

    private static let lookInterval: Int64 = 200

    /// The time limit for the server, or for the caller that sends a body or accepts none of the answer; nil while
    /// the token is awaited or an answer arrives, however slowly.
    private var deadline: MonotonicTime? {
        if let patience { return lastActivity.adding(milliseconds: patience) }
        if connection.isBlocked {
            return connection.lastActivity.adding(milliseconds: server.configuration.timeout)
        }
        switch phase {
        case .discarding(_, _, let end): return end
        case .sending:
            let last = awaitsBody ? max(lastActivity, connection.lastActivity) : lastActivity
            return last.adding(milliseconds: server.configuration.timeout)
        case .answering where !hasWholeBody || hasUnsentStream:
            return max(lastActivity, connection.lastActivity)
                .adding(milliseconds: server.configuration.timeout)
        default: return nil
        }
    }

    var nextMoment: MonotonicTime? { [nextLook, deadline].compactMap { $0 }.min() }

    func act(now: MonotonicTime) {
        if let nextLook, nextLook <= now { look(now: now) }
        guard connection.stream === self, let deadline, deadline <= now else { return }
        if isAnsweredEarly { return endAnsweredEarly() }
        if connection.isBlocked { return connection.end() }
        if case .discarding(let next, _, _) = phase {
            abandonTransfer()
            return again(next, now: now)
        }
        let limit = server.configuration.timeout
        let hint = server.configuration.hint(.advice(.raiseProxyTimeout))
        fail(awaitsBody ? .slowCaller : .timeout(milliseconds: limit, hint: hint))
    }

    // MARK: Sending

    func begin(now: MonotonicTime) {
        began = now
        obtain(insteadOf: nil, now: now)
    }

    private func obtain(
        insteadOf refused: Redacted<String>?, after answer: ProxyTokenSource.Answer? = nil, now: MonotonicTime
    ) {
        phase = .waitingForToken
        server.tokens(of: admission.route).obtain(insteadOf: refused, after: answer, now: now) {
            [weak self, state] result, count in
            if let refused { state.noteReplacement(of: refused, result, count, steppedUp: answer != nil) }
            guard let self, isWaitingForToken else { return }
            entry.refreshes += count
            switch result {
            case .success(let grant):
                self.grant = grant
                if refused != nil, grant.delivery.isAdopted, mayAdopt {
                    mayAdopt = false
                    retry.allowRefresh()
                }
                send()
            case .failure(let error): fail(server.problem(error))
            }
        }
    }

    private var isWaitingForToken: Bool {
        if case .waitingForToken = phase { true } else { false }
    }

    private func send() {
        guard let grant else { return }
        head = ResponseHead()
        problem = nil
        body.repeatFromStart()
        phase = .waitingForToken
        lastActivity = .now()
        sentNonce = nonce ?? state.nonce
        server.tokens(of: admission.route).authorize(
            grant, request.method, admission.target, nonce: sentNonce,
            isNeeded: { [weak self] in self?.isWaitingForToken == true }
        ) { [weak self] result in
            guard let self, isWaitingForToken else { return }
            switch result {
            case .success(let authorization): send(grant, authorization)
            case .failure(let error): fail(server.problem(error))
            }
        }
    }

    private func send(_ grant: ProxyTokens.Grant, _ authorization: [HTTPHeaders.Field]) {
        phase = .sending
        let own = ProxyOwnURLs(
            address: server.address, route: route, prefix: admission.prefix,
            hasSecret: server.gate.hasSecret)
        let fields = ProxyHeaders.request(request.headers) { server.acceptsCookie($0, on: admission.route) }
            .compactMap(own.forServer)
        do throws(OIDCError) {
            let multi = try server.multi()
            let length: Int64? = if case .length(let length) = framing { Int64(length) } else { nil }
            let transfer = try CurlTransfer(
                CurlTransfer.Order(
                    method: request.method, url: admission.target, rawTarget: admission.rawTarget,
                    fields: fields + authorization, body: .provided(length: length),
                    usesClientCertificate: grant.isBoundToCertificate, purpose: .forwarding, stage: .resource,
                    group: admission.route),
                curl, client: self)
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

/// The end of transfers and requests.
extension ProxyExchange {
    /// Handles the end of the transfer.
    func transferEnded(_ ended: CurlTransfer, _ code: CurlCode, now: MonotonicTime) {
        guard ended === transfer else { return }
        transfer = nil
        guard !connection.isEnded else { return cancel() }
        switch phase {
        case .discarding(let next, _, _): again(next, now: now)
        case .answering(let framing):
            // The server may have given up the connection over the body that libcurl dropped. A stream that it ended with an
            // error is broken even then (RFC 9113 §8.1).
            let isGivenUp = endsUnseen && code != .http2Stream
            finish(framing, isComplete: isGivenUp || ended.isAnsweredWhole(after: code))
        case .sending where problem == nil && ended.needsBundle(curl): send()
        case .sending where mayRepeat && problem == nil && body.canRepeat && ended.isRepeatable(after: code):
            mayRepeat = false
            send()
        case .sending, .waitingForToken:
            var problem = problem ?? server.problem(ended.failure(server.configuration.curl).error)
            if code == .ok, self.problem == nil {
                problem = ProxyProblem(
                    502, "refused", "\(host) closed the connection within the header of its answer")
            }
            if code == .timedOut, problem.status == 502 { problem.status = 504 }
            fail(problem)
        case .done: break
        }
    }

    private func again(_ demand: RetryRule.Demand, now: MonotonicTime) {
        retry.use(demand)
        switch demand {
        case .anotherToken: obtain(insteadOf: grant?.token, now: now)
        case .stepUp:
            let answer = ProxyTokenSource.Answer(head.response, of: admission.target)
            obtain(insteadOf: grant?.token, after: answer, now: now)
        case .proof: send()
        }
    }

    /// Ends the request although its body was not sent whole, as the server has answered it and takes no more.
    private func endAnsweredEarly() {
        guard case .answering(let framing) = phase else { return }
        abandonTransfer()
        finish(framing, isComplete: true)
    }

    private func finish(_ framing: Framing, isComplete: Bool) {
        var isComplete = isComplete
        if case .length(let missing) = framing, missing > 0 { isComplete = false }
        guard isComplete else { return truncate() }
        if case .chunked = framing { connection.write(Array("0\r\n\r\n".utf8)) }
        settle()
        connection.endRequest(closes: closes || !body.isWhole)
    }

    /// Ends an incomplete answer in a way that the caller notices.
    private func truncate() {
        let endsAtClose = if case .answering(.untilClose) = phase { true } else { false }
        settle()
        connection.flush(now: .now())
        // A normal close would look like the proper end of this answer.
        if endsAtClose { connection.resetOnClose() }
        connection.end()
    }

    /// Answers with a problem, unless the server's answer has started.
    private func fail(_ problem: ProxyProblem) {
        abandonTransfer()
        switch phase {
        case .done: return
        case .answering: return truncate()
        default: break
        }
        entry.status = problem.status
        settle()
        connection.answer(problem.response, reason: problem.reason, closes: closes || !body.isWhole)
    }

    /// Ends the request because the caller left.
    func cancel() {
        abandonTransfer()
        settle()
    }

    private func abandonTransfer() {
        guard let transfer else { return }
        if !transfer.isConnected { state.noteAbandoned(at: .now()) }
        server.end(transfer)
        self.transfer = nil
    }

    /// Logs the request at its end.
    private func settle() {
        if case .done = phase { return }
        phase = .done
        entry.milliseconds = (MonotonicTime.now().nanoseconds - began.nanoseconds) / 1_000_000
        server.log(entry)
    }
}

/// What the server sends and receives. libcurl calls these functions on the proxy's thread.
extension ProxyExchange {
    /// Provides a part of the request's body.
    func provideBody(_ buffer: UnsafeMutableRawBufferPointer) -> CurlTransfer.Provision {
        if case .discarding = phase { return .refuse }
        continueIfOwed()
        do {
            let provision = try body.provide(buffer, from: connection)
            switch provision {
            case .bytes: lastActivity = .now()
            case .refuse: problem = .slowCaller
            // libcurl asks for more again and again while it cannot send what it has.
            case .end, .pause: break
            }
            return provision
        } catch {
            problem = ProxyProblem(error)
            return .refuse
        }
    }

    /// Asks the caller for the body, if it waits for that. libcurl reads the body once it is connected to the
    /// server, with the token in the head that it sends.
    private func continueIfOwed() {
        guard owesContinue else { return }
        owesContinue = false
        connection.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
    }

    private func noteAnswer() {
        lastActivity = .now()
        lastPart = lastActivity
    }

    /// Takes a header line; returns false to end the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        // The lines of a header, and interim answers, do not extend the time for the answer. Trailers count as parts of its body.
        if case .answering = phase { noteAnswer() }
        switch head.take(line) {
        case .more: return true
        case .interim where head.status == 101:
            return refuse("\(host) switched protocols, which was not requested")
        case .interim where head.interimCount > Self.interimLimit:
            return refuse("\(host) sent more than \(Self.interimLimit) interim answers")
        case .interim, .complete:
            if let name = ProxyHeaders.excessiveField(of: head) {
                return refuse("the header of the answer of \(host) has too many or too long \(name) fields")
            }
            // Many clients take an interim answer other than 100 for the final one (RFC 8297 §3), and then the final one for
            // the answer to their next request, which may be for another route.
            return head.isComplete ? receiveHead() : true
        case .encoded: return refuse("the answer of \(host) has a transfer coding that was not requested")
        case .malformed: return refuse("the header of the answer of \(host) is malformed")
        case .tooLarge:
            return refuse(
                "the header of the answer of \(host) has more than \(ResponseHead.byteLimit / 1_024) KiB or "
                    + "\(ResponseHead.lineLimit) lines")
        }
    }

    /// Ends the transfer because of its answer; returns false.
    private func refuse(_ reason: String) -> Bool {
        problem = ProxyProblem(502, "refused", reason)
        return false
    }

    private func receiveHead() -> Bool {
        noteAnswer()
        let wasOvertaken = sentNonce != state.nonce
        if grant?.isBoundToKey == true, let nonce = DPoP.nonce(in: head.response) {
            self.nonce = nonce
            state.nonce = nonce
        }
        let demand = demand
        if wasOvertaken, overtakings > 0, let demand, case .proof = demand, !retry.allows(demand) {
            overtakings -= 1
            retry.allowProof()
        }
        if let next = nextAttempt(demand, state) {
            let end = lastActivity.adding(milliseconds: Self.discardLimits.milliseconds)
            phase = .discarding(next, bytes: 0, until: end)
            // The end of this answer may not be noticed.
            return !hasUnsentStream
        }
        if head.status != 401, head.status != 403 { state.noteUsable(admission.target) }
        if head.status != 401 {
            state.accept(grant?.token, at: admission.target)
        } else if !retry.allows(.anotherToken) {
            state.pauseRefreshes()
        } else if !body.canRepeat {
            refreshForOthers(demand, state)
        }
        return beginAnswer()
    }

    /// Refreshes a refused token for later requests, as this one cannot be sent again.
    private func refreshForOthers(_ demand: RetryRule.Demand?, _ state: ProxyServer.RouteState) {
        let tokens = server.tokens(of: admission.route)
        guard let grant, !tokens.hasOther(than: grant.token), demand == .anotherToken,
            mayReplace, state.replaces(grant.token, at: admission.target)
        else { return }
        // Nothing shows whether this path would accept the new token.
        state.pauseRefreshes()
        tokens.obtain(insteadOf: grant.token, now: .now()) { result, count in
            state.noteReplacement(of: grant.token, result, count, steppedUp: false)
        }
    }

    /// What the answer asks for. Only these two have challenges that are worth parsing.
    private var demand: RetryRule.Demand? {
        guard head.status == 401 || head.status == 403 else { return nil }
        return RetryRule.Demand(head.response, isBound: grant?.isBoundToKey == true)
    }

    /// Returns the next attempt that the answer calls for; nil if it was already made or the request cannot
    /// be sent again.
    private func nextAttempt(
        _ demand: RetryRule.Demand?, _ state: ProxyServer.RouteState
    ) -> RetryRule.Demand? {
        guard body.canRepeat, let demand else { return nil }
        switch demand {
        case .proof: return retry.allows(demand) ? demand : nil
        case .anotherToken: return refresh(state)
        case .stepUp: return stepUp(state)
        }
    }

    private func refresh(_ state: ProxyServer.RouteState) -> RetryRule.Demand? {
        let tokens = server.tokens(of: admission.route)
        guard retry.allows(.anotherToken), let token = grant?.token else { return nil }
        if tokens.hasOther(than: token) { return .anotherToken }
        guard !tokens.canStepUp || state.mayAsk(insteadOf: token, for: admission.target),
            mayReplace, state.replaces(token, at: admission.target)
        else { return nil }
        return .anotherToken
    }

    /// Whether a refused token may be replaced. Where the provider ends the session, or it cannot be refreshed, the user
    /// signs in.
    private var mayReplace: Bool {
        !server.tokens(of: admission.route).canStepUp || server.maySignIn(for: admission.route)
    }

    /// Returns a step-up sign-in, once for each token. If the sign-in does not help, the caller gets the
    /// server's answer.
    private func stepUp(_ state: ProxyServer.RouteState) -> RetryRule.Demand? {
        guard server.tokens(of: admission.route).canStepUp, state.allowsStepUp(insteadOf: grant?.token) else {
            return nil
        }
        guard retry.allows(.stepUp) else {
            state.withoutStepUp = grant?.token
            return nil
        }
        guard let token = grant?.token, server.maySignIn(for: admission.route),
            state.mayAsk(insteadOf: token, for: admission.target)
        else { return nil }
        return .stepUp
    }

    private func beginAnswer() -> Bool {
        let length: Int?
        do { length = try ProxyHeaders.bodyLength(of: head) } catch {
            return refuse("the answer of \(host): \(error.reason)")
        }
        let hasNoBody = isHead || head.status == 204 || head.status == 304
        endsUnseen = head.status >= 300 && hasUnsentStream
        let framing: Framing =
            if hasNoBody { .none } else if let length {
                .length(missing: length)
            } else if request.minorVersion == 1, !endsUnseen { .chunked } else { .untilClose }
        if case .untilClose = framing { closes = true }
        if !body.isWhole {
            // libcurl stops sending the body after an error. With HTTP/2, it may not be able to send the rest.
            closes = closes || head.status >= 300 || transfer?.isHTTP2 == true
            if head.status < 300 { continueIfOwed() }
        }
        owesContinue = false
        body.forget()
        if self.framing != .length(0), transfer?.isHTTP2 == true {
            nextLook = lastActivity.adding(milliseconds: Self.lookInterval)
        }
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
            guard let value = value(of: field) else { continue }
            bytes += field.name.utf8
            bytes += ": ".utf8
            bytes += value
            bytes += [.carriageReturn, .lineFeed]
        }
        return bytes
    }

    /// Returns a field's value for the caller; nil if it must not get the field.
    private func value(of field: ResponseHead.Field) -> [UInt8]? {
        let name = ASCII.lowercased(field.name)
        switch name {
        case "location", "content-location":
            return ProxyHeaders.location(
                field.latin1, from: admission.target, prefix: admission.prefix, route: route,
                origin: server.origin(named: request.host), isOurs: server.isOurs,
                leadsHere: { server.gate.leads($0, to: admission.route) }
            ).map(Latin1.encode)
        case "set-cookie":
            guard field.value.count <= ProxyHeaders.cookieSizeLimit,
                server.passesCookie(field.latin1, on: admission.route)
            else { return nil }
            return Latin1.encode(ProxyHeaders.cookie(field.latin1, prefix: admission.prefix, route: route))
        case "link": return ProxyHeaders.setsReferrerPolicy(link: field.value) ? nil : Array(field.value)
        case "content-security-policy": return ProxyHeaders.withoutReports(policies: field.value)
        default: return Array(field.value)
        }
    }

    /// Takes a part of the body.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> CurlTransfer.Reception {
        noteAnswer()
        switch phase {
        case .discarding(let next, let count, let end):
            phase = .discarding(next, bytes: count + bytes.count, until: end)
            return count + bytes.count <= Self.discardLimits.bytes ? .taken : .refuse
        case .answering(let framing):
            guard !connection.isEnded else { return .refuse }
            guard !connection.isBlocked else { return .pause }
            return pass(bytes, framing)
        case .waitingForToken, .sending, .done: return .refuse
        }
    }

    private func pass(_ bytes: UnsafeRawBufferPointer, _ framing: Framing) -> CurlTransfer.Reception {
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
        guard !connection.isEnded else {
            settle()
            return .refuse
        }
        entry.bytes += bytes.count
        return .taken
    }
}
