package import OIDCCore

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
    package static func write(_ text: String) {
        try? FileDescriptor.standardError.writeAll(Array(text.utf8))
    }
}
