@testable import OIDCCore
import Testing

@Suite("reading an object's members")
struct JSONReaderTests {
    private struct Failure: Error, Equatable {
        let text: String
    }

    private func reader(nullIsAbsent: Bool = false) throws -> JSONReader<Failure> {
        let json = try JSONValue(
            parsing: """
                {"text":"a","empty":"","null":null,"number":1.5,"mixed":["a",2],"url":"https://a.example",\
                "bytes":"AQI","bad":"%%"}
                """)
        return JSONReader(try #require(json.object), readsNullAsAbsent: nullIsAbsent) {
            Failure(text: "\($0): expected \($1), found \($2.found)")
        }
    }

    private func failure<Value>(_ read: (JSONReader<Failure>) throws -> Value) throws -> String? {
        do {
            _ = try read(try reader())
            return nil
        } catch let failure as Failure { return failure.text }
    }

    @Test("a member has its type")
    func values() throws {
        let reader = try reader()
        #expect(try reader.string("text") == "a")
        #expect(try reader.string("absent") == nil)
        #expect(try reader.url("url")?.host == "a.example")
        #expect(try reader.required("bytes", reader.bytes) == [1, 2])
    }

    @Test("a flaw names the member, what was expected and what was found")
    func flaws() throws {
        #expect(try failure { try $0.string("number") } == "number: expected a string, found a number")
        #expect(try failure { try $0.integer("number") } == "number: expected a whole number, found a number")
        #expect(try failure { try $0.bool("text") } == "text: expected true or false, found a string")
        #expect(try failure { try $0.array("text") } == "text: expected an array, found a string")
        #expect(try failure { try $0.object("mixed") } == "mixed: expected an object, found an array")
        #expect(
            try failure { try $0.strings("mixed") }
                == "mixed: expected an array of strings, found an array with a number")
        #expect(try failure { try $0.url("text") } == "text: expected an http(s) URL, found a")
        #expect(try failure { try $0.bytes("bad") } == "bad: expected base64url, found %%")
        #expect(
            try failure { try $0.requiredString("empty") } == "empty: expected a string, found an empty one")
        #expect(try failure { try $0.requiredBytes("empty") } == "empty: expected base64url, found ")
        #expect(
            try failure { try $0.required("absent", $0.bool) }
                == "absent: expected a value, found none")
    }

    @Test("null is a value of another type, or absent")
    func null() throws {
        #expect(try failure { try $0.string("null") } == "null: expected a string, found null")
        #expect(try reader(nullIsAbsent: true).string("null") == nil)
    }
}
