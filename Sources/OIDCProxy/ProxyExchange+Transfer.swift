import LoopbackHTTP
import OIDCCore
import Posix

/// What the server sends and receives. libcurl calls these functions on the proxy's thread.
extension ProxyExchange {
    /// Provides a part of the request's body.
    func provideBody(_ buffer: UnsafeMutableRawBufferPointer) -> ProxyTransfer.Provision {
        if case .discarding = phase { return .refuse }
        lastActivity = .now()
        continueIfOwed()
        do {
            let provision = try body.provide(buffer, from: connection)
            if case .refuse = provision { problem = .slowCaller }
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

    /// Takes a header line; returns false to end the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        lastActivity = .now()
        switch head.take(line) {
        case .more: return true
        case .interim where head.status == 101:
            problem = ProxyProblem(502, "refused", "\(host) switched protocols, which was not requested")
            return false
        case .interim:
            passInterimOn()
            return true
        case .complete: return receiveHead()
        case .malformed:
            problem = ProxyProblem(
                502, "refused", "the header of the answer of \(host) is malformed or too large")
            return false
        }
    }

    /// Passes on an interim answer, such as 103. The proxy sends 100 itself, when libcurl reads the body.
    private func passInterimOn() {
        guard request.minorVersion == 1, head.status != 100 else { return }
        connection.write(statusAndFields())
        connection.write([.carriageReturn, .lineFeed])
    }

    private func receiveHead() -> Bool {
        let state = server.states[admission.route]
        if grant?.key != nil, let nonce = DPoP.nonce(in: head.response) {
            self.nonce = nonce
            state.nonce = nonce
        }
        if let next = nextAttempt(state) {
            phase = .discarding(next, bytes: 0)
            return true
        }
        if head.status != 401 {
            state.accept(grant?.token, at: admission.target)
        } else if !mayRefresh {
            state.pauseRefreshes()
        } else if !body.canRepeat {
            refreshForOthers(state)
        }
        return beginAnswer()
    }

    /// Refreshes a refused token for later requests, as this one cannot be sent again.
    private func refreshForOthers(_ state: ProxyServer.RouteState) {
        let response = head.response
        let tokens = server.tokens(of: admission.route)
        guard let grant, !tokens.hasOther(than: grant.token),
            StepUp(response.challenges) == nil,
            grant.key == nil || !DPoP.isNonceDemand(resourceResponse: response),
            state.replaces(grant.token, at: admission.target)
        else { return }
        // Nothing shows whether this path would accept the new token.
        state.pauseRefreshes()
        tokens.obtain(insteadOf: grant.token, now: .now()) { _, _ in }
    }

    /// Returns the next attempt that the answer calls for; nil if it was already made or the request cannot
    /// be sent again.
    private func nextAttempt(_ state: ProxyServer.RouteState) -> Next? {
        guard body.canRepeat else { return nil }
        switch head.status {
        case 401:
            let response = head.response
            if grant?.key != nil, DPoP.isNonceDemand(resourceResponse: response) {
                return mayProveAgain ? .proof : nil
            }
            if StepUp(response.challenges) != nil { return stepUp(state) }
            guard mayRefresh, let token = grant?.token,
                server.tokens(of: admission.route).hasOther(than: token)
                    || state.replaces(token, at: admission.target)
            else { return nil }
            return .anotherToken
        case 403:
            guard (try? ResourceChallenge(head.response))?.isScopeInsufficient == true else { return nil }
            return stepUp(state)
        default: return nil
        }
    }

    /// Returns a step-up sign-in, once for each token. If the sign-in does not help, the caller gets the
    /// server's answer.
    private func stepUp(_ state: ProxyServer.RouteState) -> Next? {
        guard server.tokens(of: admission.route).canStepUp, state.withoutStepUp != grant?.token else {
            return nil
        }
        guard mayStepUp else {
            state.withoutStepUp = grant?.token
            return nil
        }
        return .stepUp
    }

    private func beginAnswer() -> Bool {
        let length: Int?
        do { length = try head.bodyLength() } catch {
            problem = ProxyProblem(error.status, "refused", "the answer of \(host): \(error.reason)")
            return false
        }
        let hasNoBody = isHead || head.status == 204 || head.status == 304
        let framing: Framing =
            if hasNoBody { .none } else if let length {
                .length(missing: length)
            } else if request.minorVersion == 1 { .chunked } else { .untilClose }
        if case .untilClose = framing { closes = true }
        if !body.isWhole {
            // libcurl stops sending the body after such an answer.
            if head.status >= 300 { closes = true } else { continueIfOwed() }
        }
        owesContinue = false
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
                bytes += Latin1.encode(
                    ProxyHeaders.location(
                        field.latin1, from: admission.target, prefix: admission.prefix, route: route,
                        origin: server.origin(named: request.host)))
            case "set-cookie":
                server.noteCookie(field.latin1, on: admission.route)
                bytes += Latin1.encode(
                    ProxyHeaders.cookie(field.latin1, prefix: admission.prefix, route: route))
            default: bytes += field.value
            }
            bytes += [.carriageReturn, .lineFeed]
        }
        return bytes
    }

    /// Takes a part of the body.
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
