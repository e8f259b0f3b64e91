import OIDCCore
import Testing

@Suite("Text for a terminal")
struct DisplayTextTests {
    static let texts: [(String, String)] = [
        ("plain é€😀", "plain é€😀"), ("\u{1B}[31mred\u{1B}[0m", "[31mred[0m"), ("\u{9B}31m", "31m"),
        ("a\r\nb\tc", "a  b c"), ("a\u{2028}b\u{2029}c", "a b c"), ("a\0b\u{7F}c\u{85}d", "abcd"),
        ("user\u{202E}txt.exe", "usertxt.exe"), ("\u{2066}a\u{2069}\u{200B}\u{FEFF}\u{AD}", "a"),
        ("\u{E0041}\u{E007F}x", "x"), ("a\u{A0}b\u{2003}c\u{3000}d", "a b c d"),
        ("\u{1B}]8;;https://evil\u{7}click\u{1B}]8;;\u{7}", "]8;;https://evilclick]8;;"),
    ]

    @Test("control, escape, bidirectional and invisible characters go", arguments: texts)
    func clean(_ text: String, _ expected: String) {
        #expect(DisplayText.clean(text) == expected)
        #expect(DisplayText.quoted(text) == "\"\(expected)\"")
    }

    /// Default_Ignorable_Code_Point of Unicode 16, noncharacters, and what looks blank.
    static let invisible: [ClosedRange<UInt32>] = [
        0x00...0x08, 0x0B...0x0C, 0x0E...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x34F...0x34F, 0x61C...0x61C,
        0x115F...0x1160, 0x17B4...0x17B5, 0x180B...0x180F, 0x200B...0x200F, 0x202A...0x202E, 0x2060...0x206F,
        0x2800...0x2800, 0x3164...0x3164, 0xFDD0...0xFDEF, 0xFE00...0xFE0F, 0xFEFF...0xFEFF, 0xFFA0...0xFFA0,
        0xFFF0...0xFFFB, 0xFFFE...0xFFFF, 0x1BCA0...0x1BCA3, 0x1D159...0x1D159, 0x1D173...0x1D17A,
        0x1FFFE...0x1FFFF, 0xE0000...0xE0FFF, 0x10FFFE...0x10FFFF,
    ]

    @Test("everything that Unicode lets a font ignore goes, and what looks blank", arguments: invisible)
    func ignorable(_ range: ClosedRange<UInt32>) throws {
        for value in range {
            let scalar = try #require(Unicode.Scalar(value))
            #expect(DisplayText.clean("a\(Character(scalar))b") == "ab", "U+\(String(value, radix: 16))")
        }
    }

    @Test(
        "letters, signs and marks stay", arguments: ["é", "e\u{301}", "ü", "中", "ﷺ", "😀", "€", "़", "ー", "ᄀ"])
    func visible(_ text: String) {
        #expect(ExactText.isSame(DisplayText.clean(text), text))
    }

    @Test("lines of any length stay lines")
    func lines() {
        let long = String(repeating: "x", count: 1_000)
        #expect(DisplayText.lines("a\u{1B}[31m\n\n  \(long)\u{202E}\r\n") == "a[31m\n\n  \(long) \n")
    }

    @Test("the message of an error or a warning is one clean line, however it was made")
    func messages() {
        let hostile = "a\u{1B}[31m\nerror: b\u{202E}c"
        let clean = "a[31m error: bc"
        var error = OIDCError(.refused, hostile)
        #expect(error.message == clean)
        error.message += "\n" + hostile
        #expect(error.message == "\(clean) \(clean)")
        var warning = OIDCWarning(hostile)
        #expect(warning.message == clean)
        warning.message = hostile
        #expect(warning.message == clean)
        let literal: OIDCWarning = "a \(hostile)"
        #expect(literal.message == "a \(clean)")
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

    @Test(
        "a word for a shell is one word that runs nothing",
        arguments: [
            ("https://op.example/a", "https://op.example/a"), ("read write", "'read write'"), ("", "''"),
            ("$(id)`id`\"", "'$(id)`id`\"'"), ("a'b", #"'a'\''b'"#), ("a;b&c|d>e*", "'a;b&c|d>e*'"),
            ("a\u{1B}b\nc", "'ab c'"),
        ])
    func shellWord(text: String, word: String) {
        #expect(ShellWord.quoted(text) == word)
    }
}
