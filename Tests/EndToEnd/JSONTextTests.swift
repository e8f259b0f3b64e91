import OIDCCore
import Testing

@testable import oidc

@Suite("a configuration file's text, edited member by member")
struct JSONTextTests {
    private static func edited(_ text: String, _ change: (inout JSONText) -> Void) -> String {
        var json = JSONText(Array(text.utf8))
        change(&json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    @Test(
        "a value that is there is replaced, and nothing else changes",
        arguments: [
            (#"{"a":1, "b" : [1, {"a":2}] ,"c":"}"}"#, "b", #"{"a":1, "b" : 7 ,"c":"}"}"#),
            ("{\r\n\t\"a\" :\t\"x\\\"y\"\r\n}\r\n", "a", "{\r\n\t\"a\" :\t7\r\n}\r\n"),
            (#"{"\u0061":true}"#, "a", #"{"\u0061":7}"#), ("\u{FEFF}{\"a\":null}", "a", "\u{FEFF}{\"a\":7}"),
        ])
    func replaced(_ text: String, _ name: String, _ expected: String) {
        #expect(Self.edited(text) { $0.set(name, to: 7, in: []) } == expected)
    }

    @Test(
        "a new member is written as its neighbors are",
        arguments: [
            ("{\n    \"a\" : 1\n}\n", "{\n    \"a\" : 1,\n    \"n\" : 7\n}\n"),
            (#"{"a":1,"b":2}"#, #"{"a":1,"b":2,"n":7}"#),
            (#"{"a": 1, "b": 2}"#, #"{"a": 1, "b": 2, "n": 7}"#),
            ("{}", "{\n  \"n\": 7\n}"), ("{\n}\n", "{\n  \"n\": 7\n}\n"),
            ("{\r\n\t\"a\": 1\r\n}", "{\r\n\t\"a\": 1,\r\n\t\"n\": 7\r\n}"),
        ])
    func added(_ text: String, _ expected: String) {
        #expect(Self.edited(text) { $0.set("n", to: 7, in: []) } == expected)
    }

    @Test("a member of a nested object is set there, also in an empty one, and objects are indented")
    func nested() {
        let text = "{\n  \"profiles\": {\n    \"a\": {},\n    \"b\": {\"x\": 1}\n  }\n}\n"
        #expect(
            Self.edited(text) { $0.set("p", to: ["k": "v"], in: ["profiles", "a"]) }
                == "{\n  \"profiles\": {\n    \"a\": {\n      \"p\": {\"k\": \"v\"}\n    },\n"
                + "    \"b\": {\"x\": 1}\n  }\n}\n")
        #expect(
            Self.edited(text) { $0.set("y", to: ["z"], in: ["profiles", "b"]) }
                == text.replacing("{\"x\": 1}", with: "{\"x\": 1, \"y\": [\"z\"]}"))
        #expect(Self.edited(text) { $0.set("y", to: 1, in: ["profiles", "c"]) } == text)
    }

    @Test("the first member is written before the others")
    func first() {
        #expect(
            Self.edited("{\n  \"a\": {\n  }\n}") { $0.set("n", to: "x", in: [], first: true) }
                == "{\n  \"n\": \"x\",\n  \"a\": {\n  }\n}")
        #expect(
            Self.edited("{ \"a\":\n1 }") { $0.set("n", to: 7, in: [], first: true) }
                == "{ \"n\": 7, \"a\":\n1 }")
    }

    @Test(
        "a member is removed with its comma",
        arguments: [
            ("{\n  \"a\": 1,\n  \"n\": [2, 3],\n  \"b\": 2\n}", "{\n  \"a\": 1,\n  \"b\": 2\n}"),
            ("{\n  \"a\": 1,\n  \"n\": {\"n\": 1}\n}", "{\n  \"a\": 1\n}"), ("{\n  \"n\": 1\n}", "{}"),
            (#"{"n":1,"a":{"n":2}}"#, #"{"a":{"n":2}}"#), (#"{"a":1}"#, #"{"a":1}"#),
        ])
    func removed(_ text: String, _ expected: String) {
        #expect(Self.edited(text) { $0.remove("n", in: []) } == expected)
    }

    @Test("after setting or removing any member, the text is JSON and the other members are unchanged")
    func stays() throws {
        let values: [JSONValue] = [
            1, "a\"\\}", [1, [2], ["x": "]"]], ["k": ["n": "{"]], true, .null,
        ]
        for first in values {
            for second in values {
                let object: JSONValue = ["a": first, "profiles": ["n": first, "m": second], "b": second]
                for text in [object.compact, object.indented] {
                    let set = Self.edited(text) { $0.set("n", to: second, in: ["profiles"]) }
                    let expected: JSONValue = [
                        "a": first, "profiles": ["n": second, "m": second], "b": second,
                    ]
                    #expect(try JSONValue(parsing: set) == expected)
                    let removed = Self.edited(text) { $0.remove("m", in: ["profiles"]) }
                    #expect(try JSONValue(parsing: removed)["profiles"] == ["n": first])
                }
            }
        }
    }
}
