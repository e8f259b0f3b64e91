import OIDCCore
import Testing

@Suite("Compact tokens")
struct JWSTests {
    @Test("a token of an RFC is split into its parts", arguments: RFCVector.all)
    func parts(_ vector: RFCVector) throws {
        let token = try JWS(compact: vector.compact)
        #expect(token.algorithmName == vector.algorithm)
        #expect(String(decoding: token.payload, as: UTF8.self) == vector.payload)
        let parts = vector.compact.split(separator: ".")
        #expect(token.signingInput == Array("\(parts[0]).\(parts[1])".utf8))
        #expect(Base64URL.encode(token.signature) == String(parts[2]))
        #expect((token.claims != nil) == (vector.payload == RFCVector.joe))
    }

    @Test("claims are the payload if it is an object; any payload is kept")
    func claims() throws {
        #expect(try JWS(compact: RFCVector.hs256.compact).claims?["iss"] == "joe")
        for payload in ["[]", "1", "\"a\"", "", "{", "{\"a\":1,\"a\":2}", "\u{0}\u{FF}"] {
            let token = try JWS(
                compact: SampleProvider.unsigned(header: "{\"alg\":\"RS256\"}", payload: payload))
            #expect(token.claims == nil)
            #expect(token.payload == Array(payload.utf8))
        }
    }

    @Test("kid is any string, and absent if it is not one")
    func keyID() throws {
        for text in ["", "../../etc/passwd", "' OR 1=1", "a\0b", "\u{202E}", "http://127.0.0.1/"] {
            let header = (["alg": "RS256", "kid": .string(text)] as JSONValue).compact
            #expect(try JWS(compact: SampleProvider.unsigned(header: header, payload: "{}")).keyID == text)
        }
        for header in ["{}", "{\"kid\":1}", "{\"kid\":null}"] {
            #expect(try JWS(compact: SampleProvider.unsigned(header: header, payload: "{}")).keyID == nil)
        }
    }

    static let header = "eyJhbGciOiJSUzI1NiJ9"
    static let malformed: [(String, String)] = [
        ("", "expected three parts between dots, found 1"),
        ("a", "expected three parts between dots, found 1"),
        ("\(header).e30", "expected three parts between dots, found 2"),
        ("\(header).e30.AA.AA", "expected three parts between dots, found 4"),
        ("a.b.c.d.e", "an encrypted token (JWE) is not supported"),
        ("....", "an encrypted token (JWE) is not supported"),
        (".....", "expected three parts between dots, found more than five"),
        (String(repeating: ".", count: 500_000), "expected three parts between dots, found more than five"),
        ("\(header)=.e30.AA", "the header is not base64url"),
        ("\(header).e3 0.AA", "the payload is not base64url"),
        ("\(header).e30.A", "the signature is not base64url"),
        ("\(header).e30.AB", "the signature is not base64url"),
        ("\(header).e30.AA==", "the signature is not base64url"),
        ("\(header).e30.+/", "the signature is not base64url"),
        ("\(header).e30.AA\n", "the signature is not base64url"),
        (" \(header).e30.AA", "the header is not base64url"),
        (".e30.AA", "the header is not valid JSON: the text is incomplete at byte 0"),
        ("e30x.e30.AA", "the header is not valid JSON: unexpected text after the value at byte 2"),
        ("W10.e30.AA", "the header is not a JSON object but an array"),
        ("bnVsbA.e30.AA", "the header is not a JSON object but null"),
    ]

    @Test("a string that is not a compact JWS is refused with a reason", arguments: malformed)
    func refused(_ text: String, _ reason: String) {
        #expect(throws: JWS.Malformed(reason)) { try JWS(compact: text) }
    }

    @Test("a header is UTF-8 JSON without duplicate members")
    func headerForm() {
        let duplicate = SampleProvider.unsigned(header: #"{"alg":"none","alg":"RS256"}"#, payload: "{}")
        #expect(throws: JWS.Malformed("the header is not valid JSON: duplicate member \"alg\" at byte 14")) {
            try JWS(compact: duplicate)
        }
        let bytes: [UInt8] = Array(#"{"alg":""#.utf8) + [0xFF] + Array(#""}"#.utf8)
        #expect(throws: JWS.Malformed("the header is not valid JSON: a string that is not UTF-8 at byte 9")) {
            try JWS(compact: "\(Base64URL.encode(bytes)).e30.AA")
        }
    }

    @Test("a token longer than 1 MiB is refused before it is read")
    func size() throws {
        let room = (1 << 20) - Self.header.utf8.count - 5
        let fits = "\(Self.header).e30." + String(repeating: "A", count: room / 4 * 4)
        #expect(throws: Never.self) { try JWS(compact: fits) }
        #expect(throws: JWS.Malformed("longer than 1048576 bytes")) {
            try JWS(compact: "\(Self.header).e30." + String(repeating: "A", count: 1 << 20))
        }
    }

    @Test("a JSON header with endless nesting is refused")
    func nestedHeader() {
        let header = String(repeating: "{\"a\":", count: 50_000)
        #expect(throws: JWS.Malformed.self) {
            try JWS(compact: SampleProvider.unsigned(header: header, payload: "{}"))
        }
    }

    @Test("no change of one bit leaves a token of an RFC valid, and none crashes", arguments: RFCVector.all)
    func bitFlips(_ vector: RFCVector) throws {
        let keys = try vector.keys()
        let bytes = Array(vector.compact.utf8)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1 << UInt8(index % 8)
            let text = String(decoding: changed, as: UTF8.self)
            guard let token = try? JWS(compact: text) else { continue }
            #expect(try token.verify(keys: keys, allowsSymmetric: true) != .valid)
        }
    }

    @Test("no prefix of a token is valid", arguments: RFCVector.all)
    func truncated(_ vector: RFCVector) throws {
        let keys = try vector.keys()
        for count in 0..<vector.compact.utf8.count {
            guard let token = try? JWS(compact: String(vector.compact.prefix(count))) else { continue }
            #expect(try token.verify(keys: keys, allowsSymmetric: true) != .valid)
        }
    }
}
