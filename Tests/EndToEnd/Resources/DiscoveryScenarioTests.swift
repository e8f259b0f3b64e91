import OIDCCore
import TestSupport
import Testing

/// The scenarios about finding a resource's server, by the names that the MCP conformance suite gives them.
@Suite(
    "resource scenarios: discovery", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct DiscoveryScenarioTests {
    /// Signs in, and expects PKCE, the resource in both requests and the token in the header.
    private func signIn(_ world: ResourceWorld) throws {
        expectSuccess(try world.call())
        #expect(world.tabs.count == 1 && world.server.tokenRequests.count == 1)
        let asked = try #require(world.server.authorizations.first)
        #expect(asked["code_challenge_method"] == "S256")
        let resource = world.resource.rules.identifier ?? world.url
        #expect(asked["resource"] == resource)
        #expect(world.server.tokenRequests.first?.form["resource"] == resource)
        #expect(world.resource.credentials.last?.hasPrefix("Bearer token-") == true)
    }

    @Test("metadata-default: the challenge's metadata, OAuth metadata at the root")
    func metadataDefault() throws {
        let world = try ResourceWorld()
        try signIn(world)
        #expect(!world.resource.paths.contains("/.well-known/oauth-protected-resource"))
        #expect(world.server.registrations.first?["application_type"] == "native")
        #expect(world.server.registrations.first?["client_name"]?.string?.isEmpty == false)
    }

    @Test("metadata-var1: the well-known place with the path inserted, OpenID metadata")
    func metadataVar1() throws {
        let world = try ResourceWorld {
            $0.metadataPath = "/.well-known/openid-configuration"
            $0.metadata = [
                "jwks_uri": .string("\(ResourceWorld.unusedOrigin)/jwks"),
                "subject_types_supported": ["public"],
            ]
        } resource: {
            $0.namedMetadata = .some(nil)
        }
        try signIn(world)
    }

    @Test("metadata-var2: the well-known place at the root, OAuth metadata with the path inserted")
    func metadataVar2() throws {
        let world = try ResourceWorld {
            $0.prefix = "/tenant1"
            $0.metadataPath = "/.well-known/oauth-authorization-server/tenant1"
        } resource: {
            $0.metadataPath = "/.well-known/oauth-protected-resource"
            $0.namedMetadata = .some(nil)
        }
        world.resource.change { $0.identifier = world.resource.origin }
        try signIn(world)
        #expect(!world.server.paths.contains("/.well-known/oauth-authorization-server"))
        let places = world.resource.paths.filter { $0.hasPrefix("/.well-known/") }
        #expect(
            places == ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"])
    }

    @Test("metadata-var3: the challenge names the metadata URL, and OpenID metadata is below the issuer")
    func metadataVar3() throws {
        let world = try ResourceWorld {
            $0.prefix = "/tenant1"
            $0.metadataPath = "/tenant1/.well-known/openid-configuration"
        } resource: {
            $0.metadataPath = "/custom/metadata/location.json"
        }
        try signIn(world)
        #expect(
            world.server.paths.prefix(3) == [
                "/.well-known/oauth-authorization-server/tenant1",
                "/.well-known/openid-configuration/tenant1", "/tenant1/.well-known/openid-configuration",
            ])
        #expect(world.resource.paths.filter { $0.hasPrefix("/.well-known/") } == [])
    }

    @Test("metadata-issuer-mismatch: nothing of metadata that names another issuer is used")
    func metadataIssuerMismatch() throws {
        let world = try ResourceWorld {
            $0.prefix = "/mismatched-as"
            $0.issuer = "https://attacker.example.com"
        }
        world.resource.change { $0.servers = [world.server.origin] }
        let outcome = try world.call()
        #expect(outcome.status == 7, "\(outcome)")
        #expect(outcome.errorOutput.contains("https://attacker.example.com"))
        #expect(world.server.paths.first == "/.well-known/oauth-authorization-server")
        #expect(world.server.paths.allSatisfy { $0.hasPrefix("/.well-known/") } && world.tabs.isEmpty)
    }

    @Test("resource-mismatch: metadata of another resource is refused before anything is sent")
    func resourceMismatch() throws {
        let world = try ResourceWorld {
            _ in
        } resource: {
            $0.identifier = "https://evil.example.com/mcp"
        }
        let outcome = try world.call()
        #expect(outcome.status == 7, "\(outcome)")
        #expect(outcome.error?.contains("https://evil.example.com/mcp") == true)
        #expect(world.server.log.isEmpty && world.tabs.isEmpty)
    }

    @Test("authorization-server-migration: at a new server, a new registration and nothing of the old one")
    func migration() throws {
        let world = try ResourceWorld {
            $0.registered = ["client_id": "at-the-first", "client_secret": "first-secret"]
            $0.metadata = ["token_endpoint_auth_methods_supported": ["client_secret_post"]]
            $0.issuesRefreshTokens = true
        } resource: {
            $0.challengeScope = "mcp:basic"
        }
        expectSuccess(try world.call())
        world.server.revokeTokens()
        world.forget()
        world.resource.change { $0.servers = [world.other.origin] }
        expectSuccess(try world.call())
        #expect(world.tabs.count == 2 && world.other.registrations.count == 1)
        #expect(world.other.authorizations.map { $0["client_id"] } == ["at-the-other"])
        #expect(world.other.tokenRequests.map { $0.form["client_id"] } == ["at-the-other"])
        let sent = world.other.log.map { "\($0)" + String(decoding: $0.body, as: UTF8.self) }
        for old in ["at-the-first", "first-secret", "refresh-", "token-2"] {
            #expect(!sent.contains { $0.contains(old) }, "\(old)")
        }
        // Nor does the old server see anything of the move.
        #expect(world.server.log.isEmpty, "\(world.server.paths)")
    }
}

extension ResourceWorld {
    /// An origin where nothing listens.
    static let unusedOrigin = "http://127.0.0.1:9"
}
