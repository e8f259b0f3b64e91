import LoopbackHTTP
import OIDCCore
import Posix

/// The handling of the callers' connections.
extension ProxyServer {
    func advance(_ connection: ProxyConnection, _ ready: Poll.Direction, now: MonotonicTime) {
        connection.advance(
            ready, now: now, take: { self.take($0, connection) },
            refuse: { self.refuse($0, connection, now: now) })
    }

    func serve(_ connection: ProxyConnection, now: MonotonicTime) {
        connection.serve(
            now: now, take: { self.take($0, connection) },
            refuse: { self.refuse($0, connection, now: now) })
    }

    private func take(_ request: HTTPServerRequest, _ connection: ProxyConnection) -> ProxyExchange? {
        let refusal: ProxyProblem.Refusal
        switch gate.admit(request) {
        case .failure(let reason): refusal = reason
        case .success(let admission):
            if isStranger(connection) {
                refusal = ProxyProblem.Refusal(problem: .stranger, route: nil, path: nil)
                break
            }
            do {
                return try ProxyExchange(request, admission, connection, self)
            } catch {
                refusal = ProxyProblem.Refusal(
                    problem: ProxyProblem(error), route: admission.route, path: admission.shownPath)
            }
        }
        log(
            ProxyLogEntry(
                time: now(), route: refusal.route.map { routes[$0].url }, method: request.method.name,
                path: refusal.path, status: refusal.problem.status, bytes: 0, milliseconds: 0, refreshes: 0))
        connection.answer(
            refusal.problem, toHead: request.method == HTTPMethod("HEAD"), closes: true)
        return nil
    }

    /// Returns whether the caller is another user. Each connection is checked once.
    private func isStranger(_ connection: ProxyConnection) -> Bool {
        guard listener.address.needsSecret, configuration.identifiesPeers, !connection.isIdentified else {
            return false
        }
        connection.isIdentified = true
        return PeerOwner.identified(connection.descriptor).isStranger
    }

    private func refuse(_ rejection: HTTP1.Rejection, _ connection: ProxyConnection, now: MonotonicTime) {
        log(
            ProxyLogEntry(
                time: self.now(), route: nil, method: "-", path: nil, status: rejection.status, bytes: 0,
                milliseconds: 0, refreshes: 0))
        connection.answer(ProxyProblem(rejection), toHead: false, closes: true)
    }

    private var connectionLimit: Int {
        max(4, min(configuration.connections, (Platform.descriptorLimit - 48) / 2))
    }

    func admit(now: MonotonicTime) {
        acceptsAgain = nil
        for _ in 0..<64 {
            if connections.count >= connectionLimit, !giveOneUp() {
                acceptsAgain = now.adding(milliseconds: 20)
                return
            }
            do throws(Errno) {
                let connection = ProxyConnection(
                    try LoopbackSocket.accept(listener.descriptor),
                    isOnSocket: !listener.address.needsSecret, limits: limits, now: now)
                connections.append(connection)
                advance(connection, .reading, now: now)
            } catch {
                guard error.isShortage else { return }
                if !giveOneUp() { acceptsAgain = now.adding(milliseconds: 20) }
                return
            }
        }
    }

    /// Closes the oldest connection that has not sent the secret, else the one that has been idle longest.
    /// Returns false if there is neither.
    private func giveOneUp() -> Bool {
        let strange = connections.filter { !$0.hasProof && $0.exchange == nil }
        let idle = connections.filter { $0.isIdle || $0.isDraining }
        guard
            let oldest = strange.min(by: { $0.began < $1.began })
                ?? idle.min(by: { $0.lastActivity < $1.lastActivity })
        else { return false }
        oldest.end()
        connections.removeAll { $0.isEnded }
        return true
    }

    private func deadline(of connection: ProxyConnection) -> MonotonicTime? {
        if connection.isEnded { return nil }
        if connection.isDraining { return connection.lastActivity.adding(milliseconds: 1_000) }
        if let exchange = connection.exchange, exchange.isAnsweredEarly { return exchange.deadline }
        if connection.isBlocked {
            return connection.lastActivity.adding(milliseconds: configuration.timeout)
        }
        if let exchange = connection.exchange { return exchange.deadline }
        return connection.isReadingHead
            ? connection.requestBegan.adding(milliseconds: configuration.headTimeout)
            : connection.lastActivity.adding(milliseconds: configuration.idleConnection)
    }

    /// Ends the connections of callers that closed their sending side and have left since.
    private func expireHalfClosed(now: MonotonicTime) {
        guard connections.contains(where: \.isHalfClosed) else { return looksAtHalfClosed = nil }
        guard let moment = looksAtHalfClosed else {
            return looksAtHalfClosed = now.adding(milliseconds: 1_000)
        }
        guard moment <= now else { return }
        for connection in connections where connection.isHalfClosed && !connection.isEnded {
            connection.endUnlessHalfClosed()
        }
        looksAtHalfClosed = now.adding(milliseconds: 1_000)
    }

    func expire(now: MonotonicTime) {
        expireHalfClosed(now: now)
        for connection in connections {
            guard let deadline = deadline(of: connection), deadline <= now else { continue }
            if let exchange = connection.exchange, exchange.isAnsweredEarly {
                exchange.endAnsweredEarly()
            } else if let exchange = connection.exchange, !connection.isBlocked {
                exchange.fail(
                    exchange.awaitsBody
                        ? .slowCaller
                        : .timeout(
                            milliseconds: configuration.timeout,
                            hint: configuration.hint(.advice(.raiseProxyTimeout))))
            } else if connection.isReadingHead {
                connection.answer(.slowCaller, toHead: false, closes: true)
            } else {
                connection.exchange?.cancel()
                connection.end()
            }
            if !connection.isEnded { connection.flush(now: now) }
        }
    }

    var nextMoment: MonotonicTime? {
        if hasUnsentOutput { return .now() }
        var moments = connections.compactMap { deadline(of: $0) } + sessions.map(\.nextMoment)
        if let timer = requests?.timer { moments.append(timer) }
        if let acceptsAgain { moments.append(acceptsAgain) }
        if let looksAtHalfClosed { moments.append(looksAtHalfClosed) }
        if let limit = configuration.idleTimeout { moments.append(lastUse.adding(milliseconds: limit)) }
        return moments.min()
    }
}
