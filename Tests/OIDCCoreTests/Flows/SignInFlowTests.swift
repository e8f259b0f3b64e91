import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("a sign-in in memory: pushed requests, proofs, clients and keys")
struct SignInFlowTests {
    @Test("a pushed request leaves only client_id and request_uri in the URL (RFC 9126 §4)")
    func pushed() throws {
        let provider = try InMemoryProvider { $0.requiresPushedAuthorization = true }
        _ = try provider.signIn { login in
            let (_, url) = try login.begin(redirectURI: "http://127.0.0.1:8765/callback")
            let names = try #require(FormEncoding.decode(url.query ?? "")).map(\.name)
            #expect(names.sorted() == ["client_id", "request_uri"])
        }
        #expect(provider.with { $0.requestCount(.pushedAuthorization) } == 2)
    }

    @Test("a DPoP nonce is used once it is demanded, with another jti (RFC 9449 §8)")
    func nonces() throws {
        let provider = try InMemoryProvider {
            $0.requiresDPoP = true
            $0.requiresDPoPNonceAtToken = true
        }
        let session = try provider.signIn(dpop: try .generate())
        #expect(session.dpopKey != nil)
        let proofs = provider.with { $0.requests(to: .token).compactMap { $0.headers["DPoP"] } }
        let claims = try proofs.map { try #require(JWS(compact: $0).claims) }
        #expect(claims.count == 2 && Set(claims.compactMap { $0["jti"]?.string }).count == 2)
        #expect(claims.first?["nonce"] == nil && claims.last?["nonce"] != nil)
    }

    @Test("a nonce that is demanded again and again ends the sign-in", arguments: ProofFault.allCases)
    func hostileNonces(fault: ProofFault) throws {
        let provider = try InMemoryProvider {
            $0.requiresDPoP = true
            $0.requiresDPoPNonceAtToken = true
        }
        provider.faults = [.proof(fault)]
        let key = try DPoPKey.generate()
        if fault == .schemeLowerCase {
            #expect(throws: Never.self) { try provider.signIn(dpop: key) }
            return
        }
        let error = #expect(throws: OIDCError.self) { try provider.signIn(dpop: key) }
        #expect(error?.kind == .refused && error?.oauthError == "use_dpop_nonce", "\(error?.message ?? "")")
        #expect(provider.with { $0.requestCount(.token) } <= 2)
    }

    @Test("a new signing key is fetched, and a key that is unknown is looked for once")
    func keys() throws {
        let provider = try InMemoryProvider { $0.signingAlgorithms = [.es256] }
        _ = try provider.signIn()
        try provider.with { try $0.rotateKeys() }
        _ = try provider.signIn()
        provider.with { $0.resetCounts() }
        provider.faults = [.idToken(.keyIDUnknown)]
        let error = #expect(throws: OIDCError.self) { try provider.signIn() }
        #expect(error?.kind == .untrusted && error?.message.contains("kid") == true)
        #expect(provider.with { $0.requestCount(.jwks) } == 2)
    }

    @Test("a provider whose ID tokens have no nonce is signed in at without one, with a warning")
    func withoutNonce() throws {
        let provider = try InMemoryProvider()
        provider.faults = [.idToken(.nonceMissing)]
        let outcome = try provider.outcome { $0.request.sendsNonce = false }
        #expect(outcome.idToken?.claims["nonce"] == nil && outcome.session.subject != nil)
        #expect(outcome.warnings.contains { $0.message.contains("no nonce was sent") })
        provider.faults = []
        #expect(try provider.outcome().warnings.isEmpty)
    }

    @Test(
        "UserInfo is called for the user's name only if it is shown and the ID token has none, and may fail")
    func names() throws {
        let provider = try InMemoryProvider()
        #expect(try provider.signIn { $0.asksForName = true }.displayName == "alice@example.com")
        #expect(provider.with { $0.requestCount(.userinfo) } == 0)
        let bare: Set<Fault> = [.idToken(.subjectAlone)]
        provider.faults = bare
        // A caller that shows nobody saves the request.
        #expect(try provider.signIn("openid profile").displayName == nil)
        #expect(provider.with { $0.requestCount(.userinfo) } == 0)
        #expect(try provider.signIn("openid profile") { $0.asksForName = true }.displayName == "alice")
        #expect(provider.with { $0.requestCount(.userinfo) } == 1)
        #expect(try provider.signIn("openid") { $0.asksForName = true }.displayName == nil)
        let elsewhere = try provider.signIn {
            $0.asksForName = true
            $0.request.resources = ["https://api.example"]
        }
        #expect(elsewhere.displayName == nil)
        #expect(provider.with { $0.requestCount(.userinfo) } == 1)
        let faults: [Fault] =
            UserInfoFault.allCases.filter { $0 == .subjectInvalid || $0 == .subjectMissing }.map {
                .userInfo($0)
            }
            + AnswerFault.ofProtocol.filter { ![.plainTextType, .byteOrderMark].contains($0) }.map {
                .answer(.userinfo, $0)
            }
        for fault in faults {
            provider.faults = bare.union([fault])
            let session = try provider.signIn { $0.asksForName = true }
            #expect(session.displayName == nil && session.subject != nil, "\(fault)")
        }
    }

    @Test("UserInfo for the name carries a proof, with the nonce that is demanded")
    func provenName() throws {
        let provider = try InMemoryProvider {
            $0.requiresDPoP = true
            $0.requiresDPoPNonceAtResource = true
        }
        provider.faults = [.idToken(.subjectAlone)]
        #expect(
            try provider.signIn(dpop: try .generate()) { $0.asksForName = true }.displayName
                == "alice@example.com")
        #expect(provider.with { $0.requestCount(.userinfo) } == 2)
    }

    @Test("tokens that are refused are revoked")
    func revoked() throws {
        let provider = try InMemoryProvider()
        provider.faults = [.idToken(.nonceInvalid)]
        #expect(throws: OIDCError.self) { try provider.signIn() }
        let request = try #require(provider.with { $0.requests(to: .revocation).first })
        let pairs = FormEncoding.decode(String(decoding: request.body, as: UTF8.self))
        #expect(pairs?.first { $0.name == "token_type_hint" }?.value == "refresh_token")
    }

    @Test(
        "a client's secret is checked for real: the right one signs in, a wrong one is refused",
        arguments: ["client_secret_basic", "client_secret_post", "client_secret_jwt"])
    func secrets(method: String) throws {
        let secret = "a secret that is long enough for HMAC: 32 bytes"
        let provider = try InMemoryProvider { $0.clients.append(DemoClient(id: "long", secret: secret)) }
        func client(_ secret: String) -> Client {
            let secret = Redacted(secret)
            return switch method {
            case "client_secret_basic": Client(id: "long", authentication: .clientSecretBasic(secret))
            case "client_secret_post": Client(id: "long", authentication: .clientSecretPost(secret))
            default: Client(id: "long", authentication: .clientSecretJWT(secret, .hs256))
            }
        }
        #expect(throws: Never.self) { try provider.signIn(client: client(secret)) }
        let error = #expect(throws: OIDCError.self) { try provider.signIn(client: client(secret + "x")) }
        #expect(error?.kind == .refused && error?.oauthError == "invalid_client")
        #expect(error?.message.contains(secret) == false)
    }
}
