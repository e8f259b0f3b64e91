/// Text from outside made fit for a terminal (CWE-150).
public enum DisplayText {
    /// Without control, escape, bidirectional and other invisible characters, cut at 300 characters; line
    /// ends and tabs become spaces.
    public static func clean(_ text: some StringProtocol, limit: Int = 300) -> String {
        var cleaned = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars {
            guard let kept = kept(scalar) else { continue }
            guard count < limit else {
                cleaned.append("…")
                break
            }
            cleaned.append(kept)
            count += 1
        }
        return String(cleaned)
    }

    public static func quoted(_ text: some StringProtocol, limit: Int = 300) -> String {
        "“\(clean(text, limit: limit))”"
    }

    private static func kept(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D, 0x2028, 0x2029: return " "
        case 0..<0x20, 0x7F..<0xA0: return nil
        case 0xAD, 0x61C, 0x180E, 0x200B...0x200F, 0x202A...0x202E, 0x2060...0x206F, 0xFEFF,
            0xFFF9...0xFFFB, 0xE0000...0xE007F:
            return nil
        default: return scalar
        }
    }
}
