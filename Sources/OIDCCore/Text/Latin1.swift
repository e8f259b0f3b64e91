/// ISO 8859-1, in which each byte is the character of its number. Header fields pass through it unchanged, whatever
/// their encoding is (RFC 9110 §5.5).
package enum Latin1 {
    package static func decode(_ bytes: some Sequence<UInt8>) -> String {
        var scalars = String.UnicodeScalarView()
        for byte in bytes { scalars.append(Unicode.Scalar(byte)) }
        return String(scalars)
    }

    /// Returns the bytes of a string; other characters become UTF-8.
    package static func encode(_ text: some StringProtocol) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            if let byte = UInt8(exactly: scalar.value) {
                bytes.append(byte)
            } else {
                bytes += String(scalar).utf8
            }
        }
        return bytes
    }
}
