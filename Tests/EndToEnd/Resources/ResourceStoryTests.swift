import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "sign in to a URL", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ResourceStoryTests {
    @Test("from a 401 to an answer: six requests cold, three for a warm sign-in, none for a fresh token")
    func requestCounts() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.call())
        #expect(
            world.requests.sorted() == [
                "GET /.well-known/oauth-authorization-server",
                "GET /.well-known/oauth-protected-resource/mcp",
                "POST /mcp", "POST /mcp", "POST /register", "POST /token",
            ])
        world.forget()
        let token = try world.run(["token", world.url])
        #expect(token.status == 0 && world.requests.isEmpty, "\(token)")
        expectSuccess(try world.run(["login", world.url]))
        #expect(
            world.requests.sorted() == [
                "GET /.well-known/oauth-protected-resource/mcp", "GET /mcp", "POST /token",
            ])
        #expect(world.tabs.count == 2)
    }

    @Test("a sign-in to a URL is saved under the host's name, and the commands after it need no URL")
    func saved() throws {
        let world = try ResourceWorld()
        let login = try world.run(["login", world.url])
        expectSuccess(login)
        #expect(login.errorOutput.hasSuffix("\nSaved as profile 127.0.0.1\n"), "\(login)")
        let token = try world.run(["token"])
        expectSuccess(token)
        #expect(try world.run(["token", world.url]).output == token.output)
        let listed = try world.run(["config", "list"])
        #expect(listed.output.contains("*  127.0.0.1") && listed.output.contains(world.url), "\(listed)")
        #expect(try !world.run(["login", world.url]).errorOutput.contains("Saved"))
        // A sign-in to another provider is not for the resource.
        let provider = try ProviderServer()
        let other = try world.program.signIn(at: provider, [provider.origin, "--client-id", "demo"])
        #expect(
            other.errorOutput.hasSuffix(
                "\nSaved as profile 127.0.0.1-2: use it with -p 127.0.0.1-2, or make it the default: "
                    + "oidc switch 127.0.0.1-2\n"), "\(other)")
        expectSuccess(try world.run(["userinfo", "-p", "127.0.0.1-2"]))
        expectSuccess(try world.run(["switch", "127.0.0.1-2"]))
        expectSuccess(try world.run(["userinfo"]))
        expectSuccess(try world.run(["switch", "127.0.0.1"]))
        #expect(!other.errorOutput.contains("resource"))
        expectSuccess(try world.run(["logout"]))
        let after = try world.run(["token"])
        #expect(
            after.status == 3 && after.errorOutput.hasSuffix("  try: oidc login \(world.url)\n"), "\(after)")
    }

    @Test("login URL alone: five requests, and one more where GET is answered with a challenge or not at all")
    func loginCounts() throws {
        for status in [401, 404, 405] {
            let world = try ResourceWorld {
                _ in
            } resource: {
                $0.answerToGet = status == 401 ? nil : HTTPResponse(status: status)
            }
            expectSuccess(try world.run(["login", world.url]))
            #expect(world.requests.count == 5, "\(world.requests)")
            #expect(world.tabs.count == 1)
        }
    }

    @Test("eight parallel request --login make one tab and one registration, and all succeed")
    func crowd() throws {
        let world = try ResourceWorld()
        let arguments = ["request", "--login", "POST", world.url, "-d", "{}"]
        let runs = try (0..<8).map { _ in try world.program.start(arguments) }
        for run in runs { expectSuccess(run.finish()) }
        #expect(world.tabs.count == 1 && world.server.registrations.count == 1)
        #expect(world.server.tokenRequests.count == 1)
    }

    @Test("the same server protects two resources: a client and a session of its own for each")
    func twoResources() throws {
        let (world, second) = (try ResourceWorld(), try ResourceWorld())
        second.resource.change { $0.servers = [world.server.origin] }
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["login", second.url]))
        #expect(world.server.authorizations.map { $0["resource"] } == [world.url, second.url])
        #expect(world.server.registrations.count == 2)
        #expect(Set(world.server.authorizations.map { $0["client_id"] }).count == 2)
        let tokens = try [world.url, second.url].map { try world.run(["token", $0]).output }
        #expect(Set(tokens).count == 2 && !tokens.contains(""))
        expectSuccess(try world.run(["logout", world.url]))
        #expect(try world.run(["token", world.url]).status == 3)
        expectSuccess(try world.run(["token", second.url]))
    }

    @Test("refreshes name the resource again")
    func refresh() throws {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["token", "--refresh", world.url]))
        let form = try #require(world.server.tokenRequests.last).form
        #expect(form["grant_type"] == "refresh_token" && form["resource"] == world.url)
    }

    @Test("a client that the server has forgotten is registered again")
    func forgottenClient() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        world.server.change {
            $0.token = {
                $0.form["client_id"] == "registered-1" ? .oauth("invalid_client", status: 401) : nil
            }
        }
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.server.registrations.count == 2)
        #expect(world.server.tokenRequests.last?.form["client_id"] != "registered-1")
    }

    @Test("the demo provider's resource opens by its URL alone, and steps up twice")
    func demo() throws {
        var configuration = DemoConfiguration()
        configuration.user = .approves("alice")
        let provider = try ProviderServer(configuration)
        let world = try ResourceWorld()
        let url = "\(provider.origin)/mcp"
        let outcome = try world.run(["request", "--login", url])
        #expect(outcome.status == 0 && outcome.output == #"{"hello":"Alice"}"#, "\(outcome)")
        expectSuccess(try world.run(["request", "--login", "\(url)/write"]))
        expectSuccess(try world.run(["request", "--login", "\(url)/admin"]))
        expectSuccess(try world.run(["request", "\(url)/write"]))
        #expect(world.tabs.count == 3, "\(world.tabs)")
    }

    @Test("a resource at the provider refuses the profile's token: hint and --login are about its URL")
    func ownOrigin() throws {
        var configuration = DemoConfiguration()
        configuration.user = .approves("alice")
        let provider = try ProviderServer(configuration)
        let world = try ResourceWorld()
        try world.configure(#"{"issuer":"\#(provider.origin)","client_id":"demo"}"#)
        expectSuccess(try world.run(["login"]))
        let url = "\(provider.origin)/mcp"
        let refused = try world.run(["request", url])
        #expect(refused.status == 3, "\(refused)")
        #expect(refused.errorOutput.hasSuffix("  try: oidc login \(url)\n"), "\(refused.errorOutput)")
        let outcome = try world.run(["request", "--login", url])
        #expect(outcome.status == 0 && outcome.output == #"{"hello":"Alice"}"#, "\(outcome)")
        expectSuccess(try world.run(["request", url]))
        #expect(world.tabs.count == 2, "\(world.tabs)")
    }

    @Test("the demo provider knows a client by the URL of its document")
    func demoDocument() throws {
        var configuration = DemoConfiguration()
        configuration.user = .approves("alice")
        let provider = try ProviderServer(configuration)
        let world = try ResourceWorld(["OIDC_CLIENT_METADATA_URL": DemoClient.documentURL])
        expectSuccess(try world.run(["login", "\(provider.origin)/mcp"]))
        #expect(provider.requestCount(.registration) == 0)
    }
}
