import OIDCCore
import Posix

/// One connection to the server, which turns bytes into requests and answers into bytes without blocking.
final class LoopbackConnection {
    enum Progress {
        case waiting
        /// A request, which stays open until it is answered.
        case request(HTTPServerRequest)
        case rejected(HTTP1.Rejection)
        case ended
    }

    /// The limits of one connection in one round of the server.
    struct Turn {
        let now: MonotonicTime
        private var readsLeft = 4

        init(now: MonotonicTime) {
            self.now = now
        }

        fileprivate mutating func takeRead() -> Bool {
            readsLeft -= 1
            return readsLeft >= 0
        }
    }

    let id: Int
    private let connection: HTTP1Connection
    private let identify: (FileDescriptor) -> PeerOwner
    /// The request that has no answer yet.
    private(set) var openRequest: HTTPServerRequest?
    private var closesAfterOutput = false

    init(
        id: Int, descriptor: FileDescriptor, identify: @escaping (FileDescriptor) -> PeerOwner,
        now: MonotonicTime
    ) {
        self.id = id
        self.identify = identify
        connection = HTTP1Connection(descriptor, HTTP1.RequestParser(), now: now)
    }

    var descriptor: FileDescriptor { connection.descriptor }
    var isEnded: Bool { connection.isEnded }
    var isDraining: Bool { connection.isDraining }
    var lastActivity: MonotonicTime { connection.lastActivity }
    var requestBegan: MonotonicTime { connection.requestBegan }

    /// The events to wait for; empty while a request is being handled.
    var interest: Poll.Direction {
        if isSending { return .writing }
        return openRequest == nil ? .reading : []
    }

    /// The path of the rejected request, if it was read.
    var rejectedPath: String? { connection.parser.rejectedPath }
    var isSending: Bool { !connection.isFlushed }
    /// Whether the peer has sent part of a request.
    var isReading: Bool { openRequest == nil && connection.isReading }
    /// Whether the peer has sent nothing since the last answer, or nothing at all.
    var isIdle: Bool { openRequest == nil && connection.isIdle }

    /// Reads and writes as far as possible without waiting, up to the next request. `turn` limits the reads,
    /// so a peer that never stops sending does not block the others.
    func advance(_ turn: inout Turn) -> Progress {
        let now = turn.now
        if isSending { flush(now: now) }
        if isDraining { connection.drain() }
        guard !isEnded, !isDraining, openRequest == nil else { return isEnded ? .ended : .waiting }
        while !isSending {
            switch connection.parser.next() {
            case .request(var request):
                request.peer = identify(descriptor)
                openRequest = request
                return .request(request)
            case .rejected(let rejection):
                return .rejected(rejection)
            case .needsMore:
                sendContinueIfAwaited(now: now)
                guard turn.takeRead(), connection.receive(now: now) else {
                    return isEnded ? .ended : .waiting
                }
            }
        }
        return .waiting
    }

    /// Starts to send the answer to the open or rejected request.
    func answer(_ response: HTTPResponse, closes: Bool, now: MonotonicTime) {
        guard !isEnded, !isDraining else { return }
        let request = openRequest
        let isHead = request?.method == HTTPMethod("HEAD")
        let asked = response.headers["Connection"].map { ASCII.isSameIgnoringCase($0, "close") } ?? false
        closesAfterOutput = closes || asked || request?.closesConnection ?? true
        openRequest = nil
        connection.requestBegan = now
        do throws(OIDCError) {
            connection.write(try HTTP1.serialize(response, toHead: isHead, closes: closesAfterOutput))
        } catch {
            closesAfterOutput = true
            let failure = HTTPResponse(status: 500)
            connection.write((try? HTTP1.serialize(failure, toHead: isHead, closes: true)) ?? [])
        }
        flush(now: now)
    }

    func end() {
        connection.end()
        openRequest = nil
    }

    private func flush(now: MonotonicTime) {
        connection.flush(now: now)
        if closesAfterOutput, !connection.isBlocked { connection.finish() }
    }

    private func sendContinueIfAwaited(now: MonotonicTime) {
        guard connection.parser.awaitsContinue else { return }
        connection.parser.clearAwaitsContinue()
        connection.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        flush(now: now)
    }
}
