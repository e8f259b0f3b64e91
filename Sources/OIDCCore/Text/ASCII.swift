/// Operations on ASCII text, independent of the locale.
package enum ASCII {
    @inlinable
    package static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0") <= byte && byte <= UInt8(ascii: "9")
    }

    @inlinable
    package static func isUppercase(_ byte: UInt8) -> Bool {
        UInt8(ascii: "A") <= byte && byte <= UInt8(ascii: "Z")
    }

    @inlinable
    package static func isLowercase(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a") <= byte && byte <= UInt8(ascii: "z")
    }

    @inlinable
    package static func isAlphanumeric(_ byte: UInt8) -> Bool {
        isDigit(byte) || isUppercase(byte) || isLowercase(byte)
    }

    /// Returns whether a byte is a space or a control character that counts as white space.
    @inlinable
    package static func isBlank(_ byte: UInt8) -> Bool {
        byte == .space || (.tab <= byte && byte <= .carriageReturn)
    }

    @inlinable
    package static func isControl(_ byte: UInt8) -> Bool { byte < .space || byte == .delete }

    /// Returns whether a byte is a printable character or a space: VSCHAR of RFC 6749 appendix A.
    @inlinable
    package static func isPrintable(_ byte: UInt8) -> Bool { .space <= byte && byte <= .tilde }

    /// Returns whether a byte is a printable character other than the space: VCHAR of RFC 5234.
    @inlinable
    package static func isVisible(_ byte: UInt8) -> Bool { .space < byte && byte <= .tilde }

    /// Returns whether a byte may be in a token, such as a header's name: tchar of RFC 9110 §5.6.2.
    @inlinable
    package static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "!"), .hash, UInt8(ascii: "$"), .percent, .ampersand, .apostrophe,
            UInt8(ascii: "*"), .plus, .hyphen, .period, .caret, .underscore, .backtick, .verticalBar, .tilde:
            true
        default: isAlphanumeric(byte)
        }
    }

    @inlinable
    package static func isHexDigit(_ byte: UInt8) -> Bool { hexValue(byte) != nil }

    /// Returns the value of a hexadecimal digit; nil for any other byte.
    @inlinable
    package static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// Returns the hexadecimal digit, in lower case, of a value under 16.
    @inlinable
    package static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// Returns the hexadecimal digits, in lower case, of bytes.
    package static func hexDigits(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.flatMap { [hexDigit($0 >> 4), hexDigit($0 & 15)] }, as: UTF8.self)
    }

    /// Appends `%` and the two digits of a byte (RFC 3986 §2.1).
    package static func appendEscape(of byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(.percent)
        bytes.append(uppercased(hexDigit(byte >> 4)))
        bytes.append(uppercased(hexDigit(byte & 15)))
    }

    @inlinable
    package static func lowercased(_ byte: UInt8) -> UInt8 {
        isUppercase(byte) ? byte + (UInt8(ascii: "a") - UInt8(ascii: "A")) : byte
    }

    @inlinable
    package static func uppercased(_ byte: UInt8) -> UInt8 {
        isLowercase(byte) ? byte - (UInt8(ascii: "a") - UInt8(ascii: "A")) : byte
    }

    @inlinable
    package static func lowercased(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.map { lowercased($0) }, as: UTF8.self)
    }

    package static func isSameIgnoringCase(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool
    {
        guard left.utf8.count == right.utf8.count else { return false }
        // Through generic strings, each byte would cost several calls.
        let isSame = left.utf8.withContiguousStorageIfAvailable { left in
            right.utf8.withContiguousStorageIfAvailable { areSame(left, $0) }
        }
        return isSame.flatMap { $0 } ?? zip(left.utf8, right.utf8).allSatisfy(areSame)
    }

    private static func areSame(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>)
        -> Bool
    {
        left.count == right.count && left.indices.allSatisfy { areSame(left[$0], right[$0]) }
    }

    private static func areSame(_ left: UInt8, _ right: UInt8) -> Bool {
        lowercased(left) == lowercased(right)
    }

    /// Returns the text without white space at either end.
    @inlinable
    package static func trimmed(_ text: some StringProtocol) -> String {
        var bytes = Array(text.utf8)[...]
        while let first = bytes.first, isBlank(first) { bytes.removeFirst() }
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// ASCII characters by name.
extension UInt8 {
    @inlinable package static var backspace: UInt8 { 0x08 }
    @inlinable package static var tab: UInt8 { 0x09 }
    @inlinable package static var lineFeed: UInt8 { 0x0A }
    @inlinable package static var formFeed: UInt8 { 0x0C }
    @inlinable package static var carriageReturn: UInt8 { 0x0D }
    @inlinable package static var space: UInt8 { UInt8(ascii: " ") }
    @inlinable package static var quote: UInt8 { UInt8(ascii: "\"") }
    @inlinable package static var hash: UInt8 { UInt8(ascii: "#") }
    @inlinable package static var percent: UInt8 { UInt8(ascii: "%") }
    @inlinable package static var ampersand: UInt8 { UInt8(ascii: "&") }
    @inlinable package static var apostrophe: UInt8 { UInt8(ascii: "'") }
    @inlinable package static var plus: UInt8 { UInt8(ascii: "+") }
    @inlinable package static var comma: UInt8 { UInt8(ascii: ",") }
    @inlinable package static var hyphen: UInt8 { UInt8(ascii: "-") }
    @inlinable package static var period: UInt8 { UInt8(ascii: ".") }
    @inlinable package static var slash: UInt8 { UInt8(ascii: "/") }
    @inlinable package static var colon: UInt8 { UInt8(ascii: ":") }
    @inlinable package static var semicolon: UInt8 { UInt8(ascii: ";") }
    @inlinable package static var lessThan: UInt8 { UInt8(ascii: "<") }
    @inlinable package static var equals: UInt8 { UInt8(ascii: "=") }
    @inlinable package static var greaterThan: UInt8 { UInt8(ascii: ">") }
    @inlinable package static var questionMark: UInt8 { UInt8(ascii: "?") }
    @inlinable package static var at: UInt8 { UInt8(ascii: "@") }
    @inlinable package static var leftBracket: UInt8 { UInt8(ascii: "[") }
    @inlinable package static var backslash: UInt8 { UInt8(ascii: "\\") }
    @inlinable package static var rightBracket: UInt8 { UInt8(ascii: "]") }
    @inlinable package static var caret: UInt8 { UInt8(ascii: "^") }
    @inlinable package static var underscore: UInt8 { UInt8(ascii: "_") }
    @inlinable package static var backtick: UInt8 { UInt8(ascii: "`") }
    @inlinable package static var leftBrace: UInt8 { UInt8(ascii: "{") }
    @inlinable package static var verticalBar: UInt8 { UInt8(ascii: "|") }
    @inlinable package static var rightBrace: UInt8 { UInt8(ascii: "}") }
    @inlinable package static var tilde: UInt8 { UInt8(ascii: "~") }
    @inlinable package static var delete: UInt8 { 0x7F }
}
