package import OIDCCore
package import Posix

/// A single-threaded HTTP server on loopback. It waits for the redirect of a sign-in among unrelated requests
/// (RFC 8252 §7.3), or serves a small provider.
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

    package let port: UInt16
    package let host: LoopbackAddress.Host
    package private(set) var listener: LoopbackListener
    var connections = LoopbackConnections()
    package var heldRequests: [HeldRequest] = []
    private var admissionPause: AdmissionPause?
    private(set) var isFinishing = false
    /// A function that returns the answer to invalid HTTP; the path is nil if none was read.
    package var answerRejection: ((HTTP1.Rejection, _ path: String?) -> HTTPResponse)?
    /// A function that returns the owner of a connection's peer. It is called only for complete requests, so
    /// idle connections do not cause a search of the system's tables.
    let identify: (FileDescriptor) -> PeerOwner

    /// The awaited request; its answer also goes to every request that repeats it.
    package struct HeldRequest {
        package let connection: Int
        package let request: HTTPServerRequest
        var answer: HTTPResponse?
        /// The number of connections that were answered.
        package var answeredCount = 0
    }

    /// A pause in accepting connections. It lasts until `end`; if it is for lack of room, it also ends with a
    /// connection.
    struct AdmissionPause {
        let end: MonotonicTime
        let isForRoom: Bool
    }

    /// Starts to listen. Throws an error of kind `failed` if the port is in use. `identify` returns the owner of a
    /// connection's peer, which each request includes.
    package init(
        _ address: LoopbackAddress = LoopbackAddress(),
        identify: @escaping (FileDescriptor) -> PeerOwner = { _ in .unknown }
    ) throws(OIDCError) {
        self.identify = identify
        listener = try LoopbackListener(address)
        port = listener.port
        host = listener.host
        connections.limits.count = max(4, min(connections.limits.count, Platform.descriptorLimit - 48))
    }

    /// Serves a port at which another process of this program listened.
    package init(_ listener: LoopbackListener, identify: @escaping (FileDescriptor) -> PeerOwner) {
        self.identify = identify
        self.listener = listener
        port = listener.port
        host = listener.host
    }

    deinit {
        listener.close()
        connections.endAll()
    }

    /// The server's origin, such as `http://127.0.0.1:49152`.
    package var origin: String { "http://\(host.text):\(port)" }

    /// Returns whether a Host header is ours: a loopback literal or the registered name, with our port. Any
    /// other comes from a website whose DNS name points to this machine (DNS rebinding).
    package func isOurHost(_ value: String?) -> Bool {
        HTTP1.isHost(value, port: port, among: ["127.0.0.1", "[::1]", host.text])
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

    /// Answers the request that is held on a connection, also on all connections that repeated it.
    package func answer(_ connection: Int, _ response: HTTPResponse) {
        guard let index = heldRequests.firstIndex(where: { $0.connection == connection }) else { return }
        heldRequests[index].answer = response
        let now = MonotonicTime.now()
        for connection in connections.all
        where connection.openRequest?.isRepeated(by: heldRequests[index].request) == true {
            connection.answer(response, closes: true, now: now)
            heldRequests[index].answeredCount += 1
        }
    }

    /// Stops listening, answers all requests so far (repetitions of the held one with the same page, others
    /// with 404), and returns when all answers are delivered, or after the time limit.
    package func finish(milliseconds: Int64 = 1000) { finish(admitting: true, milliseconds: milliseconds) }

    /// Finishes. Without `admitting`, requests that wait are left to another process that has the listener.
    package func finish(admitting: Bool, milliseconds: Int64 = 1000) {
        isFinishing = true
        connections.limits.drainMilliseconds = 200
        if admitting { admitAll() }
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

    /// Stops listening and closes all connections.
    package func close() {
        listener.close()
        connections.endAll()
    }
}

extension LoopbackServer {
    package static func refuse(_ request: HTTPServerRequest) -> Disposition {
        .respond(HTTPResponse.stranger(status: 404))
    }

    /// Runs one round: waits for events until the deadline, and handles them.
    package func turn(
        until deadline: MonotonicTime?, also others: [Int32], handle: (HTTPServerRequest) -> Disposition
    ) -> Event? {
        let start = MonotonicTime.now()
        expire(now: start)
        let served = connections.all.filter { !$0.interest.isEmpty }
        let pause = currentPause(now: start)
        var interests = served.map { Poll.Interest($0.descriptor.rawValue, $0.interest) }
        interests += others.map { Poll.Interest($0, .reading) }
        if let wakeUp = Interruption.wakeUpDescriptor { interests.append(Poll.Interest(wakeUp, .reading)) }
        let listening = pause == nil ? listener.descriptors : []
        interests += listening.map { Poll.Interest($0.rawValue, .reading) }
        let moments = [deadline, connections.nextExpiry, pause?.end]
        guard Poll.wait(&interests, until: moments.compactMap { $0 }.min()) else { return nil }

        let ready = Set(interests.filter { !$0.ready.isEmpty }.map(\.descriptor))
        for connection in served where ready.contains(connection.descriptor.rawValue) {
            if let event = advance(connection, handle: handle) { return event }
        }
        connections.removeEnded()
        for descriptor in listening where ready.contains(descriptor.rawValue) {
            if let event = admit(from: descriptor, handle: handle) { return event }
        }
        return others.first { ready.contains($0) }.map { .readable($0) }
    }

    /// Handles all requests that one connection has now.
    private func advance(
        _ connection: LoopbackConnection, handle: (HTTPServerRequest) -> Disposition
    ) -> Event? {
        var turn = LoopbackConnection.Turn(now: .now())
        while true {
            switch connection.advance(&turn) {
            case .waiting, .ended: return nil
            case .rejected(let rejection):
                let page =
                    answerRejection?(rejection, connection.rejectedPath)
                    ?? HTTPResponse.stranger(status: rejection.status)
                connection.answer(page, closes: true, now: turn.now)
            case .request(let request):
                if let index = heldRequests.firstIndex(where: { $0.request.isRepeated(by: request) }) {
                    guard let answer = heldRequests[index].answer else { return nil }
                    connection.answer(answer, closes: true, now: turn.now)
                    heldRequests[index].answeredCount += 1
                    continue
                }
                switch handle(request) {
                case .respond(let response):
                    connection.answer(response, closes: isFinishing, now: turn.now)
                case .hold:
                    heldRequests.append(HeldRequest(connection: connection.id, request: request))
                    return .held(request, connection: connection.id)
                }
            }
        }
    }

    private func currentPause(now: MonotonicTime) -> AdmissionPause? {
        guard let pause = admissionPause else { return nil }
        if pause.end <= now || (pause.isForRoom && !connections.isFull) { admissionPause = nil }
        return admissionPause
    }

    /// Accepts waiting connections and handles their first requests, as most have already sent one. If there
    /// is no room, an idle connection is closed, or the new ones wait.
    private func admit(
        from descriptor: FileDescriptor, handle: (HTTPServerRequest) -> Disposition
    ) -> Event? {
        for _ in 0..<64 {
            let now = MonotonicTime.now()
            if connections.isFull, !connections.giveOneUp(now: now) {
                let end = connections.nextGraceEnd ?? now.adding(milliseconds: 20)
                admissionPause = AdmissionPause(end: end, isForRoom: true)
                return nil
            }
            do throws(Errno) {
                let accepted = try LoopbackSocket.accept(descriptor)
                let connection = connections.add(accepted, identify: identify, now: now)
                if let event = advance(connection, handle: handle) { return event }
                if connection.isEnded { connections.removeEnded() }
            } catch {
                guard error.isShortage else { return nil }
                guard connections.giveOneUp(now: now) else {
                    admissionPause = AdmissionPause(end: now.adding(milliseconds: 20), isForRoom: false)
                    return nil
                }
            }
        }
        return nil
    }

    /// Accepts all connections in the backlog, before the server stops.
    private func admitAll() {
        for descriptor in listener.descriptors {
            while !connections.isFull || connections.giveOneUp(now: .now()) {
                guard let accepted = try? LoopbackSocket.accept(descriptor) else { break }
                let connection = connections.add(accepted, identify: identify, now: .now())
                _ = advance(connection, handle: LoopbackServer.refuse)
                if connection.isIdle { connection.end() }
                connections.removeEnded()
            }
        }
    }

    /// Closes connections that timed out, and removes those that have ended.
    func expire(now: MonotonicTime) {
        for connection in connections.all {
            guard let expiry = connections.expiry(connection), expiry <= now else { continue }
            if connection.isReading {
                connection.answer(HTTPResponse.stranger(status: 408), closes: true, now: now)
            } else {
                connection.end()
            }
        }
        connections.removeEnded()
    }
}
