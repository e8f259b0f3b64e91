/// A bytewise search for substrings. The standard library's own search would link its regular expression
/// engine, a tenth of the program's size.
extension StringProtocol {
    /// Returns the parts before and after the first occurrence of a nonempty text.
    package func parts(around text: String) -> (before: SubSequence, after: SubSequence)? {
        guard let first = text.utf8.first else { return nil }
        var rest = utf8[...]
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: text.utf8) {
                return (self[..<start], self[utf8.index(start, offsetBy: text.utf8.count)...])
            }
            rest = rest.dropFirst()
        }
        return nil
    }

    package func includes(_ text: String) -> Bool {
        parts(around: text) != nil
    }

    /// Returns the parts before, between and after the occurrences of a text.
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

/// Comparison by code point, without normalization (RFC 7519 §7.3, RFC 8259 §8.3). `==` on strings treats
/// canonically equivalent spellings as equal.
package enum ExactText {
    package static func isSame(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
        left.utf8.count == right.utf8.count && left.utf8.elementsEqual(right.utf8)
    }
}

/// The 64-bit FNV-1a hash, for file names and for detecting that a string changed. It is not a cryptographic
/// hash: do not use it on secrets that could be guessed, and compare the full keys of files with the same
/// name.
package enum FNV1a {
    /// Returns the hash as sixteen hexadecimal digits.
    package static func digits(_ text: String) -> String {
        let hash = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
