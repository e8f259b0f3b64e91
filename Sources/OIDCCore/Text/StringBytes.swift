/// A bytewise search for substrings.
///
/// The standard library's search would link its regular expression engine, a tenth of the program's size. A
/// generic search would take a tenth of the startup time to set up its types.
extension Substring {
    /// Returns the parts before and after the first occurrence of a nonempty text.
    package func parts(around text: String) -> (before: Substring, after: Substring)? {
        guard let offset = offset(of: text) else { return nil }
        let start = utf8.index(startIndex, offsetBy: offset)
        return (self[..<start], self[utf8.index(start, offsetBy: text.utf8.count)...])
    }

    package func includes(_ text: String) -> Bool {
        offset(of: text) != nil
    }

    /// Returns the parts before, between and after the occurrences of a string.
    package func pieces(between text: String) -> [Substring] {
        var pieces: [Substring] = []
        var rest = self
        while let (before, after) = rest.parts(around: text) {
            pieces.append(before)
            rest = after
        }
        return pieces + [rest]
    }

    /// Returns how many bytes come before the first occurrence of a nonempty text; nil if there is none.
    private func offset(of text: String) -> Int? {
        var (whole, text) = (self, text)
        return whole.withUTF8 { whole in
            text.withUTF8 { text in
                guard let first = text.first, text.count <= whole.count else { return nil }
                for start in 0...(whole.count - text.count) where whole[start] == first {
                    var count = 1
                    while count < text.count, whole[start + count] == text[count] { count += 1 }
                    if count == text.count { return start }
                }
                return nil
            }
        }
    }
}

extension String {
    package func parts(around text: String) -> (before: Substring, after: Substring)? {
        self[...].parts(around: text)
    }

    package func includes(_ text: String) -> Bool { self[...].includes(text) }
    package func pieces(between text: String) -> [Substring] { self[...].pieces(between: text) }
}

/// Comparison by code point, without normalization (RFC 7519 §7.3, RFC 8259 §8.3). `==` on strings treats
/// canonically equivalent spellings as equal.
package enum ExactText {
    package static func isSame(_ left: String, _ right: String) -> Bool {
        var (left, right) = (left, right)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                left.count == right.count && left.indices.allSatisfy { left[$0] == right[$0] }
            }
        }
    }
}

/// The 64-bit FNV-1a hash, for file names and for detecting that a string changed. It is not a cryptographic
/// hash: do not use it on secrets that could be guessed, and compare the full keys of files with the same
/// name.
package enum FNV1a {
    /// Returns the hash as sixteen hexadecimal digits.
    package static func digits(_ text: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        var digits: [UInt8] = []
        for shift in stride(from: 60, through: 0, by: -4) {
            digits.append(ASCII.hexDigit(UInt8(truncatingIfNeeded: hash >> UInt64(shift)) & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }
}

/// Names of files that depend only on a key.
package enum FileName {
    /// Returns a short, safe name: `<readable part>-<64-bit hash of the key>`.
    package static func of(_ readable: String, hashing key: String) -> String {
        let kept = readable.utf8.prefix(100).map { byte -> UInt8 in
            ASCII.isAlphanumeric(byte) || byte == .hyphen || byte == .period
                ? ASCII.lowercased(byte) : .underscore
        }
        let safe = kept.first == .period ? [.underscore] + kept.dropFirst() : kept
        return "\(String(decoding: safe, as: UTF8.self))-\(FNV1a.digits(key))"
    }
}
