import OIDCCore
import Testing

@testable import oidc

@Suite("JSON, reading a few members of many")
struct JSONOutlineTests {
    private func outline(_ text: String) throws(JSONError) -> JSONOutline {
        try JSONOutline(of: Array(text.utf8), expanding: "profiles", seeking: ["secret", "store"])
    }

    private func values(_ members: [JSONOutline.Member], of text: String) throws -> [JSONValue] {
        try members.map { try JSONValue(parsing: Array(Array(text.utf8)[$0.value])) }
    }

    @Test("each member has the range of its value, whatever is in the values beside it")
    func ranges() throws {
        let text = """
            \u{FEFF} { "default" : "a" , "profiles":{"a":{"x":[1,{"y":"]}"}]} ,
            "b\\u0063" : {}, "d" :"\\"}{" , "é":-1.5e3,"a":[[],{}], "long name of more than 15": null } }

            """
        let outline = try outline(text)
        #expect(outline.members.map(\.name) == ["default", "profiles"])
        #expect(try values(Array(outline.members.prefix(1)), of: text) == ["a"])
        let inner = try #require(outline.inner)
        #expect(inner.map(\.name) == ["a", "bc", "d", "é", "a", "long name of more than 15"])
        #expect(
            try values(inner, of: text) == [
                ["x": [1, ["y": "]}"]]], [:], "\"}{", try JSONValue(parsing: "-1.5e3"), [[], [:]],
                .null,
            ])
        #expect(try self.outline("{}").members.isEmpty)
        #expect(try self.outline(#"{"profiles":[1]}"#).inner == nil)
    }

    @Test(
        "an unclosed or mismatched bracket or quote is refused, and what is between the members",
        arguments: [
            "", "[]", "1", "{", #"{"a"}"#, #"{"a":1,}"#, #"{"a":1}x"#, #"{"profiles":{"a":{"b":[}]}}"#,
            #"{"profiles":{"a":{"b":"}}}"#, #"{"profiles":{"a":{]}}"#, #"{"profiles":{"a":{}"b":{}}}"#,
            #"{"profiles":{"a" {}}}"#, #"{"profiles":{"a":}}"#, #"{"profiles":{a:{}}}"#, #"{"a":"\"}"#,
            "{\"a\":\"0123456789\n\"}", "{\"profiles\":{\"a\":{\"b\":\"01234567\u{1}\"}}}",
            "{\"a\":" + String(repeating: "[", count: 64) + String(repeating: "]", count: 64) + "}",
        ])
    func refused(text: String) {
        #expect(throws: JSONError.self) { try outline(text) }
    }

    @Test(
        "a name in a skipped value is found, even if it is spelled with an escape",
        arguments: [
            (#"{"profiles":{"a":{"secret":1}}}"#, true), (#"{"profiles":{"a":[[{"secret":1}]]}}"#, true),
            (#"{"profiles":{"a":{"s\u0065cret":1}}}"#, true), (#"{"profiles":{"a":{"secrets":1}}}"#, false),
            (#"{"profiles":{"a":{"secre":1}}}"#, false), (#"{"profiles":{"secret":{}}}"#, false),
            (#"{"profiles":{"a":{"store":1}}}"#, true), (#"{"profiles":{"a":{"stores":1}}}"#, false),
        ])
    func sought(text: String, isFound: Bool) throws {
        #expect(try outline(text).mayHoldName == isFound)
    }

    @Test("all bytes of a string are looked at, at each offset in a word")
    func words() throws {
        for count in 0..<40 {
            let filler = String(repeating: "é", count: count / 2) + String(repeating: "x", count: count % 2)
            for (end, isWhole) in [("\"", true), ("\\\"\"", true), ("\n\"", false), ("", false)] {
                let text = "{\"profiles\":{\"a\":{\"b\":\"\(filler)\(end)}}}"
                #expect((try? outline(text).inner?.count) == (isWhole ? 1 : nil), "\(text)")
            }
        }
    }
}
