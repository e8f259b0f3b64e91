import OIDCCore
import Testing

@testable import oidc

@Suite("XML of a web service")
struct XMLElementTests {
    private func parse(_ text: String) throws -> XMLElement { try XMLElement(parsing: Array(text.utf8)) }

    @Test("elements, text, attributes, entities and comments are read")
    func reads() throws {
        let root = try parse(
            """
            <?xml version="1.0" encoding="UTF-8"?><!-- a <b> -->
            <a:root xmlns:a='x' b = "y">t<one/> <two>  &lt;&amp;&gt;&quot;&apos;&#65;&#x42; ü </two>u</a:root>

            """)
        #expect(root.name == "root" && root.text == "t u" && root.children.map(\.name) == ["one", "two"])
        #expect(root["two"]?.text == "<&>\"'AB ü" && root["one"]?.text == "" && root["three"] == nil)
    }

    @Test(
        "anything else is malformed",
        arguments: [
            "", " ", "text", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>text", "<a", "<a b>", "<a b=c/>",
            "<a b=\"/>",
            "<a b='<'/>", "<a b='c'd='e'/>", "< a/>", "<1/>", "<a>&b;</a>", "<a>&amp</a>", "<a>&#0;</a>",
            "<a>&#xD800;</a>", "<a>&#+38;</a>", "<a>&#x+26;</a>", "<a:/>", "<a:1/>", "<:/>",
            "<!DOCTYPE a><a/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "<a><![CDATA[b]]></a>",
            "<a><?b?></a>",
            "<a><!-- b</a>", "<?xml", "<a>\u{1}</a>", "<a><b></a></b>",
            String(repeating: "<a>", count: 17) + String(repeating: "</a>", count: 17),
            "<a>" + String(repeating: "<b/>", count: 1_000) + "</a>",
        ])
    func malformed(text: String) {
        #expect(throws: XMLElement.Malformed.self) { try parse(text) }
    }

    @Test("bytes that are not UTF-8 are malformed, and so is every truncated document")
    func cuts() throws {
        #expect(throws: XMLElement.Malformed.self) { try XMLElement(parsing: [0x3C, 0x61, 0x3E, 0xFF]) }
        let whole = Array("<?xml version='1.0'?><a b='c'><d>&lt;</d><!-- --></a>".utf8)
        for count in 0..<whole.count {
            #expect(throws: XMLElement.Malformed.self) { try XMLElement(parsing: Array(whole[..<count])) }
        }
        #expect(try XMLElement(parsing: whole)["d"]?.text == "<")
    }
}

@Suite("An answer on a terminal")
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

    /// What is passed of a stream, which is the same wherever it is cut.
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
