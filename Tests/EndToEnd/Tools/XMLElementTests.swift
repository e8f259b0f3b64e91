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

    @Test("bytes that are no UTF-8 are malformed; every cut of a document is")
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
    func filters() {
        let text = Array("a\u{1B}[31mb\tc\n\r\u{7}d\u{9B}e\u{C2}\u{A9}ü\u{7F}f".utf8)
        for cut in 0...text.count {
            var filter = TerminalFilter()
            let passed = filter.passed(Array(text[..<cut])) + filter.passed(Array(text[cut...]))
            #expect(String(decoding: passed, as: UTF8.self) == "a[31mb\tc\nde\u{C2}\u{A9}üf")
        }
    }
}
