import OIDCCore
import Testing

@Suite("Form encoding")
struct FormEncodingTests {
    @Test("the example of RFC 6749 appendix B is encoded, with a space as %20")
    func appendixB() {
        #expect(FormEncoding.encode(" %&+£€") == "%20%25%26%2B%C2%A3%E2%82%AC")
        #expect(FormEncoding.decode("x=+%25%26%2B%C2%A3%E2%82%AC") == [.init("x", " %&+£€")])
    }

    @Test("every ASCII character except the unreserved ones is escaped, and decoded again")
    func roundTrip() {
        for byte in UInt8(0)..<0x80 {
            let text = String(decoding: [byte], as: UTF8.self)
            let encoded = FormEncoding.encode(text)
            let isUnreserved = "-._~".contains(text) || text.first.map { $0.isLetter || $0.isNumber } == true
            #expect((encoded == text) == isUnreserved)
            #expect(FormEncoding.decode("\(encoded)=\(encoded)") == [.init(text, text)])
        }
    }

    static let decoded: [(String, [FormEncoding.Pair])] = [
        ("", []),
        ("a=1&b=2", [.init("a", "1"), .init("b", "2")]),
        ("a=1&a=2", [.init("a", "1"), .init("a", "2")]),
        ("a", [.init("a", "")]),
        ("a=", [.init("a", "")]),
        ("=a", [.init("", "a")]),
        ("&&a=1&&", [.init("a", "1")]),
        ("a=b=c", [.init("a", "b=c")]),
        ("a+b=c+d", [.init("a b", "c d")]),
        ("a=%2b%2B", [.init("a", "++")]),
        ("a=1;b=2", [.init("a", "1;b=2")]),
        ("a=\u{FC}", [.init("a", "ü")]),
        ("%00=%0D%0A", [.init("\0", "\r\n")]),
    ]

    @Test("pairs are read one by one, in their order", arguments: decoded)
    func decodes(_ text: String, _ pairs: [FormEncoding.Pair]) {
        #expect(FormEncoding.decode(text) == pairs)
    }

    @Test(
        "a broken escape, or bytes that are not UTF-8, make the whole form invalid",
        arguments: [
            "a=%", "a=%4", "a=%zz", "%G0=a", "a=1&b=%+1", "a=%FF", "a=%C3", "a=%ED%A0%80", "a=%C0%80",
        ])
    func refused(_ text: String) {
        #expect(FormEncoding.decode(text) == nil)
    }

    @Test("decoding ends whichever byte is changed, and the pairs can be encoded and read back")
    func fuzz() {
        let sample = Array("code=SplxlOBeZQQYbYS6WxSbIA&state=af0%20ifjs%2Bldkj&iss=https%3A%2F%2Fop".utf8)
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            var bytes = sample
            for _ in 0..<3 { bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255) }
            let text = String(decoding: bytes, as: UTF8.self)
            guard let pairs = FormEncoding.decode(text) else { continue }
            let again = FormEncoding.decode(FormEncoding.encode(pairs))
            #expect(again == pairs)
        }
    }
}
