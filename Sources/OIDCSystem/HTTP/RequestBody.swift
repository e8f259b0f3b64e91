/// Where the bytes of a request come from.
package enum RequestBody: Hashable, Sendable {
    case bytes([UInt8])
    /// Read until its end while it is sent, in bounded memory; it stays open.
    case descriptor(FileDescriptor)
    /// What was read of it already, and the rest.
    case begun([UInt8], FileDescriptor)

    /// Nil where only the end tells.
    var length: Int64? {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .descriptor(let descriptor): descriptor.remainingLength
        case .begun(let bytes, let descriptor):
            descriptor.remainingLength.map { Int64(bytes.count) + $0 }
        }
    }

    var knownByteCount: Int { length.map { Int(clamping: $0) } ?? 0 }
}
