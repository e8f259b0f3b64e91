package import CurlHTTP
import LoopbackHTTP
package import OIDCCore
package import OIDCAccount
import Posix

/// A proxy on this machine that adds a session's token to requests, for callers that must not hold it.
///
/// One thread serves all connections; tokens are obtained on others. Bodies are passed on in pieces; if one
/// side does not accept them, the other pauses.
package final class ProxyServer {
    package struct Configuration {
        package var curl: CurlConfiguration
        /// Milliseconds that a server may take to answer, or a caller for each part of a body.
        package var timeout: Int64 = 300_000
        /// Milliseconds that a caller may take for the head of a request.
        package var headTimeout: Int64 = 30_000
        /// Milliseconds without a request after which a connection is closed.
        package var idleConnection: Int64 = 120_000
        /// Milliseconds without a request after which the proxy ends; nil if it never does.
        package var idleTimeout: Int64?
        package var connections = 1_024
        /// Milliseconds in which a new caller, who may be about to send a request, is not closed for another one.
        package var newcomer: Int64 = 250
        /// Whether callers of other users are refused; false in tests that run without `/proc`.
        package var identifiesPeers = true
        package var log: (ProxyLogEntry) -> Void = { _ in }
        /// The function that warns the user.
        package var warn: (String) -> Void = { _ in }
        /// The function to call at the end, before running refreshes and sign-ins are awaited.
        package var interrupt: () -> Void = {}
        /// The function that returns a hint as text.
        package var hint: (Hint) -> String = { $0.description }

        package init(_ curl: CurlConfiguration) { self.curl = curl }

        fileprivate func policy(at address: ProxyAddress, _ gate: ProxyGate) -> HTTP1Server.Policy {
            var policy = HTTP1Server.Policy()
            policy.connections = connections
            // The caller, and while a name is looked up, two of libcurl and one of the resolver.
            policy.descriptorsEach = 4
            policy.requests.headerCount = 200
            policy.leavesBody = true
            policy.firstReads = 1
            policy.mayBeLong = { gate.hasProof($0) }
            policy.isOnSocket = !address.needsSecret
            policy.idleMilliseconds = idleConnection
            policy.requestMilliseconds = headTimeout
            policy.blockedMilliseconds = timeout
            policy.graceMilliseconds = 0
            policy.newcomerMilliseconds = newcomer
            policy.rank = { connection in
                if connection.stream != nil { return nil }
                // Whoever has not sent the secret makes room first.
                if !connection.isTrusted { return HTTP1Server.Rank(0, since: connection.began) }
                // Nor does one stay that does not take the rest of an answer.
                guard connection.isIdle || connection.isDraining || connection.isBlocked else { return nil }
                return HTTP1Server.Rank(1, since: connection.lastActivity)
            }
            policy.slowAnswer = ProxyProblem.slowCaller.response
            return policy
        }
    }

    package enum Event: Hashable, Sendable {
        case interrupted(signal: Int32)
        case idle
        /// One of the other descriptors is readable.
        case readable(Int32)
    }

    /// The sign-ins that one server caused, on any of its routes.
    final class SignIns {
        /// The tokens instead of which the user signed in lately, and when.
        private var recent: [(token: Redacted<String>, time: MonotonicTime)] = []
        /// Whether the user knows that the server gets no further sign-in for now.
        private var hasWarned = false
        /// The number of sign-ins to which a server may lead within `period`. One that takes the new token each time,
        /// and then asks for more, could ask for any number.
        static let limit = 5
        /// A period in seconds.
        static let period: Int64 = 600

        /// Returns whether the server may lead to another sign-in. `warn` is called when it no longer may.
        func mayAdd(now: MonotonicTime, otherwise warn: () -> Void) -> Bool {
            recent.removeAll { now >= $0.time.adding(seconds: Self.period) }
            guard recent.count >= Self.limit else { return true }
            if !hasWarned { warn() }
            hasWarned = true
            return false
        }

        /// Notes that the user signed in, as the server refused a token. Requests that wait at the same time share one.
        func note(insteadOf token: Redacted<String>, now: MonotonicTime) {
            guard !recent.contains(where: { $0.token == token }) else { return }
            recent.append((token, now))
            hasWarned = false
        }
    }

    /// The state of a route that lasts from one request to the next.
    final class RouteState {
        /// The sign-ins of all routes to the same server.
        let signIns: SignIns

        init(_ signIns: SignIns = SignIns()) { self.signIns = signIns }

        /// The number of requests that are being answered.
        var inProgress = 0
        /// When the places of requests that ended without a connection become free: libcurl's resolver thread may outlive such
        /// a request.
        private var abandoned: [MonotonicTime] = []
        /// The server's latest nonce for proofs (RFC 9449 §8.2).
        var nonce: String?

        func noteAbandoned(at now: MonotonicTime) { abandoned.append(now.adding(seconds: 20)) }

        /// Returns how many places the route takes.
        func places(at now: MonotonicTime) -> Int {
            abandoned.removeAll { $0 <= now }
            return inProgress + abandoned.count
        }

        /// The paths that have accepted a token, the last one that any has accepted.
        private var accepted: (token: Redacted<String>?, paths: Set<String>) = (nil, [])
        /// The time until which no path causes a refresh that has not accepted the token, as the last new token
        /// was refused as well.
        private var pauseEnd = MonotonicTime(nanoseconds: .min)
        /// The refused tokens that were replaced lately, and when.
        private var replaced: [(token: Redacted<String>, time: MonotonicTime)] = []
        /// A token for which a step-up sign-in failed or did not help, so the user is not prompted for it
        /// again.
        var withoutStepUp: Redacted<String>?
        private var stepUpPauseEnd = MonotonicTime(nanoseconds: .min)
        /// Returns whether the user may be prompted as the server refused a token.
        func allowsStepUp(insteadOf token: Redacted<String>?) -> Bool {
            withoutStepUp != token && .now() >= stepUpPauseEnd
        }
        /// The hashes of the cookies that the server set. None is forgotten, as a caller may keep it.
        private var cookies: Set<Int> = []
        /// Whether the user knows that the server gets no further cookie to the callers.
        private var hasWarnedOfCookies = false
        static let cookieLimit = 65_536

        /// Notes a cookie of the server. Returns false if there are too many: this one must not reach the caller, as it
        /// would not be recognized. `warn` is called the first time.
        func admits(_ cookie: ProxyHeaders.Cookie, otherwise warn: () -> Void) -> Bool {
            let hash = cookie.hashValue
            if cookies.contains(hash) { return true }
            guard cookies.count < Self.cookieLimit else {
                if !hasWarnedOfCookies { warn() }
                hasWarnedOfCookies = true
                return false
            }
            cookies.insert(hash)
            return true
        }

        /// Returns whether the server set this cookie.
        func hasSet(_ cookie: ProxyHeaders.Cookie) -> Bool { cookies.contains(cookie.hashValue) }

        /// The tokens that a path has refused since it last took one, for each of which the user may have signed in.
        private var refused: [String: Set<Redacted<String>>] = [:]
        private static let roundLimit = 3

        /// Returns whether the user may be asked to sign in, as a path refuses a token: at most three times until the
        /// path takes one. Notes that it does.
        func mayAsk(insteadOf token: Redacted<String>, for url: WebURL) -> Bool {
            let tokens = refused[url.path] ?? []
            if tokens.contains(token) { return true }
            guard tokens.count < Self.roundLimit, !tokens.isEmpty || refused.count < Self.pathLimit else {
                return false
            }
            refused[url.path] = tokens.union([token])
            return true
        }

        /// Notes that a path has taken a token.
        func noteUsable(_ url: WebURL) { refused[url.path] = nil }

        /// Notes what came of the replacement of a refused token, whether or not the request still waits for it.
        func noteReplacement(
            of token: Redacted<String>, _ result: Result<ProxyTokens.Grant, OIDCError>, _ refreshes: Int,
            steppedUp: Bool
        ) {
            switch result {
            case .success(let grant):
                if grant.delivery.isSignedIn, refreshes > 0 { signIns.note(insteadOf: token, now: .now()) }
            case .failure(let error):
                guard steppedUp else { break }
                if error.kind == .unreachable {
                    // The page may have been open already.
                    stepUpPauseEnd = .now().adding(seconds: Self.pause)
                } else {
                    withoutStepUp = token
                }
            }
        }

        static let pathLimit = 1_024
        /// The length of the pause, in seconds.
        static let pause: Int64 = 60
        /// The number of refused tokens that may be replaced within the length of a pause. A path that accepts
        /// and refuses every token in turn would cause any number of refreshes.
        static let replacementLimit = 5

        /// Returns whether a refused token is to be replaced, and notes that it is. One that the path has
        /// accepted has ended since; otherwise, the path may accept none.
        func replaces(_ token: Redacted<String>, at url: WebURL) -> Bool {
            let now = MonotonicTime.now()
            guard now >= pauseEnd || accepted.token == token && accepted.paths.contains(url.path) else {
                return false
            }
            replaced.removeAll { now >= $0.time.adding(seconds: Self.pause) }
            if replaced.contains(where: { $0.token == token }) { return true }
            guard replaced.count < Self.replacementLimit else { return false }
            replaced.append((token, now))
            return true
        }

        /// Notes that a new token was refused as well, or may have been.
        func pauseRefreshes() { pauseEnd = .now().adding(seconds: Self.pause) }

        /// Notes that the server accepted a token.
        func accept(_ token: Redacted<String>?, at url: WebURL) {
            if accepted.token != token { accepted = (token, []) }
            guard accepted.paths.count < Self.pathLimit else { return }
            accepted.paths.insert(url.path)
        }
    }

    let configuration: Configuration
    let routes: [ProxyRoute]
    let states: [RouteState]
    /// The requests to servers; nil before the first one, so programs that are started earlier do not inherit
    /// the descriptors that libcurl opens for itself.
    private(set) var requests: CurlMulti?
    let gate: ProxyGate
    let address: ProxyAddress
    private let sessions: [ProxyTokens]
    private let sessionOfRoute: [Int]
    private let listener: ProxyListener
    private let server: HTTP1Server
    private let wake: (reading: FileDescriptor, writing: FileDescriptor)
    private var lastUse = MonotonicTime.now()

    /// Creates a proxy that listens. Each route names its session by an index in `sources`; `first` are
    /// tokens that were already obtained.
    package init(
        _ endpoint: ProxyEndpoint, routes: [(route: ProxyRoute, session: Int)], sources: [ProxyTokenSource],
        first: [SessionTokens.Delivery?] = [], _ configuration: Configuration
    ) throws(OIDCError) {
        self.configuration = configuration
        self.routes = routes.map(\.route)
        sessionOfRoute = routes.map(\.session)
        var signIns: [String: SignIns] = [:]
        states = routes.map { route, _ in
            let shared = signIns[route.url.origin] ?? SignIns()
            signIns[route.url.origin] = shared
            return RouteState(shared)
        }
        try CurlLibrary.require()
        listener = try ProxyListener(endpoint)
        address = listener.address
        gate = ProxyGate(routes: self.routes, address: address)
        server = HTTP1Server([listener.descriptor], configuration.policy(at: address, gate))
        do throws(Errno) {
            wake = try FileDescriptor.pipe()
            try wake.reading.setNonBlocking()
            try wake.writing.setNonBlocking()
        } catch {
            server.close()
            listener.remove()
            throw OIDCError(.failed, "the proxy cannot be started: \(error)", hint: error.shortageHint)
        }
        sessions = sources.map { [wake] in ProxyTokens($0, wake: wake.writing) }
        for (session, delivery) in zip(sessions, first) {
            if let delivery { try session.begin(with: delivery) }
        }
        server.answerRejection = { [unowned self] rejection, _ in
            logRefusal(rejection.status)
            return ProxyProblem(rejection).response
        }
    }

    deinit {
        server.close()
        listener.remove()
        wake.reading.close()
        wake.writing.close()
    }

    /// Returns the URL of a route for its callers, with its secret.
    package func url(of index: Int) -> String {
        let secret = address.needsSecret ? "/\(routes[index].secret.revealed)" : ""
        return "\(address.origin)\(secret)\(routes[index].path)"
    }

    /// The port; nil for a Unix socket.
    package var port: UInt16? { if case .tcp(let port) = listener.address { port } else { nil } }

    // MARK: Services for exchanges

    /// The requests to servers, with at most 64 idle connections.
    func multi() throws(OIDCError) -> CurlMulti {
        if let requests { return requests }
        let made = try CurlMulti(idleConnections: 64)
        requests = made
        return made
    }

    /// Ends a transfer early.
    func end(_ transfer: CurlTransfer) {
        transfer.forbidReuse()
        requests?.remove(transfer)
    }

    func now() -> Instant { sessions.first?.environment.now() ?? Clock.now() }
    func tokens(of route: Int) -> ProxyTokens { sessions[sessionOfRoute[route]] }

    /// Returns whether the server of a route may lead to another sign-in of the user.
    func maySignIn(for route: Int) -> Bool {
        states[route].signIns.mayAdd(now: .now()) {
            let period = SignIns.period / 60
            configuration.warn(
                "\(routes[route].url.text) asked for more than \(SignIns.limit) sign-ins in \(period) minutes: "
                    + "for now, its callers get its own answers")
        }
    }

    func problem(_ error: OIDCError) -> ProxyProblem {
        ProxyProblem(error, hint: error.hint.map(configuration.hint))
    }

    func log(_ entry: ProxyLogEntry) { configuration.log(entry) }

    /// Returns whether a host, with its port, is the proxy itself.
    func isOurs(_ host: String) -> Bool { listener.address.isOurs(host) }

    /// Returns the proxy's origin under the name that the caller used, which the gate has checked.
    func origin(named host: String?) -> String { host.map { "http://\($0)" } ?? address.origin }

    /// Returns whether a cookie may be sent to a route: not one that only another route's server set. The same name
    /// proves nothing, but the value does.
    func acceptsCookie(_ cookie: ProxyHeaders.Cookie, on route: Int) -> Bool {
        states[route].hasSet(cookie) || !states.contains { $0.hasSet(cookie) }
    }

    /// Returns whether the callers get a cookie of a route's server. With other routes, it must be known later.
    func passesCookie(_ value: String, on route: Int) -> Bool {
        guard states.count > 1 else { return true }
        let cookie = ProxyHeaders.Cookie(Substring(value.utf8.prefix { $0 != .semicolon }))
        return states[route].admits(cookie) {
            configuration.warn(
                "\(routes[route].url.text) has set \(RouteState.cookieLimit) cookies: further ones do not reach its callers"
            )
        }
    }
}

/// The handling of the callers' requests.
extension ProxyServer {
    private func take(
        _ request: HTTPServerRequest, _ connection: HTTP1Connection
    ) -> HTTP1Server.Disposition {
        let refusal: ProxyProblem.Refusal
        switch gate.admit(request) {
        case .failure(let reason): refusal = reason
        case .success(let admission):
            if isStranger(connection) {
                refusal = ProxyProblem.Refusal(problem: .stranger, route: nil, path: nil)
                break
            }
            guard hasPlace(on: admission.route) else {
                refusal = ProxyProblem.Refusal(
                    problem: .busy, route: admission.route, path: admission.shownPath)
                break
            }
            do {
                return .stream(try ProxyExchange(request, admission, connection, self))
            } catch {
                refusal = ProxyProblem.Refusal(
                    problem: ProxyProblem(error), route: admission.route, path: admission.shownPath)
            }
        }
        logRefusal(
            refusal.problem.status, request.method.name, refusal.route.map { routes[$0].url }, refusal.path)
        return .respond(refusal.problem.response, reason: refusal.problem.reason, closes: true)
    }

    /// Returns whether a route may have another request in progress. Each route has a share of the places, so the callers
    /// of others cannot keep its own out; what is left is for all.
    private func hasPlace(on route: Int) -> Bool {
        let now = MonotonicTime.now()
        let share = max(1, server.connectionLimit / (routes.count + 1))
        guard states[route].places(at: now) >= share else { return true }
        let others = states.enumerated().filter { $0.offset != route }
        let kept = others.reduce(0) { $0 + max($1.element.places(at: now), share) }
        return states[route].places(at: now) + kept < server.connectionLimit
    }

    /// Returns whether the caller is another user, or one that is gone. Each connection is checked once.
    private func isStranger(_ connection: HTTP1Connection) -> Bool {
        guard address.needsSecret, configuration.identifiesPeers, !connection.isTrusted else { return false }
        return PeerOwner.identified(connection.descriptor).isStranger
    }

    private func logRefusal(
        _ status: Int, _ method: String = "-", _ route: WebURL? = nil, _ path: String? = nil
    ) {
        log(
            ProxyLogEntry(
                time: now(), route: route, method: method, path: path, status: status, bytes: 0,
                milliseconds: 0, refreshes: 0))
    }

    private var nextMoment: MonotonicTime? {
        if server.hasOutput { return .now() }
        var moments = sessions.map(\.nextMoment)
        if let moment = requests?.nextMoment { moments.append(moment) }
        if let limit = configuration.idleTimeout { moments.append(lastUse.adding(milliseconds: limit)) }
        return moments.min()
    }
}

/// The loop that waits for events and handles them.
extension ProxyServer {
    /// Serves requests until a signal arrives, the idle timeout expires, or another descriptor is readable.
    package func run(also others: [Int32] = []) -> Event {
        lastUse = .now()
        let event = withoutBrokenPipeSignal {
            while true {
                if let signal = Interruption.pending { return Event.interrupted(signal: signal) }
                if let event = turn(also: others) { return event }
            }
        }
        server.endAll()
        configuration.interrupt()
        for session in sessions { session.finish() }
        return event
    }

    /// Runs one round: waits for events, and handles them.
    private func turn(also others: [Int32]) -> Event? {
        let wasBusy = isBusy
        let sockets = requests?.interests(now: .now()) ?? []
        var interests = sockets
        interests += ([wake.reading.rawValue] + others).map { Poll.Interest($0, .reading) }
        _ = server.round(until: nextMoment, also: &interests, handle: take)
        let now = MonotonicTime.now()

        requests?.act(on: interests.prefix(sockets.count))
        let rest = interests.dropFirst(sockets.count)
        if rest.first?.ready.isEmpty == false { _ = try? wake.reading.read(limit: 256) }
        for session in sessions { session.advance(now: now) }
        let end = MonotonicTime.now().adding(milliseconds: Self.millisecondsOfResults)
        settle(until: end)
        // A request that has waited for one that ends now is served at once.
        let wasDue = server.expire(now: now)
        if requests?.lookAtAnswers() == true || wasDue { settle(until: end) }
        if wasBusy || isBusy { lastUse = now }
        if let limit = configuration.idleTimeout, now >= lastUse.adding(milliseconds: limit) { return .idle }
        return zip(others, rest.dropFirst()).first { !$1.ready.isEmpty }.map { .readable($0.0) }
    }

    private var isBusy: Bool {
        requests?.isEmpty == false || server.connections.contains { $0.stream != nil }
            || sessions.contains(where: \.isAwaited)
    }

    /// The milliseconds for results of results, before the thread looks for other events again.
    private static let millisecondsOfResults: Int64 = 30

    /// Handles the results of the events: ended transfers, collected output, and further requests; what they lead to,
    /// until `end`.
    private func settle(until end: MonotonicTime) {
        for _ in 0..<8 {
            requests?.actOnTimer(now: .now())
            var goesOn = false
            while let (transfer, code) = requests?.nextEnded() {
                goesOn = true
                (transfer.client as? ProxyExchange)?.transferEnded(transfer, code, now: .now())
            }
            let now = MonotonicTime.now()
            if server.settle(until: end, handle: take) || server.hasOutput { goesOn = true }
            guard goesOn || requests?.timer.map({ $0 <= now }) ?? false, now < end else { return }
        }
    }
}
