@testable import CurlHTTP
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("certificate authorities")
struct CertificateAuthoritiesTests {
    @Test(
        "a ca_file that cannot be used is an error for every request",
        arguments: [
            (nil, "cannot be read: No such file or directory"), ("", "contains no PEM certificate"),
            ("not a certificate", "contains no PEM certificate"),
            ("-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n", "contains no PEM certificate"),
        ] as [(String?, String)], ["http", "https"])
    func unusable(file: (text: String?, problem: String), scheme: String) throws {
        let path = NSTemporaryDirectory() + "oidc-ca-\(UInt64.random(in: 0 ... .max)).pem"
        if let text = file.text { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
        defer { unlink(path) }
        let server = try ScriptedServer.answering(answer("200 OK"))
        var configuration = CurlConfiguration()
        configuration.caFile = .init(path: path, name: "SSL_CERT_FILE")
        let url = try #require(WebURL("\(scheme)://127.0.0.1:\(server.port)/"))
        let error = #expect(throws: OIDCError.self) {
            try CurlTransport(configuration).send(.json(url), stage: .discovery)
        }
        #expect(error?.kind == .usage)
        #expect(error?.message == "SSL_CERT_FILE: \(path) \(file.problem)")
        #expect(server.connectionCount == 0)
    }

    @Test("a ca_file that only looks like one is an error")
    func garbage() throws {
        let path = NSTemporaryDirectory() + "oidc-ca-\(UInt64.random(in: 0 ... .max)).pem"
        try Data("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)
            .write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        let server = try ScriptedServer { peer in peer.waitForEnd() }
        var configuration = CurlConfiguration()
        configuration.caFile = .init(path: path)
        let url = try #require(WebURL("https://127.0.0.1:\(server.port)/"))
        #expect(
            throws: OIDCError(
                .usage, "certificate authorities: \(path) contains no usable certificate",
                hint: "use a PEM file of certificate authorities", stage: .settings)
        ) { try CurlTransport(configuration).send(.json(url), stage: .discovery) }
    }

    @Test(
        "a server that does not speak TLS is out of reach, not untrusted",
        .enabled(if: Installed.certificateAuthorities, "this machine has no certificate authorities"))
    func noTLS() throws {
        let server = try ScriptedServer { peer in
            peer.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            peer.waitForEnd()
        }
        let url = try #require(WebURL("https://127.0.0.1:\(server.port)/?secret"))
        #expect(
            throws: OIDCError(
                .unreachable, "discovery: \(url.hostAndPort) does not answer with TLS",
                hint: "check the host and the port", stage: .discovery)
        ) { try CurlTransport().send(.json(url), stage: .discovery) }
    }

    @Test(
        "a TLS handshake that is cut off is out of reach, not untrusted",
        .enabled(if: Installed.certificateAuthorities, "this machine has no certificate authorities"))
    func cutOff() throws {
        let server = try ScriptedServer { _ in }
        let url = try #require(WebURL("https://127.0.0.1:\(server.port)/?secret"))
        let error = #expect(throws: OIDCError.self) {
            try CurlTransport().send(.form(url, []), stage: .token)
        }
        #expect(error?.kind == .unreachable)
        #expect(error?.message.hasPrefix("token: the TLS handshake with \(url.hostAndPort) failed") == true)
        #expect(error?.message.contains("acted on") == false)
    }
}
