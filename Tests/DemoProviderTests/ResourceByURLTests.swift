import DemoProvider
import OIDCCore
import TestSupport
import Testing

@Suite("the demo provider: the protected resource")
struct ResourceByURLTests {
    private static let resource = "http://127.0.0.1:9480/mcp"

    private func bearer(_ token: String) -> [(String, String)] { [("Authorization", "Bearer \(token)")] }

    @Test("the answer without a token says where the metadata is and which scope is needed")
    func challenge() throws {
        var world = try DemoWorld()
        let answer = try world.get("/mcp")
        #expect(answer.status == 401)
        let challenge = try #require(answer.challenges.first)
        #expect(challenge.error == nil && challenge.scope == Scope("api:read"))
        let address = try #require(challenge["resource_metadata"])
        #expect(address == "http://127.0.0.1:9480/.well-known/oauth-protected-resource/mcp")
        let metadata = try world.send(HTTPRequest(.get, try #require(WebURL(address)))).json()
        #expect(try metadata.text("resource") == ResourceByURLTests.resource)
        #expect(metadata["authorization_servers"] == ["http://127.0.0.1:9480"])
        #expect(metadata["scopes_supported"] == ["api:read", "api:write"])
        #expect(metadata["dpop_bound_access_tokens_required"] == nil)
    }

    @Test("with a path in the issuer, the metadata is at the path that is inserted, and nowhere else")
    func pathInserted() throws {
        var world = try DemoWorld(issuer: "http://127.0.0.1:9480/tenant")
        func metadata(_ path: String) throws -> HTTPResponse {
            world.send(HTTPRequest(.get, try #require(WebURL("http://127.0.0.1:9480\(path)"))))
        }
        let answer = try metadata("/.well-known/oauth-protected-resource/tenant/mcp")
        #expect(try answer.json().text("resource") == "http://127.0.0.1:9480/tenant/mcp")
        for path in ["", "/mcp", "/tenant"] {
            #expect(try metadata("/.well-known/oauth-protected-resource\(path)").status == 404, "\(path)")
        }
        #expect(try metadata("/tenant/.well-known/oauth-protected-resource").status == 404)
    }

    @Test("only a token for this resource opens it, and that token opens nothing else")
    func audience() throws {
        var world = try DemoWorld()
        let other = try world.signIn(["scope": "openid api:read"]).text("access_token")
        let refused = try world.get("/mcp", headers: bearer(other))
        #expect(refused.status == 401 && refused.challenges.first?.error == "invalid_token")
        let token = try world.signIn(["scope": "api:read", "resource": ResourceByURLTests.resource])
            .text("access_token")
        #expect(try world.get("/mcp", headers: bearer(token)).json() == ["hello": "Alice"])
        #expect(try world.get("/api/hello", headers: bearer(token)).status == 401)
        #expect(try world.get("/mcp/nothing", headers: bearer(token)).status == 404)
        let message = HTTPRequest(
            .post, try world.url("/mcp"), headers: HTTPHeaders(bearer(token)),
            body: Array(#"{"jsonrpc":"2.0","id":7,"method":"hello"}"#.utf8))
        #expect(
            try world.send(message).json() == ["jsonrpc": "2.0", "id": 7, "result": ["hello": "Alice"]])
    }

    @Test("one path needs one more scope, another one a stronger sign-in")
    func stepUp() throws {
        var world = try DemoWorld()
        func token(_ scope: String, _ more: [String: String?] = [:]) throws -> String {
            try world.signIn(
                ["scope": scope, "resource": ResourceByURLTests.resource].merging(more) { $1 }
            ).text("access_token")
        }
        let weak = try token("api:read")
        let refused = try world.get("/mcp/write", headers: bearer(weak))
        #expect(refused.status == 403)
        let challenge = try #require(refused.challenges.first)
        #expect(challenge.error == "insufficient_scope" && challenge.scope == Scope("api:write"))
        #expect(challenge["resource_metadata"]?.hasSuffix("/mcp") == true)
        #expect(try world.get("/mcp/write", headers: bearer(try token("api:read api:write"))).status == 200)
        let admin = try world.get("/mcp/admin", headers: bearer(weak))
        #expect(admin.status == 401)
        let acr = try #require(admin.challenges.first?.acrValues)
        let strong = try token("api:read", ["acr_values": acr])
        #expect(try world.get("/mcp/admin", headers: bearer(strong)).status == 200)
    }

    @Test("a provider that requires DPoP says so in the resource's metadata, and challenges with it")
    func proofs() throws {
        var world = try DemoWorld { $0.requiresDPoP = true }
        let answer = try world.get("/mcp")
        let challenge = try #require(answer.challenges.first)
        #expect(challenge.isScheme("DPoP") && challenge["resource_metadata"] != nil)
        let metadata = try world.get("/.well-known/oauth-protected-resource/mcp").json()
        #expect(metadata["dpop_bound_access_tokens_required"] == true)
    }
}

@Suite("the demo provider: clients that come without registration")
struct ClientDocumentTests {
    @Test("a client signs in by the URL of its document, with its redirect URI only")
    func document() throws {
        var world = try DemoWorld { $0.user = .approves("alice") }
        let id = DemoClient.documentURL
        let metadata = try world.get("/.well-known/oauth-authorization-server").json()
        #expect(metadata["client_id_metadata_document_supported"] == true)
        let tokens = try world.signIn(["client_id": id], redeemedBy: id)
        #expect(try !tokens.text("access_token").isEmpty)
        let other = try world.authorizeURL(["client_id": id, "redirect_uri": "http://127.0.0.1:1/other"])
        #expect(world.browse(other).page.status == 400)
        let stranger = try world.authorizeURL(["client_id": "https://other.example/client.json"])
        #expect(world.browse(stranger).page.status == 400)
    }

    @Test("without known documents, support for them is not announced")
    func none() throws {
        var world = try DemoWorld { $0.clientDocuments = [:] }
        let metadata = try world.get("/.well-known/openid-configuration").json()
        #expect(metadata["client_id_metadata_document_supported"] == nil)
    }

    @Test(
        "a document that is not the client's own, or names a secret, makes no client",
        arguments: [
            ["client_id": "https://other.example/c"], ["client_secret": "s"], ["redirect_uris": []],
            ["token_endpoint_auth_method": "client_secret_basic"],
        ] as [JSONValue])
    func refused(change: JSONValue) throws {
        var document = try #require(DemoClient.document.object)
        for member in try #require(change.object).members { document[member.name] = member.value }
        var world = try DemoWorld {
            $0.user = .approves("alice")
            $0.clientDocuments = [DemoClient.documentURL: .object(document)]
        }
        let page = world.browse(try world.authorizeURL(["client_id": DemoClient.documentURL])).page
        #expect(page.status == 400)
    }

    @Test("the type of application must be known, and a web application has no loopback redirect")
    func applicationType() throws {
        var world = try DemoWorld()
        func register(_ type: String, _ redirect: String) throws -> HTTPResponse {
            let body: JSONValue = [
                "application_type": .string(type), "redirect_uris": [.string(redirect)],
                "token_endpoint_auth_method": "none",
            ]
            return world.send(HTTPRequest(.post, try world.url("/register"), body: body.bytes))
        }
        #expect(try register("native", DemoWorld.redirect).status == 201)
        #expect(try register("web", "https://app.example/callback").status == 201)
        #expect(try register("web", DemoWorld.redirect).oauthError == "invalid_redirect_uri")
        #expect(try register("robot", DemoWorld.redirect).oauthError == "invalid_client_metadata")
    }
}

extension DemoWorld {
    /// A whole sign-in of another client.
    fileprivate mutating func signIn(
        _ changes: [String: String?], redeemedBy client: String
    ) throws -> JSONValue {
        try redeem(try #require(callback(changes)["code"]), ["client_id": client]).json()
    }
}
