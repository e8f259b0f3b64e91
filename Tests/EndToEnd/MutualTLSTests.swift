import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "a client with a certificate, by the built program (needs nginx and openssl)", .serialized, .waiting,
    .enabled(if: Terminator.isAvailable, "nginx or openssl is not installed"))
struct MutualTLSTests {
    @Test("certificate, pushed request and bound tokens together sign in over TLS with a private CA")
    func signIn() throws {
        let terminator = try Terminator()
        var configuration = DemoConfiguration()
        configuration.certificateHeader = "X-Client-Cert"
        configuration.mutualTLSBase = terminator.origin
        configuration.requiresPushedAuthorization = true
        configuration.clients.append(
            DemoClient(
                id: "robot", authenticationMethods: ["self_signed_tls_client_auth", "tls_client_auth"],
                certificateThumbprint: try terminator.thumbprint()))
        let provider = try ProviderServer(configuration, issuer: terminator.origin)
        try terminator.start(before: provider.backend)
        var program = try Program(
            provider, client: "robot",
            [
                "OIDC_CA_FILE": terminator.path("server.pem"), "OIDC_CLIENT_AUTH": "tls_client_auth",
                "OIDC_TLS_CLIENT_CERTIFICATE": terminator.path("client.pem"),
                "OIDC_TLS_CLIENT_KEY": terminator.path("client.key"),
            ])
        defer { program.remove() }
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        let refreshed = try program.run("token", "--refresh")
        #expect(refreshed.status == 0, "\(refreshed.errorOutput)")

        program.environment["OIDC_TLS_CLIENT_CERTIFICATE"] = terminator.path("server.pem")
        program.environment["OIDC_TLS_CLIENT_KEY"] = terminator.path("server.key")
        let wrong = try program.run("token", "--refresh")
        #expect(wrong.status == 4 || wrong.status == 3)
        program.environment["OIDC_TLS_CLIENT_KEY"] = terminator.path("client.key")
        let mismatched = try program.run("token", "--refresh")
        #expect(mismatched.status == 2)
        #expect(mismatched.error?.contains("tls_client") == true)
        program.environment["OIDC_CA_FILE"] = nil
        let untrusted = try program.run("discover")
        #expect(untrusted.status == 7)
    }
}
