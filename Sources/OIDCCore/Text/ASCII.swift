/// Operations on ASCII text, independent of the locale.
package enum ASCII {
    package static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte + 0x20 : byte
    }

    package static func lowercased(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.map { lowercased($0) }, as: UTF8.self)
    }

    package static func isSameIgnoringCase(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool
    {
        left.utf8.count == right.utf8.count
            && zip(left.utf8, right.utf8).allSatisfy { lowercased($0) == lowercased($1) }
    }

    /// Returns the text without spaces, tabs and line ends at either end.
    package static func trimmed(_ text: some StringProtocol) -> String {
        var bytes = Array(text.utf8)[...]
        while let first = bytes.first, isBlank(first) { bytes.removeFirst() }
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    package static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }

    package static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}
