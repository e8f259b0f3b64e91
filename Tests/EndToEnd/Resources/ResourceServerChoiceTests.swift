import Foundation
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite(
    "the server of a resource, and who may have a secret", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ResourceServerChoiceTests {
    private static let confidential: [String: JSONValue] = [
        "token_endpoint_auth_methods_supported": ["client_secret_post"]
    ]

    @Test("a secret goes to no server that only the resource names; the hint names the issuer to add")
    func secretWithoutIssuer() throws {
        let world = try ResourceWorld {
            $0.metadata = Self.confidential
            $0.issuesRefreshTokens = true
        }
        let file = try world.keep("secret", "s3cret")
        try world.configure(
            #"{"client_id":"mine","grant":"client_credentials","client_secret_file":"\#(file)"}"#)
        for command in [["token"], ["credential", "headers"], ["request", "POST"]] {
            let refused = try world.run(command + [world.url])
            #expect(refused.status == 2, "\(refused)")
            #expect(
                refused.errorOutput.contains(
                    "try: oidc config set -p default issuer=\(world.server.issuer)\n"),
                "\(refused.errorOutput)")
        }
        let signIn = ["login", world.url, "--grant", "authorization_code"]
        let refused = try world.run(signIn)
        #expect(refused.status == 2 && world.tabs.isEmpty, "\(refused)")
        #expect(refused.errorOutput.contains(" --issuer \(world.server.issuer) "), "\(refused)")
        #expect(world.server.tokenRequests.isEmpty)
        // What was allowed once for a server and a client need not be allowed again, and holds for no other server.
        expectSuccess(try world.run(signIn + ["--issuer", world.server.issuer]))
        expectSuccess(try world.run(signIn))
        #expect(world.server.tokenRequests.map { $0.form["client_secret"] } == ["s3cret", "s3cret"])
        world.trust(world.other)
        world.other.change { $0.metadata = Self.confidential }
        #expect(try world.run(signIn).status == 2)
        #expect(world.other.tokenRequests.isEmpty)
    }

    @Test("nor to one on the resource's own origin, which a client without a secret uses unasked")
    func secretAtOwnOrigin() throws {
        let world = try ResourceWorld(isOwnResource: false) { $0.issuesRefreshTokens = true }
        let origin = world.resource.origin
        let server = world.server.origin
        world.server.change { $0.responseIssuer = { _ in origin } }
        world.resource.change {
            $0.servers = [origin]
            $0.anyAnswer = { request in
                guard request.url.path == "/.well-known/oauth-authorization-server" else { return nil }
                return .value([
                    "issuer": .string(origin), "authorization_endpoint": .string("\(server)/authorize"),
                    "token_endpoint": .string("\(server)/token"), "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                    "authorization_response_iss_parameter_supported": true,
                    "token_endpoint_auth_methods_supported": [
                        "client_secret_post", "private_key_jwt", "none",
                    ],
                    "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
                ])
            }
        }
        expectSuccess(try world.run(["login", world.url, "--client-id", "mine", "--no-profile"]))
        // A signed assertion is valid only for the server that it names.
        let key = try world.keep("key.pem", String(decoding: try SampleKeys.key(.p256).pem, as: UTF8.self))
        let machine = ["token", world.url, "--grant", "client_credentials", "--client-id", "mine"]
        expectSuccess(try world.run(machine + ["--set", "private_key_file=\(key)"]))
        let count = world.server.tokenRequests.count
        let secret = ["--set", "client_secret_file=\(try world.keep("secret", "s3cret"))"]
        for words in [machine + ["--refresh"], ["login", world.url, "--client-id", "mine", "--no-profile"]] {
            let refused = try world.run(words + secret)
            #expect(refused.status == 2, "\(refused)")
            #expect(refused.errorOutput.contains("--issuer \(origin)"), "\(refused.errorOutput)")
        }
        #expect(world.server.tokenRequests.count == count)
        expectSuccess(try world.run(machine + ["--refresh", "--issuer", origin] + secret))
        #expect(world.server.tokenRequests.last?.form["client_secret"] == "s3cret")
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
        // That an option names the server does not make the secret that of its client.
        expectSuccess(try world.run(["login", world.url, "--issuer", world.server.issuer]))
        #expect(world.server.tokenRequests.map { $0.form["client_id"] } == ["known", "known", "known"])
        #expect(world.server.tokenRequests.allSatisfy { $0.form["client_secret"] == nil })
        expectSuccess(try world.run(["login", "-p", "work", world.url]))
        #expect(world.server.tokenRequests.last?.form["client_secret"] == "s3cret")
    }

    @Test("the account of variables is that of the URL's session, also if they are for another provider")
    func accountOfVariables() throws {
        let world = try ResourceWorld(["OIDC_ISSUER": "https://op.example", "OIDC_ACCOUNT": "work"])
        expectSuccess(try world.run(["login", world.url, "--no-profile"]))
        expectSuccess(try world.run(["token", world.url]))
        #expect(try world.run(["token", world.url, "--account", "other"]).status == 3)
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
