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
