package import Posix

/// An accepted connection: bytes that become heads of requests, bytes of answers, and an end at which no answer is
/// lost. No function blocks.
package final class HTTP1Connection {
    package let descriptor: FileDescriptor
    package let began: MonotonicTime
    package private(set) var isEnded = false
    /// Whether everything is sent and the sending side is closed; further bytes from the peer are discarded.
    package private(set) var isDraining = false
    /// The time of the last bytes in either direction.
    package private(set) var lastActivity: MonotonicTime
    /// The time of the current request's first byte, or of the last answer.
    package var requestBegan: MonotonicTime
    package var parser: HTTP1.RequestParser
    private var output = HTTP1Output()
    private var drained = 0

    package init(_ descriptor: FileDescriptor, _ parser: HTTP1.RequestParser, now: MonotonicTime) {
        self.descriptor = descriptor
        self.parser = parser
        began = now
        lastActivity = now
        requestBegan = now
    }

    /// Whether all output has been sent.
    package var isFlushed: Bool { output.isEmpty }
    /// Whether the output waits until the peer accepts more.
    package var isBlocked: Bool { output.isBlocked }
    /// Whether the peer has sent nothing since the last answer, or nothing at all, once that answer is sent.
    package var isIdle: Bool { !isEnded && !isDraining && output.isEmpty && parser.isIdle }
    /// Whether the peer has sent part of a request's head.
    package var isReading: Bool { !isDraining && output.isEmpty && !parser.isIdle }

    package func touch(_ now: MonotonicTime) { lastActivity = now }

    /// Reads bytes of the next request and returns whether there were any. Ends with the peer's sending side.
    package func receive(now: MonotonicTime) -> Bool {
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

    package func write(_ bytes: [UInt8]) {
        guard !isEnded else { return }
        output.collect(bytes)
    }

    /// Sends a part of a body, or collects it.
    package func write(
        prefix: String, _ bytes: UnsafeRawBufferPointer, suffix: String, now: MonotonicTime
    ) {
        guard !isEnded else { return }
        do throws(Errno) {
            if try output.pass(prefix, bytes, suffix, to: descriptor) { touch(now) }
        } catch {
            end()
        }
    }

    /// Sends as much output as the peer accepts; a peer that is gone ends the connection.
    package func flush(now: MonotonicTime, keepsCapacity: Bool = false) {
        guard !isEnded else { return }
        do throws(Errno) {
            if try output.flush(to: descriptor, keepsCapacity: keepsCapacity) { touch(now) }
        } catch {
            end()
        }
    }

    /// Closes the sending side after the last answer, and waits for the peer to close. Closing with unread bytes
    /// would reset the connection, and the peer might lose the answer (RFC 9112 §9.6).
    package func finish() {
        guard !isEnded, !isDraining else { return }
        isDraining = true
        LoopbackSocket.shutdownSending(descriptor)
        drain()
    }

    /// Discards what the peer still sends, up to a limit.
    package func drain() {
        while !isEnded, let bytes = LoopbackSocket.receive(from: descriptor) {
            drained += bytes.count
            if bytes.isEmpty || drained > LoopbackSocket.drainLimit { end() }
        }
    }

    package func end() {
        guard !isEnded else { return }
        isEnded = true
        descriptor.close()
        output = HTTP1Output()
    }
}
