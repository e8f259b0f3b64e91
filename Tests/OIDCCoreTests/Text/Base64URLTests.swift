import OIDCCore
import Testing

@Suite("Base64URL")
struct Base64URLTests {
    /// RFC 4648 §10, without padding.
    static let vectors: [(String, String)] = [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test("the vectors of RFC 4648 §10 work in both directions", arguments: vectors)
    func holdsBothWays(_ plain: String, _ encoded: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == encoded)
        #expect(Base64URL.decode(encoded) == Array(plain.utf8))
    }

    @Test("the octets of RFC 7515 appendix C use the alphabet for URLs")
    func urlAlphabet() {
        #expect(Base64URL.encode([3, 236, 255, 224, 193]) == "A-z_4ME")
        #expect(Base64URL.decode("A-z_4ME") == [3, 236, 255, 224, 193])
    }

    @Test("every byte survives at every position of a group")
    func roundTrip() {
        for length in 1...4 {
            for byte in UInt8.min...UInt8.max {
                let bytes = [UInt8](repeating: byte, count: length)
                #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            }
        }
    }

    @Test(
        "an encoding that is not canonical is refused",
        arguments: [
            "Zg==", "Zm8=", "=", "Zm9v\n", " Zm9v", "Zm 9v", "Zm+v", "Zm/v", "Z", "Zm9vY", "Zh", "Zm9",
            "Zm9vé",
            "Zm9v\0", "Zm9v.",
        ])
    func refused(_ text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}

@Suite("Base64")
struct Base64Tests {
    /// RFC 4648 §10.
    static let vectors: [(String, String)] = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test("the vectors of RFC 4648 §10 work in both directions", arguments: vectors)
    func holdsBothWays(_ plain: String, _ encoded: String) {
        #expect(Base64.encode(Array(plain.utf8)) == encoded)
        #expect(Base64.decode(encoded) == Array(plain.utf8))
    }

    @Test("the alphabet is that of §4")
    func alphabet() {
        #expect(Base64.encode([3, 236, 255, 224, 193]) == "A+z/4ME=")
        #expect(Base64.decode("A+z/4ME=") == [3, 236, 255, 224, 193])
    }

    @Test(
        "missing, extra or misplaced padding and another alphabet are refused",
        arguments: ["Zg", "Zg=", "Zg===", "====", "A===", "Zm9v====", "Z=g=", "A-z_4ME=", "Zh==", "Zm9v\n"])
    func refused(_ text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
