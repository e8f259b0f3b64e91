import Testing

@testable import OIDCCore

@Suite("a session's client certificate (RFC 8705)")
struct SessionCertificateTests {
    private static func jwt(_ claims: String) -> String {
        func part(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }
        return "\(part(#"{"alg":"none"}"#)).\(part(claims))."
    }

    private func session(_ token: String, type: TokenType = .bearer) throws -> Session {
        let access = AccessToken(
            token: Redacted(token), type: type, obtainedAt: Instant(secondsSinceEpoch: 1), expiresAt: nil,
            scope: nil)
        return Session(
            key: SessionKey(provider: "https://op.example", clientID: "c"),
            endpoints: .init(
                issuer: nil, token: try Fixture.url("https://op.example/token"),
                userInfo: try Fixture.url("https://op.example/userinfo")),
            createdAt: Instant(secondsSinceEpoch: 1), requestedScope: nil, tokens: TokenSet(access: access))
    }

    private func metadata() throws -> ProviderMetadata {
        try Fixture.metadata([
            "tls_client_certificate_bound_access_tokens": true,
            "revocation_endpoint": "https://op.example/revoke",
            "introspection_endpoint": "https://op.example/introspect",
            "mtls_endpoint_aliases": [
                "userinfo_endpoint": "https://m.op.example/userinfo",
                "revocation_endpoint": "https://m.op.example/revoke",
            ],
        ])
    }

    @Test(
        "a JWT is bound by its cnf alone, an opaque token by the metadata, and one bound to a key never",
        arguments: [
            (jwt(#"{"cnf":{"x5t#S256":"h"}}"#), TokenType.bearer, true, true),
            (jwt(#"{"cnf":{"jkt":"h"}}"#), .bearer, true, false), (jwt("{}"), .bearer, true, false),
            (jwt(#"{"cnf":{"x5t#S256":1}}"#), .bearer, true, false),
            ("opaque", .bearer, true, true), ("opaque", .bearer, false, false),
            ("opaque", .dpop, true, false), (jwt(#"{"cnf":{"x5t#S256":"h"}}"#), .dpop, true, false),
        ])
    func binding(_ token: String, _ type: TokenType, presentsCertificate: Bool, isBound: Bool) throws {
        var session = try session(token, type: type)
        session.useCertificate(
            of: Client(id: "c", presentsCertificate: presentsCertificate), at: try metadata())
        #expect(session.isBoundToCertificate(session.tokens.access) == isBound)
        let userInfo = isBound ? "https://m.op.example/userinfo" : "https://op.example/userinfo"
        #expect(session.endpoints.userInfo?.text == userInfo)
        #expect(try Session(stored: session.json.bytes) == session)
    }

    @Test("with a certificate, tokens are revoked at the alias, and endpoints without one stay (§5)")
    func endpoints() throws {
        var session = try session("opaque")
        let metadata = try metadata()
        session.useCertificate(of: Client(id: "c", presentsCertificate: true), at: metadata)
        #expect(session.endpoints.revocation?.text == "https://m.op.example/revoke")
        #expect(session.endpoints.introspection?.text == "https://op.example/introspect")
    }

    @Test("only the plain URL of the metadata is replaced by its alias")
    func aliases() throws {
        let metadata = try metadata()
        for (url, used) in [
            ("https://op.example/revoke", "https://m.op.example/revoke"),
            ("https://other.example/revoke", "https://other.example/revoke"),
        ] {
            #expect(metadata.alias(of: try Fixture.url(url), for: .revocation).text == used)
        }
        let url = try Fixture.url("https://op.example/introspect")
        #expect(metadata.alias(of: url, for: .introspection) == url)
    }
}
