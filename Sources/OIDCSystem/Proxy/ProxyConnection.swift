import OIDCCore

/// A caller's connection: its requests one after another, and the bytes of the answers. Nothing blocks.
final class ProxyConnection {
    let descriptor: FileDescriptor
    let began: MonotonicTime
    private(set) var isEnded = false
    /// Whether everything is sent and the sending side is closed; further bytes of the caller are discarded.
    private(set) var isDraining = false
    /// The request that is being forwarded.
    private(set) var exchange: ProxyExchange?
    /// The time of the last bytes in either direction.
    private(set) var lastActivity: MonotonicTime
    /// The time of the current request's first byte.
    private(set) var requestBegan: MonotonicTime
    /// Whether the caller's user was checked.
    var isIdentified = false
    /// Whether the caller will send nothing more, but awaits its answer.
    private(set) var isHalfClosed = false
    /// Whether a request on this connection had the secret.
    private(set) var hasProof = false
    /// Whether the caller does not take the bytes of the output now.
    private(set) var isBlocked = false

    private var parser: HTTP1.RequestParser
    /// Bytes that came after the head of the current request.
    private var pending: [UInt8] = []
    private var pendingStart = 0
    private var output: [UInt8] = []
    private var outputStart = 0
    private var closesAfterOutput = false
    private var drained = 0

    private static let readSize = 16_384
    /// Output of up to this size is collected and sent at the end of a round.
    private static let stageLimit = 16_384
    private static let drainLimit = 1 << 20

    init(_ descriptor: FileDescriptor, limits: HTTP1.Limits, now: MonotonicTime) {
        self.descriptor = descriptor
        parser = HTTP1.RequestParser(limits: limits, leavesBody: true)
        lastActivity = now
        requestBegan = now
        began = now
    }

    /// Whether the caller has sent nothing since the last answer, or at all.
    var isIdle: Bool {
        !isEnded && !isDraining && exchange == nil && output.isEmpty && parser.isIdle
    }
    /// Whether the caller has sent a part of a request's head.
    var isReadingHead: Bool { !isDraining && exchange == nil && output.isEmpty && !parser.isIdle }

    /// The events to wait for.
    var interest: Poll.Direction {
        if isEnded { return [] }
        if isDraining { return .reading }
        var interest: Poll.Direction = isBlocked ? .writing : []
        guard let exchange else { return isBlocked || closesAfterOutput ? .writing : .reading }
        let watchesForEnd = !isHalfClosed && exchange.hasWholeBody && pendingStart == pending.count
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

    /// Starts the next request from the bytes so far.
    func serve(
        now: MonotonicTime, take: (HTTPServerRequest) -> ProxyExchange?, refuse: (HTTP1.Rejection) -> Void
    ) {
        guard !isEnded, !isDraining, exchange == nil, !closesAfterOutput else { return }
        switch parser.next() {
        case .needsMore: return
        case .rejected(let rejection): refuse(rejection)
        case .request(let request):
            pending = parser.takeUnread()
            pendingStart = 0
            exchange = take(request)
            if exchange != nil { hasProof = true }
            exchange?.begin(now: now)
        }
    }

    private func touch(_ now: MonotonicTime) { lastActivity = now }

    /// Reads bytes of the next head and returns whether there were any.
    private func receive(now: MonotonicTime) -> Bool {
        do throws(Errno) {
            let bytes = try descriptor.read(limit: Self.readSize)
            guard !bytes.isEmpty else {
                end()
                return false
            }
            if parser.isIdle { requestBegan = now }
            touch(now)
            parser.feed(bytes)
            return true
        } catch {
            if error != .wouldBlock { end() }
            return false
        }
    }

    /// Notices that the caller left while it waits for its answer.
    private func watch(_ exchange: ProxyExchange) {
        do throws(Errno) {
            let bytes = try descriptor.read(limit: Self.readSize)
            if bytes.isEmpty {
                endUnlessHalfClosed()
            } else {
                pending = bytes
                pendingStart = 0
            }
        } catch {
            guard error != .wouldBlock else { return }
            exchange.cancel()
            end()
        }
    }

    /// Ends the connection if the caller has closed it. One that closed only its sending side gets its answer.
    func endUnlessHalfClosed() {
        if PeerOwner.identified(descriptor) == .thisUser {
            isHalfClosed = true
        } else {
            exchange?.cancel()
            end()
        }
    }

    /// Reads bytes of the current request's body; nil if none have come yet, 0 if the caller left.
    func receiveBody(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        if pendingStart < pending.count {
            let count = min(buffer.count, pending.count - pendingStart)
            pending.withUnsafeBytes { bytes in
                buffer.copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: bytes[pendingStart..<pendingStart + count]))
            }
            pendingStart += count
            if pendingStart == pending.count { (pending, pendingStart) = ([], 0) }
            return count
        }
        do throws(Errno) {
            return try LoopbackSocket.receive(into: buffer, from: descriptor)
        } catch {
            return error == .wouldBlock ? nil : 0
        }
    }

    /// Checks the chunks that have come so far.
    func checkChunks() throws(HTTP1.Rejection) {
        var bytes = Array(pending[pendingStart...])
        var decoder = HTTP1.ChunkedDecoder()
        let result = bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(HTTP1.Rejection) in try decoder.decode(buffer) }
        }
        _ = try result.get()
    }

    /// Gives bytes after the end of a body back, which belong to the next request.
    func giveBack(_ bytes: UnsafeRawBufferPointer) {
        pending = Array(bytes) + pending[pendingStart...]
        pendingStart = 0
    }

    /// Ends the current request; the next one follows unless the connection closes.
    func finishExchange(closes: Bool) {
        exchange = nil
        closesAfterOutput = closesAfterOutput || closes
        guard !closesAfterOutput else { return }
        if pendingStart < pending.count { parser.feed(Array(pending[pendingStart...])) }
        (pending, pendingStart) = ([], 0)
    }

    /// Whether a further request may have come with the last one.
    var mayServe: Bool { !isEnded && exchange == nil && !isBlocked && !closesAfterOutput && !parser.isIdle }

    /// Answers the current or a malformed request with an answer of ours.
    func answer(_ response: HTTPResponse, toHead isHead: Bool, closes: Bool) {
        if let bytes = try? HTTP1.serialize(response, toHead: isHead, closes: closes) { write(bytes) }
        finishExchange(closes: closes)
    }

    func write(_ bytes: [UInt8]) {
        guard !isEnded else { return }
        output += bytes
    }

    /// Adds a part of a body: large parts are sent at once, and only what the caller does not take is copied.
    func write(prefix: String, _ bytes: UnsafeRawBufferPointer, suffix: String, now: MonotonicTime) {
        guard !isEnded else { return }
        if output.count - outputStart + bytes.count <= Self.stageLimit || isBlocked {
            output += prefix.utf8
            output += bytes
            output += suffix.utf8
            return
        }
        output += prefix.utf8
        let suffix = Array(suffix.utf8)
        do throws(Errno) {
            let sent = try send(bytes, suffix)
            lastActivity = now
            keepUnsent(sent, bytes, suffix)
        } catch {
            guard error == .wouldBlock else { return end() }
            keepUnsent(0, bytes, suffix)
        }
    }

    private func send(_ bytes: UnsafeRawBufferPointer, _ suffix: [UInt8]) throws(Errno) -> Int {
        let result = output.withUnsafeBytes { staged in
            suffix.withUnsafeBytes { end in
                Result { () throws(Errno) in
                    try LoopbackSocket.send(
                        UnsafeRawBufferPointer(rebasing: staged[outputStart...]), bytes, end, to: descriptor)
                }
            }
        }
        return try result.get()
    }

    private func keepUnsent(_ sent: Int, _ bytes: UnsafeRawBufferPointer, _ suffix: [UInt8]) {
        let staged = output.count - outputStart
        guard sent < staged + bytes.count + suffix.count else {
            output.removeAll(keepingCapacity: output.capacity <= 2 * Self.stageLimit)
            outputStart = 0
            return
        }
        isBlocked = true
        outputStart += min(sent, staged)
        output += bytes[min(max(0, sent - staged), bytes.count)...]
        output += suffix[max(0, sent - staged - bytes.count)...]
    }

    /// Sends the output as far as the caller takes it, and lets a paused answer go on.
    func flush(now: MonotonicTime) {
        while outputStart < output.count, !isEnded {
            do throws(Errno) {
                outputStart += try LoopbackSocket.send(output[outputStart...], to: descriptor)
                lastActivity = now
            } catch {
                isBlocked = error == .wouldBlock
                if !isBlocked {
                    exchange?.cancel()
                    end()
                }
                return
            }
        }
        guard !isEnded else { return }
        output.removeAll(keepingCapacity: output.capacity <= 2 * Self.stageLimit && exchange != nil)
        outputStart = 0
        isBlocked = false
        exchange?.resumeAnswer()
        if closesAfterOutput, exchange == nil, !isDraining {
            isDraining = true
            LoopbackSocket.shutdownSending(descriptor)
            drain()
        }
    }

    var hasOutput: Bool { !isEnded && !isDraining && (outputStart < output.count || closesAfterOutput) }

    /// Reads until the caller closes. Closing with unread bytes would reset the connection, and the caller
    /// might lose the answer (RFC 9112 §9.6).
    private func drain() {
        while !isEnded {
            do throws(Errno) {
                let bytes = try descriptor.read(limit: Self.readSize)
                drained += bytes.count
                if bytes.isEmpty || drained > Self.drainLimit { end() }
            } catch {
                if error != .wouldBlock { end() }
                return
            }
        }
    }

    func end() {
        guard !isEnded else { return }
        isEnded = true
        exchange?.settle()
        exchange = nil
        descriptor.close()
        (output, outputStart, pending, pendingStart) = ([], 0, [], 0)
    }
}
