package import OIDCCore

/// An HTTP server on loopback for one thread: it waits for the redirect of a sign-in among whatever else comes
/// (RFC 8252 §7.3), or serves a small provider.
package final class LoopbackServer {
    /// What becomes of a request.
    package enum Disposition: Sendable {
        case respond(HTTPResponse)
        /// The request that was waited for: its connection stays open until `answer`.
        case hold
    }

    package enum Event: Hashable, Sendable {
        case held(HTTPServerRequest, connection: Int)
        /// One of the other descriptors.
        case readable(Int32)
        case deadline
        case interrupted(signal: Int32)
    }

    package let port: UInt16
    package let host: LoopbackAddress.Host
    private(set) var listener: LoopbackListener
    var connections: LoopbackConnections
    var held: [Held] = []
    var admissionPause: AdmissionPause?
    private(set) var isFinishing = false
    /// Answers what is not valid HTTP; the path is nil if the request line did not show one.
    var answerRejection: ((HTTP1.Rejection, _ path: String?) -> HTTPResponse)?
    /// Returns the owner of a connection's peer. It is asked for each whole request, not for each connection: idle
    /// connections cost no look at the system's tables.
    let identify: (FileDescriptor) -> PeerOwner

    /// A request that was waited for; its answer goes to all that repeat it.
    struct Held {
        let connection: Int
        let request: HTTPServerRequest
        var answer: HTTPResponse?
    }

    /// Newcomers wait in the backlog until then, or until a connection has ended where that is what is lacking.
    struct AdmissionPause {
        let end: MonotonicTime
        let isForRoom: Bool
    }

    /// Listens from then on. A port that is in use is an error of kind `failed` that says so.
    /// With `identifiesPeers` each request says which user sent it, which takes a look at the system's tables.
    package convenience init(
        _ address: LoopbackAddress = LoopbackAddress(), limits: HTTP1.Limits = HTTP1.Limits(),
        maximumConnections: Int = 256, identifiesPeers: Bool = false
    ) throws(OIDCError) {
        var connectionLimits = LoopbackConnections.Limits()
        connectionLimits.count = maximumConnections
        try self.init(address, limits: limits, connectionLimits: connectionLimits) { connection in
            identifiesPeers ? PeerOwner(of: connection) : .unknown
        }
    }

    init(
        _ address: LoopbackAddress, limits: HTTP1.Limits, connectionLimits: LoopbackConnections.Limits,
        identify: @escaping (FileDescriptor) -> PeerOwner = { _ in .unknown }
    ) throws(OIDCError) {
        self.identify = identify
        listener = try LoopbackListener(address)
        port = listener.port
        host = listener.host
        var connectionLimits = connectionLimits
        connectionLimits.count = max(4, min(connectionLimits.count, Platform.descriptorLimit - 48))
        connections = LoopbackConnections(limits: connectionLimits, requestLimits: limits)
    }

    deinit {
        listener.close()
        connections.endAll()
    }

    /// `http://127.0.0.1:49152`, without a path.
    package var origin: String { "http://\(host.text):\(port)" }

    /// Whether a Host header means us: a loopback literal or the registered name, with our port. Any other is
    /// another site that has our address in its DNS.
    package func isOurHost(_ value: String?) -> Bool {
        guard let value else { return false }
        let names = ["127.0.0.1", "[::1]", host.text]
        return names.contains { name in
            ASCII.isSameIgnoringCase(value, "\(name):\(port)")
                || (port == 80 && ASCII.isSameIgnoringCase(value, name))
        }
    }

    /// Serves until something happens that is not a matter of this server. Requests equal to one that is held
    /// are held with it.
    package func run(
        until deadline: MonotonicTime?, also others: [Int32] = [], handle: (HTTPServerRequest) -> Disposition
    ) -> Event {
        while true {
            if let signal = Interruption.pending { return .interrupted(signal: signal) }
            if let event = turn(until: deadline, also: others, handle: handle) { return event }
            if let deadline, MonotonicTime.now() >= deadline { return .deadline }
        }
    }

    /// Serves every request, until the deadline, a signal, or one of the other descriptors is readable.
    package func serve(
        until deadline: MonotonicTime? = nil, also others: [Int32] = [],
        handle: (HTTPServerRequest) -> HTTPResponse
    ) -> Event {
        run(until: deadline, also: others) { .respond(handle($0)) }
    }

    /// Looks after the connections while something else is being done: what repeats the held request is held,
    /// everything else gets a 404.
    package func service(milliseconds: Int64 = 0) {
        let end = MonotonicTime.now().adding(milliseconds: milliseconds)
        repeat {
            _ = turn(until: end, also: [], handle: LoopbackServer.refuse)
        } while MonotonicTime.now() < end && Interruption.pending == nil
    }

    /// Answers the held request of that connection, on every connection that it came by.
    package func answer(_ connection: Int, _ response: HTTPResponse) {
        guard let index = held.firstIndex(where: { $0.connection == connection }) else { return }
        held[index].answer = response
        let now = MonotonicTime.now()
        for connection in connections.all
        where connection.openRequest?.isRepeated(by: held[index].request) == true {
            connection.answer(response, closes: true, now: now)
        }
    }

    /// Stops listening, answers what has come until now (the same request with the same page, everything else
    /// with 404), and returns when all is delivered, or after that time.
    package func finish(milliseconds: Int64 = 1000) {
        isFinishing = true
        connections.limits.drainMilliseconds = 200
        admitAll()
        listener.close()
        let end = MonotonicTime.now().adding(milliseconds: milliseconds)
        _ = turn(until: .now(), also: [], handle: LoopbackServer.refuse)
        while MonotonicTime.now() < end {
            for connection in connections.all where connection.isIdle { connection.end() }
            expire(now: .now())
            guard !connections.all.isEmpty else { break }
            _ = turn(until: end, also: [], handle: LoopbackServer.refuse)
        }
        close()
    }

    /// Stops listening and drops every connection.
    package func close() {
        listener.close()
        connections.endAll()
    }
}
