import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("the demo provider: the code flow")
struct CodeFlowTests {
    @Test("a sign-in through the pages gives tokens, whose ID token its own keys verify")
    func wholeSignIn() throws {
        var world = try DemoWorld()
        let tokens = try world.signIn()
        #expect(tokens["token_type"] == "Bearer")
        #expect(tokens["expires_in"] == 300)
        let token = try JWS(compact: tokens.text("id_token"))
        #expect(try token.verify(keys: try world.keys()) == .valid)
        let claims = try #require(token.claims)
        #expect(claims["iss"] == "http://127.0.0.1:9480")
        #expect(claims["aud"] == "demo")
        #expect(claims["nonce"] == "nonce-1")
        #expect(claims["sub"] == "alice")
        #expect(claims["email"] == "alice@example.com")
        #expect(claims["auth_time"] == 1_800_000_000)
        #expect(world.provider.requestCount(.login) == 1)
        #expect(world.provider.requestCount(.consent) == 1)
    }

    @Test("the ID token passes the client's own checks", arguments: [SignatureAlgorithm.rs256, .es256])
    func idTokenPassesValidation(algorithm: SignatureAlgorithm) throws {
        var world = try DemoWorld { $0.signingAlgorithms = [algorithm, .rs256, .es256] }
        let tokens = try world.signIn()
        let rules = IDTokenRules(
            issuer: "http://127.0.0.1:9480", clientID: "demo", nonce: "nonce-1",
            accessToken: try tokens.text("access_token"))
        let validated = try IDToken.validate(
            try tokens.text("id_token"), rules, keys: FixedKeys(try world.keys()), now: world.now)
        #expect(validated.subject == "alice")
    }

    @Test("a second sign-in in the same browser needs no page")
    func secondSignIn() throws {
        var world = try DemoWorld()
        _ = try world.signIn()
        world.provider.resetCounts()
        _ = try world.signIn()
        #expect(world.provider.requestCount(.authorize) == 1)
        #expect(world.provider.requestCount(.login) == 0)
    }

    @Test("the answer carries state and iss")
    func answerCarriesStateAndIssuer() throws {
        var world = try DemoWorld()
        let answer = try world.callback()
        #expect(answer["state"] == "state-1")
        #expect(answer["iss"] == "http://127.0.0.1:9480")
        #expect(Set(answer.keys) == ["code", "state", "iss"])
    }

    @Test("form_post answers with a form that works without scripts")
    func formPost() throws {
        var world = try DemoWorld()
        let (request, page) = world.browse(try world.authorizeURL(["response_mode": "form_post"]))
        #expect(request?.method == .post)
        #expect(request?.url.text == DemoWorld.redirect)
        let policy = try #require(page.headers["Content-Security-Policy"])
        #expect(policy.contains("script-src 'nonce-"))
        #expect(!policy.contains("unsafe"))
    }

    @Test(
        "a user who denies the request ends the sign-in with access_denied", arguments: ["login", "consent"])
    func denied(at page: String) throws {
        var world = try DemoWorld()
        if page == "consent" { _ = try world.signIn(["scope": "openid"]) }
        world.browser.choice = .deny
        let answer = try world.callback()
        #expect(answer["error"] == "access_denied")
        #expect(answer["state"] == "state-1")
        #expect(answer["iss"] == "http://127.0.0.1:9480")
        #expect(answer["code"] == nil)
    }

    @Test("no page is shown if the configuration answers for the user")
    func automaticPerson() throws {
        var world = try DemoWorld { $0.user = .approves("bob") }
        let tokens = try world.signIn()
        #expect(world.provider.requestCount(.authorize) == 1)
        #expect(try JWS(compact: tokens.text("id_token")).claims?["sub"] == "bob")
        var denying = try DemoWorld { $0.user = .denies }
        #expect(try denying.callback()["error"] == "access_denied")
    }

    @Test(
        "a token request that differs from the authorization request is refused",
        arguments: [
            ("code_verifier", "another-verifier-of-the-right-length-0123456789a"),
            ("code_verifier", nil), ("code_verifier", "short"),
            ("redirect_uri", "http://127.0.0.1:8765/other"), ("redirect_uri", nil),
            ("client_id", "demo-confidential"), ("code", "another-code"),
        ] as [(String, String?)])
    func differingTokenRequest(name: String, value: String?) throws {
        var world = try DemoWorld { $0.clients.append(DemoClient(id: "other")) }
        let code = try #require(try world.callback()["code"])
        let value = value == "demo-confidential" ? "other" : value
        let response = try world.redeem(code, [name: value])
        #expect(response.status == 400)
        #expect(response.oauthError == "invalid_grant")
    }

    @Test("a code that comes twice is refused, and the tokens of the first time are revoked")
    func codeReuse() throws {
        var world = try DemoWorld()
        let code = try #require(try world.callback()["code"])
        let tokens = try world.redeem(code).json()
        #expect(try world.userInfo(try tokens.text("access_token")).status == 200)
        #expect(try world.redeem(code).oauthError == "invalid_grant")
        #expect(try world.userInfo(try tokens.text("access_token")).status == 401)
        let refreshed = try world.refresh(try tokens.text("refresh_token"))
        #expect(refreshed.oauthError == "invalid_grant")
    }

    @Test("a code lives for a minute", arguments: [(59, 200), (60, 400)] as [(Int64, Int)])
    func codeLifetime(age: Int64, status: Int) throws {
        var world = try DemoWorld()
        let code = try #require(try world.callback()["code"])
        world.now = world.now.adding(age)
        #expect(try world.redeem(code).status == status)
    }

    @Test("a failed attempt with the wrong verifier uses the code up")
    func wrongVerifierUsesCodeUp() throws {
        var world = try DemoWorld()
        let code = try #require(try world.callback()["code"])
        _ = try world.redeem(code, ["code_verifier": String(repeating: "x", count: 43)])
        #expect(try world.redeem(code).oauthError == "invalid_grant")
    }
}
