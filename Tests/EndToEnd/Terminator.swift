import CurlHTTP
import Foundation
import LoopbackHTTP
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

/// The demo provider behind nginx, which ends TLS and passes the client's certificate on.
final class Terminator {
    let origin: String
    let port: UInt16
    let directory: URL
    private let nginx = Process()

    static let isAvailable = Installed.programs("nginx", "openssl")

    /// `names` that are reached through a proxy; without any it is localhost with its port.
    init(_ names: [String] = []) throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let free = try LoopbackServer()
        port = free.port
        origin = "https://" + (names.first ?? "localhost:\(free.port)")
        free.close()
        let alternatives = (names.isEmpty ? ["localhost"] : names).map { "DNS:\($0)" }
        try certificate(
            "server", subject: "/CN=localhost",
            extensions: "subjectAltName=\(alternatives.joined(separator: ","))")
        try certificate("client", subject: "/CN=robot")
    }

    deinit {
        if nginx.isRunning { nginx.terminate() }
        try? FileManager.default.removeItem(at: directory)
    }

    func path(_ name: String) -> String { directory.appendingPathComponent(name).path }

    private func run(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(arguments)")
    }

    private func certificate(_ name: String, subject: String, extensions: String? = nil) throws {
        try run(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "2", "-subj", subject, "-keyout", path("\(name).key"), "-out", path("\(name).pem"),
            ] + (extensions.map { ["-addext", $0] } ?? []))
    }

    /// SHA-256 of the client's certificate (RFC 8705 §3.1).
    func thumbprint() throws -> String {
        let pem = try String(contentsOfFile: path("client.pem"), encoding: .utf8)
        let body = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
        let der = try #require(Data(base64Encoded: body))
        return Base64URL.encode(try Digest.hash([UInt8](der), .sha256))
    }

    func start(before backend: String) throws {
        let configuration = """
            daemon off; pid \(path("nginx.pid")); error_log \(path("error.log")); worker_processes 1;
            events { worker_connections 64; }
            http {
              access_log off;
              client_body_temp_path \(path("body")); proxy_temp_path \(path("proxy"));
              fastcgi_temp_path \(path("fastcgi")); uwsgi_temp_path \(path("uwsgi")); scgi_temp_path \(path("scgi"));
              server {
                listen 127.0.0.1:\(port) ssl;
                ssl_certificate \(path("server.pem")); ssl_certificate_key \(path("server.key"));
                ssl_verify_client optional_no_ca;
                location / {
                  proxy_pass \(backend);
                  proxy_set_header X-Client-Cert $ssl_client_escaped_cert;
                }
              }
            }
            """
        try configuration.write(toFile: path("nginx.conf"), atomically: true, encoding: .utf8)
        nginx.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        nginx.arguments = ["nginx", "-e", path("error.log"), "-c", path("nginx.conf"), "-p", directory.path]
        nginx.standardError = FileHandle.nullDevice
        var environment = ProcessInfo.processInfo.environment
        environment["PATH"] = (environment["PATH"] ?? "/usr/bin:/bin") + ":/usr/sbin"
        nginx.environment = environment
        try nginx.run()
        let url = try #require(WebURL("http://127.0.0.1:\(port)/"))
        for _ in 0..<400 {
            if (try? CurlTransport().send(HTTPRequest(.get, url), stage: .discovery)) != nil { return }
            usleep(10_000)
        }
        Issue.record(
            "nginx did not start: \((try? String(contentsOfFile: path("error.log"), encoding: .utf8)) ?? "")")
    }
}
