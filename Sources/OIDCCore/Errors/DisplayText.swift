/// Untrusted text, made safe to print to a terminal (CWE-150).
package enum DisplayText {
    /// Returns the text without control, escape, bidirectional and other invisible characters; line ends and
    /// tabs become spaces. A text longer than the limit is cut, and then its last character is `…`.
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

    /// Returns the text as `clean` does, but shortens a long one in the middle: Hydra's
    /// descriptions start with those of the RFC and end with the reason (26.2, 2026-11).
    package static func shortened(_ text: some StringProtocol, limit: Int = 300) -> String {
        // Only its two ends are cleaned, however long the text is.
        let whole = clean(text, limit: limit + 1)
        guard whole.unicodeScalars.count > limit else { return whole }
        let half = (limit - 1) / 2
        let start = whole.unicodeScalars.prefix(half)
        let end = clean(String(text.suffix(limit * 4)), limit: .max).unicodeScalars.suffix(half)
        return String(String.UnicodeScalarView(start)) + "…" + String(String.UnicodeScalarView(end))
    }

    /// Returns whether `clean` leaves a string of any length as it is.
    package static func isClean(_ text: some StringProtocol) -> Bool {
        text.unicodeScalars.allSatisfy { kept($0) == $0 }
    }

    /// Returns a string of any length with each of its lines cleaned.
    package static func lines(_ text: String) -> String {
        // Split by scalars, as CR LF is a single character.
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { clean(Substring($0), limit: .max) }.joined(separator: "\n")
    }

    package static func quoted(_ text: some StringProtocol, limit: Int = 300) -> String {
        "\"\(clean(text, limit: limit))\""
    }

    /// Returns a URL without user and password, even if these contain a `/` or the scheme is missing.
    package static func address(_ text: String, limit: Int = 300) -> String {
        guard let parts = text.parts(around: "//"), let at = parts.after.lastIndex(of: "@") else {
            guard let at = text.lastIndex(of: "@"), text[..<at].contains(":") else {
                return clean(text, limit: limit)
            }
            return clean("…\(text[at...])", limit: limit)
        }
        return clean("\(parts.before)//…\(parts.after[at...])", limit: limit)
    }

    /// Returns whether a character is invisible: controls, everything that Unicode lets a font ignore
    /// (Default_Ignorable_Code_Point), noncharacters, and blank-looking characters that are not spaces.
    package static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20..<0x7F: false
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2800, 0xFDD0...0xFDEF, 0xFFF9...0xFFFB, 0x1D159: true
        case let value:
            value & 0xFFFE == 0xFFFE || scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Returns the character to print in place of this one; nil to leave it out.
    private static func kept(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D, 0x2028, 0x2029: return " "
        // Spaces of other widths
        case 0xA0, 0x1680, 0x2000...0x200A, 0x202F, 0x205F, 0x3000: return " "
        default: return isInvisible(scalar) ? nil : scalar
        }
    }
}

/// Quoting of shell words, for hints that users paste.
package enum ShellWord {
    /// Returns words as one line of a shell.
    package static func line(_ words: [String]) -> String { words.map(quoted).joined(separator: " ") }

    /// Returns the string without control characters, in single quotes if a shell would read it otherwise.
    package static func quoted(_ text: String) -> String {
        let text = DisplayText.clean(text, limit: 4_096)
        let isPlain = text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "/._-+,@%:=".utf8.contains($0) }
        guard !isPlain || text.isEmpty else { return text }
        var quoted: [UInt8] = [.apostrophe]
        for byte in text.utf8 { quoted += byte == .apostrophe ? Array(#"'\''"#.utf8) : [byte] }
        return String(decoding: quoted + [.apostrophe], as: UTF8.self)
    }
}

/// Escaping of text for HTML.
package enum HTMLText {
    /// Escapes the characters that have a meaning in HTML, also in quoted attributes.
    package static func escaped(_ text: some StringProtocol) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
