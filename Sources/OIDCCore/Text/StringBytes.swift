/// Looking for a text in a text, byte for byte. What the standard library has for it brings its regular
/// expressions into the program, a tenth of it.
extension StringProtocol {
    /// What stands before and after the first occurrence of a text that is not empty.
    package func parts(around text: String) -> (before: SubSequence, after: SubSequence)? {
        var start = utf8.startIndex
        while start != utf8.endIndex {
            if utf8[start...].starts(with: text.utf8) {
                return (self[..<start], self[utf8.index(start, offsetBy: text.utf8.count)...])
            }
            utf8.formIndex(after: &start)
        }
        return nil
    }

    package func includes(_ text: String) -> Bool {
        parts(around: text) != nil
    }

    /// What stands before, between and after the occurrences of a text.
    package func pieces(between text: String) -> [Substring] {
        var pieces: [Substring] = []
        var rest = Substring(self)
        while let (before, after) = rest.parts(around: text) {
            pieces.append(before)
            rest = after
        }
        return pieces + [rest]
    }
}

/// Text compared code point by code point, without normalisation (RFC 7519 §7.3, RFC 8259 §8.3): `==` on
/// strings takes canonically equivalent spellings for the same.
package enum ExactText {
    package static func isSame(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
        left.utf8.count == right.utf8.count && left.utf8.elementsEqual(right.utf8)
    }
}

/// FNV-1a, 64 bits: short names for files, and whether a string changed. It keeps nothing secret that has less
/// than 64 bits to guess, and files that have the same name are compared whole.
package enum FNV1a {
    /// Sixteen hexadecimal digits.
    package static func digits(_ text: String) -> String {
        let hash = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
