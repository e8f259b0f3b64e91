import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("signed requests, in the built program", .serialized, .waiting)
struct RequestObjectCommandTests {
    private static func provider(
        requiresSigned: Bool = true, isPushed: Bool = false,
        _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws -> ProviderServer {
        var configuration = DemoConfiguration()
        configuration.clients[0].keys = JWKSet(keys: [
            JSONWebKey(publicKey: try SampleKeys.key(.p256).publicKey)
        ])
        configuration.requiresSignedRequests = requiresSigned
        configuration.requiresPushedAuthorization = isPushed
        change(&configuration)
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

    @Test("--request-object-out writes the request, readable by a web server, for the URL in request_uri")
    func byReference() throws {
        let provider = try Self.provider(requiresSigned: false) { $0.requestObject = { _ in nil } }
        var program = try Program(provider)
        defer { program.remove() }
        program.environment["OIDC_PRIVATE_KEY_FILE"] = try Self.key(program)
        program.environment["OIDC_CLIENT_AUTH"] = "none"
        let file = program.home.appendingPathComponent("request.jwt").path
        let reference = ["--set", "request_uri=https://client.example/r.jwt"]
        let options = ["authorize-url", "--request-object-out", file]
        let begun = try program.start(options + reference).finish()
        let url = try #require(JSONValue(parsing: begun.output)["url"]?.string.flatMap(WebURL.init))
        let sent = FormEncoding.decode(url.query ?? "")?.first { $0.name == "request_uri" }?.value
        #expect(sent?.hasPrefix("https://client.example/r.jwt#") == true, "\(begun)")
        let object = try String(contentsOfFile: file, encoding: .utf8)
        #expect(object.split(separator: ".").count == 3)
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o644)
        for (line, words) in [
            (options, "request_uri, the URL"), (["authorize-url"] + reference, "the file that it serves"),
            (
                ["authorize-url", "--request-object-out", program.home.path + "/missing/r.jwt"] + reference,
                "request_object_out: \(program.home.path)/missing is not a directory"
            ),
            (options + reference + ["--set", "par=require"], "par is require"),
            (options + reference + ["--set", "request_object=off"], "request_object is off"),
            (
                ["login", "--request-object-out", file, "--flow", "device"] + reference, "flow is device"
            ),
        ] {
            let refused = try program.start(line).finish()
            #expect(refused.status == 2 && refused.error?.contains(words) == true, "\(refused)")
        }
    }

    @Test("where the provider fetches no request objects, one by reference is refused before the browser")
    func referenceRefused() throws {
        let provider = try Self.provider(requiresSigned: false)
        var program = try Program(provider)
        defer { program.remove() }
        program.environment["OIDC_PRIVATE_KEY_FILE"] = try Self.key(program)
        program.environment["OIDC_CLIENT_AUTH"] = "none"
        let refused = try program.run(
            "login", "--no-browser", "--request-object-out", program.home.path + "/r", "--set",
            "request_uri=https://client.example/r.jwt")
        #expect(
            refused.status == 4 && refused.errorOutput.contains("request_uri_parameter_supported"),
            "\(refused)")
        #expect(!FileManager.default.fileExists(atPath: program.home.path + "/r"))
    }

    @Test("request_object_encryption_alg encrypts it to the provider's key")
    func encrypted() throws {
        let key = try SampleKeys.otherKey(.rsa2048)
        let provider = try Self.provider { $0.requestDecryptionKey = key }
        var program = try Program(provider)
        defer { program.remove() }
        program.environment["OIDC_PRIVATE_KEY_FILE"] = try Self.key(program)
        program.environment["OIDC_CLIENT_AUTH"] = "none"
        program.environment["OIDC_REQUEST_OBJECT_ENCRYPTION_ALG"] = "RSA-OAEP-256"
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == 0 && outcome.errorOutput.contains("alice"), "\(outcome)")
    }

    @Test("register registers how requests and answers are signed, and the key; its profile signs in")
    func register() throws {
        let provider = try ProviderServer()
        let program = try Program()
        defer { program.remove() }
        let options = [
            "--set", "private_key_file=\(try Self.key(program))", "--set", "request_object=signed",
            "--set", "client_auth=none", "--set", "response_mode=jwt",
        ]
        let registered = try program.start(["register", "--issuer", provider.origin] + options).finish()
        #expect(registered.status == 0, "\(registered)")
        let sent = try #require(
            provider.with { $0.requests(to: .registration).last.flatMap { try? JSONValue(parsing: $0.body) } }
        )
        #expect(sent["request_object_signing_alg"] == "ES256")
        #expect(sent["authorization_signed_response_alg"] == "ES256")
        #expect(sent["jwks"]?["keys"]?.array?.count == 1 && sent["request_uris"] == nil)
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == 0 && outcome.errorOutput.contains("alice"), "\(outcome)")
    }
}
