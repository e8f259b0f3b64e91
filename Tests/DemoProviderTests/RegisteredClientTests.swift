import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("the demo provider: registration, pushed requests, sign-out")
struct RegisteredClientTests {
    @Test("a registered client signs in, with its own redirect URI only")
    func registration() throws {
        var world = try DemoWorld { $0.user = .approves("alice") }
        func register(_ body: JSONValue) throws -> HTTPResponse {
            let headers = HTTPHeaders([("Content-Type", "application/json")])
            return world.send(
                HTTPRequest(.post, try world.url("/register"), headers: headers, body: body.bytes))
        }
        let response = try register([
            "redirect_uris": ["http://127.0.0.1/callback"], "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"], "client_name": "Test",
        ])
        #expect(response.status == 201)
        let client = try response.json()
        #expect(client["client_secret"] == nil)
        let id = try client.text("client_id")
        let code = try #require(try world.callback(["client_id": id])["code"])
        #expect(try world.redeem(code, ["client_id": id]).status == 200)
        let other = world.browse(
            try world.authorizeURL(["client_id": id, "redirect_uri": "http://127.0.0.1:1/other"])
        ).page
        #expect(other.status == 400)
        #expect(
            try register(["redirect_uris": ["http://evil.example/"]]).oauthError == "invalid_redirect_uri")
        #expect(try register(["redirect_uris": 7]).oauthError == "invalid_client_metadata")
        let confidential = try register(["redirect_uris": ["https://app.example/"]]).json()
        #expect(confidential["client_secret"]?.string?.isEmpty == false)
    }

    @Test("a pushed request is single-use, bound to its client, and expires after a minute")
    func pushedAuthorization() throws {
        var world = try DemoWorld {
            $0.requiresPushedAuthorization = true
            $0.user = .approves("alice")
            $0.clients.append(DemoClient(id: "other"))
        }
        func push() throws -> String {
            let response = world.send(.form(try world.url("/par"), world.authorizePairs()))
            #expect(response.status == 201)
            return try response.json().text("request_uri")
        }
        func authorize(_ client: String, _ reference: String) throws -> HTTPResponse {
            let url = try world.url("/authorize").appendingQuery([
                FormEncoding.Pair("client_id", client), FormEncoding.Pair("request_uri", reference),
            ])
            return world.send(HTTPRequest(.get, url))
        }
        let reference = try push()
        #expect(try authorize("other", reference).status == 400)
        #expect(try authorize("demo", reference).headers["Location"]?.contains("code=") == true)
        #expect(try authorize("demo", reference).status == 400)
        let late = try push()
        world.now = world.now.adding(60)
        #expect(try authorize("demo", late).status == 400)
        #expect(try world.callback()["error"] == "invalid_request")
    }

    @Test("authorization_details are granted as requested, or refused")
    func authorizationDetails() throws {
        var world = try DemoWorld()
        let details = "[{\"type\":\"payment\",\"amount\":5}]"
        let tokens = try world.signIn(["authorization_details": details])
        #expect(tokens["authorization_details"]?.compact == details)
        for bad in ["{}", "[{}]", "[1]", "nonsense"] {
            let answer = try world.callback(["authorization_details": bad])
            #expect(answer["error"] == "invalid_authorization_details", "\(bad)")
        }
    }

    @Test("sign-out with the session's ID token needs no confirmation, and returns the state")
    func endSession() throws {
        var world = try DemoWorld()
        let token = try world.signIn().text("id_token")
        let url = try world.url("/logout").appendingQuery([
            FormEncoding.Pair("id_token_hint", token), FormEncoding.Pair("state", "bye"),
            FormEncoding.Pair("post_logout_redirect_uri", "http://127.0.0.1:1/out"),
        ])
        let (request, _) = world.browse(url)
        #expect(request?.url.text == "http://127.0.0.1:1/out?state=bye")
        #expect(try world.callback(["prompt": "none"])["error"] == "login_required")
    }

    @Test("sign-out without an ID token asks for confirmation, and redirects only to registered URIs")
    func endSessionAsks() throws {
        var world = try DemoWorld()
        _ = try world.signIn()
        let page = world.send(world.browser.open(try world.url("/logout")))
        #expect(page.text.contains("Sign out?"))
        #expect(try world.callback(["prompt": "none"])["code"] != nil)
        let evil = "/logout?client_id=demo&post_logout_redirect_uri=https%3A%2F%2Fevil.example%2F"
        #expect(try world.get(evil).status == 400)
        #expect(try world.get("/logout?id_token_hint=a.b.c").status == 400)
        _ = world.browse(try world.url("/logout"))
        #expect(try world.callback(["prompt": "none"])["error"] == "login_required")
    }
}
