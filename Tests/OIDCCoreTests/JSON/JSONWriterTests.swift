@testable import OIDCCore
import Testing

@Suite("JSON, writing")
struct JSONWriterTests {
    @Test("one line has no blanks; many lines are indented by two spaces")
    func layout() {
        let value: JSONValue = ["a": [1, [:], []], "b": ["c": .null]]
        #expect(value.compact == #"{"a":[1,{},[]],"b":{"c":null}}"#)
        #expect(
            value.indented == """
                {
                  "a": [
                    1,
                    {},
                    []
                  ],
                  "b": {
                    "c": null
                  }
                }
                """)
    }

    @Test("a few simple values deep inside stay on one line, as a setting of a profile does")
    func lines() {
        let setting: JSONValue = ["audience": "api", "prompt": "consent"]
        let line = #"{"audience": "api", "prompt": "consent"}"#
        #expect(setting.configuration(within: 3) == line && setting.configuration(within: 2) != line)
        #expect((["a": ["b": ["c": setting]]] as JSONValue).configuration(within: 0).includes(line))
        #expect((["a": [1, 2]] as JSONValue).configuration(within: 2) == "{\n  \"a\": [1, 2]\n}")
        for others in [["x": setting], [1, 2, 3, 4, 5], [.string(String(repeating: "x", count: 50))]]
            as [JSONValue]
        {
            #expect(others.configuration(within: 3).includes("\n"))
        }
        #expect(!(["a": ["b": ["c": setting]]] as JSONValue).indented.includes(line))
    }

    static let strings: [(String, String)] = [
        ("a\"b\\c/d", #""a\"b\\c/d""#), ("\n\r\t", #""\n\r\t""#),
        ("\0\u{1B}\u{7F}", #""\u0000\u001b\u007f""#),
        ("é€😀", "\"é€😀\""), ("\u{9B}31m", #""\u009b31m""#), ("a\u{202E}b", #""a\u202eb""#),
        ("\u{2028}", #""\u2028""#), ("\u{E0041}", #""\udb40\udc41""#), ("\u{FEFF}", #""\ufeff""#),
    ]

    @Test("control characters are escaped, and read back the same", arguments: strings)
    func escapes(_ text: String, _ written: String) throws {
        #expect(JSONValue.string(text).compact == written)
        #expect(try JSONValue(parsing: written).string == text)
    }

    @Test("setting a member keeps its position, setting nil removes it")
    func members() {
        var object = JSONObject()
        object["a"] = 1
        object["b"] = 2
        object["a"] = 3
        #expect(JSONValue.object(object).compact == #"{"a":3,"b":2}"#)
        object["a"] = nil
        object["none"] = nil
        #expect(JSONValue.object(object).compact == #"{"b":2}"#)
    }

    @Test("an array of strings has no other member")
    func stringArray() {
        #expect((["a", "b"] as JSONValue).strings == ["a", "b"])
        #expect(([] as JSONValue).strings == [])
        #expect((["a", 1] as JSONValue).strings == nil)
        #expect(("a" as JSONValue).strings == nil)
    }
}

@Suite("ASCII")
struct ASCIITests {
    @Test("only ASCII letters have case")
    func letterCase() {
        #expect(ASCII.lowercased("ÀBC@[Z") == "Àbc@[z")
        #expect(ASCII.isSameIgnoringCase("DPoP", "dpop"))
        #expect(!ASCII.isSameIgnoringCase("é", "É"))
        #expect(!ASCII.isSameIgnoringCase("K", "\u{212A}"))
        #expect(!ASCII.isSameIgnoringCase("a", "ab"))
    }

    @Test("blanks go from both ends, and nothing else does")
    func trimmed() {
        #expect(ASCII.trimmed(" \t\r\na b\n ") == "a b")
        #expect(ASCII.trimmed(" \n") == "")
        #expect(ASCII.trimmed("\u{A0}a\u{A0}") == "\u{A0}a\u{A0}")
    }

    @Test("strings are equal by code points, not by appearance")
    func exact() {
        #expect("é" == "e\u{301}")
        #expect(!ExactText.isSame("é", "e\u{301}"))
        #expect(!ExactText.isSame("K", "\u{212A}"))
        #expect(!ExactText.isSame("a", "ab"))
        #expect(ExactText.isSame("é", "é"))
        #expect(ExactText.isSame("", ""))
    }
}
