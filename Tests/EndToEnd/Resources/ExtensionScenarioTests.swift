import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
import OIDCSystem
import TestSupport
import Testing

/// The scenarios of the extensions, by the names that the MCP conformance suite gives them.
@Suite(
    "resource scenarios: extensions", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ExtensionScenarioTests {
    private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    @Test("client-credentials-basic: a token for the client itself, by its secret")
    func clientCredentialsBasic() throws {
        let world = try ResourceWorld([
            "OIDC_GRANT": "client_credentials", "OIDC_CLIENT_ID": "test-client",
            "OIDC_CLIENT_SECRET": "test-secret",
        ]) {
            $0.metadata = [
                "grant_types_supported": ["client_credentials"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            ]
        }
        expectSuccess(try world.call(options: []))
        let request = try #require(world.server.tokenRequests.first)
        #expect(request.form["grant_type"] == "client_credentials" && request.form["resource"] == world.url)
        #expect(request.basic == ["test-client", "test-secret"])
        #expect(world.tabs.isEmpty && world.server.registrations.isEmpty)
    }

    @Test("client-credentials-jwt: a token for the client itself, by its key")
    func clientCredentialsJWT() throws {
        let key = try SampleKeys.key(.p256)
        let world = try ResourceWorld([
            "OIDC_GRANT": "client_credentials", "OIDC_CLIENT_ID": "test-client",
        ]) {
            $0.metadata = [
                "grant_types_supported": ["client_credentials"],
                "token_endpoint_auth_methods_supported": ["private_key_jwt"],
                "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
            ]
        }
        let file = try world.keep("key.pem", String(decoding: key.pem, as: UTF8.self))
        expectSuccess(try world.call(options: ["--set", "private_key_file=\(file)"]))
        let form = try #require(world.server.tokenRequests.first).form
        #expect(form["client_assertion_type"] == ExtensionScenarioTests.assertionType)
        let assertion = try JWS(compact: try #require(form["client_assertion"]))
        #expect(
            try assertion.verify(keys: JWKSet(keys: [JSONWebKey(publicKey: key.publicKey)])) == .valid)
        let claims = try #require(assertion.claims)
        #expect(claims["iss"] == "test-client" && claims["sub"] == "test-client")
        #expect(claims["aud"]?.string == world.server.issuer)
    }

    /// A workload's identity, with an audience and lifetime.
    private func identity(_ audience: String, lifetime: Int64 = 300) throws -> String {
        let now = Clock.now().secondsSinceEpoch
        var claims = JSONObject()
        claims["iss"] = "https://idp.example"
        claims["sub"] = "workload"
        claims["aud"] = .string(audience)
        claims["iat"] = JSONValue(now - 60)
        claims["exp"] = JSONValue(now + lifetime)
        return try JWTSigner(try SampleKeys.key(.p256), keyID: nil).sign(claims: claims)
    }

    private func workloadWorld(_ answer: HTTPResponse? = nil) throws -> ResourceWorld {
        try ResourceWorld(["OIDC_GRANT": "jwt_bearer", "OIDC_CLIENT_ID": "test-workload"]) {
            $0.registers = false
            $0.metadata = [
                "grant_types_supported": ["urn:ietf:params:oauth:grant-type:jwt-bearer"],
                "token_endpoint_auth_methods_supported": ["none"],
            ]
            $0.token = { _ in answer }
        }
    }

    @Test("wif-jwt-bearer: a workload's identity is the assertion")
    func workload() throws {
        let world = try workloadWorld()
        let token = try identity(world.server.issuer)
        let file = try world.keep("identity", token)
        expectSuccess(try world.call(options: ["--set", "subject_token_file=\(file)"]))
        let form = try #require(world.server.tokenRequests.first).form
        #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
        #expect(form["assertion"] == token && form["resource"] == world.url)
        #expect(form["client_id"] == "test-workload" && form["client_secret"] == nil)
    }

    @Test(
        "wif-jwt-bearer: a refusal is reported, without a second attempt or another grant",
        arguments: ["invalid_grant", "invalid_scope", "unauthorized_client"])
    func workloadRefused(error: String) throws {
        let world = try workloadWorld(.oauth(error))
        let file = try world.keep("identity", try identity(world.server.issuer))
        let outcome = try world.call(options: ["--set", "subject_token_file=\(file)"])
        #expect(outcome.status == 4 && outcome.errorOutput.contains(error), "\(outcome)")
        #expect(world.server.tokenRequests.count == 1)
    }

    /// The user's own provider, where they are signed in, and a resource whose server trusts it.
    private func enterpriseWorld() throws -> (own: ProviderServer, world: ResourceWorld) {
        let own = try ProviderServer { $0.person = .approves("alice") }
        let world = try ResourceWorld {
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
              "tools": {"grant": "id_jag", "user_profile": "work", "client_id": "demo",
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

    fileprivate func proofWorld(nonce: String?) throws -> ResourceWorld {
        let world = try ResourceWorld {
            $0.requiresProof = true
            $0.nonce = nonce
            $0.metadata = ["dpop_signing_alg_values_supported": ["ES256"]]
        } resource: {
            $0.scheme = "DPoP"
        }
        return world
    }

    @Test("dpop: the token is bound to a key, and each request has a proof of its own")
    func dpop() throws {
        let world = try proofWorld(nonce: nil)
        expectSuccess(try world.call())
        expectSuccess(try world.call())
        #expect(world.tabs.count == 1)
        #expect(world.resource.credentials.allSatisfy { $0.hasPrefix("DPoP ") })
        let proofs = (world.server.log + world.resource.log).flatMap { $0.headers.values("DPoP") }
        #expect(proofs.count == 3 && Set(proofs).count == 3)
    }

    @Test("dpop-nonce: the nonces of server and resource are used, each at its own place")
    func dpopNonce() throws {
        let world = try proofWorld(nonce: "as-nonce")
        let rules = world.resource.rules
        world.resource.change {
            $0.answer = { request, token in
                let check = checkedProof(request, accessToken: token, nonce: "rs-nonce")
                guard case .failure(let refusal) = check, refusal.wantsNonce else { return nil }
                var answer = rules.challenge(401, at: request.url.origin, [("error", "use_dpop_nonce")])
                answer.headers["DPoP-Nonce"] = "rs-nonce"
                return answer
            }
        }
        expectSuccess(try world.call())
        #expect(world.tabs.count == 1)
        let nonces = { (requests: [HTTPRequest]) in
            requests.compactMap { $0.headers["DPoP"] }.map {
                (try? JWS(compact: $0))?.claims?["nonce"]?.string
            }
        }
        #expect(nonces(world.server.log) == [nil, "as-nonce"])
        #expect(nonces(world.resource.log) == [nil, "rs-nonce"])
    }
}

extension ExtensionScenarioTests {
    @Test("a resource that asks for one nonce after another leads to no sign-in")
    func endlessNonce() throws {
        let world = try proofWorld(nonce: nil)
        expectSuccess(try world.call())
        let rules = world.resource.rules
        world.resource.change {
            $0.answer = { request, token in
                var answer = rules.challenge(401, at: request.url.origin, [("error", "use_dpop_nonce")])
                answer.headers["DPoP-Nonce"] = "nonce-\(request.headers["DPoP"]?.utf8.count ?? 0)"
                return answer
            }
        }
        let outcome = try world.call()
        #expect(outcome.status == 4 && outcome.errorOutput.contains("asks again for the nonce"), "\(outcome)")
        #expect(world.tabs.count == 1)
    }

    @Test("a server that gives plain tokens for a resource that takes only bound ones is at fault")
    func unboundTokens() throws {
        let world = try ResourceWorld { _ in
        } resource: {
            $0.metadata = ["dpop_bound_access_tokens_required": true]
        }
        world.server.change {
            $0.token = { _ in .value(["access_token": "plain", "token_type": "Bearer", "expires_in": 60]) }
        }
        let outcome = try world.call()
        #expect(outcome.status == 4 && outcome.errorOutput.contains("fault of the resource"), "\(outcome)")
        #expect(!outcome.errorOutput.contains("dpop=false"))
    }
}

extension ResourceWorld {
    /// Writes a file that only the user can read, and returns its path.
    func keep(_ name: String, _ text: String) throws -> String {
        let path = program.home.appendingPathComponent(name).path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    func configure(_ text: String) throws {
        let folder = program.home.appendingPathComponent(".config/oidc")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        _ = try keep(".config/oidc/config.json", text)
    }

    /// Everything that the program keeps.
    func storedText() throws -> String {
        let files = FileManager.default.enumerator(atPath: program.home.path + "/.local")?.allObjects ?? []
        return files.compactMap { $0 as? String }.compactMap {
            try? String(contentsOfFile: program.home.path + "/.local/" + $0, encoding: .utf8)
        }.joined()
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
