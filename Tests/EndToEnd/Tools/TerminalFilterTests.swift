import Testing

@testable import oidc

@Suite("an answer on a terminal")
struct TerminalFilterTests {
    @Test("control characters are left out, wherever the stream is cut")
    func filters() throws {
        let text = Array("a\u{1B}[31mb\tc\n\r\u{7}d\u{9B}e\u{C2}\u{A9}ü\u{7F}f".utf8)
        #expect(try passed(text) == "a[31mb\tc\nde\u{C2}\u{A9}üf")
    }

    @Test("bidirectional and invisible characters are left out, letters of any length stay")
    func invisible() throws {
        let text = "user\u{202E}txt.exe\u{200B}中\u{FEFF}😀\u{E0041}\u{2066}é"
        #expect(try passed(Array(text.utf8)) == "usertxt.exe中😀é")
    }

    @Test(
        "a byte that is not UTF-8 does not reach the terminal",
        arguments: [
            ([0x61, 0x9B, 0x33, 0x31, 0x6D], "a\u{FFFD}31m"), ([0x61, 0xC2], "a\u{FFFD}"),
            ([0xE4, 0xB8], "\u{FFFD}"), ([0xFF, 0x61], "\u{FFFD}a"), ([0x80, 0x80, 0x80, 0x80], nil),
            ([0xC3, 0xC3, 0xA9], "\u{FFFD}é"), ([0xF0, 0x9F, 0x9B], "\u{FFFD}"),
        ] as [([UInt8], String?)])
    func notUTF8(_ bytes: [UInt8], _ expected: String?) throws {
        let text = try passed(bytes)
        #expect(expected == nil || text == expected)
        #expect(text.unicodeScalars.allSatisfy { !(0x80...0x9F).contains($0.value) })
    }

    /// Returns what the filter passes of a stream, and checks that it is the same wherever the stream is cut.
    private func passed(_ bytes: [UInt8]) throws -> String {
        var texts: Set<[UInt8]> = []
        for cut in 0...bytes.count {
            var filter = TerminalFilter()
            let passed = filter.passed(Array(bytes[..<cut])) + filter.passed(Array(bytes[cut...]))
            texts.insert(passed + filter.end())
        }
        #expect(texts.count == 1)
        let text = try #require(texts.first)
        return try #require(String(validating: text, as: UTF8.self))
    }
}
