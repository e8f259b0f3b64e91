import OIDCCore
import Testing

@Suite("Text for a terminal")
struct DisplayTextTests {
    static let texts: [(String, String)] = [
        ("plain é€😀", "plain é€😀"), ("\u{1B}[31mred\u{1B}[0m", "[31mred[0m"), ("\u{9B}31m", "31m"),
        ("a\r\nb\tc", "a  b c"), ("a\u{2028}b\u{2029}c", "a b c"), ("a\0b\u{7F}c\u{85}d", "abcd"),
        ("user\u{202E}txt.exe", "usertxt.exe"), ("\u{2066}a\u{2069}\u{200B}\u{FEFF}\u{AD}", "a"),
        ("\u{E0041}\u{E007F}x", "x"),
        ("\u{1B}]8;;https://evil\u{7}click\u{1B}]8;;\u{7}", "]8;;https://evilclick]8;;"),
    ]

    @Test("control, escape, bidirectional and invisible characters go", arguments: texts)
    func clean(_ text: String, _ expected: String) {
        #expect(DisplayText.clean(text) == expected)
        #expect(DisplayText.quoted(text) == "“\(expected)”")
    }

    @Test("300 characters stay, more are cut within 300")
    func limit() {
        let full = String(repeating: "x", count: 300)
        #expect(DisplayText.clean(full) == full)
        #expect(DisplayText.clean(full + "\u{200B}") == full)
        let cut = DisplayText.clean(full + "y")
        #expect(cut == String(repeating: "x", count: 299) + "…")
        #expect(DisplayText.clean("abc", limit: 2) == "a…")
        #expect(DisplayText.clean("abc", limit: 0).isEmpty && DisplayText.clean("abc", limit: -1).isEmpty)
    }
}
