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

    private func expectRefusal(
        _ world: ResourceWorld, _ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let outcome = try world.run(arguments)
        let hint = "add --issuer \(world.server.issuer) "
        #expect(
            outcome.status == 2 && outcome.output.isEmpty && outcome.errorOutput.contains(hint),
            "\(arguments) \(outcome)", sourceLocation: sourceLocation)
        let said = world.server.log.map { "\($0.headers.fields) \(String(decoding: $0.body, as: UTF8.self))" }
        #expect(!said.joined().contains("s3cret"), sourceLocation: sourceLocation)
        #expect(world.server.tokenRequests.isEmpty && world.tabs.isEmpty, sourceLocation: sourceLocation)
    }

    @Test(
        "a secret without an issuer goes to no server that a resource names; the hint names the issuer to add"
    )
    func secretWithoutIssuer() throws {
        let world = try ResourceWorld {
            $0.metadata = Self.confidential
            $0.issuesRefreshTokens = true
        }
        let file = try world.keep("secret", "s3cret")
        for setting in [
            #""client_secret":"s3cret""#, #""client_secret_file":"\#(file)""#,
            #""client_secret_command":["cat","\#(file)"]"#,
        ] {
            try world.configure(#"{"client_id":"mine","grant":"client_credentials",\#(setting)}"#)
            try expectRefusal(world, ["token", world.url])
        }
        try expectRefusal(world, ["credential", "headers", world.url])
        try expectRefusal(world, ["request", "POST", world.url, "-d", "{}"])
        try world.configure(#"{"client_id":"mine","client_secret_file":"\#(file)"}"#)
        try expectRefusal(world, ["login", world.url])
        try expectRefusal(world, ["token", "--login", world.url])
        // What was allowed once for a server and a client needs no second word.
        expectSuccess(try world.run(["login", world.url, "--issuer", world.server.issuer]))
        expectSuccess(try world.run(["token", "--refresh", world.url]))
        expectSuccess(try world.run(["login", world.url]))
        #expect(
            world.server.tokenRequests.map { $0.form["client_secret"] } == ["s3cret", "s3cret", "s3cret"])
    }

    @Test("a secret of variables without an issuer is kept back from a session of a public client, too")
    func laterSecret() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_ID": "mine"]) {
            $0.metadata = ["token_endpoint_auth_methods_supported": ["none", "client_secret_post"]]
            $0.issuesRefreshTokens = true
        }
        // A client ID alone is no secret.
        expectSuccess(try world.run(["login", world.url]))
        world.server.change { $0.metadata = Self.confidential }
        let variables = ["OIDC_CLIENT_SECRET": "s3cret"]
        let fresh = try world.program.run("token", world.url, variables: variables)
        #expect(fresh.status == 0, "\(fresh)")
        var named = variables
        named["OIDC_CLIENT_AUTH"] = "client_secret_post"
        let refused = try world.program.run("token", "--refresh", world.url, variables: named)
        #expect(
            refused.status == 2 && refused.errorOutput.contains("client_secret is set without"), "\(refused)")
        #expect(world.server.tokenRequests.allSatisfy { $0.form["client_secret"] == nil })
        named["OIDC_ISSUER"] = world.server.issuer
        let allowed = try world.program.run("token", "--refresh", world.url, variables: named)
        #expect(allowed.status == 0, "\(allowed)")
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
