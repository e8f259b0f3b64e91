import OIDCCore
import OIDCCrypto
import Testing

@Suite("ID tokens that come with a refresh")
struct IDTokenRefreshTests {
    typealias Sample = SampleProvider

    /// What the new token says, and why it is refused.
    static let cases: [([String: JSONValue?], String?)] = [
        ([:], nil), (["nonce": nil], nil), (["iat": JSONValue(Sample.seconds + 1)], nil),
        (["aud": ["client"]], nil),
        (["sub": "bob"], "sub: expected \"alice\" as at the sign-in, found \"bob\""),
        (["sub": "Alice"], "sub: expected \"alice\" as at the sign-in, found \"Alice\""),
        (
            ["iss": "https://evil.example"],
            "iss: expected \"https://op.example\", found \"https://evil.example\""
        ),
        (
            ["aud": ["client", "other"], "azp": "client"],
            "aud: expected [client] as at the sign-in, found [client, other]"
        ),
        (["aud": "other"], "aud: expected \"client\", found \"other\""),
        (["nonce": "other"], "nonce: expected the one of the sign-in, found another"),
    ]

    @Test("iss, sub and aud stay, and a nonce is the old one (OIDC Core §12.2)", arguments: cases)
    func agrees(_ claims: [String: JSONValue?], _ message: String?) throws {
        let earlier = try #require(IDToken.stored(try Sample.token()))
        var rules = Sample.rules
        rules.nonce = nil
        rules.previous = .init(earlier)
        let keys = RotatingKeys(try Sample.publicKeys(.p256))
        let token = try Sample.token(claims: claims)
        if let message {
            #expect(throws: Sample.untrusted(message)) { try Sample.validate(token, rules, keys: keys) }
        } else {
            #expect(throws: Never.self) { try Sample.validate(token, rules, keys: keys) }
        }
    }

    @Test(
        "auth_time is still that of the sign-in (OIDC Core §12.2)",
        arguments: [(1_000, 1_000, true), (1_000, nil, true), (nil, 1_000, true), (1_000, 1_001, false)]
            as [(Int64?, Int64?, Bool)])
    func authenticationTime(_ before: Int64?, _ after: Int64?, isAccepted: Bool) throws {
        func claims(_ time: Int64?) -> [String: JSONValue?] { ["auth_time": time.map { JSONValue($0) }] }
        var rules = Sample.rules
        rules.nonce = nil
        rules.previous = .init(try #require(IDToken.stored(try Sample.token(claims: claims(before)))))
        let keys = RotatingKeys(try Sample.publicKeys(.p256))
        let token = try Sample.token(claims: claims(after))
        if isAccepted {
            #expect(throws: Never.self) { try Sample.validate(token, rules, keys: keys) }
        } else {
            let error = #expect(throws: OIDCError.self) { try Sample.validate(token, rules, keys: keys) }
            #expect(error?.kind == .untrusted && error?.member == "auth_time")
        }
    }

    @Test("the issuer must be the sign-in's too, even if the configuration changed")
    func changedConfiguration() throws {
        var rules = Sample.rules
        rules.previous = .init(issuer: "https://old.example", subject: "alice")
        #expect(
            throws: Sample.untrusted(
                "iss: expected \"https://old.example\" as at the sign-in, found \"https://op.example\"")
        ) {
            try Sample.validate(try Sample.token(), rules, keys: RotatingKeys(try Sample.publicKeys(.p256)))
        }
    }

    @Test("without the earlier token, issuer and subject are enough")
    func subjectAlone() throws {
        var rules = Sample.rules
        rules.nonce = nil
        rules.previous = .init(issuer: Sample.issuer, subject: "alice")
        let token = try Sample.token(claims: ["aud": ["client", "b"], "azp": "client", "nonce": "any"])
        #expect(throws: Never.self) {
            try Sample.validate(token, rules, keys: RotatingKeys(try Sample.publicKeys(.p256)))
        }
    }

    @Test("the order of an audience does not matter")
    func audienceOrder() throws {
        var rules = Sample.rules
        rules.previous = .init(issuer: Sample.issuer, subject: "alice", audience: ["b", "client"])
        let token = try Sample.token(claims: ["aud": ["client", "b"], "azp": "client"])
        #expect(throws: Never.self) {
            try Sample.validate(token, rules, keys: RotatingKeys(try Sample.publicKeys(.p256)))
        }
    }
}
