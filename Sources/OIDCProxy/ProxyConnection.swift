import CPlatform
import LoopbackHTTP
import OIDCCore
import Posix

/// A caller's connection: its requests, one at a time, and their answers. No function blocks.
final class ProxyConnection {
    private let connection: HTTP1Connection
    /// Whether the caller came through a Unix socket.
    private let isOnSocket: Bool
    /// The request that is being forwarded.
    private(set) var exchange: ProxyExchange?
    /// Whether the caller's user was checked.
    var isIdentified = false
    /// Whether the caller closed its sending side but still waits for its answer.
    private(set) var isHalfClosed = false
    /// Whether a request on this connection had the secret.
    private(set) var hasProof = false
    /// Bytes that came after the head of the current request.
    private var pending: ArraySlice<UInt8> = []
    private var closesAfterOutput = false

    init(_ descriptor: FileDescriptor, isOnSocket: Bool, limits: HTTP1.Limits, now: MonotonicTime) {
        self.isOnSocket = isOnSocket
        connection = HTTP1Connection(
            descriptor, HTTP1.RequestParser(limits: limits, leavesBody: true), now: now)
    }

    var descriptor: FileDescriptor { connection.descriptor }
    var began: MonotonicTime { connection.began }
    var isEnded: Bool { connection.isEnded }
    var isDraining: Bool { connection.isDraining }
    var lastActivity: MonotonicTime { connection.lastActivity }
    var requestBegan: MonotonicTime { connection.requestBegan }
    /// Whether the output waits until the caller accepts more.
    var isBlocked: Bool { connection.isBlocked }
    /// Whether the caller has sent nothing since the last answer, or nothing at all.
    var isIdle: Bool { exchange == nil && connection.isIdle }
    /// Whether the caller has sent part of a request's head.
    var isReadingHead: Bool { exchange == nil && connection.isReading }

    /// The events to wait for.
    var interest: Poll.Direction {
        if isEnded { return [] }
        if isDraining { return .reading }
        var interest: Poll.Direction = isBlocked ? .writing : []
        guard let exchange else { return isBlocked || closesAfterOutput ? .writing : .reading }
        let watchesForEnd = !isHalfClosed && exchange.hasWholeBody && pending.isEmpty
        if exchange.awaitsBody || watchesForEnd { interest.insert(.reading) }
        return interest
    }

    /// Handles events. `take` starts a request, `refuse` answers a malformed one.
    func advance(
        _ ready: Poll.Direction, now: MonotonicTime, take: (HTTPServerRequest) -> ProxyExchange?,
        refuse: (HTTP1.Rejection) -> Void
    ) {
        if ready.contains(.writing) { flush(now: now) }
        guard ready.contains(.reading), !isEnded else { return }
        if isDraining { return connection.drain() }
        if let exchange {
            if exchange.awaitsBody {
                connection.touch(now)
                exchange.resumeBody()
            } else {
                watch(exchange)
            }
            return
        }
        guard connection.receive(now: now) else { return }
        serve(now: now, take: take, refuse: refuse)
    }

    /// Starts the next request from the bytes received so far.
    func serve(
        now: MonotonicTime, take: (HTTPServerRequest) -> ProxyExchange?, refuse: (HTTP1.Rejection) -> Void
    ) {
        guard !isEnded, !isDraining, exchange == nil, !closesAfterOutput else { return }
        switch connection.parser.next() {
        case .needsMore: return
        case .rejected(let rejection): refuse(rejection)
        case .request(let request):
            pending = connection.parser.takeUnread()[...]
            exchange = take(request)
            if exchange != nil { hasProof = true }
            exchange?.begin(now: now)
        }
    }

    /// Reads while the caller waits for its answer, to notice if it leaves.
    private func watch(_ exchange: ProxyExchange) {
        do throws(Errno) {
            let bytes = try descriptor.read(limit: LoopbackSocket.readSize)
            if bytes.isEmpty {
                endUnlessHalfClosed()
            } else {
                pending = bytes[...]
            }
        } catch {
            guard error != .wouldBlock else { return }
            exchange.cancel()
            end()
        }
    }

    func resetOnClose() { oidc_reset_on_close(descriptor.rawValue) }

    /// Ends the connection if the caller has closed it. A caller that closed only its sending side still gets
    /// its answer.
    func endUnlessHalfClosed() {
        if isOnSocket ? !Poll.isClosed(descriptor.rawValue) : PeerOwner.identified(descriptor) == .thisUser {
            isHalfClosed = true
        } else {
            exchange?.cancel()
            end()
        }
    }

    /// Reads bytes of the current request's body and returns their number: nil if none have arrived yet, 0 if
    /// the caller left.
    func receiveBody(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        if !pending.isEmpty {
            let next = pending.prefix(buffer.count)
            next.withUnsafeBytes { buffer.copyMemory(from: $0) }
            pending = next.count < pending.count ? pending.dropFirst(next.count) : []
            return next.count
        }
        do throws(Errno) {
            return try LoopbackSocket.receive(into: buffer, from: descriptor)
        } catch {
            return error == .wouldBlock ? nil : 0
        }
    }

    /// Checks the chunks that have arrived so far.
    func checkChunks() throws(HTTP1.Rejection) {
        var bytes = Array(pending)
        var decoder = HTTP1.ChunkedDecoder()
        let result = bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(HTTP1.Rejection) in try decoder.decode(buffer) }
        }
        _ = try result.get()
    }

    /// Puts back bytes after the end of a body, which belong to the next request.
    func giveBack(_ bytes: UnsafeRawBufferPointer) {
        pending = bytes + pending
    }

    /// Ends the current request; the next one follows unless the connection closes.
    func finishExchange(closes: Bool) {
        exchange = nil
        closesAfterOutput = closesAfterOutput || closes
        guard !closesAfterOutput else { return }
        if !pending.isEmpty { connection.parser.feed(Array(pending)) }
        pending = []
    }

    /// Whether the next request may already have arrived with the last one.
    var mayServe: Bool {
        !isEnded && exchange == nil && !isBlocked && !closesAfterOutput && !connection.parser.isIdle
    }

    func end() {
        exchange?.settle()
        exchange = nil
        pending = []
        connection.end()
    }
}

/// The bytes to the caller.
extension ProxyConnection {
    /// Answers the current request, or a malformed one, with an answer of the proxy itself.
    func answer(_ problem: ProxyProblem, toHead isHead: Bool, closes: Bool) {
        if let bytes = try? HTTP1.serialize(
            problem.response, reason: problem.reason, toHead: isHead, closes: closes)
        {
            write(bytes)
        }
        finishExchange(closes: closes)
    }

    func write(_ bytes: [UInt8]) { connection.write(bytes) }

    /// Adds a part of a body.
    func write(prefix: String, _ bytes: UnsafeRawBufferPointer, suffix: String, now: MonotonicTime) {
        connection.write(prefix: prefix, bytes, suffix: suffix, now: now)
        if isEnded { end() }
    }

    /// Sends as much output as the caller accepts, and resumes a paused answer.
    func flush(now: MonotonicTime) {
        guard !isEnded else { return }
        connection.flush(now: now, keepsCapacity: exchange != nil)
        guard !isEnded else {
            exchange?.cancel()
            return end()
        }
        guard !isBlocked else { return }
        exchange?.resumeAnswer()
        if closesAfterOutput, exchange == nil { connection.finish() }
    }

    var hasOutput: Bool { !isEnded && !isDraining && (!connection.isFlushed || closesAfterOutput) }
}
