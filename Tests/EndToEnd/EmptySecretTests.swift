import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("a client with an empty secret, by the built program", .serialized, .waiting)
struct EmptySecretTests {
    @Test(
        "the empty secret is sent by HTTP Basic if the settings choose that, and no secret is set anywhere (RFC 6749 §2.3.1)",
        arguments: [
            ("client_secret_basic", nil, true), ("client_secret_post", nil, false),
            ("client_secret_jwt", nil, false),
            // CI systems leave an empty variable for a secret that is missing.
            ("client_secret_basic", "", false), ("client_secret_basic", "s", nil),
        ] as [(String, String?, Bool?)])
    func basic(method: String, variable: String?, isEmptySent: Bool?) throws {
        let provider = try ProviderServer()
        let sent = RequestLog()
        provider.intercept { request in
            guard request.url.path == "/token" else { return nil }
            sent.note(request)
            return .json(#"{"access_token":"at","token_type":"Bearer","expires_in":60}"#)
        }
        var program = try Program(
            provider, client: "cf", ["OIDC_GRANT": "client_credentials", "OIDC_CLIENT_AUTH": method])
        defer { program.remove() }
        program.environment["OIDC_CLIENT_SECRET"] = variable
        let outcome = try program.run("token")
        let authorization = sent.all.first?.headers["Authorization"]
        switch isEmptySent {
        case true?:
            #expect(outcome.status == 0, "\(outcome.errorOutput)")
            #expect(authorization == "Basic \(Data("cf:".utf8).base64EncodedString())")
        case false?:
            #expect(outcome.status == 2 && sent.all.isEmpty, "\(outcome)")
        case nil:
            #expect(authorization == "Basic \(Data("cf:s".utf8).base64EncodedString())")
        }
    }
}

@Suite("the algorithm of client assertions, by the built program", .serialized, .waiting)
struct SigningAlgorithmTests {
    @Test(
        "client_auth_signing_alg signs client assertions, also at a refresh", arguments: ["PS256", nil])
    func assertion(algorithm: String?) throws {
        let provider = try ProviderServer()
        let sent = RequestLog()
        provider.intercept { request in
            guard request.url.path == "/token" else { return nil }
            sent.note(request)
            return .json(#"{"access_token":"at","token_type":"Bearer","expires_in":1}"#)
        }
        var program = try Program(provider, client: "robot", ["OIDC_GRANT": "client_credentials"])
        defer { program.remove() }
        let file = program.home.appendingPathComponent("key.pem")
        try Data(SampleKeys.key(.rsa2048).pem).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        program.environment["OIDC_PRIVATE_KEY_FILE"] = file.path
        program.environment["OIDC_CLIENT_AUTH_SIGNING_ALG"] = algorithm
        for _ in 0..<2 { #expect(try program.run("token", "--refresh").status == 0) }
        let names = sent.all.map { request in
            let pairs = FormEncoding.decode(String(decoding: request.body, as: UTF8.self))
            let assertion = pairs?.first { $0.name == "client_assertion" }?.value ?? ""
            return (try? JWS(compact: assertion))?.algorithmName
        }
        #expect(names == [algorithm ?? "RS256", algorithm ?? "RS256"])
    }
}

@Suite("an inactive token, by the built program", .serialized, .waiting)
struct InactiveTokenTests {
    @Test("introspect says that active:false may be due to another audience", arguments: [true, false])
    func audience(isJWT: Bool) throws {
        var configuration = DemoConfiguration()
        configuration.issuesJWTAccessTokens = isJWT
        let provider = try ProviderServer(configuration)
        // Keycloak 26.7 answers so to a client that is not in aud (captured 2026-11).
        provider.intercept { $0.url.path == "/introspect" ? .json(#"{"active":false}"#) : nil }
        let program = try Program(
            provider, client: "demo-confidential",
            ["OIDC_CLIENT_SECRET": "demo-secret", "OIDC_GRANT": "client_credentials"])
        defer { program.remove() }
        let token = try program.run("token")
        #expect(token.status == 0, "\(token.errorOutput)")
        let outcome = try program.run("introspect")
        #expect(outcome.status == 0 && outcome.output.contains("false"), "\(outcome.errorOutput)")
        let note = "note: the token has not expired, and its aud is \(provider.origin)/api: "
        #expect(outcome.errorOutput.contains(note) == isJWT, "\(outcome.errorOutput)")
    }
}
