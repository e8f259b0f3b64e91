import CPlatform
import LoopbackHTTP
import OIDCCore
import Posix

/// A caller's connection: its requests, one at a time, and their answers. No function blocks.
final class ProxyConnection {
    let descriptor: FileDescriptor
    /// Whether the caller came through a Unix socket.
    private let isOnSocket: Bool
    let began: MonotonicTime
    private(set) var isEnded = false
    /// Whether everything is sent and the sending side is closed; further bytes from the caller are
    /// discarded.
    var isDraining = false
    /// The request that is being forwarded.
    private(set) var exchange: ProxyExchange?
    /// The time of the last bytes in either direction.
    private(set) var lastActivity: MonotonicTime
    /// The time of the current request's first byte.
    private(set) var requestBegan: MonotonicTime
    /// Whether the caller's user was checked.
    var isIdentified = false
    /// Whether the caller closed its sending side but still waits for its answer.
    private(set) var isHalfClosed = false
    /// Whether a request on this connection had the secret.
    private(set) var hasProof = false

    private var parser: HTTP1.RequestParser
    /// Bytes that came after the head of the current request.
    private var pending: ArraySlice<UInt8> = []
    var output = ProxyOutput()
    var closesAfterOutput = false
    var drained = 0

    init(_ descriptor: FileDescriptor, isOnSocket: Bool, limits: HTTP1.Limits, now: MonotonicTime) {
        self.descriptor = descriptor
        self.isOnSocket = isOnSocket
        parser = HTTP1.RequestParser(limits: limits, leavesBody: true)
        lastActivity = now
        requestBegan = now
        began = now
    }

    /// Whether the output waits until the caller accepts more.
    var isBlocked: Bool { output.isBlocked }
    /// Whether the caller has sent nothing since the last answer, or nothing at all.
    var isIdle: Bool {
        !isEnded && !isDraining && exchange == nil && output.isEmpty && parser.isIdle
    }
    /// Whether the caller has sent part of a request's head.
    var isReadingHead: Bool { !isDraining && exchange == nil && output.isEmpty && !parser.isIdle }

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
        if isDraining { return drain() }
        if let exchange {
            if exchange.awaitsBody {
                touch(now)
                exchange.resumeBody()
            } else {
                watch(exchange)
            }
            return
        }
        guard receive(now: now) else { return }
        serve(now: now, take: take, refuse: refuse)
    }

    /// Starts the next request from the bytes received so far.
    func serve(
        now: MonotonicTime, take: (HTTPServerRequest) -> ProxyExchange?, refuse: (HTTP1.Rejection) -> Void
    ) {
        guard !isEnded, !isDraining, exchange == nil, !closesAfterOutput else { return }
        switch parser.next() {
        case .needsMore: return
        case .rejected(let rejection): refuse(rejection)
        case .request(let request):
            pending = parser.takeUnread()[...]
            exchange = take(request)
            if exchange != nil { hasProof = true }
            exchange?.begin(now: now)
        }
    }

    func touch(_ now: MonotonicTime) { lastActivity = now }

    /// Reads bytes of the next head and returns whether there were any.
    private func receive(now: MonotonicTime) -> Bool {
        guard let bytes = LoopbackSocket.receive(from: descriptor) else { return false }
        guard !bytes.isEmpty else {
            end()
            return false
        }
        if parser.isIdle { requestBegan = now }
        touch(now)
        parser.feed(bytes)
        return true
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
        if !pending.isEmpty { parser.feed(Array(pending)) }
        pending = []
    }

    /// Whether the next request may already have arrived with the last one.
    var mayServe: Bool { !isEnded && exchange == nil && !isBlocked && !closesAfterOutput && !parser.isIdle }

    func end() {
        guard !isEnded else { return }
        isEnded = true
        exchange?.settle()
        exchange = nil
        descriptor.close()
        (output, pending) = (ProxyOutput(), [])
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

    func write(_ bytes: [UInt8]) {
        guard !isEnded else { return }
        output.collect(bytes)
    }

    /// Adds a part of a body.
    func write(prefix: String, _ bytes: UnsafeRawBufferPointer, suffix: String, now: MonotonicTime) {
        guard !isEnded else { return }
        do throws(Errno) {
            if try output.pass(prefix, bytes, suffix, to: descriptor) { touch(now) }
        } catch {
            end()
        }
    }

    /// Sends as much output as the caller accepts, and resumes a paused answer.
    func flush(now: MonotonicTime) {
        guard !isEnded else { return }
        do throws(Errno) {
            if try output.flush(to: descriptor, keepsCapacity: exchange != nil) { touch(now) }
        } catch {
            exchange?.cancel()
            return end()
        }
        guard !isBlocked else { return }
        exchange?.resumeAnswer()
        if closesAfterOutput, exchange == nil, !isDraining {
            isDraining = true
            LoopbackSocket.shutdownSending(descriptor)
            drain()
        }
    }

    var hasOutput: Bool { !isEnded && !isDraining && (!output.isEmpty || closesAfterOutput) }

    /// Reads until the caller closes. Closing with unread bytes would reset the connection, and the caller
    /// might lose the answer (RFC 9112 §9.6).
    func drain() {
        while !isEnded, let bytes = LoopbackSocket.receive(from: descriptor) {
            drained += bytes.count
            if bytes.isEmpty || drained > LoopbackSocket.drainLimit { end() }
        }
    }
}
