import OIDCCrypto
import Synchronization
import TestSupport
import Testing

@testable import OIDCCore

/// The issuer's keys, which count how often they are asked for.
private final class CountedKeys: KeySource, Sendable {
    let result: Result<JWKSet, OIDCError>
    let count = Mutex(0)

    init(_ result: Result<JWKSet, OIDCError>) { self.result = result }

    var mayBeStale: Bool { false }

    func keys(refetching: Bool) throws(OIDCError) -> JWKSet {
        count.withLock { $0 += 1 }
        return try result.get()
    }
}

@Suite("Signed authorization response (JARM)")
struct SignedResponseTests {
    typealias Mode = AuthorizationRequest.ResponseMode

    /// A sign-in that waits for a signed answer.
    private struct World {
        var pending: PendingAuthorization
        let keys: CountedKeys

        init(
            _ mode: Mode = .jwt, keys result: Result<JWKSet, OIDCError>? = nil,
            _ change: (inout SignedResponseRules) -> Void = { _ in }
        ) throws {
            var request = Fixture.request()
            request.responseMode = mode
            pending = try request.begin(Fixture.metadata(), random: Fixture.random())
            let keys = CountedKeys(try result ?? .success(SampleProvider.publicKeys(.p256)))
            self.keys = keys
            var rules = SignedResponseRules(
                issuer: Fixture.issuer, clientID: "cli", keys: { keys }, now: { Fixture.now })
            change(&rules)
            pending.responseRules = rules
        }

        /// The claims of a good answer, with some set, or removed by nil.
        func claims(_ changes: [String: JSONValue?] = [:]) -> JSONObject {
            var claims = JSONObject()
            claims["iss"] = .string(Fixture.issuer)
            claims["aud"] = "cli"
            claims["exp"] = JSONValue(Fixture.now.secondsSinceEpoch + 60)
            claims["state"] = .string(pending.state.revealed)
            claims["code"] = "c0de"
            for (name, value) in changes { claims[name] = value }
            return claims
        }

        func answer(_ changes: [String: JSONValue?] = [:]) throws -> String {
            try JWTSigner(SampleKeys.key(.p256)).sign(claims: claims(changes))
        }

        func judge(_ pairs: (String, String)...) -> CallbackJudgement {
            pending.judge(form: FormEncoding.encode(pairs.map { FormEncoding.Pair($0.0, $0.1) }))
        }

        func judge(response: String) -> CallbackJudgement { judge(("response", response)) }
    }

    private static func code(_ judgement: CallbackJudgement) -> AuthorizationCode? {
        if case .code(let code) = judgement { code } else { nil }
    }

    private static func error(_ judgement: CallbackJudgement) -> OIDCError? {
        if case .end(let error) = judgement { error } else { nil }
    }

    private static func mismatch(_ judgement: CallbackJudgement) -> CallbackMismatch? {
        if case .stray(let mismatch) = judgement { mismatch } else { nil }
    }

    @Test(
        "a signed answer gives its code and its other parameters",
        arguments: [Mode.jwt, .queryJWT, .formPostJWT])
    func accepted(_ mode: Mode) throws {
        let world = try World(mode)
        let code = Self.code(world.judge(response: try world.answer(["realmId": "7", "iat": 1])))
        #expect(code?.code.revealed == "c0de" && code?.issuer == Fixture.issuer)
        #expect(code?.extra["realmId"] == "7" && code?.extra["aud"] == nil)
        let url = "http://127.0.0.1:8400/callback?response=\(try world.answer())"
        #expect(try world.pending.acceptPasted(url).code.revealed == "c0de")
        #expect(world.pending.url.value("response_mode") == mode.rawValue)
    }

    @Test("an encrypted answer is decrypted first, and its signature verified")
    func encrypted() throws {
        let world = try World { $0.decryption = try? TokenDecryption(SampleKeys.key(.p384)) }
        let key = try SampleKeys.key(.p384).publicKey
        func sealed(_ text: String) throws -> String {
            try JWE.encrypt(Array(text.utf8), to: key, .ecdhES, .a128CBC)
        }
        #expect(Self.code(world.judge(response: try sealed(world.answer()))) != nil)
        let claims = JSONValue.object(world.claims()).bytes
        for text in [String(decoding: claims, as: UTF8.self), try sealed(world.answer()), ""] {
            #expect(Self.mismatch(world.judge(response: try sealed(text))) == .unsigned)
        }
        let unsigned = SampleProvider.unsigned(
            header: #"{"alg":"none"}"#, payload: String(decoding: claims, as: UTF8.self), signature: [])
        #expect(Self.error(world.judge(response: try sealed(unsigned)))?.kind == .untrusted)
        #expect(Self.mismatch(try World().judge(response: sealed(world.answer()))) == .unsigned)
    }

    static let refusals: [(changes: [String: JSONValue?], message: String)] = [
        (["iss": "https://evil.example"], "iss: expected \"https://op.example\""),
        (["iss": nil], "iss: expected"),
        (["iss": "https://op.example/"], "iss: expected"), (["aud": "other"], "aud: expected \"cli\""),
        (["aud": ["other"]], "aud: expected"), (["aud": nil], "aud: expected"),
        (["aud": []], "aud: expected"),
        (["exp": JSONValue(Fixture.now.secondsSinceEpoch - 60)], "exp: expected a time after"),
        (["exp": nil], "exp: expected seconds since 1970, found none"), (["exp": "never"], "exp: expected"),
        (["nbf": JSONValue(Fixture.now.secondsSinceEpoch + 600)], "nbf: expected a time no later"),
    ]

    @Test(
        "an answer of another issuer, for another client, or an old one ends the sign-in, without a key",
        arguments: refusals)
    func refused(changes: [String: JSONValue?], message: String) throws {
        let world = try World()
        let error = Self.error(world.judge(response: try world.answer(changes)))
        #expect(
            error?.kind == .untrusted && error?.message.contains(message) == true,
            "\(String(describing: error))")
        #expect(world.keys.count.withLock { $0 } == 0)
    }

    @Test("an answer without a signature, or one under a public key, another key or alg, ends the sign-in")
    func signatures() throws {
        let world = try World()
        let payload = String(decoding: JSONValue.object(world.claims()).bytes, as: UTF8.self)
        let publicKey = String(decoding: try SampleProvider.publicKeys(.p256).json.bytes, as: UTF8.self)
        let signed = try world.answer()
        let tampered = signed.split(separator: ".").enumerated().map { index, part in
            index == 1
                ? Base64URL.encode(JSONValue.object(world.claims(["code": "0ther"])).bytes) : String(part)
        }.joined(separator: ".")
        for (response, message) in [
            (SampleProvider.unsigned(header: #"{"alg":"none"}"#, payload: payload, signature: []), "alg: "),
            (SampleProvider.unsigned(header: #"{"alg":"nOnE"}"#, payload: payload, signature: []), "alg: "),
            (
                try JWTSigner(secret: Redacted(publicKey)).sign(claims: world.claims()),
                "alg: expected a signature with the provider's key, found HS256"
            ),
            (try JWTSigner(SampleKeys.otherKey(.p256)).sign(claims: world.claims()), "signature: "),
            (try JWTSigner(SampleKeys.key(.ed25519)).sign(claims: world.claims()), "no key"),
            (tampered, "signature: "),
            (SampleProvider.unsigned(header: #"{"alg":"ES256","crit":["x"]}"#, payload: payload), "crit: "),
        ] {
            let error = Self.error(world.judge(response: response))
            #expect(
                error?.kind == .untrusted && error?.message.contains(message) == true,
                "\(message) \(String(describing: error))")
        }
        let listed = try World { $0.allowedAlgorithms = ["PS256"] }
        #expect(
            Self.error(listed.judge(response: try listed.answer()))?.message.contains("alg: expected PS256")
                == true)
    }

    @Test("HMAC is verified with the client's secret if the provider signs with nothing else")
    func clientSecret() throws {
        let secret = Redacted("a client secret of thirty-two by")
        let world = try World { $0.clientSecret = secret }
        let signed = try JWTSigner(secret: secret).sign(claims: world.claims())
        #expect(Self.code(world.judge(response: signed)) != nil)
        let other = try JWTSigner(secret: Redacted("another secret of thirty-two by.")).sign(
            claims: world.claims())
        #expect(Self.error(world.judge(response: other))?.kind == .untrusted)
    }

    @Test("an answer with another state or none is a stranger's: no key is fetched, and the wait goes on")
    func stranger() throws {
        let world = try World()
        for (changes, expected) in [
            (["state": "another"], CallbackMismatch.otherState), (["state": nil], .noState),
            (["state": 7], .noState), (["state": .string(world.pending.state.revealed + "x")], .otherState),
            (["state": "", "error": "access_denied"], .otherState),
        ] as [([String: JSONValue?], CallbackMismatch)] {
            #expect(Self.mismatch(world.judge(response: try world.answer(changes))) == expected)
        }
        for response in [
            "", "text", "a.b.c", "e30.e30.", "e30.W10.AA", String(repeating: "A", count: 60_000),
        ] {
            #expect(Self.mismatch(world.judge(response: response)) != nil, "\(response.prefix(20))")
        }
        let answer = try world.answer()
        #expect(
            Self.mismatch(world.judge(("response", answer), ("response", answer))) == .repeated("response"))
        #expect(Self.mismatch(world.judge(("code", "c0de"))) == .noState)
        #expect(Self.mismatch(world.judge(("code", "c0de"), ("state", "another"))) == .otherState)
        #expect(world.keys.count.withLock { $0 } == 0)
    }

    @Test("an earlier answer, replayed, is a stranger's")
    func replayed() throws {
        let earlier = try World().answer()
        var request = Fixture.request()
        request.responseMode = .jwt
        var world = try World()
        let rules = world.pending.responseRules
        world.pending = try request.begin(Fixture.metadata(), random: Random.bytes)
        world.pending.responseRules = rules
        #expect(Self.mismatch(world.judge(response: earlier)) == .otherState)
    }

    @Test(
        "plain parameters beside a signed answer with our state end the sign-in",
        arguments: ["code", "state", "iss", "error", "access_token", "id_token"])
    func beside(_ name: String) throws {
        let world = try World()
        let error = Self.error(world.judge(("response", try world.answer()), (name, "x")))
        #expect(
            error?.kind == .untrusted
                && error?.message.contains("\(name): expected one in the signed") == true)
        #expect(Self.code(world.judge(("response", try world.answer()), ("session_state", "x"))) != nil)
    }

    @Test("a plain answer is refused where a signed one was requested, errors too")
    func plain() throws {
        let world = try World()
        let state = ("state", world.pending.state.revealed)
        for pair in [("code", "c0de"), ("error", "access_denied")] {
            let error = Self.error(world.judge(pair, state, ("iss", Fixture.issuer)))
            #expect(
                error?.kind == .untrusted
                    && error?.message == "authorize: response: expected a signed answer, found none")
        }
    }

    @Test("where no signed answer was requested, response is a stranger's")
    func unasked() throws {
        for mode in [Mode.query, .formPost] {
            let world = try World(mode)
            #expect(Self.mismatch(world.judge(response: try world.answer())) == .noState)
            #expect(world.keys.count.withLock { $0 } == 0)
        }
    }

    @Test("an error is shown only if the answer that has it is signed")
    func errors() throws {
        let world = try World()
        let denied: [String: JSONValue?] = [
            "code": nil, "error": "access_denied", "error_description": "the user said no",
        ]
        let error = Self.error(world.judge(response: try world.answer(denied)))
        #expect(error?.kind == .refused && error?.message.contains("the user said no") == true)
        let forged = try JWTSigner(SampleKeys.otherKey(.p256)).sign(claims: world.claims(denied))
        let refused = Self.error(world.judge(response: forged))
        #expect(refused?.kind == .untrusted && refused?.message.contains("said no") == false)
    }

    @Test("keys that cannot be fetched end the sign-in as unreachable, and missing rules as untrusted")
    func withoutKeys() throws {
        let world = try World(keys: .failure(OIDCError(.unreachable, "jwks: no answer")))
        #expect(Self.error(world.judge(response: try world.answer()))?.kind == .unreachable)
        var other = try World()
        other.pending.responseRules = nil
        #expect(Self.error(other.judge(response: try other.answer()))?.kind == .untrusted)
    }

    @Test("a sign-in that is stored keeps its mode, and is refused until the rules are added")
    func stored() throws {
        let world = try World(.formPostJWT)
        var pending = try PendingAuthorization(json: world.pending.json)
        #expect(pending.responseMode == .formPostJWT && pending.responseRules == nil)
        let url = "http://127.0.0.1:8400/callback?response=\(try world.answer())"
        #expect(throws: OIDCError.self) { try pending.acceptPasted(url) }
        pending.responseRules = world.pending.responseRules
        #expect(try pending.acceptPasted(url).code.revealed == "c0de")
    }
}
