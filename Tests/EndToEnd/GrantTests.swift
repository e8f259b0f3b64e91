import DemoProvider
import Foundation
import LoopbackHTTP
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("grants without a user, in the built program", .serialized, .waiting)
struct GrantTests {
    private static let secret = "demo-secret"

    @Test(
        "client credentials: stored and requested once; with store=none nothing is stored and nothing is printed about it"
    )
    func caching() throws {
        let provider = try ProviderServer()
        let program = try Program(provider, client: "demo-confidential", ["OIDC_CLIENT_SECRET": Self.secret])
        defer { program.remove() }
        let first = try program.run("token", "--grant", "client_credentials")
        #expect(first.status == 0, "\(first.errorOutput)")
        let second = try program.run("token", "--grant", "client_credentials")
        #expect(second.output == first.output)
        #expect(provider.requestCount(.token) == 1)
        let unkept = try program.run(
            "token", "--grant", "client_credentials", variables: ["OIDC_STORE": "none"])
        #expect(unkept.status == 0)
        #expect(unkept.errorOutput == "")
        #expect(provider.requestCount(.token) == 2)
    }

    @Test("status of a grant without a user is 0 before the first token, because one can be requested")
    func statusBefore() throws {
        let provider = try ProviderServer()
        let program = try Program(
            provider, client: "demo-confidential", ["OIDC_GRANT": "client_credentials"])
        defer { program.remove() }
        let outcome = try program.run("status")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(outcome.output.contains("oidc token requests one with client_credentials"))
        let json = try program.run("status", "-o", "json")
        #expect(json.status == 0)
        #expect(json.output.contains(#""can_refresh":true"#) && json.output.contains(provider.origin))
        #expect(provider.requestCount(.token) == 0)
    }

    @Test("userinfo without an endpoint advises no sign-in")
    func userInfo() throws {
        let provider = try ProviderServer()
        let program = try Program([
            "OIDC_TOKEN_ENDPOINT": "\(provider.origin)/token", "OIDC_CLIENT_ID": "demo-confidential",
            "OIDC_CLIENT_SECRET": Self.secret, "OIDC_GRANT": "client_credentials",
        ])
        defer { program.remove() }
        let outcome = try program.run("userinfo")
        #expect(outcome.status == 2)
        #expect(outcome.errorOutput == "error: the provider names no userinfo_endpoint\n")
    }

    @Test("without HOME the token is printed, with a warning, and nothing is stored")
    func homeless() throws {
        let provider = try ProviderServer()
        var program = try Program(provider, client: "demo-confidential", ["OIDC_CLIENT_SECRET": Self.secret])
        defer { program.remove() }
        program.environment["HOME"] = nil
        let outcome = try program.run("token", "--grant", "client_credentials")
        #expect(outcome.status == 0)
        #expect(outcome.output.count > 10)
        #expect(outcome.errorOutput.hasPrefix("warning: "))
        #expect(try FileManager.default.contentsOfDirectory(atPath: program.home.path).isEmpty)
    }

    @Test(
        "each authentication method works with the right secret; with a wrong one it is 4, invalid_client",
        arguments: ["client_secret_basic", "client_secret_post", "client_secret_jwt"])
    func secrets(method: String) throws {
        let secret = "a secret that is long enough for HMAC: 32 bytes"
        var configuration = DemoConfiguration()
        configuration.clients.append(DemoClient(id: "long", secret: secret))
        let provider = try ProviderServer(configuration)
        let options = [
            "token", "--grant", "client_credentials", "--refresh", "--set", "client_auth=\(method)",
        ]
        let program = try Program(provider, client: "long")
        defer { program.remove() }
        let right = try program.start(options, variables(secret)).finish()
        #expect(right.status == 0, "\(right.errorOutput)")
        let wrong = try program.start(options, variables(secret + "x")).finish()
        #expect(wrong.status == 4)
        #expect(wrong.error?.contains("invalid_client") == true)
        #expect(wrong.output == "")
        #expect(!wrong.errorOutput.contains(secret))
    }

    private func variables(_ secret: String) -> [String: String] { ["OIDC_CLIENT_SECRET": secret] }

    /// A provider with a client whose key is in a file of the program's home.
    private func keyed(
        _ kind: PrivateKey.Kind = .p256, _ configure: (inout DemoConfiguration) -> Void = { _ in }
    ) throws -> (ProviderServer, Program) {
        let key = try SampleKeys.key(kind)
        var configuration = DemoConfiguration()
        let keys = JWKSet(keys: [JSONWebKey(publicKey: key.publicKey, keyID: "k1")])
        configuration.clients.append(DemoClient(id: "keyed", keys: keys))
        configure(&configuration)
        let provider = try ProviderServer(configuration)
        var program = try Program(provider, client: "keyed")
        let file = program.home.appendingPathComponent("key.pem")
        try Data(key.pem).write(to: file)
        program.environment["OIDC_PRIVATE_KEY_FILE"] = file.path
        program.environment["OIDC_PRIVATE_KEY_ID"] = "k1"
        return (provider, program)
    }

    @Test(
        "private_key_jwt signs with the configured key",
        arguments: [PrivateKey.Kind.p256, .p384, .p521, .rsa2048, .ed25519])
    func privateKey(kind: PrivateKey.Kind) throws {
        let (provider, program) = try keyed(kind)
        defer { withExtendedLifetime(provider) { program.remove() } }
        let outcome = try program.run("token", "--grant", "client_credentials")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        let other = try SampleKeys.otherKey(kind)
        try Data(other.pem).write(to: program.home.appendingPathComponent("key.pem"))
        let wrong = try program.run("token", "--grant", "client_credentials", "--refresh")
        #expect(wrong.status == 4)
        #expect(wrong.error?.contains("invalid_client") == true)
    }

    @Test("an unusable key is 2, and the error names the setting")
    func unusableKey() throws {
        let (provider, program) = try keyed()
        defer { withExtendedLifetime(provider) { program.remove() } }
        try Data("no key".utf8).write(to: program.home.appendingPathComponent("key.pem"))
        let outcome = try program.run("token", "--grant", "client_credentials")
        #expect(outcome.status == 2)
        #expect(outcome.error?.contains("private_key_file") == true)
    }

    @Test("a GitHub Actions job exchanges its identity for a token, with one command and no secret")
    func githubActions() throws {
        let job = try ContinuousIntegration()
        var configuration = DemoConfiguration()
        configuration.trustedIssuers = [job.trusted]
        let provider = try ProviderServer(configuration)
        let actions = try job.actions()
        defer { actions.end() }
        let program = try Program(
            provider,
            ContinuousIntegration.variables(actions))
        defer { program.remove() }
        let outcome = try program.run(
            "token", "--grant", "token_exchange", "--set", "subject_token_source=github-actions")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(!outcome.errorOutput.contains("job-secret"))
        let undetected = try program.run("token", "--grant", "token_exchange")
        #expect(undetected.status == 2)
        #expect(undetected.errorOutput.contains("subject_token_source=github-actions"))
    }

    @Test("a JWT assertion from a variable is a grant of its own; a missing one is a usage error")
    func jwtBearer() throws {
        let job = try ContinuousIntegration()
        var configuration = DemoConfiguration()
        configuration.trustedIssuers = [job.trusted]
        let provider = try ProviderServer(configuration)
        let program = try Program(provider)
        defer { program.remove() }
        let options = [
            "token", "--grant", "jwt_bearer", "--set", "subject_token_source=env", "--set",
            "subject_token_env=CI_TOKEN",
        ]
        let right = try program.start(options, ["CI_TOKEN": try job.token(provider.origin)]).finish()
        #expect(right.status == 0, "\(right.errorOutput)")
        let missing = try program.start(options).finish()
        #expect(missing.status == 2)
        #expect(missing.error?.contains("CI_TOKEN") == true)
        let foreign = try program.start(
            options, ["CI_TOKEN": try ContinuousIntegration().token(provider.origin)]
        ).finish()
        #expect(foreign.status == 4 || foreign.output == right.output)
    }

    @Test("pushed request, key-signed client and bound tokens together sign in, refresh and call with nonces")
    func fapi() throws {
        let (provider, program) = try keyed {
            $0.requiresPushedAuthorization = true
            $0.requiresDPoP = true
            $0.requiresDPoPNonceAtToken = true
            $0.requiresDPoPNonceAtResource = true
        }
        defer { program.remove() }
        let dpop = ["OIDC_DPOP": "true", "OIDC_SCOPE": "openid offline_access email api:read"]
        var bound = program
        bound.environment.merge(dpop) { $1 }
        let outcome = try bound.signIn(at: provider)
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        // Once without a nonce, and once with the one that was demanded.
        #expect(provider.requestCount(.pushedAuthorization) == 2)
        let pushed = provider.with { $0.requests(to: .authorize).first?.url.query ?? "" }
        let names = FormEncoding.decode(pushed)?.map(\.name) ?? []
        #expect(Set(names) == ["client_id", "request_uri"])
        let claims = try bound.run("userinfo", "--claim", "email")
        #expect(claims.output == "alice@example.com\n", "\(claims.errorOutput)")
        let refreshed = try bound.run("token", "--refresh")
        #expect(refreshed.status == 0, "\(refreshed.errorOutput)")
        #expect(refreshed.errorOutput.contains("bound"))
        let named = try bound.run("token", "--set", "http_timeout=20")
        let line = "call the API with: oidc request --set http_timeout=20 URL"
        #expect(named.errorOutput.contains(line), "\(named)")
        let called = try bound.run("request", "\(provider.origin)/api/items")
        #expect(called.status == 0, "\(called.errorOutput)")
        let header = try bound.run("token", "--header")
        #expect(header.output.hasPrefix("Authorization: DPoP "))
        #expect(try bound.run("exec", "--", "true").status == 4)
    }
}
