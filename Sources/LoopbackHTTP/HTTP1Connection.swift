import CPlatform
package import OIDCCore
package import Posix

/// A request whose answer is sent in parts, while its body may still be read.
package protocol HTTP1Stream: AnyObject {
    /// Whether a part of the body can be taken now.
    var awaitsBody: Bool { get }
    /// Whether the peer has sent the whole body.
    var hasWholeBody: Bool { get }
    /// The time at which `act` is to be called; nil if there is none.
    var nextMoment: MonotonicTime? { get }
    /// Starts to handle the request, once it is the connection's.
    func begin(now: MonotonicTime)
    /// Takes a part of the body, as it has arrived.
    func resumeBody()
    /// Continues an answer that was paused, as the peer accepts more.
    func resumeAnswer()
    /// Does what was due at `nextMoment`, and ends the request if that was its time limit.
    func act(now: MonotonicTime)
    /// Ends the request, as the peer left.
    func cancel()
}

/// An accepted connection: its requests, one at a time, their answers, and an end at which no answer is lost. No
/// function blocks.
package final class HTTP1Connection {
    package let id: Int
    package let descriptor: FileDescriptor
    package let began: MonotonicTime
    /// Whether bodies are left to the streams that handle their requests.
    private let leavesBody: Bool
    /// Whether the peer came through a Unix socket.
    private let isOnSocket: Bool
    package private(set) var isEnded = false
    /// Whether everything is sent and the sending side is closed; further bytes from the peer are discarded.
    package private(set) var isDraining = false
    /// The time of the last bytes in either direction.
    package private(set) var lastActivity: MonotonicTime
    /// The time of the current request's first byte, or of the last answer.
    private(set) var requestBegan: MonotonicTime
    /// The request that is not answered yet, or not to the end.
    package private(set) var openRequest: HTTPServerRequest?
    /// The stream that handles the open request.
    package private(set) var stream: (any HTTP1Stream)?
    /// Whether a request of this peer was good enough for a stream.
    package private(set) var isTrusted = false
    /// Whether the head of a request has arrived, good or not.
    private(set) var hasAsked = false
    /// The number of the cycle in which the connection had its last turn.
    var cycle = 0
    /// Whether bytes have arrived that were not read as a request yet.
    private var hasUnread = false
    /// Whether the peer closed its sending side but still waits for its answer.
    private(set) var isHalfClosed = false
    private var parser: HTTP1.RequestParser
    /// Bytes that came after the head of the stream's request.
    private var pending: ArraySlice<UInt8> = []
    private var output = HTTP1Output()
    /// The encryption; nil for plain HTTP.
    private var tls: TLSConnection?
    /// Why what came is not HTTP over TLS, until that is answered.
    private var tlsRejection: HTTP1.Rejection?
    private var closesAfterOutput = false
    private var drained = 0

    init(_ descriptor: FileDescriptor, id: Int, _ policy: HTTP1Server.Policy, now: MonotonicTime) {
        self.id = id
        self.descriptor = descriptor
        leavesBody = policy.leavesBody
        isOnSocket = policy.isOnSocket
        parser = HTTP1.RequestParser(
            limits: policy.requests, leavesBody: policy.leavesBody, mayBeLong: policy.mayBeLong)
        began = now
        lastActivity = now
        requestBegan = now
        if let identity = policy.identity {
            tls = TLSConnection(identity)
            if tls == nil { end() }
        }
    }

    /// Whether the TLS handshake is not done.
    var isInHandshake: Bool { tls.map { !$0.isEstablished } ?? false }
    /// Whether the output waits until the peer accepts more.
    package var isBlocked: Bool { output.isBlocked }
    /// Whether not all output is sent yet.
    var isSending: Bool { !output.isEmpty }
    /// Whether there is output that the peer may accept, or only the end of the connection.
    var hasOutput: Bool {
        !isEnded && !isDraining && !isBlocked && (isSending || closesAfterOutput)
    }
    /// Whether the peer has sent nothing since the last answer, or nothing at all, once that answer is sent.
    package var isIdle: Bool { awaitsRequest && parser.isIdle }
    /// Whether the peer has sent part of a request.
    var isReading: Bool { awaitsRequest && !parser.isIdle }
    /// Whether another request may have arrived together with the last one, and can be handled now.
    var isDue: Bool { hasUnread && awaitsRequest }
    /// The path of the rejected request, if it was read.
    var rejectedPath: String? { parser.rejectedPath }

    private var awaitsRequest: Bool {
        !isEnded && !isDraining && !isSending && !closesAfterOutput && openRequest == nil
    }

    /// The events to wait for; none while a held request is being handled.
    var interest: Poll.Direction {
        if isEnded { return [] }
        if isDraining { return .reading }
        guard let stream else {
            if isSending || closesAfterOutput { return .writing }
            return openRequest == nil ? .reading : []
        }
        var interest: Poll.Direction = isBlocked ? .writing : []
        let watchesForEnd = stream.hasWholeBody && !isUnwatched
        if stream.awaitsBody || watchesForEnd { interest.insert(.reading) }
        return interest
    }

    // MARK: Requests

    enum Progress {
        case waiting
        case request(HTTPServerRequest)
        case rejected(HTTP1.Rejection)
    }

    /// Returns the next request from the bytes that have arrived, and those that are read now, at most `readsLeft`
    /// times: a peer that never stops sending does not block the others.
    func nextRequest(_ readsLeft: inout Int, now: MonotonicTime) -> Progress {
        while awaitsRequest {
            switch parser.next() {
            case .request(let request):
                hasAsked = true
                if leavesBody { pending = parser.takeUnread()[...] }
                hasUnread = !parser.isIdle
                return .request(request)
            case .rejected(let rejection):
                hasAsked = true
                return .rejected(rejection)
            case .needsMore:
                hasUnread = false
                sendContinueIfAwaited(now: now)
                guard readsLeft > 0, receive(now: now) else {
                    defer { tlsRejection = nil }
                    return tlsRejection.map { .rejected($0) } ?? .waiting
                }
                readsLeft -= 1
            }
        }
        return .waiting
    }

    /// Reads bytes of the next request and returns whether there were any. Ends with the peer's sending side.
    private func receive(now: MonotonicTime) -> Bool {
        guard let bytes = receivedBytes(now: now) else { return false }
        guard !bytes.isEmpty else {
            end()
            return false
        }
        if parser.isIdle { requestBegan = now }
        lastActivity = now
        parser.feed(bytes)
        return true
    }

    /// Returns decrypted bytes that have arrived, none at the end; nil if there are none yet.
    private func receivedBytes(now: MonotonicTime) -> [UInt8]? {
        guard let bytes = LoopbackSocket.receive(from: descriptor) else { return nil }
        guard let tls, !bytes.isEmpty else { return bytes }
        let received = tls.decrypt(bytes)
        output.collect(tls.output())
        if isSending { flush(now: now) }
        switch received {
        case .plain(let plain): return plain.isEmpty ? nil : plain
        case .ended: return []
        case .failed(let isTLS):
            // Whoever speaks plain HTTP gets an answer in it.
            if !isTLS { self.tls = nil }
            tlsRejection = HTTP1.Rejection(400, isTLS ? "the TLS connection failed" : "no TLS on a TLS port")
            return nil
        }
    }

    private func sendContinueIfAwaited(now: MonotonicTime) {
        guard parser.awaitsContinue else { return }
        parser.clearAwaitsContinue()
        write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        flush(now: now)
    }

    func open(_ request: HTTPServerRequest) { openRequest = request }

    func begin(_ stream: any HTTP1Stream, now: MonotonicTime) {
        self.stream = stream
        isTrusted = true
        stream.begin(now: now)
    }

    /// Starts to send the answer to the open or rejected request.
    package func answer(
        _ response: HTTPResponse, reason: String? = nil, closes: Bool, now: MonotonicTime = .now()
    ) {
        guard !isEnded, !isDraining else { return }
        let isHead = openRequest?.method == HTTPMethod("HEAD")
        let asked = response.headers["Connection"].map { ASCII.isSameIgnoringCase($0, "close") } ?? false
        var closes = closes || asked || openRequest?.closesConnection ?? true
        do throws(OIDCError) {
            write(try HTTP1.serialize(response, reason: reason, toHead: isHead, closes: closes))
        } catch {
            closes = true
            write((try? HTTP1.serialize(HTTPResponse(status: 500), toHead: isHead, closes: true)) ?? [])
        }
        if closes, let tls { output.collect(tls.end()) }
        endRequest(closes: closes, now: now)
        flush(now: now)
    }

    /// Ends the open request, whose answer is complete; the next one follows unless the connection closes.
    package func endRequest(closes: Bool, now: MonotonicTime = .now()) {
        stream = nil
        openRequest = nil
        requestBegan = now
        closesAfterOutput = closesAfterOutput || closes
        guard !closesAfterOutput else { return }
        if !pending.isEmpty {
            parser.feed(Array(pending))
            hasUnread = true
        }
        pending = []
    }

    // MARK: Bodies of requests

    /// Reads what has arrived for a stream, or after the last answer.
    func read(now: MonotonicTime) {
        if isDraining { return drain() }
        guard let stream else { return }
        if stream.awaitsBody {
            lastActivity = now
            stream.resumeBody()
        } else {
            watch()
        }
    }

    /// The number of bytes of further requests that are read before the answer has ended.
    private static let pendingLimit = 16_384

    /// Whether reading can no longer show that the peer has left.
    var isUnwatched: Bool { isHalfClosed || pending.count >= Self.pendingLimit }

    /// Reads while the peer waits for its answer, to notice if it leaves.
    private func watch() {
        do throws(Errno) {
            let bytes = try descriptor.read(limit: LoopbackSocket.readSize)
            if bytes.isEmpty { endUnlessHalfClosed() } else { pending += bytes }
        } catch {
            guard error != .wouldBlock else { return }
            end()
        }
    }

    /// Ends the connection if the peer has closed it, or may have. A peer that closed only its sending side still gets
    /// its answer, if it is certainly this user's.
    private func endUnlessHalfClosed() {
        isHalfClosed = true
        endUnlessOpen()
    }

    /// Ends the connection if the peer has left. After a half-close, it must certainly be this user's.
    func endUnlessOpen() {
        guard !isOnSocket else { return Poll.isClosed(descriptor.rawValue) ? end() : () }
        let owner = PeerOwner.identified(descriptor)
        if isHalfClosed ? owner != .thisUser : owner == .gone { end() }
    }

    /// Reads bytes of the open request's body and returns their number: nil if none have arrived yet, 0 if the
    /// peer left.
    package func receiveBody(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
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
    package func checkChunks() throws(HTTP1.Rejection) {
        var bytes = Array(pending)
        var decoder = HTTP1.ChunkedDecoder()
        let result = bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(HTTP1.Rejection) in try decoder.decode(buffer) }
        }
        _ = try result.get()
    }

    /// Puts back bytes after the end of a body, which belong to the next request.
    package func giveBack(_ bytes: UnsafeRawBufferPointer) {
        pending = bytes + pending
    }

    // MARK: Output

    package func write(_ bytes: [UInt8]) {
        guard !isEnded else { return }
        output.collect(tls?.encrypt(bytes) ?? bytes)
    }

    /// Sends a part of the stream's answer, or collects it. If the peer is gone, the connection ends without a call
    /// of the stream, which is writing.
    package func write(
        prefix: String, _ bytes: UnsafeRawBufferPointer, suffix: String, now: MonotonicTime
    ) {
        guard !isEnded else { return }
        do throws(Errno) {
            if try output.pass(prefix, bytes, suffix, to: descriptor) { lastActivity = now }
        } catch {
            close()
        }
    }

    /// Sends as much output as the peer accepts, and lets a paused answer continue; a peer that is gone ends the
    /// connection.
    package func flush(now: MonotonicTime) {
        guard !isEnded else { return }
        do throws(Errno) {
            if try output.flush(to: descriptor, keepsCapacity: stream != nil) { lastActivity = now }
        } catch {
            return end()
        }
        guard !isBlocked else { return }
        stream?.resumeAnswer()
        if closesAfterOutput { finish() }
    }

    /// Closes the sending side after the last answer, and waits for the peer to close. Closing with unread bytes
    /// would reset the connection, and the peer might lose the answer (RFC 9112 §9.6).
    private func finish() {
        guard !isEnded, !isDraining else { return }
        isDraining = true
        LoopbackSocket.shutdownSending(descriptor)
        drain()
    }

    /// Discards what the peer still sends, a part at a time and up to a limit.
    private func drain() {
        for _ in 0..<4 {
            guard !isEnded, let bytes = LoopbackSocket.receive(from: descriptor) else { return }
            drained += bytes.count
            if bytes.isEmpty || drained > LoopbackSocket.drainLimit { end() }
        }
    }

    /// Lets the peer see a reset in place of a normal end.
    package func resetOnClose() { oidc_reset_on_close(descriptor.rawValue) }

    /// Closes the connection, which cancels its stream.
    package func end() {
        guard !isEnded else { return }
        stream?.cancel()
        close()
    }

    private func close() {
        isEnded = true
        descriptor.close()
        output = HTTP1Output()
        pending = []
        stream = nil
        openRequest = nil
    }
}
