import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

/// The scenarios of a user's own provider, by the names that the MCP conformance suite gives them.
@Suite(
    "resource scenarios: the user's own provider vouches", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct EnterpriseScenarioTests {
    /// The user's own provider, where they are signed in, and a resource whose server trusts it.
    private func enterpriseWorld(
        isOwnResource: Bool = true
    ) throws -> (own: ProviderServer, world: ResourceWorld) {
        let own = try ProviderServer { $0.user = .approves("alice") }
        let world = try ResourceWorld(isOwnResource: isOwnResource) {
            $0.registers = false
            $0.metadata = [
                "grant_types_supported": ["urn:ietf:params:oauth:grant-type:jwt-bearer"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            ]
        }
        try world.configure(
            """
            {"profiles": {
              "work": {"issuer": "\(own.origin)", "client_id": "demo", "scope": "openid offline_access"},
              "tools": {"issuer": "\(world.server.issuer)", "grant": "id_jag", "user_profile": "work", "client_id": "demo",
                "client_secret": "at the resource"}}}
            """)
        expectSuccess(try world.run(["login", "-p", "work"]))
        return (own, world)
    }

    @Test("twenty resources after one sign-in at the own provider: one tab, twenty tokens")
    func twentyResources() throws {
        let (own, world) = try enterpriseWorld()
        let (server, place) = (world.server.issuer, "/.well-known/oauth-protected-resource")
        world.resource.change {
            $0.anyAnswer = { request in
                guard request.url.path.hasPrefix(place) else { return nil }
                let resource = request.url.origin + request.url.path.dropFirst(place.count)
                return .value(
                    ["resource": .string(resource), "authorization_servers": [.string(server)]])
            }
        }
        let urls = (1...20).map { "\(world.resource.origin)/r\($0)" }
        let runs = try urls.map { try world.program.start(["token", "-p", "tools", $0]) }
        let outcomes = runs.map { $0.finish() }
        for outcome in outcomes { expectSuccess(outcome) }
        #expect(Set(outcomes.map(\.output)).count == 20 && world.tabs.count == 1)
        let assertions = world.server.tokenRequests.compactMap {
            try? JWS(compact: $0.form["assertion"] ?? "")
        }
        #expect(Set(assertions.compactMap { $0.claims?["resource"]?.string }) == Set(urls))
        #expect(own.requestCount(grant: "refresh_token") <= 1)
    }

    @Test(
        "enterprise-managed-authorization: the user's own provider vouches for them, and nobody is asked again"
    )
    func enterprise() throws {
        let (own, world) = try enterpriseWorld()
        own.with { $0.resetCounts() }
        expectSuccess(try world.call(options: ["-p", "tools"]))
        #expect(world.tabs.count == 1)
        let exchange = own.form(of: try #require(own.with { $0.requests(to: .token) }.last))
        #expect(exchange["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange")
        #expect(exchange["requested_token_type"] == "urn:ietf:params:oauth:token-type:id-jag")
        #expect(exchange["subject_token_type"] == "urn:ietf:params:oauth:token-type:id_token")
        #expect(exchange["audience"] == world.server.issuer && exchange["resource"] == world.url)
        let request = try #require(world.server.tokenRequests.first)
        #expect(request.form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
        #expect(request.basic == ["demo", "at the resource"])
        let assertion = try JWS(compact: try #require(request.form["assertion"]))
        #expect(assertion.header["typ"] == "oauth-id-jag+jwt")
        #expect(assertion.claims?["aud"]?.string == world.server.issuer)
        #expect(assertion.claims?["resource"]?.string == world.url)
        #expect(assertion.claims?["client_id"] == "demo")
        let text = try #require(request.form["assertion"])
        #expect(try world.storedText().includes(text) == false)
    }

    @Test(
        "id_jag by options: request finds the resource's server, and the client that is named counts"
    )
    func byOptions() throws {
        let (own, world) = try enterpriseWorld()
        world.server.change { $0.metadata["token_endpoint_auth_methods_supported"] = ["none"] }
        let options = ["--grant", "id_jag", "--set", "user_profile=work", "--client-id", "demo"]
        expectSuccess(try world.run(["request", "POST", world.url, "-d", "{}"] + options))
        expectSuccess(try world.run(["token", world.url] + options))
        #expect(world.server.tokenRequests.count == 1)
        let count = own.requestCount(grant: "urn:ietf:params:oauth:grant-type:token-exchange")
        _ = try world.run(["token", world.url] + options.dropLast() + ["other"])
        #expect(own.requestCount(grant: "urn:ietf:params:oauth:grant-type:token-exchange") == count + 1)
    }

    @Test("a secret that options name for the resource's client never goes to the own provider")
    func secretOfClient() throws {
        let (own, world) = try enterpriseWorld()
        try world.configure(
            """
            {"profiles": {"work": {"issuer": "\(own.origin)", "client_id": "demo-confidential",
              "client_secret": "demo-secret", "scope": "openid offline_access"}}}
            """)
        expectSuccess(try world.run(["login", "-p", "work"]))
        let file = "\(world.program.home.path)/other.secret"
        try "secret-of-other".write(toFile: file, atomically: true, encoding: .utf8)
        let options = ["--grant", "id_jag", "--client-id", "other", "--set", "client_secret_file=\(file)"]
        // The own provider issues assertions for its own clients only.
        let refused = try world.run(["token", world.url, "-p", "work"] + options)
        #expect(refused.status == 2, "\(refused)")
        #expect(
            refused.errorOutput.hasSuffix(" --issuer \(world.server.issuer) --set user_profile=work\n"),
            "\(refused.errorOutput)")
        let named = ["--issuer", world.server.issuer, "--set", "user_profile=work"]
        _ = try world.run(["token", world.url] + options + named)
        #expect(own.requestCount(grant: "urn:ietf:params:oauth:grant-type:token-exchange") == 1)
        let credentials = "Basic \(Base64.encode(Array("demo-confidential:demo-secret".utf8)))"
        for request in own.with({ $0.log.map(\.request) }) {
            #expect(!String(decoding: request.body, as: UTF8.self).contains("secret-of-other"))
            #expect([nil, credentials].contains(request.headers["Authorization"]))
        }
    }

    @Test(
        "a resource that is its own server is not told who the user is unless the settings name one of them",
        arguments: [false, true])
    func ownServer(isNamed: Bool) throws {
        let (own, world) = try enterpriseWorld(isOwnResource: isNamed)
        let (origin, server) = (world.resource.origin, world.server.origin)
        world.resource.change {
            $0.servers = [origin]
            $0.anyAnswer = { request in
                guard request.url.path.hasPrefix("/.well-known/oauth-authorization-server") else {
                    return nil
                }
                return .value([
                    "issuer": .string(origin), "token_endpoint": .string("\(server)/token"),
                    "grant_types_supported": ["urn:ietf:params:oauth:grant-type:jwt-bearer"],
                    "token_endpoint_auth_methods_supported": ["none"],
                ])
            }
        }
        let options = ["--grant", "id_jag", "--client-id", "other", "-p", "work"]
        let outcome = try world.run(["token", world.url] + options)
        let exchanges = own.requestCount(grant: "urn:ietf:params:oauth:grant-type:token-exchange")
        #expect(exchanges == (isNamed ? 1 : 0), "\(outcome)")
        guard !isNamed else { return }
        #expect(outcome.status == 2 && world.server.tokenRequests.isEmpty, "\(outcome)")
        #expect(outcome.errorOutput.contains("--issuer \(origin)"), "\(outcome)")
    }

    @Test("the line that allows a resource names the own provider once, as the profile does, and works")
    func ownProviderOfProfile() throws {
        let (own, world) = try enterpriseWorld(isOwnResource: false)
        world.server.change { $0.metadata["token_endpoint_auth_methods_supported"] = ["none"] }
        try world.configure(
            """
            {"profiles": {
              "work": {"issuer": "\(own.origin)", "client_id": "demo", "scope": "openid offline_access"},
              "agent": {"grant": "id_jag", "user_profile": "work", "client_id": "other"}}}
            """)
        let refused = try world.run(["token", world.url, "-p", "agent"])
        #expect(refused.status == 2, "\(refused)")
        let line = try #require(refused.errorOutput.components(separatedBy: "  try: oidc ").last)
        #expect(line.components(separatedBy: "user_profile=").dropFirst() == ["work\n"], "\(line)")
        #expect(own.requestCount(grant: "urn:ietf:params:oauth:grant-type:token-exchange") == 0)
        let words = line.trimmingCharacters(in: .newlines).components(separatedBy: " ")
        _ = try world.run(words)
        #expect(own.requestCount(grant: "urn:ietf:params:oauth:grant-type:token-exchange") == 1)
    }

    @Test("id_jag by options: --client-id is the resource's client, the hint names the own provider")
    func ownProvider() throws {
        let (own, world) = try enterpriseWorld()
        world.server.change { $0.metadata["token_endpoint_auth_methods_supported"] = ["none"] }
        let options = ["--grant", "id_jag", "--client-id", "other"]
        _ = try world.run(["token", world.url, "-p", "work"] + options)
        #expect(own.requestCount(grant: "urn:ietf:params:oauth:grant-type:token-exchange") == 1)
        expectSuccess(try world.run(["logout", "-p", "work"]))
        for more in [["-p", "work"], ["--set", "user_profile=work"]] {
            let outcome = try world.run(["token", world.url] + options + more)
            #expect(outcome.status == 3, "\(outcome.errorOutput)")
            #expect(outcome.errorOutput.hasSuffix("  try: oidc login -p work\n"), "\(outcome.errorOutput)")
        }
    }
}

extension ProviderServer {
    fileprivate convenience init(_ change: (inout DemoConfiguration) -> Void) throws {
        var configuration = DemoConfiguration()
        change(&configuration)
        try self.init(configuration)
    }

    fileprivate func form(of request: HTTPRequest) -> [String: String] {
        let pairs = FormEncoding.decode(String(decoding: request.body, as: UTF8.self)) ?? []
        return Dictionary(pairs.map { ($0.name, $0.value) }) { first, _ in first }
    }
}
