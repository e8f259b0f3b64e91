import OIDCCore
import Testing

@testable import oidc

@Suite("XML of a web service")
struct XMLAnswerTests {
    private func parse(_ text: String) throws -> XMLAnswer { try XMLAnswer(parsing: Array(text.utf8)) }

    @Test("elements, text, attributes and entities are read")
    func reads() throws {
        let answer = try parse(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <root xmlns:a='x' b="y"><one/> <two>  &lt;&amp;&gt;&quot;&apos;&#65;&#x42; ü </two><three c="/" />
            </root >

            """)
        #expect(answer.elements.map(\.path) == ["root", "root/one", "root/two", "root/three"])
        #expect(answer["root/two"] == "<&>\"'AB ü" && answer["root/one"] == "" && answer["two"] == nil)
    }

    @Test(
        "anything else is malformed",
        arguments: [
            "", " ", "text", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>text", "<a", "<a b>", "<a b=c/>",
            "<a b=\"/>", "<a b='>'/>", "<a b='<'/>", "<a b='c'd='e'/>", "<a b-c='d'/>", "< a/>", "<1/>",
            "</>",
            "<a>&b;</a>", "<a>&amp</a>", "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#+38;</a>", "<a>&#x+26;</a>",
            "<a>&#;</a>", "<a:b/>", "<a_b/>", "<é/>", "<a>text<b/></a>", "<a><b/>text</a>", "<a><b/><b/></a>",
            "<a><b><c/></b><b><d/></b></a>", "<!DOCTYPE a><a/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
            "<a><![CDATA[b]]></a>", "<a><?b?></a>", "<a><!-- b --></a>", "<!-- b --><a/>", "<?xml",
            "<?xml ?>",
            "<?xml version='1.0'><a/>", "<a><?xml version='1.0'?></a>", "<a>\u{1}</a>", "<a><b></a></b>",
            "<\(String(repeating: "a", count: 101))/>",
            "<a>" + (1...100).map { "<b\($0)/>" }.joined() + "</a>",
        ])
    func malformed(text: String) {
        #expect(throws: XMLAnswer.Malformed.self) { try parse(text) }
    }

    @Test("bytes that are not UTF-8 are malformed, and so is every truncated document")
    func cuts() throws {
        #expect(throws: XMLAnswer.Malformed.self) { try XMLAnswer(parsing: [0x3C, 0x61, 0x3E, 0xFF]) }
        let whole = Array("<?xml version='1.0'?><a b='c'><d>&lt;</d><e/></a>".utf8)
        for count in 0..<whole.count {
            #expect(throws: XMLAnswer.Malformed.self) { try XMLAnswer(parsing: Array(whole[..<count])) }
        }
        #expect(try XMLAnswer(parsing: whole)["a/d"] == "<")
    }
}
