import Foundation
import OIDCCore
import TestSupport
import Testing

/// A server with an untrusted certificate or TLS version, and the expected error and hint.
struct BadTLS: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let server: String
    var host = "127.0.0.1"
    /// Words of any library that speaks TLS for us.
    let reason: [String]
    let hint: [String]

    static let all = [
        BadTLS(
            testDescription: "self-signed", server: "selfsigned", reason: ["self", "issuer"],
            hint: ["ca_file"]),
        BadTLS(
            testDescription: "another authority", server: "stranger", reason: ["issuer"],
            hint: ["ca_file"]),
        BadTLS(
            testDescription: "expired", server: "expired", reason: ["expired"],
            hint: ["clock", "ca_file"]),
        BadTLS(
            testDescription: "another host", server: "good", host: "localhost",
            reason: ["localhost", "host"], hint: ["check the host name in the URL"]),
        BadTLS(
            testDescription: "TLS 1.1", server: "tls11", reason: ["does not support TLS 1.2 or later"],
            hint: ["TLS 1.2 or 1.3"]),
    ]
}

@Suite(
    "hostile TLS, and the built program", .serialized, .waiting,
    .enabled(if: TLSServers.areAvailable, "needs python3 and openssl to play the server"))
struct HostileTLSTests {
    private let servers: TLSServers

    init() throws { servers = try #require(TLSServers.shared) }

    private func program(_ variables: [String: String] = [:]) throws -> Program {
        try Program(
            ["OIDC_CA_FILE": servers.path("ca.pem"), "OIDC_CLIENT_ID": "demo"].merging(variables) { $1 })
    }

    @Test(
        "a server that cannot be verified is 7, with the reason and a hint; nothing is stored",
        arguments: BadTLS.all,
        [
            ["login", "--flow", "browser", "--no-browser"], ["login", "--flow", "device"], ["discover"],
            ["token", "--grant", "client_credentials"],
        ])
    func refused(fault: BadTLS, arguments: [String]) throws {
        let origin = "https://\(fault.host):\(servers.port(fault.server))"
        let program = try program([
            "OIDC_ISSUER": origin, "OIDC_TOKEN_ENDPOINT": "\(origin)/token",
            "OIDC_CLIENT_SECRET": "planted-client-secret-8d1f",
        ])
        defer { program.remove() }
        let outcome = try program.start(arguments).finish()
        #expect(outcome.status == 7 && outcome.output == "" && outcome.isClean, "\(outcome.errorOutput)")
        #expect(fault.reason.contains { outcome.error?.contains($0) == true }, "\(outcome.errorOutput)")
        let hint = outcome.errorOutput.split(separator: "\n").last { $0.hasPrefix("  try: ") } ?? ""
        #expect(fault.hint.contains { hint.contains($0) }, "\(outcome.errorOutput)")
        #expect(program.sessionFiles.isEmpty && program.files(in: ".cache/oidc").isEmpty)
    }

    @Test("TLS keys are not logged, even if SSLKEYLOGFILE is set; a child process may log its own")
    func keyLog() throws {
        let program = try program()
        defer { program.remove() }
        let log = program.home.appendingPathComponent("keys").path
        let fault = try #require(BadTLS.all.first)
        _ = try program.run(
            "discover", "--issuer", "https://\(fault.host):\(servers.port(fault.server))",
            variables: ["SSLKEYLOGFILE": log])
        #expect(!FileManager.default.fileExists(atPath: log))
        let provider = try ProviderServer()
        let exec = try program.run(
            "exec", "--", "sh", "-c", "printf %s \"$SSLKEYLOGFILE\"",
            variables: [
                "SSLKEYLOGFILE": log, "OIDC_ISSUER": provider.origin, "OIDC_GRANT": "client_credentials",
                "OIDC_CLIENT_ID": "demo-confidential", "OIDC_CLIENT_SECRET": "demo-secret",
            ])
        #expect(exec.output == log, "\(exec.errorOutput)")
    }

    @Test(
        "a ca_file that cannot be used is an error, never \"trust all\"",
        arguments: ["missing", "empty", "garbage", "a directory"])
    func authorities(kind: String) throws {
        var program = try program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("ca")
        switch kind {
        case "empty": try Data().write(to: file)
        case "garbage": try Data("-----BEGIN CERTIFICATE-----\nMIIB\n".utf8).write(to: file)
        case "a directory":
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        default: break
        }
        program.environment["OIDC_CA_FILE"] = file.path
        program.environment["OIDC_ISSUER"] = "https://127.0.0.1:\(servers.port("good"))"
        let outcome = try program.run("discover")
        #expect(outcome.status == 2 && outcome.output == "" && outcome.isClean, "\(outcome.errorOutput)")
        #expect(outcome.error?.contains("ca_file") == true && outcome.error?.contains(file.path) == true)
    }

    @Test(
        "a plain-http endpoint of an issuer that is not on loopback is refused, and not called",
        arguments: [
            ("token_endpoint", "http://idp.invalid/token"), ("token_endpoint", "http://127.0.0.1:9/token"),
            ("authorization_endpoint", "http://idp.invalid/authorize"),
            ("authorization_endpoint", "http://localhost:9/authorize"),
            ("jwks_uri", "http://[::1]:9/jwks"), ("userinfo_endpoint", "http://127.0.0.1:9/userinfo"),
            ("revocation_endpoint", "http://idp.invalid/revoke"),
        ])
    func mixedMetadata(member: String, address: String) throws {
        let name = "mixed-\(UUID().uuidString)"
        let issuer = "https://idp.invalid:\(servers.port("good"))/\(name)"
        var document: [String: String] = ["issuer": issuer, "jwks_uri": "\(issuer)/jwks"]
        for endpoint in ["authorization", "token", "userinfo"] {
            document["\(endpoint)_endpoint"] = "\(issuer)/\(endpoint)"
        }
        let program = try program(["OIDC_ISSUER": issuer, "https_proxy": servers.proxy])
        defer { program.remove() }
        let publish = { (document: [String: String]) in
            let body = try JSONSerialization.data(withJSONObject: document)
            try servers.publish(name, String(decoding: body, as: UTF8.self))
        }
        try publish(document.merging([member: address]) { $1 })
        let outcome = try program.run("login", "--flow", "browser", "--no-browser", "--timeout", "5")
        #expect(outcome.status == 4 && outcome.isClean, "\(outcome.errorOutput)")
        #expect(outcome.error?.contains(member) == true, "\(outcome.errorOutput)")
        #expect(!outcome.errorOutput.contains("code_challenge"))
        try publish(document)
        let run = try program.start(["login", "--flow", "browser", "--no-browser"])
        #expect(run.address?.hasPrefix("\(issuer)/authorization?") == true, "\(run.errorOutput)")
        run.signal(SIGTERM)
        #expect(run.finish().status == 143)
    }

    @Test(
        "plain http to another machine is refused, with the setting that allows it",
        arguments: [
            ["login", "--flow", "browser", "--no-browser"], ["discover"],
            ["token", "--grant", "client_credentials"],
        ])
    func plainHTTP(arguments: [String]) throws {
        let program = try program(["OIDC_ISSUER": "http://idp.invalid"])
        defer { program.remove() }
        let outcome = try program.start(arguments).finish()
        #expect(outcome.status == 2 && outcome.output == "" && outcome.isClean, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("https"), "\(outcome.errorOutput)")
    }

    @Test("plain http that is allowed is warned of each time")
    func allowedInsecureHTTP() throws {
        let document = #"{"issuer":"http://idp.invalid","token_endpoint":"http://idp.invalid/token"}"#
        let proxy = try ScriptedServer.answering(
            "HTTP/1.1 200 OK\r\nContent-Length: \(document.utf8.count)\r\n\r\n\(document)")
        defer { withExtendedLifetime(proxy) {} }
        let program = try program([
            "OIDC_ISSUER": "http://idp.invalid", "OIDC_ALLOW_INSECURE_HTTP": "true",
            "http_proxy": proxy.origin,
        ])
        defer { program.remove() }
        for _ in 0..<2 {
            let outcome = try program.run("discover")
            #expect(outcome.status == 0, "\(outcome.errorOutput)")
            #expect(outcome.errorOutput.contains("warning: allow_insecure_http is set"))
        }
    }
}
