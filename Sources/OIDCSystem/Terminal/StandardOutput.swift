public import OIDCCore

/// Where data goes: what cannot be written there is a failure, never a silent success.
public enum StandardOutput {
    public static func write(_ bytes: [UInt8]) throws(OIDCError) {
        try write(bytes, to: .standardOutput)
    }

    public static func write(_ text: String) throws(OIDCError) {
        try write(Array(text.utf8))
    }

    static func write(_ bytes: [UInt8], to descriptor: FileDescriptor) throws(OIDCError) {
        do throws(Errno) {
            try descriptor.writeAll(bytes)
        } catch {
            throw OIDCError(.failed, "standard output can't be written: \(reason(error))")
        }
    }

    private static func reason(_ error: Errno) -> String {
        switch error {
        case .brokenPipe: "its reader has gone"
        case .badDescriptor: "it is closed"
        default: error.description
        }
    }
}
