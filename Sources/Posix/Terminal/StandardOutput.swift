package import OIDCCore
import Synchronization

/// The output for data. A write error is a failure, never a silent success.
package enum StandardOutput {
    package static func write(_ bytes: [UInt8]) throws(OIDCError) {
        try write(bytes, to: .standardOutput)
    }

    package static func write(_ text: String) throws(OIDCError) {
        try write(Array(text.utf8))
    }

    /// Writes text for the user. A reader that ends early, as in `oidc help | head`, is not a failure.
    package static func writePage(_ text: String) throws(OIDCError) {
        let error = try sent(Array(text.utf8), to: .standardOutput)
        guard let error, error != .brokenPipe else { return }
        throw failure(error)
    }

    /// The number of bytes that a pipe accepts without blocking once it is ready (PIPE_BUF on Linux).
    private static let portion = 4_096

    /// Writes all bytes; waits for a slow reader, or until a signal comes.
    static func write(_ bytes: [UInt8], to descriptor: FileDescriptor) throws(OIDCError) {
        if let error = try sent(bytes, to: descriptor) {
            throw failure(error)
        }
    }

    private static func failure(_ error: Errno) -> OIDCError {
        OIDCError(.failed, "standard output cannot be written: \(reason(error))")
    }

    /// Writes all bytes and returns the error of a failed write; nil on success.
    private static func sent(_ bytes: [UInt8], to descriptor: FileDescriptor) throws(OIDCError) -> Errno? {
        var rest = bytes[...]
        while !rest.isEmpty {
            try waitForRoom(descriptor)
            do throws(Errno) {
                rest = rest.dropFirst(try descriptor.write(rest.prefix(portion)))
            } catch {
                guard error != .wouldBlock else { continue }
                return error
            }
        }
        return nil
    }

    private static func waitForRoom(_ descriptor: FileDescriptor) throws(OIDCError) {
        while true {
            if Poll.wait(for: descriptor.rawValue, .writing, until: nil) { return }
            try Interruption.throwIfPending()
        }
    }

    private static func reason(_ error: Errno) -> String {
        switch error {
        case .brokenPipe: "broken pipe"
        case .badDescriptor: "it is closed"
        default: error.description
        }
    }
}

/// The output for messages. A write error is ignored.
package enum StandardError {
    private static let backlog = Mutex<Backlog?>(nil)
    private static let portion = 4_096

    /// Writes a message; waits for a slow reader, or until a signal comes.
    package static func write(_ text: String) {
        if let backlog = backlog.withLock({ $0 }) {
            backlog.add(text)
            return
        }
        let descriptor = FileDescriptor.standardError
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let moment = MonotonicTime.now().adding(milliseconds: 500)
            guard Poll.wait(for: descriptor.rawValue, .writing, until: moment) else {
                // Also if this thread postpones signals: what it does must not depend on the reader.
                if Interruption.recorded != nil { return }
                continue
            }
            do throws(Errno) {
                rest = rest.dropFirst(try descriptor.write(rest.prefix(portion)))
            } catch {
                guard error == .wouldBlock, Interruption.recorded == nil else { return }
                Poll.pause(until: .now().adding(milliseconds: 10))
            }
        }
    }

    /// From now on, no message waits for the reader, as others wait for this process. If nobody reads, messages are
    /// dropped beyond a limit.
    package static func startBacklog() {
        backlog.withLock {
            $0 = Backlog(.standardError) { "warning: \($0) messages were dropped, as nobody read them\n" }
        }
    }

    /// Whether the reader has accepted all messages.
    package static var isWritten: Bool { backlog.withLock { $0 }?.isWritten ?? true }

    /// Waits for the reader of the messages, but only a moment.
    package static func finish() {
        backlog.withLock { $0 }?.finish(milliseconds: 1_000)
    }
}
