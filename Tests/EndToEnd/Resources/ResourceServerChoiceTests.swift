import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "the server of a resource, and who may have a secret", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ResourceServerChoiceTests {
    private static let confidential: [String: JSONValue] = [
        "token_endpoint_auth_methods_supported": ["client_secret_post"]
    ]

    @Test("a secret without an issuer goes to the first server only; the hint names the issuer to add")
    func secretWithoutIssuer() throws {
        let world = try ResourceWorld {
            $0.metadata = Self.confidential
            $0.issuesRefreshTokens = true
        }
        let file = try world.keep("secret", "s3cret")
        try world.configure(
            #"{"client_id":"mine","grant":"client_credentials","client_secret_file":"\#(file)"}"#)
        expectSuccess(try world.run(["token", world.url]))
        #expect(world.server.tokenRequests.map { $0.form["client_secret"] } == ["s3cret"])
        // The resource moves, or another one names a server of its own.
        world.trust(world.other)
        world.other.change { $0.metadata = Self.confidential }
        for command in [["token", "--refresh"], ["credential", "headers"], ["request", "POST"]] {
            world.forget()
            _ = try world.run(command + [world.url])
            #expect(world.other.tokenRequests.isEmpty, "\(command)")
        }
        let signIn = ["login", world.url, "--grant", "authorization_code"]
        let refused = try world.run(signIn)
        #expect(refused.status == 2 && world.tabs.isEmpty, "\(refused)")
        #expect(refused.errorOutput.contains("add --issuer \(world.other.issuer) "), "\(refused)")
        // What was allowed once for a server and a client need not be allowed again.
        expectSuccess(try world.run(signIn + ["--issuer", world.other.issuer]))
        expectSuccess(try world.run(signIn))
        #expect(world.other.tokenRequests.allSatisfy { $0.form["client_secret"] == "s3cret" })
    }

    @Test("a secret of variables is not used for another profile that the resource leads to")
    func otherProfile() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_SECRET": "s3cret"]) {
            $0.metadata = ["token_endpoint_auth_methods_supported": ["none", "client_secret_post"]]
            $0.issuesRefreshTokens = true
        }
        try world.configure(
            """
            {"default_profile":"other","profiles":{
              "other":{"issuer":"https://op.example","client_id":"elsewhere"},
              "work":{"issuer":"\(world.server.issuer)","client_id":"known"}}}
            """)
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["token", "--refresh", world.url]))
        #expect(world.server.tokenRequests.map { $0.form["client_id"] } == ["known", "known"])
        #expect(world.server.tokenRequests.allSatisfy { $0.form["client_secret"] == nil })
        expectSuccess(try world.run(["login", "-p", "work", world.url]))
        #expect(world.server.tokenRequests.last?.form["client_secret"] == "s3cret")
    }

    @Test(
        "a server that has no client for us is passed over for one that registers; the hint names both ways")
    func registeringServer() throws {
        let world = try ResourceWorld {
            $0.registers = false
            $0.metadata = ["client_id_metadata_document_supported": true]
        }
        world.resource.change { $0.servers = [world.server.issuer, world.other.issuer] }
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.server.authorizations.isEmpty && world.other.authorizations.count == 1)
        let refused = try world.run(["login", world.url, "--issuer", world.server.issuer])
        #expect(refused.status == 2, "\(refused)")
        for words in ["--client-id ID", "oidc register --client-metadata URL", "client_metadata_url=URL"] {
            #expect(refused.errorOutput.contains(words), "\(refused.errorOutput)")
        }
        expectSuccess(try world.run(["login", world.url, "--client-id", "known"]))
        #expect(world.server.authorizations.map { $0["client_id"] } == ["known"])
    }

    @Test("every sign-in asks the resource, whatever is cached: another server and scope count at once")
    func asksAgain() throws {
        let world = try ResourceWorld(resource: { $0.answerToGet = nil })
        expectSuccess(try world.run(["login", world.url]))
        world.trust(world.other)
        world.resource.change { $0.challengeScope = "wider" }
        for command in [["login"], ["token", "--login", "--refresh"]] {
            world.forget()
            expectSuccess(try world.run(command + [world.url]))
            #expect(world.resource.paths.contains("/mcp"))
        }
        #expect(world.server.authorizations.isEmpty)
        #expect(world.other.authorizations.last?["scope"] == "wider")
        // The server's metadata may stay cached.
        world.forget()
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.resource.paths == ["/mcp", "/.well-known/oauth-protected-resource/mcp"])
        #expect(!world.other.paths.contains { $0.contains(".well-known") })
    }

    @Test("a search that fails with an empty cache is not made twice")
    func once() throws {
        let world = try ResourceWorld { $0.metadata = ["code_challenge_methods_supported": .null] }
        #expect(try world.run(["login", world.url]).status == 4)
        #expect(world.resource.paths.filter { $0 == "/mcp" }.count == 1, "\(world.resource.paths)")
        let places = world.server.paths.filter { $0.contains(".well-known") }
        #expect(Set(places).count == places.count, "\(places)")
    }
}
