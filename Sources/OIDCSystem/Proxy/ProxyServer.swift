package import OIDCCore

/// A proxy on this machine that adds a session's token to requests, for callers that must not hold it.
///
/// One thread serves all connections; tokens are obtained on others. Bodies are passed on in pieces, and a
/// side that does not take them stops the other.
package final class ProxyServer {
    package struct Configuration {
        package var curl: CurlConfiguration
        /// Milliseconds that a server may take to answer, or a caller for each part of a body.
        package var timeout: Int64 = 300_000
        /// Milliseconds for the head of a request, and between requests.
        package var headTimeout: Int64 = 30_000
        package var idleConnection: Int64 = 120_000
        /// Milliseconds without a request after which the proxy ends; nil if it does not.
        package var idleTimeout: Int64?
        package var connections = 1_024
        /// Checks the callers' user. Off in tests that run without `/proc`.
        package var identifiesPeers = true
        package var log: (ProxyLogEntry) -> Void = { _ in }
        /// Called after each round in which something was logged.
        package var flushLog: () -> Void = {}
        /// Returns the command of a hint.
        package var hint: (Hint) -> String = { $0.description }

        package init(_ curl: CurlConfiguration) { self.curl = curl }
    }

    package enum Event: Hashable, Sendable {
        case interrupted(signal: Int32)
        case idle
        /// One of the other descriptors is readable.
        case readable(Int32)
    }

    /// What is remembered of a route between requests.
    final class RouteState {
        /// The server's latest nonce for proofs (RFC 9449 §8.2).
        var nonce: String?
        /// A new token that the server refused all the same; refreshing again would not help.
        var refused: Redacted<String>?
        /// The names of the cookies that the server set.
        var cookies: Set<Substring> = []
        static let cookieLimit = 256
    }

    let configuration: Configuration
    let routes: [ProxyRoute]
    let states: [RouteState]
    let multi: ProxyMulti
    private let gate: ProxyGate
    private let listener: ProxyListener
    private let sessions: [ProxyTokens]
    private let sessionOfRoute: [Int]
    private let wake: (reading: FileDescriptor, writing: FileDescriptor)
    private var connections: [ProxyConnection] = []
    private var lastUse = MonotonicTime.now()
    private var acceptsAgain: MonotonicTime?
    private var hasLogged = false
    private let limits: HTTP1.Limits

    /// Binds the address. Each route names its session by an index in `sources`; `first` are tokens that were
    /// obtained already.
    package init(
        _ endpoint: ProxyEndpoint, routes: [(route: ProxyRoute, session: Int)], sources: [ProxyTokenSource],
        first: [SessionTokens.Delivery?] = [], _ configuration: Configuration
    ) throws(OIDCError) {
        self.configuration = configuration
        self.routes = routes.map(\.route)
        sessionOfRoute = routes.map(\.session)
        states = routes.map { _ in RouteState() }
        multi = try ProxyMulti()
        var limits = HTTP1.Limits()
        limits.headerCount = 200
        self.limits = limits
        do throws(Errno) {
            let pipe = try FileDescriptor.pipe()
            try pipe.reading.setNonBlocking()
            try pipe.writing.setNonBlocking()
            wake = pipe
        } catch {
            throw OIDCError(.failed, "the proxy can't be started: \(error)", hint: error.shortageHint)
        }
        sessions = sources.map { [wake] in ProxyTokens($0, wake: wake.writing) }
        listener = try ProxyListener(endpoint)
        gate = ProxyGate(routes: self.routes, address: listener.address)
        for (session, delivery) in zip(sessions, first) {
            if let delivery { try session.begin(with: delivery) }
        }
    }

    deinit {
        listener.close()
        wake.reading.close()
        wake.writing.close()
    }

    /// Returns the URL of a route for its callers, with its secret.
    package func url(of index: Int) -> String {
        let secret = listener.address.needsSecret ? "/\(routes[index].secret.revealed)" : ""
        return "\(listener.address.origin)\(secret)\(routes[index].path)"
    }

    /// The port; nil for a Unix socket.
    package var port: UInt16? { if case .tcp(let port) = listener.address { port } else { nil } }

    // MARK: Services for exchanges

    func now() -> Instant { sessions.first?.environment.now() ?? Clock.now() }
    func tokens(of route: Int) -> ProxyTokens { sessions[sessionOfRoute[route]] }

    func problem(_ error: OIDCError) -> ProxyProblem {
        ProxyProblem(error, hint: error.hint.map(configuration.hint))
    }

    func log(_ entry: ProxyLogEntry) {
        hasLogged = true
        configuration.log(entry)
    }

    /// Returns the origin as the caller names it, which the gate has checked.
    func origin(named host: String?) -> String { host.map { "http://\($0)" } ?? listener.address.origin }

    /// Returns whether a cookie may be sent to a route: not if only another route's server set it.
    func acceptsCookie(_ name: Substring, on route: Int) -> Bool {
        states[route].cookies.contains(name)
            || !states.enumerated().contains { $0 != route && $1.cookies.contains(name) }
    }

    func noteCookie(_ value: String, on route: Int) {
        guard states[route].cookies.count < RouteState.cookieLimit else { return }
        states[route].cookies.insert(value.prefix { $0 != "=" && $0 != ";" })
    }

    // MARK: The loop

    /// Serves requests until a signal, the idle time-out, or an event of another descriptor.
    package func run(also others: [Int32] = []) -> Event {
        lastUse = .now()
        let event = withoutBrokenPipeSignal {
            while true {
                if let signal = Interruption.pending { return Event.interrupted(signal: signal) }
                if let event = turn(also: others) { return event }
            }
        }
        for connection in connections {
            connection.exchange?.cancel()
            connection.end()
        }
        connections = []
        configuration.flushLog()
        for session in sessions { session.finish() }
        return event
    }

    /// Runs one round: waits for events, and handles them.
    private func turn(also others: [Int32]) -> Event? {
        let clients = connections.filter { !$0.interest.isEmpty }
        var interests = clients.map { Poll.Interest($0.descriptor.rawValue, $0.interest) }
        let sockets = Array(multi.sockets)
        interests += sockets.map { Poll.Interest($0.key, $0.value) }
        interests += ([wake.reading.rawValue] + others).map { Poll.Interest($0, .reading) }
        if let wakeUp = Interruption.wakeUpDescriptor { interests.append(Poll.Interest(wakeUp, .reading)) }
        if acceptsAgain == nil { interests.append(Poll.Interest(listener.descriptor.rawValue, .reading)) }
        Poll.wait(&interests, until: nextMoment)
        let now = MonotonicTime.now()

        for (client, interest) in zip(clients, interests) where !interest.ready.isEmpty {
            advance(client, interest.ready, now: now)
        }
        for (socket, interest) in zip(sockets, interests.dropFirst(clients.count))
        where !interest.ready.isEmpty {
            multi.act(on: socket.key, interest.ready)
        }
        let rest = interests.dropFirst(clients.count + sockets.count)
        if rest.first?.ready.isEmpty == false { _ = try? wake.reading.read(limit: 256) }
        for session in sessions { session.advance(now: now) }
        if acceptsAgain.map({ $0 <= now }) ?? (rest.last?.ready.isEmpty == false) { admit(now: now) }
        settle()
        expire(now: now)
        connections.removeAll { $0.isEnded }
        if hasLogged {
            hasLogged = false
            configuration.flushLog()
        }
        if !multi.isEmpty || connections.contains(where: { $0.exchange != nil }) { lastUse = now }
        if let limit = configuration.idleTimeout, now >= lastUse.adding(milliseconds: limit) { return .idle }
        return zip(others, rest.dropFirst()).first { !$1.ready.isEmpty }.map { .readable($0.0) }
    }

    /// Completes what the events led to: ended transfers, collected output, further requests of a connection.
    private func settle() {
        for _ in 0..<8 {
            multi.actOnTimer(now: .now())
            var isBusy = false
            while let (transfer, code) = multi.nextEnded() {
                isBusy = true
                (transfer.owner as? ProxyExchange)?.transferEnded(transfer, code, now: .now())
            }
            let now = MonotonicTime.now()
            for connection in connections where connection.hasOutput && !connection.isBlocked {
                connection.flush(now: now)
            }
            for connection in connections where connection.mayServe {
                isBusy = true
                serve(connection, now: now)
            }
            isBusy = isBusy || hasUnsentOutput
            guard isBusy || multi.timer.map({ $0 <= now }) ?? false else { return }
        }
    }

    private var hasUnsentOutput: Bool { connections.contains { $0.hasOutput && !$0.isBlocked } }

    private func advance(_ connection: ProxyConnection, _ ready: Poll.Direction, now: MonotonicTime) {
        connection.advance(
            ready, now: now, take: { self.take($0, connection) },
            refuse: { self.refuse($0, connection, now: now) })
    }

    private func serve(_ connection: ProxyConnection, now: MonotonicTime) {
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
            refusal.problem.response, toHead: request.method == HTTPMethod("HEAD"), closes: true)
        return nil
    }

    /// Returns whether the caller is another user, once for each connection.
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
        connection.answer(ProxyProblem(rejection).response, toHead: false, closes: true)
    }

    // MARK: Connections

    private var connectionLimit: Int {
        max(4, min(configuration.connections, (Platform.descriptorLimit - 48) / 2))
    }

    private func admit(now: MonotonicTime) {
        acceptsAgain = nil
        for _ in 0..<64 {
            if connections.count >= connectionLimit, !giveOneUp() {
                acceptsAgain = now.adding(milliseconds: 20)
                return
            }
            do throws(Errno) {
                let connection = ProxyConnection(
                    try LoopbackSocket.accept(listener.descriptor), limits: limits, now: now)
                connections.append(connection)
                advance(connection, .reading, now: now)
            } catch {
                guard error.isShortage else { return }
                if !giveOneUp() { acceptsAgain = now.adding(milliseconds: 20) }
                return
            }
        }
    }

    /// Closes the connection that has been idle for the longest time; returns false if there is none.
    private func giveOneUp() -> Bool {
        let idle = connections.filter { $0.isIdle || $0.isDraining }
        guard let oldest = idle.min(by: { $0.lastActivity < $1.lastActivity }) else { return false }
        oldest.end()
        connections.removeAll { $0.isEnded }
        return true
    }

    private func deadline(of connection: ProxyConnection) -> MonotonicTime? {
        if connection.isEnded { return nil }
        if connection.isDraining { return connection.lastActivity.adding(milliseconds: 1_000) }
        if connection.isBlocked {
            return connection.lastActivity.adding(milliseconds: configuration.timeout)
        }
        if let exchange = connection.exchange { return exchange.deadline }
        return connection.isReadingHead
            ? connection.requestBegan.adding(milliseconds: configuration.headTimeout)
            : connection.lastActivity.adding(milliseconds: configuration.idleConnection)
    }

    private func expire(now: MonotonicTime) {
        for connection in connections {
            guard let deadline = deadline(of: connection), deadline <= now else { continue }
            if let exchange = connection.exchange, !connection.isBlocked {
                exchange.fail(exchange.awaitsBody ? .slowCaller : .timeout)
            } else if connection.isReadingHead {
                connection.answer(ProxyProblem.slowCaller.response, toHead: false, closes: true)
            } else {
                connection.exchange?.cancel()
                connection.end()
            }
            if !connection.isEnded { connection.flush(now: now) }
        }
    }

    private var nextMoment: MonotonicTime? {
        if hasUnsentOutput { return .now() }
        var moments = connections.compactMap { deadline(of: $0) } + sessions.map(\.nextMoment)
        if let timer = multi.timer { moments.append(timer) }
        if let acceptsAgain { moments.append(acceptsAgain) }
        if let limit = configuration.idleTimeout { moments.append(lastUse.adding(milliseconds: limit)) }
        return moments.min()
    }
}
