import OIDCCore
import Testing

@Suite("The challenge of a protected resource (RFC 9728 §5.1)")
struct ResourceChallengeTests {
    private func read(_ fields: String...) throws -> ResourceChallenge {
        try ResourceChallenge(
            HTTPResponse(status: 401, headers: HTTPHeaders(fields.map { ("WWW-Authenticate", $0) })))
    }

    @Test("metadata, scope and error are read from Bearer and DPoP challenges, among any others")
    func reads() throws {
        let challenge = try read(
            #"Basic realm="a, Bearer scope=\"x\"", Bearer realm="b", error="invalid_token", "#
                + #"resource_metadata="https://r/.well-known/x?a=b,c", scope="a b""#)
        #expect(challenge.metadataURL == "https://r/.well-known/x?a=b,c")
        #expect(challenge.scope == Scope("a b"))
        #expect(challenge.error == "invalid_token" && !challenge.isScopeInsufficient)
        let split = try read(
            "Negotiate abc=", #"dpop algs="ES256", scope=a"#, #"bearer resource_metadata="u""#)
        #expect(split.scope == Scope("a") && split.metadataURL == "u")
        #expect(try read(#"Bearer error="insufficient_scope", scope="w""#).isScopeInsufficient)
        #expect(try read().metadataURL == nil)
        #expect(try read(#"Basic resource_metadata="https://r/x", scope="a""#) == ResourceChallenge())
        let stepUp = try read(#"Bearer error="insufficient_user_authentication", max_age=5"#).stepUp
        #expect(stepUp?.maxAge == 5)
    }

    @Test("a parameter that is repeated is refused, in any case", arguments: ["scope", "resource_metadata"])
    func repeated(_ name: String) throws {
        let error = Fixture.error { try read("Bearer \(name)=\"a\", \(name.uppercased())=\"b\"") }
        #expect(
            error
                == .protocolViolation(.resource, name, expected: "at most one", found: "several"))
        // Each challenge has its own.
        #expect(try read("Bearer \(name)=a, DPoP \(name)=b") != ResourceChallenge())
    }

    @Test(
        "a scope outside the alphabet of RFC 6749 §3.3, or an endless one, is refused",
        arguments: [
            "a\u{1b}[31m", "a\u{7}", "a\r", "a\tb", "a\u{202e}b", "é", #"a\\b"#, #"a\"b"#,
            String(repeating: "a", count: 4_097), String(repeating: "s ", count: 3_000) + "x y",
        ])
    func scope(_ text: String) throws {
        let unique = text.hasPrefix("s ") ? (0..<1_500).map { "s\($0)" }.joined(separator: " ") : text
        let error = Fixture.error { try read("Bearer scope=\"\(unique)\"") }
        #expect(error?.kind == .refused && error?.member == "scope")
        #expect(error?.message.unicodeScalars.contains { DisplayText.isInvisible($0) } == false)
    }

    @Test("challenge bombs are read in bounds")
    func bombs() throws {
        let many = String(repeating: "Bearer x=y, ", count: 50_000) + "Bearer scope=late"
        #expect(try read(many).scope == nil)
        let nested = "Bearer " + String(repeating: "a=\"\\\\\", ", count: 50_000)
        #expect(try read(nested).scope == nil)
        let response = HTTPResponse(
            status: 401,
            headers: HTTPHeaders(Array(repeating: ("WWW-Authenticate", "Bearer scope=a"), count: 10_000)))
        #expect(try ResourceChallenge(response).scope == Scope("a"))
    }
}
