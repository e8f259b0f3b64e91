import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "sign in to a provider by its URL", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ProviderByURLTests {
    @Test("a URL that is an issuer signs in to that provider, with a client that is registered once")
    func registered() throws {
        var configuration = DemoConfiguration()
        configuration.user = .approves("alice")
        let provider = try ProviderServer(configuration)
        let world = try ResourceWorld()
        for _ in 0..<2 {
            let login = try world.run(["login", provider.origin, "-o", "json"])
            expectSuccess(login)
            let report = try JSONValue(parsing: login.output)
            #expect(
                report["issuer"]?.string == provider.origin && report["resource"]?.array == [], "\(login)")
        }
        #expect(provider.requestCount(.registration) == 1 && world.tabs.count == 2)
    }

    @Test("a sign-in by the only session has the redirect URL that its client is registered with")
    func onlySession() throws {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        expectSuccess(try world.run(["login", world.server.issuer, "--scope", "api", "--no-profile"]))
        world.server.change {
            $0.token = { request in
                request.form["grant_type"] == "refresh_token"
                    ? HTTPResponse(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8)) : nil
            }
        }
        // The hint does not name the server, which only a URL led to, nor the client, which was registered there.
        let ended = try world.run(["token", "--refresh"])
        #expect(
            ended.status == 3 && ended.errorOutput.hasSuffix(": oidc login \(world.server.issuer)\n"),
            "\(ended)")
        expectSuccess(try world.run(["token", "--login", "--refresh", "--scope", "api"]))
        let redirects = world.server.authorizations.map { WebURL($0["redirect_uri"] ?? "")?.path }
        #expect(redirects.count == 2 && redirects[0] == redirects[1], "\(redirects)")
        #expect(world.server.registrations.count == 1)
    }

    @Test("the token of a provider's URL is the user's, also if the default profile is a machine's")
    func tokenBesideMachine() throws {
        let world = try ResourceWorld { $0.registers = false }
        let issuer = #""issuer":"\#(world.server.issuer)","scope":"api""#
        let machine = #"{\#(issuer),"client_id":"m","client_secret":"s3cret","grant":"client_credentials"}"#
        try world.configure(
            #"{"default_profile":"ci","profiles":{"ci":\#(machine),"me":{\#(issuer),"client_id":"mine"}}}"#)
        expectSuccess(try world.run(["login", "-p", "me"]))
        let token = try world.run(["token", world.server.issuer])
        let own = try world.run(["token", "-p", "me"])
        #expect(token.status == 0 && token.output == own.output, "\(token)")
        #expect(world.server.tokenRequests.allSatisfy { $0.form["grant_type"] == "authorization_code" })
    }

    @Test(
        "logout of a provider's URL ends the sessions of all accounts there, whatever the default profile is")
    func logoutOfAccounts() throws {
        let world = try ResourceWorld { $0.registers = false }
        let client = #""issuer":"\#(world.server.issuer)","client_id":"mine","scope":"api""#
        let profiles = ["a", "b"].map { #""\#($0)":{\#(client),"account":"\#($0)"}"# }.joined(separator: ",")
        try world.configure(#"{"default_profile":"a","profiles":{\#(profiles)}}"#)
        for name in ["a", "b"] { expectSuccess(try world.run(["login", "-p", name])) }
        #expect(try world.run(["logout", world.server.issuer, "--account", "none"]).status == 0)
        let other = try world.program.start(["logout", world.server.issuer], ["OIDC_ACCOUNT": "none"])
        #expect(other.finish().status == 0 && world.program.sessionFiles.count == 2)
        expectSuccess(try world.run(["logout", world.server.issuer]))
        #expect(world.program.sessionFiles.isEmpty)
    }

    @Test("a profile's issuer is found without metadata of a resource, whatever its final slash")
    func ofProfile() throws {
        let world = try ResourceWorld { $0.registers = false }
        try world.configure(
            #"{"default_profile":"other","profiles":{"other":{"issuer":"https://op.example","client_id":"x"},"#
                + #""work":{"issuer":"\#(world.server.issuer)","client_id":"mine","scope":"api"}}}"#)
        for url in [world.server.issuer, world.server.issuer + "/"] {
            let login = try world.run(["login", url])
            expectSuccess(login)
        }
        #expect(world.server.authorizations.map { $0["client_id"] } == ["mine", "mine"])
        #expect(!world.server.paths.contains { $0.contains("protected-resource") })
        expectSuccess(try world.run(["token", "-p", "work"]))
    }

    @Test("a variable for another provider does not lead a profile's URL there")
    func overridden() throws {
        let world = try ResourceWorld { $0.registers = false }
        let other = try ProviderServer(DemoConfiguration())
        try world.configure(
            #"{"profiles":{"work":{"issuer":"\#(world.server.issuer)","client_id":"mine","scope":"api"}}}"#)
        let login = try world.program.run(
            "login", world.server.issuer,
            variables: ["OIDC_ISSUER": other.origin, "OIDC_CLIENT_ID": "demo"])
        #expect(login.status == 2 && login.errorOutput.contains("unset OIDC_ISSUER"), "\(login)")
        #expect(world.tabs.isEmpty && other.with { $0.log.isEmpty })
    }

    @Test("a host-only issuer is found with and without its final slash; sessions use its own spelling")
    func slash() throws {
        for (suffix, typed) in [("/", ""), ("", "/")] {
            let world = try ResourceWorld { $0.registers = false }
            let issuer = world.server.origin + suffix
            world.server.change { $0.issuer = issuer }
            let login = try world.run(
                ["login", world.server.origin + typed, "--client-id", "mine", "--scope", "api"])
            expectSuccess(login)
            let token = ["token", "--client-id", "mine", "--issuer"]
            expectSuccess(try world.run(token + [issuer]))
            #expect(try world.run(token + [world.server.origin + typed]).status == 3)
        }
    }

    @Test("an issuer with a path is compared to the letter")
    func path() throws {
        let world = try ResourceWorld {
            $0.registers = false
            $0.prefix = "/realm"
            $0.metadataPath = "/realm/.well-known/openid-configuration"
        }
        let options = ["--client-id", "mine", "--scope", "api"]
        expectSuccess(try world.run(["login", world.server.issuer, "--no-profile"] + options))
        #expect(
            world.server.paths.filter { $0.contains("/openid-") || $0.contains("/oauth-auth") }
                == ["/realm/.well-known/openid-configuration"])
        let other = try world.run(["login", world.server.issuer + "/"] + options)
        #expect(other.status == 7 || other.status == 4, "\(other)")
        #expect(world.server.authorizations.count == 1)
    }

    @Test("a client metadata document is used where registration is not open")
    func document() throws {
        let url = "https://client.example/oidc.json"
        let world = try ResourceWorld(["OIDC_CLIENT_METADATA_URL": url]) {
            $0.registers = false
            $0.metadata = ["client_id_metadata_document_supported": true]
        }
        expectSuccess(try world.run(["login", world.server.issuer, "--scope", "api"]))
        #expect(world.server.authorizations.map { $0["client_id"] } == [url])
    }

    @Test("without a client, exit 2 names the redirect URL and the exact line", arguments: [401, 403, 404])
    func noClient(status: Int) throws {
        let world = try ResourceWorld { $0.registers = status == 404 ? false : true }
        world.server.change { $0.registrationStatus = status }
        let outcome = try world.run(["login", world.server.issuer])
        #expect(outcome.status == 2 && world.tabs.isEmpty, "\(outcome)")
        #expect(outcome.errorOutput.contains("http://127.0.0.1/callback"))
        #expect(outcome.errorOutput.contains("try: oidc login \(world.server.issuer) --client-id ID\n"))
    }

    @Test(
        "the URL of a provider's metadata leads to its issuer",
        arguments: [
            ("/a/.well-known/openid-configuration", "/a"), ("/.well-known/openid-configuration", ""),
            ("/.well-known/oauth-authorization-server/a", "/a"),
        ])
    func metadataURL(path: String, issuer: String) throws {
        let program = try Program()
        defer { program.remove() }
        let outcome = try program.run("login", "https://login.example.com\(path)", "--client-id", "x")
        #expect(outcome.status == 2, "\(outcome)")
        #expect(
            outcome.errorOutput.hasSuffix(
                "  try: oidc login --client-id x https://login.example.com\(issuer)\n"), "\(outcome)")
    }

    @Test("another name of this machine than the issuer's leads to the issuer")
    func loopbackName() throws {
        let world = try ResourceWorld()
        let typed = world.server.issuer.replacingOccurrences(of: "127.0.0.1", with: "localhost")
        let outcome = try world.run(["login", typed])
        #expect(outcome.status == 7, "\(outcome)")
        #expect(outcome.errorOutput.hasSuffix("  try: oidc login \(world.server.issuer)\n"), "\(outcome)")
    }

    @Test("what is neither a resource nor a provider stays a refusal, and at most the named places are asked")
    func neither() throws {
        let world = try ResourceWorld { $0.metadataPath = "/elsewhere" }
        let outcome = try world.run(["login", world.server.issuer + "/a"])
        #expect(outcome.status == 4 && world.tabs.isEmpty, "\(outcome)")
        #expect(outcome.errorOutput.contains("does not say who protects it"))
        #expect(outcome.errorOutput.contains(", and no provider's metadata name the URL as their issuer\n"))
        let places = world.server.paths.filter { $0.contains("/openid-") || $0.contains("/oauth-auth") }
        #expect(
            places == [
                "/a/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/a",
                "/.well-known/openid-configuration/a",
            ])
    }
}
