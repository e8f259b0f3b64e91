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
    package let descriptor: FileDescriptor
    private let identify: (FileDescriptor) -> PeerOwner
    private(set) var lastActivity: MonotonicTime
    /// The time of the current request's first byte, or of the last answer.
    private(set) var requestBegan: MonotonicTime
    /// The request that has no answer yet.
    private(set) var openRequest: HTTPServerRequest?
    private(set) var isEnded = false
    /// Whether everything is sent and the sending side is closed; further bytes from the peer are discarded.
    private(set) var isDraining = false
    private var parser = HTTP1.RequestParser()
    private var output: ArraySlice<UInt8> = []
    private var closesAfterOutput = false
    private var drained = 0

    init(
        id: Int, descriptor: FileDescriptor, identify: @escaping (FileDescriptor) -> PeerOwner,
        now: MonotonicTime
    ) {
        self.id = id
        self.descriptor = descriptor
        self.identify = identify
        lastActivity = now
        requestBegan = now
    }

    /// The events to wait for; empty while a request is being handled.
    package var interest: Poll.Direction {
        if !output.isEmpty { return .writing }
        return openRequest == nil ? .reading : []
    }

    /// The path of the rejected request, if it was read.
    var rejectedPath: String? { parser.rejectedPath }
    var isSending: Bool { !output.isEmpty }
    /// Whether the peer has sent part of a request.
    var isReading: Bool { !isDraining && openRequest == nil && output.isEmpty && !parser.isIdle }
    /// Whether the peer has sent nothing since the last answer, or nothing at all.
    var isIdle: Bool { !isDraining && openRequest == nil && output.isEmpty && parser.isIdle }

    /// Reads and writes as far as possible without waiting, up to the next request. `turn` limits the reads,
    /// so a peer that never stops sending does not block the others.
    func advance(_ turn: inout Turn) -> Progress {
        let now = turn.now
        if isSending { flush(now: now) }
        if isDraining { drain() }
        guard !isEnded, !isDraining, openRequest == nil else { return isEnded ? .ended : .waiting }
        while output.isEmpty {
            switch parser.next() {
            case .request(var request):
                request.peer = identify(descriptor)
                openRequest = request
                return .request(request)
            case .rejected(let rejection):
                return .rejected(rejection)
            case .needsMore:
                sendContinueIfAwaited(now: now)
                guard turn.takeRead(), receive(now: now) else { return isEnded ? .ended : .waiting }
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
        requestBegan = now
        do throws(OIDCError) {
            output = try HTTP1.serialize(response, toHead: isHead, closes: closesAfterOutput)[...]
        } catch {
            closesAfterOutput = true
            let failure = HTTPResponse(status: 500)
            output = ((try? HTTP1.serialize(failure, toHead: isHead, closes: true)) ?? [])[...]
        }
        flush(now: now)
    }

    func end() {
        guard !isEnded else { return }
        isEnded = true
        descriptor.close()
        output = []
        openRequest = nil
    }

    private func flush(now: MonotonicTime) {
        while !output.isEmpty, !isEnded {
            do throws(Errno) {
                output = output.dropFirst(try LoopbackSocket.send(output, to: descriptor))
                lastActivity = now
            } catch {
                if error != .wouldBlock { end() }
                return
            }
        }
        guard !isEnded, closesAfterOutput else { return }
        output = []
        isDraining = true
        LoopbackSocket.shutdownSending(descriptor)
        drain()
    }

    /// Reads until the peer closes. Closing with unread bytes would reset the connection, and the peer might
    /// lose the answer (RFC 9112 §9.6).
    private func drain() {
        while !isEnded, let bytes = LoopbackSocket.receive(from: descriptor) {
            drained += bytes.count
            if bytes.isEmpty || drained > LoopbackSocket.drainLimit { end() }
        }
    }

    /// Reads available bytes and returns whether there were any.
    private func receive(now: MonotonicTime) -> Bool {
        guard let bytes = LoopbackSocket.receive(from: descriptor) else { return false }
        guard !bytes.isEmpty else {
            end()
            return false
        }
        if parser.isIdle { requestBegan = now }
        lastActivity = now
        parser.feed(bytes)
        return true
    }

    private func sendContinueIfAwaited(now: MonotonicTime) {
        guard parser.awaitsContinue else { return }
        parser.clearAwaitsContinue()
        output = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)[...]
        flush(now: now)
    }
}
