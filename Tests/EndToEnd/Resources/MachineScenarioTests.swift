import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
import Posix
import TestSupport
import Testing

/// The scenarios without a user, by the names that the MCP conformance suite gives them.
@Suite(
    "resource scenarios: tokens of the client itself", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct MachineScenarioTests {
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
        expectSuccess(try world.call(options: ["--issuer", world.server.issuer]))
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
        #expect(form["client_assertion_type"] == MachineScenarioTests.assertionType)
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
        let options = ["--set", "subject_token_file=\(file)"]
        let refused = try world.call(options: options)
        #expect(refused.status == 2 && world.server.tokenRequests.isEmpty, "\(refused)")
        #expect(refused.errorOutput.contains("--issuer \(world.server.issuer)"), "\(refused.errorOutput)")
        expectSuccess(try world.call(options: options + ["--issuer", world.server.issuer]))
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
        let outcome = try world.call(
            options: ["--set", "subject_token_file=\(file)", "--issuer", world.server.issuer])
        #expect(outcome.status == 4 && outcome.errorOutput.contains(error), "\(outcome)")
        #expect(world.server.tokenRequests.count == 1)
    }
}
