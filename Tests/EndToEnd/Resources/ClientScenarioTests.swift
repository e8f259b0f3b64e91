import Foundation
import OIDCCore
import TestSupport
import Testing

/// The scenarios about the client and how it authenticates, by the names that the MCP conformance suite gives them.
@Suite(
    "resource scenarios: clients and their authentication", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ClientScenarioTests {
    @Test("basic-cimd: the URL of a metadata document is the client id, and nobody registers")
    func basicCIMD() throws {
        let document = "https://conformance.example/client-metadata.json"
        let world = try ResourceWorld(["OIDC_CLIENT_METADATA_URL": document]) {
            $0.metadata = ["client_id_metadata_document_supported": true]
        }
        expectSuccess(try world.call())
        #expect(world.server.authorizations.map { $0["client_id"] } == [document])
        #expect(world.server.tokenRequests.map { $0.form["client_id"] } == [document])
        #expect(world.server.registrations.isEmpty)
    }

    /// A world whose server takes one method of client authentication.
    private func world(_ method: String, _ registered: [String: JSONValue]) throws -> ResourceWorld {
        try ResourceWorld {
            $0.metadata = ["token_endpoint_auth_methods_supported": [.string(method)]]
            $0.registered = registered
        }
    }

    /// Signs in, and returns the token request. The resource must be in it and in the authorization request.
    private func tokenRequest(
        _ world: ResourceWorld, options: [String] = []
    ) throws -> ServerStandIn.TokenRequest {
        expectSuccess(try world.call(options: ["--login"] + options))
        #expect(world.server.authorizations.map { $0["resource"] } == [world.url])
        #expect(world.server.tokenRequests.map { $0.form["resource"] } == [world.url])
        return try #require(world.server.tokenRequests.first)
    }

    @Test("token-endpoint-auth-basic: HTTP Basic, both parts form-encoded")
    func basic() throws {
        let world = try world(
            "client_secret_basic",
            [
                "client_id": "c:1", "client_secret": "s%:2",
                "token_endpoint_auth_method": "client_secret_basic",
            ])
        let request = try tokenRequest(world)
        #expect(request.basic == ["c:1", "s%:2"] && request.form["client_secret"] == nil)
    }

    @Test("token-endpoint-auth-post: the secret in the body")
    func post() throws {
        let world = try world(
            "client_secret_post",
            [
                "client_id": "c-1", "client_secret": "s-2",
                "token_endpoint_auth_method": "client_secret_post",
            ])
        let request = try tokenRequest(world)
        #expect(request.form["client_id"] == "c-1" && request.form["client_secret"] == "s-2")
        #expect(request.basic == nil)
    }

    @Test(
        "token-endpoint-auth-none: no secret, not even one that came with the registration",
        arguments: [[:], ["client_secret": "unasked"]] as [[String: JSONValue]])
    func none(more: [String: JSONValue]) throws {
        let world = try world("none", more.merging(["client_id": "c-1"]) { $1 })
        let request = try tokenRequest(world)
        #expect(request.form["client_id"] == "c-1" && request.form["client_secret"] == nil)
        #expect(request.request.headers["Authorization"] == nil)
        #expect(world.server.registrations.first?["token_endpoint_auth_method"] == "none")
    }

    @Test("pre-registration: the client of the settings, if the server registers none")
    func preRegistration() throws {
        let world = try ResourceWorld([
            "OIDC_CLIENT_ID": "pre-registered-client", "OIDC_CLIENT_SECRET": "pre-registered-secret",
        ]) {
            $0.registers = false
            $0.metadata = ["token_endpoint_auth_methods_supported": ["client_secret_basic"]]
        }
        let request = try tokenRequest(world, options: ["--issuer", world.server.issuer])
        #expect(request.basic == ["pre-registered-client", "pre-registered-secret"])
        #expect(world.server.authorizations.map { $0["client_id"] } == ["pre-registered-client"])
        #expect(!world.server.paths.contains("/register"))
    }

    @Test("without a client id and without registration, exit 2 says what to register where")
    func noClient() throws {
        let world = try ResourceWorld { $0.registers = false }
        let outcome = try world.run(["login", world.url])
        #expect(outcome.status == 2 && world.tabs.isEmpty, "\(outcome)")
        #expect(outcome.errorOutput.contains(world.server.origin))
        #expect(outcome.errorOutput.contains("http://127.0.0.1/callback"))
    }

    @Test("offline-access-scope: requested if the server lists it, and refreshing is registered")
    func offlineAccess() throws {
        let world = try ResourceWorld {
            $0.metadata = [
                "scopes_supported": ["mcp:basic", "offline_access"],
                "client_id_metadata_document_supported": true,
            ]
        } resource: {
            $0.metadata = ["scopes_supported": ["mcp:basic"]]
        }
        expectSuccess(try world.call())
        let scope = Scope(world.server.authorizations.first?["scope"] ?? "")
        #expect(Set(scope.tokens) == ["mcp:basic", "offline_access"])
        let grants = world.server.registrations.first?["grant_types"]?.array?.compactMap(\.string) ?? []
        #expect(Set(grants) == ["authorization_code", "refresh_token"])
    }

    @Test("offline-access-not-supported: not requested if the server does not list it")
    func offlineAccessNotSupported() throws {
        let world = try ResourceWorld {
            $0.metadata = ["scopes_supported": ["mcp:basic", "mcp:read"]]
        } resource: {
            $0.metadata = ["scopes_supported": ["mcp:basic", "mcp:read"]]
        }
        expectSuccess(try world.call())
        #expect(world.server.authorizations.map { $0["scope"] } == ["mcp:basic mcp:read"])
    }
}
