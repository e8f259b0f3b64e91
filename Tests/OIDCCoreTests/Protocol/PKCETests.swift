import Testing

@testable import OIDCCore

@Suite("PKCE (RFC 7636)")
struct PKCETests {
    @Test("the challenge of the verifier of RFC 7636 appendix B")
    func appendixB() throws {
        let pkce = try PKCE(verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        #expect(try pkce.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        #expect(pkce.method == "S256")
    }

    @Test("a fresh verifier is 32 random bytes in 43 characters")
    func generated() throws {
        var asked: [Int] = []
        let pkce = PKCE.generate { count in
            asked.append(count)
            return [UInt8](repeating: 0xFB, count: count)
        }
        #expect(asked == [32])
        #expect(pkce.verifier.revealed.utf8.count == 43)
        #expect(try PKCE(verifier: pkce.verifier.revealed) == pkce)
    }

    @Test(
        "a verifier has 43 to 128 unreserved characters",
        arguments: [
            (String(repeating: "a", count: 42), "code_verifier: expected 43 to 128 characters, found 42"),
            (String(repeating: "a", count: 129), "code_verifier: expected 43 to 128 characters, found 129"),
            ("", "code_verifier: expected 43 to 128 characters, found 0"),
            (
                String(repeating: "a", count: 42) + "+",
                "code_verifier: expected letters, digits, - . _ and ~ only"
            ),
            (
                String(repeating: "a", count: 43) + "\n",
                "code_verifier: expected letters, digits, - . _ and ~ only"
            ),
            (
                String(repeating: "ä", count: 30),
                "code_verifier: expected letters, digits, - . _ and ~ only"
            ),
        ])
    func badVerifier(_ verifier: String, _ message: String) {
        #expect(throws: OIDCError.usage(message)) { try PKCE(verifier: verifier) }
    }

    @Test("both ends of the allowed length are allowed", arguments: [43, 128])
    func lengths(_ count: Int) throws {
        _ = try PKCE(verifier: String(repeating: "~", count: count))
    }

    @Test("neither description nor mirror shows the verifier")
    func redaction() throws {
        let pkce = try PKCE(verifier: String(repeating: "v", count: 43))
        var dumped = ""
        dump(pkce, to: &dumped)
        #expect(!"\(pkce) \(dumped)".contains("vvv"))
    }
}
