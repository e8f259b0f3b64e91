import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
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
        "oidcc-client-test-request-uri-signed-rs256, oidcc-client-test-request-uri-signed-none: no request objects are sent"
    )
    func noRequestObjects() throws {
        let provider = try Module.server()
        let program = try Program(provider)
        defer { program.remove() }
        let run = try program.start(["login", "--flow", "browser", "--no-browser"])
        let url = try #require(run.address.flatMap(WebURL.init))
        run.signal(SIGINT)
        #expect(run.finish().status == 130)
        let names = try #require(FormEncoding.decode(url.query ?? "")).map(\.name)
        #expect(names.contains("client_id") && !names.contains("request") && !names.contains("request_uri"))
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
