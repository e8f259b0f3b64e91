import OIDCCore
import Testing

@Suite("JSON, reading")
struct JSONParserTests {
    static let values: [(String, JSONValue)] = [
        ("null", .null), ("true", true), ("false", false), ("0", 0), ("-1", -1), ("\"\"", ""), ("[]", []),
        ("{}", [:]), (" \t\r\n[ 1 , 2 ]\n", [1, 2]), ("{ \"a\" : [ { } ] }", ["a": [[:]]]),
        (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u00e9\u20AC""#, "é€"),
        (#""\ud83d\ude00""#, "😀"), (#""\u0000""#, "\0"), ("\"é😀\"", "é😀"), ("\"\u{7F}\"", "\u{7F}"),
        ("\u{FEFF}1", 1), ("9223372036854775807", .init(Int64.max)),
        ("-9223372036854775808", .init(Int64.min)),
    ]

    @Test("a value is read", arguments: values)
    func reads(_ text: String, _ value: JSONValue) throws {
        #expect(try JSONValue(parsing: text) == value)
    }

    static let refusals: [(String, String, Int)] = [
        ("", "the text is incomplete", 0), ("  ", "the text is incomplete", 2),
        ("[1", "the text is incomplete", 2), ("{\"a\"", "the text is incomplete", 4),
        ("\"a", "the text is incomplete", 2), ("\"a\\", "the text is incomplete", 3),
        ("[1,]", "expected a value", 3), ("{\"a\":1,}", "a member's name must be a string", 7),
        ("{a:1}", "a member's name must be a string", 1),
        ("{\"a\" 1}", "missing \":\" after a member's name", 5),
        ("[1 2]", "missing \",\" or a closing bracket", 3), ("[1}", "missing \",\" or a closing bracket", 2),
        ("1 1", "unexpected text after the value", 2), ("nul", "expected a value", 0),
        ("truE", "expected a value", 0), ("'a'", "expected a value", 0), ("// a\n1", "expected a value", 0),
        ("[01]", "a number with leading zeros", 3), ("-", "the text is incomplete", 1),
        ("+1", "expected a value", 0), (".5", "expected a value", 0),
        ("[1.]", "no digits after the decimal point", 3), ("[1e]", "no digits in the exponent", 3),
        ("[1e+]", "no digits in the exponent", 4), ("NaN", "expected a value", 0),
        ("Infinity", "expected a value", 0),
        ("0x10", "unexpected text after the value", 1), ("\"\n\"", "a control character in a string", 1),
        ("\"a\\x\"", "an unknown escape", 3), ("\"\\u12g4\"", "an escape without four hexadecimal digits", 5),
        ("\"\\ud800\"", "a lone surrogate", 7), ("\"\\udc00\"", "a lone surrogate", 7),
        ("\"\\ud800\\u0041\"", "a lone surrogate", 13), ("\"\\ud800\\ud800\"", "a lone surrogate", 13),
        ("{\"a\":1,\"a\":2}", "duplicate member \"a\"", 7),
        ("{\"a\":1,\"\\u0061\":2}", "duplicate member \"a\"", 7),
        ("{\"x\":{\"a\":1,\"b\":2,\"a\":1}}", "duplicate member \"a\"", 18),
        ("{\"\u{1B}[31m\":1}", "a control character in a string", 2),
    ]

    @Test("invalid JSON is refused with a reason and a position (RFC 8259)", arguments: refusals)
    func refuses(_ text: String, _ reason: String, _ offset: Int) {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset)
    }

    static let mistakes: [(String, String)] = [
        ("", "it is empty"), (" \n", "it is empty"),
        ("\u{FEFF}", "line 1, column 1: the file ends here, but a quote or bracket is still open"),
        ("{\n  \"a\": 1,\n}", "line 2, column 9: trailing comma"),
        ("[1, ]", "line 1, column 3: trailing comma"),
        ("{\n  // note\n}", "line 2, column 3: a comment; JSON has none"),
        ("{\"a\": 1 # note\n}", "line 1, column 9: a comment; JSON has none"),
        ("/* */ {}", "line 1, column 1: a comment; JSON has none"),
        ("{'a': 1}", "line 1, column 2: single quotes; JSON has double quotes"),
        ("{\"a\": 'b'}", "line 1, column 7: single quotes; JSON has double quotes"),
        ("{“a”: 1}", "line 1, column 2: curly quotes; use straight ones"),
        ("{a: 1}", "line 1, column 2: a name without double quotes"),
        ("{\"a\": device}", "line 1, column 7: a value without double quotes"),
        ("{\"é\": True}", "line 1, column 7: a value without double quotes"),
        ("\u{FEFF}{\"a\":}", "line 1, column 6: a value is missing"),
        ("{\"a\": 1\n \"b\": 2}", "line 1, column 8: missing comma"),
        ("{\"a\": 1,, \"b\": 2}", "line 1, column 9: two commas"),
        ("{\"a\" = 1}", "line 1, column 6: \"=\" instead of \":\""),
        ("{\"a\" 1}", "line 1, column 6: missing \":\" after a member's name"),
        ("{\"a\": [1}", "line 1, column 9: the wrong closing bracket"),
        ("{}}", "line 1, column 3: one closing bracket too many"),
        ("{} {}", "line 1, column 4: unexpected text after the value"),
        ("{\"a\": \"b", "line 1, column 9: the file ends here, but a quote or bracket is still open"),
        ("{\"a\": \"b\n}", "line 1, column 9: a string without its closing quote"),
        (#"{"a": "C:\dir"}"#, #"line 1, column 11: a single backslash; in a string it is written \\"#),
        ("{\"a\": 1,\n\"a\": 2}", "line 2, column 1: duplicate member \"a\""),
    ]

    @Test("a common mistake is named with its line and column", arguments: mistakes)
    func mistake(_ text: String, _ message: String) {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
        #expect(error?.inFile == message)
    }

    @Test(
        "a file in another encoding is named as such",
        arguments: [[0xFF, 0xFE, 0x7B, 0], [0, 0x7B], [0x7B, 0]] as [[UInt8]])
    func otherEncoding(_ bytes: [UInt8]) {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
        #expect(error?.inFile == "it is UTF-16 or UTF-32; save it as UTF-8")
    }

    @Test("a file of NUL bytes, as after a power failure, is not reported as UTF-16")
    func onlyNUL() {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: [0, 0, 0, 0]) }
        #expect(error?.inFile == "it contains only NUL bytes")
    }

    @Test(
        "strings that are not UTF-8 are refused, with and without escapes",
        arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80]] as [[UInt8]])
    func invalidUTF8(_ bytes: [UInt8]) {
        let start = #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22] + bytes + [0x22]) }
        #expect(start?.reason == "a string that is not UTF-8")
        #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22, 0x5C, 0x6E] + bytes + [0x22]) }
    }

    @Test("a duplicate is found among many members too")
    func duplicateAmongMany() {
        let members = (0..<500).map { "\"m\($0)\":\($0)" }.joined(separator: ",")
        let parsed = try? JSONValue(parsing: "{\(members)}")
        #expect(parsed?.object?.members.count == 500)
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: "{\(members),\"m250\":1}") }
        #expect(error?.reason == "duplicate member \"m250\"")
    }

    @Test(
        "names that are only canonically equivalent are different members, among few and among many (RFC 8259 §8.3)",
        arguments: [0, 40])
    func equivalentNames(others: Int) throws {
        let members = (0..<others).map { "\"m\($0)\":0," }.joined()
        let value = try JSONValue(parsing: "{\(members)\"\u{E9}\":1,\"e\u{301}\":2}")
        #expect(value["\u{E9}"]?.integer == 1 && value["e\u{301}"]?.integer == 2)
        #expect(value.object?.members.count == others + 2)
    }

    @Test("a duplicate's name cannot speak to a terminal")
    func cleanReason() {
        let error = #expect(throws: JSONError.self) {
            try JSONValue(parsing: #"{"\u001b[31m\u202e":1,"\u001b[31m\u202e":1}"#)
        }
        #expect(error?.reason == "duplicate member \"[31m\"")
    }

    @Test("64 levels are read, the 65th is refused, and a million do not crash")
    func depth() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(throws: Never.self) { try JSONValue(parsing: nested(64)) }
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: nested(65)) }
        #expect(error?.reason == "nested too deeply")
        #expect(throws: JSONError.self) { try JSONValue(parsing: nested(1_000_000)) }
        #expect(throws: JSONError.self) {
            try JSONValue(parsing: String(repeating: "{\"a\":", count: 1_000_000))
        }
    }

    @Test("members keep their order and are found by name, not by look")
    func members() throws {
        let json = try JSONValue(parsing: #"{"z":1,"a":2,"\u212a":3}"#)
        #expect(json.object?.names == ["z", "a", "\u{212A}"])
        #expect(json["a"] == 2)
        // U+212A is canonically the letter K, but another code point (RFC 8259 §8.3).
        #expect(json["K"] == nil)
        #expect(json["\u{212A}"] == 3)
    }

    @Test("parsing ends whichever byte is changed, and a parsed value can be written and read back")
    func fuzz() throws {
        let sample = Array(
            #"{"iss":"https://op","aud":["a","b"],"exp":1.7e9,"é\u20ac":{"t":true,"n":null,"e":[]},"f":-0.5}"#
                .utf8)
        var survivors = 0
        for index in sample.indices {
            // Every character of ASCII, and some of the bytes above.
            for byte in Array(0x00...0x80) + [0xBF, 0xC3, 0xE2, 0xF0, 0xFF] as [UInt8] {
                var bytes = sample
                bytes[index] = byte
                guard let value = try? JSONValue(parsing: bytes) else { continue }
                survivors += 1
                let isSame = try JSONValue(parsing: value.bytes) == value
                #expect(isSame)
            }
        }
        #expect(survivors > sample.count)
        for count in sample.indices {
            #expect(throws: JSONError.self) { try JSONValue(parsing: Array(sample.prefix(count))) }
        }
    }
}

@Suite("JSON numbers")
struct JSONNumberTests {
    static let cases: [(String, Int64?, Int64?)] = [
        ("0", 0, 0), ("-0", 0, 0), ("3600", 3600, 3600), ("3600.0", 3600, 3600), ("3.6e3", 3600, 3600),
        ("36000e-1", 3600, 3600), ("1.5", nil, 1), ("-1.5", nil, -2), ("1e300", nil, nil),
        ("1e999", nil, nil),
        ("-1e999", nil, nil), ("1e-999", 0, 0), ("9223372036854775807", .max, .max),
        ("-9223372036854775808", .min, .min), ("9223372036854775808", nil, nil),
        ("-9223372036854775809", nil, nil), ("9223372036854775807.5", nil, nil),
        ("123456789012345678901234567890", nil, nil), ("1e15", 1_000_000_000_000_000, 1_000_000_000_000_000),
    ]

    @Test("a number is an integer, is rounded down, or does not fit; none traps", arguments: cases)
    func numbers(_ text: String, _ integer: Int64?, _ wholePart: Int64?) throws {
        let value = try JSONValue(parsing: text)
        #expect(value.integer == integer)
        #expect(value.number?.wholePart == wholePart)
        #expect(value.compact == text)
    }

    @Test("a long row of digits is read in the time of its length")
    func longNumber() throws {
        let text = String(repeating: "9", count: 500_000)
        #expect(try JSONValue(parsing: text).integer == nil)
    }

    @Test("no other type counts as a number")
    func otherTypes() {
        for value: JSONValue in ["1", true, .null, [1], ["a": 1]] { #expect(value.integer == nil) }
    }
}
