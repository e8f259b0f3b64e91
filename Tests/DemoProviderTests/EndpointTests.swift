import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite struct EndpointTests {
    @Test(
        "metadata stands at both well-known places, whatever the issuer's path",
        arguments: ["http://127.0.0.1:9480", "http://127.0.0.1:9480/", "http://127.0.0.1:9480/tenant"])
    func metadataPlaces(issuer: String) throws {
        var world = try DemoWorld(issuer: issuer)
        let origin = try #require(WebURL(issuer)).origin
        let path = issuer.hasSuffix("tenant") ? "/tenant" : ""
        for place in [
            "\(path)/.well-known/openid-configuration", "/.well-known/oauth-authorization-server\(path)",
        ] {
            let response = world.send(HTTPRequest(.get, try #require(WebURL("\(origin)\(place)"))))
            let metadata = try response.json()
            #expect(metadata["issuer"] == .string(issuer))
            #expect(metadata["token_endpoint"] == .string("\(origin)\(path)/token"))
        }
    }

    @Test("every endpoint that metadata names is there")
    func endpointsExist() throws {
        var world = try DemoWorld { $0.mutualTLSBase = "https://mtls.example" }
        let metadata = try #require(try world.get("/.well-known/openid-configuration").json().object)
        let endpoints = metadata.members.filter { $0.name.hasSuffix("_endpoint") || $0.name == "jwks_uri" }
        #expect(endpoints.count == 10)
        for member in endpoints {
            let url = try #require(member.value.string.flatMap(WebURL.init))
            #expect(world.send(HTTPRequest(.get, url)).status != 404, "\(member.name)")
        }
        let alias = metadata["mtls_endpoint_aliases"]?["token_endpoint"]
        #expect(alias == "https://mtls.example/token")
    }

    @Test("the key set holds public members alone, and keeps the keys before after a rotation")
    func keySet() throws {
        var world = try DemoWorld()
        let before = try world.signIn().text("id_token")
        let keys = try world.get("/jwks").json()["keys"]?.array ?? []
        #expect(keys.compactMap { $0["alg"]?.string } == ["RS256", "ES256"])
        #expect(keys.allSatisfy { key in ["d", "p", "q", "k"].allSatisfy { key[$0] == nil } })
        try world.provider.rotateKeys()
        let after = try world.signIn().text("id_token")
        let rotated = try world.keys()
        #expect(rotated.keys.count == 4)
        #expect(try JWS(compact: before).verify(keys: rotated) == .valid)
        #expect(try JWS(compact: after).verify(keys: rotated) == .valid)
        #expect(try JWS(compact: before).keyID != JWS(compact: after).keyID)
    }

    @Test("userinfo tells what the scope opens, and takes the header alone")
    func userInfo() throws {
        var world = try DemoWorld()
        let token = try world.signIn(["scope": "openid email"]).text("access_token")
        let claims = try world.userInfo(token).json()
        #expect(claims == ["sub": "alice", "email": "alice@example.com", "email_verified": true])
        #expect(try world.get("/userinfo?access_token=\(token)").status == 401)
        #expect(try world.post("/userinfo", [("access_token", token)]).status == 401)
        world.now = world.now.adding(300)
        #expect(try world.userInfo(token).challenges.first?.error == "invalid_token")
    }

    @Test("without the openid scope userinfo is insufficient_scope")
    func userInfoScope() throws {
        var world = try DemoWorld()
        let response = try world.userInfo(try world.signIn(["scope": "api:read"]).text("access_token"))
        #expect(response.status == 403)
        #expect(response.challenges.first?.error == "insufficient_scope")
    }

    @Test("signed userinfo verifies and names issuer and client")
    func signedUserInfo() throws {
        var world = try DemoWorld { $0.signsUserInfo = true }
        let response = try world.userInfo(try world.signIn().text("access_token"))
        #expect(response.mediaType == "application/jwt")
        let token = try JWS(compact: response.text)
        #expect(try token.verify(keys: try world.keys()) == .valid)
        #expect(token.claims?["iss"] == "http://127.0.0.1:9480")
        #expect(token.claims?["aud"] == "demo")
    }

    @Test("a JWT access token says what RFC 9068 asks for")
    func accessTokenJWT() throws {
        var world = try DemoWorld { $0.issuesJWTAccessTokens = true }
        let tokens = try world.signIn(["audience": "urn:api"])
        let token = try JWS(compact: tokens.text("access_token"))
        #expect(token.header["typ"] == "at+jwt")
        #expect(try token.verify(keys: try world.keys()) == .valid)
        let claims = try #require(token.claims)
        for name in ["iss", "sub", "aud", "exp", "iat", "jti", "client_id", "scope"] {
            #expect(claims[name] != nil, "\(name)")
        }
        #expect(claims["aud"] == "urn:api")
    }

    @Test("revoking a refresh token ends the whole sign-in, an access token only itself")
    func revocation() throws {
        var world = try DemoWorld()
        let tokens = try world.signIn()
        let access = try tokens.text("access_token")
        let refresh = try tokens.text("refresh_token")
        func revoke(_ token: String, _ client: String = "demo") throws -> HTTPResponse {
            try world.post("/revoke", [("token", token), ("client_id", client)])
        }
        #expect(try revoke("unknown").status == 200)
        #expect(try revoke(access).status == 200)
        #expect(try world.userInfo(access).status == 401)
        let again = try world.refresh(refresh).json()
        #expect(try revoke(try again.text("refresh_token")).status == 200)
        #expect(try world.userInfo(try again.text("access_token")).status == 401)
        #expect(try world.refresh(try again.text("refresh_token")).oauthError == "invalid_grant")
    }

    @Test("another client can revoke nothing")
    func foreignRevocation() throws {
        var world = try DemoWorld { $0.clients.append(DemoClient(id: "other")) }
        let access = try world.signIn().text("access_token")
        let response = try world.post("/revoke", [("token", access), ("client_id", "other")])
        #expect(response.oauthError == "unauthorized_client")
        #expect(try world.userInfo(access).status == 200)
    }

    @Test("introspection tells of tokens that are active, and of others only that they are not")
    func introspection() throws {
        var world = try DemoWorld()
        let tokens = try world.signIn(["scope": "openid offline_access"])
        func introspect(_ token: String) throws -> JSONValue {
            try world.post("/introspect", [("token", token), ("client_id", "demo")]).json()
        }
        let access = try introspect(tokens.text("access_token"))
        #expect(access["active"] == true)
        #expect(access["sub"] == "alice")
        #expect(access["scope"] == "openid offline_access")
        #expect(try introspect(tokens.text("refresh_token"))["active"] == true)
        #expect(try introspect("unknown") == ["active": false])
        world.now = world.now.adding(300)
        #expect(try introspect(tokens.text("access_token")) == ["active": false])
    }

    @Test("sign-out with the session's ID token is at once and carries state back")
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

    @Test("sign-out asks first without an ID token, and goes to registered addresses alone")
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

    @Test("a registered client signs in; its redirect address is kept to")
    func registration() throws {
        var world = try DemoWorld { $0.person = .approves("alice") }
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

    @Test("pushed parameters count once, for their client, for a minute")
    func pushedAuthorization() throws {
        var world = try DemoWorld {
            $0.requiresPushedAuthorization = true
            $0.person = .approves("alice")
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

    @Test("the sample API opens by scope")
    func resourceScopes() throws {
        var world = try DemoWorld()
        let token = try world.signIn(["scope": "openid api:read"]).text("access_token")
        let bearer = [("Authorization", "Bearer \(token)")]
        #expect(try world.get("/api/items", headers: bearer).status == 200)
        let write = try world.post("/api/items", [], headers: bearer)
        #expect(write.status == 403)
        #expect(write.challenges.first?.scope == Scope("api:write"))
        let without = try world.get("/api/items")
        #expect(without.status == 401)
        #expect(without.challenges.first?.isScheme("Bearer") == true)
        #expect(without.challenges.first?.error == nil)
        #expect(try world.get("/api/nothing", headers: bearer).status == 404)
    }

    @Test("a token for another resource is refused")
    func resourceAudience() throws {
        var world = try DemoWorld()
        let token = try world.signIn(["resource": "https://other.example/"]).text("access_token")
        #expect(try world.get("/api/hello", headers: [("Authorization", "Bearer \(token)")]).status == 401)
    }

    @Test("the admin resource demands a fresh, stronger sign-in, which acr_values gives")
    func stepUp() throws {
        var world = try DemoWorld { $0.accessTokenLifetime = 3_600 }
        func admin(_ token: String) throws -> HTTPResponse {
            try world.get("/api/admin", headers: [("Authorization", "Bearer \(token)")])
        }
        let weak = try admin(try world.signIn(["scope": "openid api:admin"]).text("access_token"))
        #expect(weak.status == 401)
        let challenge = try #require(weak.challenges.first)
        #expect(challenge.error == "insufficient_user_authentication")
        let acr = try #require(challenge.acrValues)
        #expect(challenge.maxAge == 300)
        let strong = try world.signIn(["scope": "openid api:admin", "acr_values": acr, "max_age": "300"])
        let token = try strong.text("access_token")
        #expect(try admin(token).status == 200)
        world.now = world.now.adding(301)
        #expect(try admin(token).status == 401)
    }

    @Test("another method is told which ones there are")
    func methods() throws {
        var world = try DemoWorld()
        let response = try world.get("/token")
        #expect(response.status == 405)
        #expect(response.headers["Allow"] == "POST")
        #expect(try world.get("/favicon.ico").status == 404)
    }

    @Test("answers are dated by the provider's own clock")
    func date() throws {
        var world = try DemoWorld { $0.clockOffset = 86_400 }
        #expect(try world.get("/").headers["Date"] == "Sat, 16 Jan 2027 08:00:00 GMT")
    }

    @Test("authorization_details are granted as they were asked for, or refused")
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

    @Test("error descriptions keep to printable ASCII without quotes and backslashes")
    func errorAlphabet() throws {
        var world = try DemoWorld()
        let answer = try world.callback(["scope": "openid b\u{FC}\"\\\u{1B}d"])
        let description = try #require(answer["error_description"])
        #expect(description.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
    }

    @Test("what has expired is forgotten, what is valid is kept")
    func sweep() throws {
        var world = try DemoWorld()
        let tokens = try world.signIn()
        world.now = world.now.adding(10 * 86_400)
        for _ in 0..<600 { _ = try world.get("/favicon.ico") }
        #expect(try world.refresh(try tokens.text("refresh_token")).status == 200)
        #expect(world.provider.log.count == 500)
    }
}
