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

    @Test("a hint quotes what came from a provider or the command line")
    func hints() {
        func hint(_ issuer: String) -> String? {
            #expect(throws: OIDCError.self) { try ProviderMetadata.checkedIssuer(issuer) }?.hint
        }
        #expect(hint("op.example/$(id)") == "--issuer 'https://op.example/$(id)'")
        #expect(
            hint("https://op.example/$(id)/.well-known/openid-configuration")
                == "--issuer 'https://op.example/$(id)'")
    }
}
