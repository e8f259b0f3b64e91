import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("signed requests, in the built program", .serialized, .waiting)
struct RequestObjectCommandTests {
    private static func provider(
        requiresSigned: Bool = true, isPushed: Bool = false
    ) throws -> ProviderServer {
        var configuration = DemoConfiguration()
        configuration.clients[0].keys = JWKSet(keys: [
            JSONWebKey(publicKey: try SampleKeys.key(.p256).publicKey)
        ])
        configuration.requiresSignedRequests = requiresSigned
        configuration.requiresPushedAuthorization = isPushed
        return try ProviderServer(configuration)
    }

    private static func key(_ program: Program) throws -> String {
        let file = program.home.appendingPathComponent("key.pem")
        try Data(SampleKeys.key(.p256).pem).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        return file.path
    }

    @Test(
        "where the provider demands it, the request is signed with private_key_file",
        arguments: [false, true])
    func required(isPushed: Bool) throws {
        let provider = try Self.provider(isPushed: isPushed)
        var program = try Program(provider)
        defer { program.remove() }
        let refused = try program.run("login", "--no-browser")
        #expect(refused.status == 4 && refused.errorOutput.contains("private_key_file"), "\(refused)")
        #expect(provider.requestCount(.authorize) == 0)
        program.environment["OIDC_PRIVATE_KEY_FILE"] = try Self.key(program)
        program.environment["OIDC_CLIENT_AUTH"] = "none"
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == 0 && outcome.errorOutput.contains("alice"), "\(outcome)")
    }

    @Test("request_object and request_object_signing_alg decide where the provider does not")
    func chosen() throws {
        let provider = try Self.provider(requiresSigned: false)
        var program = try Program(provider)
        defer { program.remove() }
        func names(_ options: String...) throws -> [String] {
            let begun = try program.start(["authorize-url"] + options).finish()
            #expect(begun.status == 0, "\(begun)")
            let url = try #require(JSONValue(parsing: begun.output)["url"]?.string.flatMap(WebURL.init))
            return (FormEncoding.decode(url.query ?? "") ?? []).map(\.name)
        }
        let signed = ["response_type", "client_id", "scope", "request"]
        #expect(try names("--set", "request_object_signing_alg=none") == signed)
        let missing = try program.run("authorize-url", "--set", "request_object=signed")
        #expect(missing.status == 2 && missing.errorOutput.contains("private_key_file"), "\(missing)")
        let secret = try program.run("authorize-url", "--set", "request_object_signing_alg=HS256")
        #expect(secret.status == 2 && secret.errorOutput.contains("client's secret"), "\(secret)")
        program.environment["OIDC_PRIVATE_KEY_FILE"] = try Self.key(program)
        program.environment["OIDC_CLIENT_AUTH"] = "none"
        #expect(try !names().contains("request"))
        #expect(try names("--set", "request_object=signed") == signed)
        #expect(try names("--set", "request_object_signing_alg=ES256") == signed)
        #expect(
            try !names("--set", "request_object=off", "--set", "request_object_signing_alg=ES256").contains(
                "request"))
        let other = try program.run("authorize-url", "--set", "request_object_signing_alg=PS256")
        #expect(other.status == 2 && other.errorOutput.contains("supports ES256, not PS256"), "\(other)")
    }
}
