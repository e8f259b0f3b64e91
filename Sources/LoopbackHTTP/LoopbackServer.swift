package import OIDCCore
package import Posix

/// A single-threaded HTTP server on loopback, or where a setting says. It waits for the redirect of a sign-in among
/// unrelated requests (RFC 8252 §7.3), or serves a small provider.
package final class LoopbackServer {
    /// The handling of a request.
    package enum Disposition: Sendable {
        case respond(HTTPResponse)
        /// The awaited request; its connection stays open until `answer` is called.
        case hold
    }

    package enum Event: Hashable, Sendable {
        case held(HTTPServerRequest, connection: Int)
        /// One of the additional descriptors is readable.
        case readable(Int32)
        case deadline
        case interrupted(signal: Int32)
    }

    /// The awaited request; its answer also goes to every request that repeats it.
    package struct HeldRequest {
        package let connection: Int
        package let request: HTTPServerRequest
        fileprivate var answer: HTTPResponse?
        /// The number of connections that were answered.
        package fileprivate(set) var answeredCount = 0
    }

    package let port: UInt16
    package let host: LoopbackAddress.Host
    /// The values of Host with which a reverse proxy passes requests on to this server.
    package var names: [String] = []
    private var isSecured = false
    package private(set) var heldRequests: [HeldRequest] = []
    private let server: HTTP1Server

    /// Starts to listen. Throws an error of kind `failed` if the port is in use. `identify` returns the owner of a
    /// connection's peer, which each request includes.
    package convenience init(
        _ address: LoopbackAddress = LoopbackAddress(), _ policy: HTTP1Server.Policy = HTTP1Server.Policy(),
        identify: @escaping (FileDescriptor) -> PeerOwner = { _ in .unknown }
    ) throws(OIDCError) {
        self.init(try LoopbackListener(address), policy, identify: identify)
    }

    /// Serves a port at which another process of this program listened.
    package init(
        _ listener: LoopbackListener, _ policy: HTTP1Server.Policy = HTTP1Server.Policy(),
        identify: @escaping (FileDescriptor) -> PeerOwner
    ) {
        port = listener.port
        host = listener.host
        var policy = policy
        policy.identify = identify
        policy.namesAddress = listener.host.isAny
        server = HTTP1Server(listener.descriptors, policy)
    }

    /// The server's origin, such as `http://127.0.0.1:49152`.
    package var origin: String { "\(isSecured ? "https" : "http")://\(host.text):\(port)" }
    package var listeners: [FileDescriptor] { server.listeners }
    package var connectionCount: Int { server.connections.count }

    /// Encrypts the connections to come.
    package func secure(with identity: TLSIdentity) {
        isSecured = true
        server.secure(with: identity)
    }

    /// Sets a function that returns the answer to invalid HTTP; the path is nil if none was read. Nil stands for a
    /// short answer without text from outside.
    package func answerRejections(
        with answer: ((HTTP1.Rejection, _ path: String?) -> HTTPResponse)?
    ) {
        server.answerRejection = answer ?? { rejection, _ in .stranger(status: rejection.status) }
    }

    /// Returns whether a Host header is ours: a loopback literal or the registered name, with our port, or the
    /// address at which the request arrived, or the name of a reverse proxy. A website whose DNS name points to this
    /// machine sends another one (DNS rebinding).
    package func isOurHost(_ request: HTTPServerRequest) -> Bool {
        var literals = ["127.0.0.1", "[::1]"] + (names.isEmpty ? [] : ["localhost"])
        if !host.isAny { literals.append(host.text) }
        if let own = request.ownAddress { literals.append(own.urlText) }
        if HTTP1.isHost(request.host, port: port, among: literals, schemePort: isSecured ? 443 : 80) {
            return true
        }
        guard let host = request.host else { return false }
        return names.contains { ASCII.isSameIgnoringCase($0, host) }
    }

    /// Serves requests until an event that the caller must handle. Requests that repeat the held one are held
    /// with it.
    package func run(
        until deadline: MonotonicTime?, also others: [Int32] = [], handle: (HTTPServerRequest) -> Disposition
    ) -> Event {
        while true {
            if let signal = Interruption.pending { return .interrupted(signal: signal) }
            if let event = turn(until: deadline, also: others, handle: handle) { return event }
            if let deadline, MonotonicTime.now() >= deadline { return .deadline }
        }
    }

    /// Serves all requests until the deadline or a signal, or until one of the other descriptors is readable.
    package func serve(
        until deadline: MonotonicTime? = nil, also others: [Int32] = [],
        handle: (HTTPServerRequest) -> HTTPResponse
    ) -> Event {
        run(until: deadline, also: others) { .respond(handle($0)) }
    }

    /// Runs one round: waits for events until the deadline, and handles them.
    package func turn(
        until deadline: MonotonicTime?, also others: [Int32], handle: (HTTPServerRequest) -> Disposition
    ) -> Event? {
        server.expire(now: .now())
        var others = others.map { Poll.Interest($0, .reading) }
        let held = server.round(until: deadline, also: &others) { dispose($0, on: $1, handle) }
        if let held, let request = held.openRequest { return .held(request, connection: held.id) }
        return others.first { !$0.ready.isEmpty }.map { .readable($0.descriptor) }
    }

    private func dispose(
        _ request: HTTPServerRequest, on connection: HTTP1Connection,
        _ handle: (HTTPServerRequest) -> Disposition
    ) -> HTTP1Server.Disposition {
        if let index = heldRequests.firstIndex(where: { $0.request.isRepeated(by: request) }) {
            guard let answer = heldRequests[index].answer else { return .hold(endsRound: false) }
            heldRequests[index].answeredCount += 1
            return .respond(answer, closes: true)
        }
        switch handle(request) {
        case .respond(let response): return .respond(response)
        case .hold:
            heldRequests.append(HeldRequest(connection: connection.id, request: request))
            return .hold(endsRound: true)
        }
    }

    package static func refuse(_ request: HTTPServerRequest) -> Disposition {
        .respond(HTTPResponse.stranger(status: 404))
    }

    /// Answers the request that is held on a connection, also on all connections that repeated it.
    package func answer(_ connection: Int, _ response: HTTPResponse) {
        guard let index = heldRequests.firstIndex(where: { $0.connection == connection }) else { return }
        heldRequests[index].answer = response
        let now = MonotonicTime.now()
        for connection in server.connections
        where connection.openRequest?.isRepeated(by: heldRequests[index].request) == true {
            connection.answer(response, closes: true, now: now)
            heldRequests[index].answeredCount += 1
        }
    }

    /// Forgets the request that was held on a connection, so later ones do not count as its repetitions.
    package func forget(_ connection: Int) {
        heldRequests.removeAll { $0.connection == connection }
    }

    /// Stops listening, answers all requests so far (repetitions of the held one with the same page, others
    /// with 404), and returns when all answers are delivered, or after the time limit.
    package func finish(milliseconds: Int64 = 1000) { finish(admitting: true, milliseconds: milliseconds) }

    /// Finishes. Without `admitting`, requests that wait are left to another process that has the listener.
    package func finish(admitting: Bool, milliseconds: Int64 = 1000) {
        server.finish(admitting: admitting, milliseconds: milliseconds) {
            dispose($0, on: $1, LoopbackServer.refuse)
        }
    }

    /// Stops listening and closes all connections.
    package func close() { server.close() }
}
