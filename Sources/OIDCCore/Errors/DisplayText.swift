/// Text from outside made fit for a terminal (CWE-150).
package enum DisplayText {
    /// Without control, escape, bidirectional and other invisible characters; line ends and tabs become
    /// spaces. What is longer than the limit is cut, and ends in `…` within it.
    package static func clean(_ text: some StringProtocol, limit: Int = 300) -> String {
        var cleaned = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars {
            guard let kept = kept(scalar) else { continue }
            guard count < limit else {
                if cleaned.popLast() != nil { cleaned.append("…") }
                break
            }
            cleaned.append(kept)
            count += 1
        }
        return String(cleaned)
    }

    /// Returns a text of several lines without the characters that `clean` leaves out, of any length.
    package static func lines(_ text: String) -> String {
        // By scalars, as a carriage return and a line feed are one character.
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { clean(Substring($0), limit: .max) }.joined(separator: "\n")
    }

    package static func quoted(_ text: some StringProtocol, limit: Int = 300) -> String {
        "“\(clean(text, limit: limit))”"
    }

    /// An address without user and password, which are for nobody's eyes, also where they hold a `/`, or where
    /// the scheme was forgotten.
    package static func address(_ text: some StringProtocol, limit: Int = 300) -> String {
        guard let parts = text.parts(around: "//"), let at = parts.after.lastIndex(of: "@") else {
            guard let at = text.lastIndex(of: "@"), text[..<at].contains(":") else {
                return clean(text, limit: limit)
            }
            return clean("…\(text[at...])", limit: limit)
        }
        return clean("\(parts.before)//…\(parts.after[at...])", limit: limit)
    }

    /// Whether a character acts on the text around it, or on a terminal, instead of being seen: controls,
    /// everything that Unicode lets a font ignore (Default_Ignorable_Code_Point), noncharacters, and characters
    /// that are not spaces and yet look blank.
    package static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20..<0x7F: false
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2800, 0xFDD0...0xFDEF, 0xFFF9...0xFFFB, 0x1D159: true
        case let value:
            value & 0xFFFE == 0xFFFE || scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// The character that is shown for one from outside; nil if it is left out.
    private static func kept(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D, 0x2028, 0x2029: return " "
        // Spaces of other widths.
        case 0xA0, 0x1680, 0x2000...0x200A, 0x202F, 0x205F, 0x3000: return " "
        default: return isInvisible(scalar) ? nil : scalar
        }
    }
}

/// A string as one word for a shell, for a hint that is pasted.
package enum ShellWord {
    /// Returns the string without control characters, in single quotes if a shell would read it otherwise.
    package static func quoted(_ text: String) -> String {
        let text = DisplayText.clean(text, limit: 4_096)
        let isPlain = text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "/._-+,@%:=".utf8.contains($0) }
        guard !isPlain || text.isEmpty else { return text }
        var quoted: [UInt8] = [0x27]
        for byte in text.utf8 { quoted += byte == 0x27 ? Array(#"'\''"#.utf8) : [byte] }
        return String(decoding: quoted + [0x27], as: UTF8.self)
    }
}
