/// ISO 8859-1, in which each byte is the character of its number. Header fields pass through it unchanged, whatever
/// their encoding is (RFC 9110 §5.5).
package enum Latin1 {
    package static func decode(_ bytes: some Collection<UInt8>) -> String {
        // Through a generic collection, each byte would cost several calls.
        bytes.withContiguousStorageIfAvailable(decode) ?? Array(bytes).withUnsafeBufferPointer(decode)
    }

    private static func decode(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        guard !bytes.allSatisfy({ $0 < 0x80 }) else { return String(decoding: bytes, as: UTF8.self) }
        var encoded: [UInt8] = []
        encoded.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            if byte < 0x80 {
                encoded.append(byte)
            } else {
                encoded.append(0xC0 | byte >> 6)
                encoded.append(0x80 | byte & 0x3F)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Returns the bytes of a string; other characters become UTF-8.
    package static func encode(_ text: some StringProtocol) -> [UInt8] {
        let encoded = Array(text.utf8)
        // The characters from U+0080 to U+00FF are two bytes, the first of which is C2 or C3.
        guard encoded.contains(where: { $0 & 0xFE == 0xC2 }) else { return encoded }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(encoded.count)
        var index = 0
        while index < encoded.count {
            if encoded[index] & 0xFE == 0xC2, index + 1 < encoded.count {
                bytes.append(encoded[index] << 6 | encoded[index + 1] & 0x3F)
                index += 2
            } else {
                bytes.append(encoded[index])
                index += 1
            }
        }
        return bytes
    }
}
