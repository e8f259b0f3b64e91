import OIDCCrypto
import TestSupport
import Testing

@testable import OIDCCore

@Suite("signed introspection (RFC 9701)")
struct SignedIntrospectionTests {
    typealias Sample = SampleProvider

    private static let type = "application/token-introspection+jwt"
    private static let secret = Redacted("a client secret of thirty-two by")

    private static func rules(
        _ algorithms: [String]? = nil, isRequired: Bool = true
    ) throws -> SignedIntrospection {
        SignedIntrospection(
            issuer: Sample.issuer, keys: FixedKeys(try Sample.publicKeys(.p256)), algorithms: algorithms,
            isRequired: isRequired)
    }

    private static func call(
        _ rules: SignedIntrospection?, decryption: TokenDecryption? = nil
    ) throws -> EndpointCall<Introspection> {
        var client = Client(id: Sample.clientID, authentication: .clientSecretBasic(secret))
        client.decryption = decryption
        return try Introspection.call(
            Redacted("tk"), hint: nil, at: Fixture.url("https://op.example/introspect"), client: client,
            signed: rules, now: Sample.now, random: Fixture.random())
    }

    private static func claims(_ changes: [String: JSONValue?] = [:]) -> JSONObject {
        var all: [String: JSONValue?] = [
            "sub": nil, "exp": nil, "nonce": nil, "token_introspection": ["active": true, "sub": "alice"],
        ]
        all.merge(changes) { $1 }
        return Sample.claims(all)
    }

    private static func token(
        _ changes: [String: JSONValue?] = [:], type: JSONValue? = "token-introspection+jwt"
    ) throws -> String {
        try JWTSigner(Sample.key(.p256)).sign(
            header: Sample.header(type.map { ["typ": $0] } ?? [:]), claims: claims(changes))
    }

    private static func answer(_ body: String, type: String = type) -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: HTTPHeaders([("Content-Type", type)]), body: Array(body.utf8))
    }

    @Test("a signed answer is requested if it is demanded, or offered (§4)")
    func accept() throws {
        #expect(try Self.call(nil).request.headers["Accept"] == "application/json")
        #expect(try Self.call(Self.rules()).request.headers["Accept"] == Self.type)
        let offered = try Self.call(Self.rules(isRequired: false)).request
        #expect(offered.headers["Accept"] == "\(Self.type), application/json;q=0.5")
    }

    @Test(
        "the claims are those of token_introspection, and of no other member (§5)",
        arguments: ["token-introspection+jwt", "application/Token-Introspection+JWT"])
    func signed(type: String) throws {
        let body = try Self.token(["active": false, "sub": "mallory"], type: .string(type))
        let answer = try Self.call(Self.rules()).read(Self.answer(body + "\n"))
        let expected = try Fixture.object(#"{"active":true,"sub":"alice"}"#)
        #expect(answer.isActive && answer.claims == expected)
    }

    private static let refusals: [([String: JSONValue?], JSONValue?, String)] = [
        ([:], nil, "typ: expected \"token-introspection+jwt\", found none"),
        ([:], "JWT", "typ: expected \"token-introspection+jwt\", found \"JWT\""),
        ([:], 7, "typ: expected"), (["iss": "https://evil.example"], "", "iss: expected"),
        (["iss": nil], "", "iss: expected"), (["aud": "other"], "", "aud: expected \"client\""),
        (["aud": nil], "", "aud: expected"), (["iat": nil], "", "iat: expected seconds since 1970"),
        (["iat": "now"], "", "iat: expected seconds since 1970"),
        (["iat": JSONValue(Sample.seconds + 61)], "", "iat: expected a time no later"),
        (["exp": JSONValue(Sample.seconds - 60)], "", "exp: expected a time after"),
        (["token_introspection": nil, "active": true], "", "token_introspection: expected an object"),
        (["token_introspection": "active"], "", "token_introspection: expected an object"),
    ]

    @Test("typ, iss, aud, iat and token_introspection are checked (§5)", arguments: refusals.indices)
    func refused(index: Int) throws {
        let (changes, type, message) = Self.refusals[index]
        let body = try Self.token(changes, type: type == "" ? "token-introspection+jwt" : type)
        let error = Fixture.error { try Self.call(Self.rules()).read(Self.answer(body)) }
        #expect(error?.kind == .untrusted, "\(message)")
        #expect(error?.message.hasPrefix("introspection: \(message)") == true, "\(error?.message ?? "")")
    }

    @Test("active must be there, as true or false")
    func active() throws {
        let body = try Self.token(["token_introspection": ["sub": "alice"]])
        let error = Fixture.error { try Self.call(Self.rules()).read(Self.answer(body)) }
        #expect(error?.message == "introspection: active is missing from the answer")
    }

    @Test("a signature is demanded: by the issuer's keys, by an algorithm of the list, never none")
    func signature() throws {
        let header = Sample.header(["typ": "token-introspection+jwt"])
        let stranger = try JWTSigner(SampleKeys.otherKey(.p256)).sign(header: header, claims: Self.claims())
        let payload = String(decoding: JSONValue.object(Self.claims()).bytes, as: UTF8.self)
        let none = Sample.unsigned(
            header: #"{"alg":"none","typ":"token-introspection+jwt"}"#, payload: payload, signature: [])
        let hmac = try JWTSigner(secret: Self.secret).sign(header: header, claims: Self.claims())
        for (rules, body, message) in [
            (try Self.rules(), stranger, "no key verifies it"), (try Self.rules(), none, "alg: expected"),
            (try Self.rules(["none"]), none, "alg: expected"),
            (try Self.rules(["PS256"]), try Self.token(), "alg: expected PS256"),
            (try Self.rules(), hmac, "alg: expected a signature with the provider's key"),
            (
                try Self.rules(["HS256"], isRequired: false), hmac,
                "alg: expected a signature with the provider's"
            ),
            (try Self.rules(["HS256", "ES256"]), hmac, "alg: expected a signature with the provider's key"),
            (try Self.rules(), "e30.e30.AA", "typ: expected"),
            (try Self.rules(), "{}", "expected three parts"),
        ] {
            let error = Fixture.error { try Self.call(rules).read(Self.answer(body)) }
            #expect(error?.kind == .untrusted && error?.message.contains(message) == true, "\(message)")
        }
        #expect(try Self.call(Self.rules(["HS256"])).read(Self.answer(hmac)).isActive)
    }

    @Test("a plain answer is refused if a signed one is demanded, and accepted if one is only offered")
    func plain() throws {
        // As many dots as an encrypted token has.
        let body = #"{"active":true,"iss":"https://a.b.c.d.example"}"#
        let plain = Self.answer(body, type: "application/json; charset=utf-8")
        let error = Fixture.error { try Self.call(Self.rules()).read(plain) }
        #expect(error?.kind == .untrusted)
        #expect(
            error?.message
                == "introspection: Content-Type: expected \(Self.type), found \"application/json\"")
        #expect(error?.hint == .advice(.acceptPlainIntrospection))
        // Signed answers that are only offered can be declined.
        let faulty = Self.answer(try Self.token(["aud": "other"]))
        for isRequired in [true, false] {
            let error = Fixture.error { try Self.call(Self.rules(isRequired: isRequired)).read(faulty) }
            #expect(error?.kind == .untrusted)
            #expect(error?.hint == (isRequired ? nil : .advice(.requestPlainIntrospection)))
        }
        let early = Self.answer(try Self.token(["iat": JSONValue(Sample.seconds + 61)]))
        #expect(
            Fixture.error { try Self.call(Self.rules(isRequired: false)).read(early) }?.hint
                == .advice(.checkClock))
        #expect(try Self.call(Self.rules(isRequired: false)).read(plain).isActive)
        // Some servers send a token as another type, and its own type is what counts.
        for type in ["application/jwt", "text/plain", "application/json"] {
            let other = Self.answer(try Self.token(), type: type)
            #expect(try Self.call(Self.rules()).read(other).isActive)
            let idToken = Self.answer(try Self.token(type: "JWT"), type: type)
            #expect(Fixture.error { try Self.call(Self.rules()).read(idToken) }?.member == "typ")
        }
        // An error is plain in any case.
        let refusal = Fixture.json(#"{"error":"invalid_client"}"#, status: 401)
        #expect(Fixture.error { try Self.call(Self.rules()).read(refusal) }?.oauthError == "invalid_client")
    }

    @Test("an encrypted answer is decrypted, and the token in it must be signed (§5)")
    func encrypted() throws {
        let key = try Sample.key(.p256)
        let own = try TokenDecryption(key)
        func encrypted(_ text: String) throws -> HTTPResponse {
            Self.answer(
                try JWE.encrypt(
                    Array(text.utf8), to: key.publicKey, .ecdhES, .a256GCM, header: JWE.nested))
        }
        let signed = try Self.token()
        #expect(try Self.call(Self.rules(), decryption: own).read(encrypted(signed)).isActive)
        for (inner, decryption, message) in [
            (signed, nil, "there is no key to decrypt it"),
            (#"{"token_introspection":{"active":true}}"#, own, "expected three parts"),
            (try Self.token(["aud": "other"]), own, "aud: expected"),
        ] as [(String, TokenDecryption?, String)] {
            let error = Fixture.error {
                try Self.call(Self.rules(), decryption: decryption).read(encrypted(inner))
            }
            #expect(error?.kind == .untrusted && error?.message.contains(message) == true, "\(message)")
        }
    }
}
