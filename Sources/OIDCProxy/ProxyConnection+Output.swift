import LoopbackHTTP
import OIDCCore
import Posix

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
