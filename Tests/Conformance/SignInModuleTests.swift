import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
import Synchronization
import TestSupport
import Testing

@Suite("client conformance: one sign-in", .serialized, .waitingLong)
struct SignInModuleTests {
    @Test("a sign-in, answered in the query and by form_post", arguments: Module.runs)
    func signIn(module: Module, mode: String) throws {
        let (provider, program) = try module.world()
        defer { program.remove() }
        let outcome = try program.signIn(
            at: provider, ["--set", "response_mode=\(mode)"] + module.options)
        switch module.expectation {
        case .signsIn:
            #expect(outcome.status == 0, "\(outcome.errorOutput)")
            #expect(outcome.output == "")
            #expect(outcome.errorOutput.contains("Signed in as alice@example.com"))
            #expect(program.sessionFiles.count == 1)
        case .refuses(let code, let name):
            outcome.expectRefusal(code, name)
            #expect(program.sessionFiles.isEmpty)
            #expect(provider.requestCount(.userinfo) == 0)
        }
    }

    @Test("oidcc-client-test-client-secret-basic: id and secret are form-encoded before Basic")
    func basic() throws {
        let module = try #require(Module.all.first { $0.name.hasSuffix("client-secret-basic") })
        let (provider, program) = try module.world()
        defer { program.remove() }
        try program.signIn(at: provider)
        let header = try #require(
            provider.with { $0.requests(to: .token).first?.headers["Authorization"] })
        let expected = "client%3Aone:s%26cr%3Dt%20%2B%25%2F%C3%A4"
        #expect(header == "Basic \(Data(expected.utf8).base64EncodedString())")
    }

    @Test("oidcc-client-test-signing-key-rotation: both sign-ins succeed")
    func rotation() throws {
        let provider = try Module.server { $0.signingAlgorithms = [.es256] }
        let program = try Program(provider)
        defer { program.remove() }
        #expect(try program.signIn(at: provider).status == 0)
        try provider.with { try $0.rotateKeys() }
        let second = try program.signIn(at: provider)
        #expect(second.status == 0, "\(second.errorOutput)")
        #expect(provider.requestCount(.jwks) == 2)
    }

    @Test(
        "oidcc-client-test-request-uri-signed-rs256, oidcc-client-test-request-uri-signed-none: the request is by reference",
        arguments: ["RS256", "none"])
    func requestURI(algorithm: String) throws {
        let key = try SampleKeys.key(.rsa2048)
        let hosted = Mutex<String?>(nil)
        let provider = try Module.server {
            $0.clients[0].keys = JWKSet(keys: [JSONWebKey(publicKey: key.publicKey)])
            $0.clients[0].allowsUnsignedRequests = algorithm == "none"
            $0.requestObject = { _ in
                hosted.withLock { $0 }.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) }
            }
        }
        let program = try Program(provider)
        defer { program.remove() }
        let pem = program.home.appendingPathComponent("key.pem")
        try Data(key.pem).write(to: pem)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: pem.path)
        let file = program.home.appendingPathComponent("request.jwt").path
        hosted.withLock { $0 = file }
        let outcome = try program.signIn(
            at: provider,
            [
                "--request-object-out", file, "--set", "request_uri=https://client.example/request.jwt",
                "--set", "request_object_signing_alg=\(algorithm)", "--set", "private_key_file=\(pem.path)",
                "--set", "client_auth=none",
            ])
        #expect(outcome.status == 0 && outcome.errorOutput.contains("alice"), "\(outcome)")
        let object = try JWS(compact: String(contentsOfFile: file, encoding: .utf8))
        #expect(object.header["alg"]?.string == algorithm && object.claims?["client_id"] == "demo")
    }

    @Test(
        "every module of FAPI 2.0 Message Signing under the whole profile: a signed, pushed request, DPoP, private_key_jwt",
        arguments: Module.messageSigning)
    func messageSigning(module: Module) throws {
        let key = try SampleKeys.key(.p256)
        var configuration = DemoConfiguration(enforcing: .fapi2MessageSigning)
        configuration.clients = [
            DemoClient(id: "fapi", keys: JWKSet(keys: [JSONWebKey(publicKey: key.publicKey)]))
        ]
        module.change(&configuration)
        let provider = try ProviderServer(configuration, faults: module.faults)
        var program = try Program(
            provider, client: "fapi", ["OIDC_SECURITY_PROFILE": "fapi2-message-signing"])
        defer { program.remove() }
        let pem = program.home.appendingPathComponent("key.pem")
        try Data(key.pem).write(to: pem)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: pem.path)
        program.environment["OIDC_PRIVATE_KEY_FILE"] = pem.path
        let outcome = try program.signIn(at: provider, module.options)
        let pushed = try #require(provider.with { $0.requests(to: .pushedAuthorization).last })
        let form = FormEncoding.decode(String(decoding: pushed.body, as: UTF8.self)) ?? []
        #expect(form.contains { $0.name == "request" } && !form.contains { $0.name == "state" })
        switch module.expectation {
        case .signsIn:
            #expect(outcome.status == 0 && program.sessionFiles.count == 1, "\(outcome.errorOutput)")
            #expect(outcome.errorOutput.contains("Signed in as alice@example.com"))
        case .refuses(let code, let name):
            outcome.expectRefusal(code, name)
            #expect(program.sessionFiles.isEmpty)
            #expect(provider.requestCount(.token) == 0 && provider.requestCount(.userinfo) == 0)
        }
    }

    @Test(
        "oidcc-client-test-discovery-webfinger-acct, oidcc-client-test-discovery-webfinger-url: an account is no operand"
    )
    func noWebFinger() throws {
        let provider = try Module.server()
        let program = try Program(provider)
        defer { program.remove() }
        for account in ["acct:alice@example.com", "alice@example.com"] {
            let outcome = try program.start(["login", account], input: .none).finish()
            #expect(outcome.status == 2, "\(outcome)")
        }
        #expect(provider.with { $0.log.isEmpty })
    }

    @Test("FAPI 2.0 client: PAR, and the URL has only client_id and request_uri")
    func pushed() throws {
        let provider = try Module.server { $0.requiresPushedAuthorization = true }
        let program = try Program(provider)
        defer { program.remove() }
        let run = try program.start(["login", "--flow", "browser", "--no-browser"])
        let url = try #require(run.address.flatMap(WebURL.init))
        let names = try #require(FormEncoding.decode(url.query ?? "")).map(\.name)
        #expect(names.sorted() == ["client_id", "request_uri"])
        run.signal(SIGINT)
        #expect(run.finish().status == 130)
        #expect(try program.signIn(at: provider).status == 0)
    }

    @Test("FAPI 2.0 client: a DPoP nonce leads to one retry, with a new jti", arguments: [false, true])
    func proofNonces(isLowerCase: Bool) throws {
        let provider = try Module.server(isLowerCase ? [.proof(.schemeLowerCase)] : []) {
            $0.requiresDPoP = true
            $0.requiresDPoPNonceAtToken = true
            $0.requiresDPoPNonceAtResource = true
        }
        let program = try Program(provider, ["OIDC_DPOP": "true"])
        defer { program.remove() }
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        let userinfo = try program.run("userinfo", "--claim", "sub")
        #expect(userinfo.status == 0 && userinfo.output == "alice\n", "\(userinfo.errorOutput)")
        for endpoint in [Endpoint.token, .userinfo] {
            let proofs = provider.with { $0.requests(to: endpoint).compactMap { $0.headers["DPoP"] } }
            #expect(proofs.count == 2)
            let claims = try proofs.map { proof in
                let parts = proof.split(separator: ".")
                return try JSONValue(parsing: try #require(Base64URL.decode(parts[1])))
            }
            #expect(Set(claims.compactMap { $0["jti"]?.string }).count == 2)
            #expect(claims.first?["nonce"] == nil && claims.last?["nonce"] != nil)
        }
    }
}
