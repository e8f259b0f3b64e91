import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

/// Servers that speak TLS before the demo provider, by python3: `plain` asks for no certificate, `asking` takes one,
/// and `demanding` ends the handshake without one. They pass the certificate on, and note who sent each request.
final class CertificateFront: Sendable {
    let directory: URL
    private let ports: [String: Int]
    private let server: PythonServer

    static let isAvailable = TLSServers.areAvailable

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "front-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        server = try PythonServer(CertificateFront.script, [directory.path])
        ports = Dictionary(
            uniqueKeysWithValues: server.firstLine.split(separator: " ").map { word in
                let parts = word.split(separator: "=")
                return (String(parts[0]), Int(parts[1]) ?? 0)
            })
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    func origin(_ name: String) -> String { "https://127.0.0.1:\(ports[name] ?? 0)" }
    func path(_ name: String) -> String { directory.appendingPathComponent(name).path }
    func start(before backend: String) { server.send(backend) }

    /// The requests so far, such as `asking POST /token robot`; `nobody` sent no certificate.
    var requests: [String] { server.output }

    /// Returns who sent the requests to a path, and to which server.
    func senders(_ path: String) -> [String] {
        requests.map { $0.split(separator: " ").map(String.init) }.filter { $0[2] == path }
            .map { "\($0[0]) \($0[3])" }
    }

    /// The SHA-256 hash of the client's certificate (RFC 8705 §3.1).
    func thumbprint() throws -> String {
        let pem = try String(contentsOfFile: path("robot.pem"), encoding: .utf8)
        let body = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
        return Base64URL.encode(try Digest.hash([UInt8](try #require(Data(base64Encoded: body))), .sha256))
    }

    private static let script = #"""
        import http.client, http.server, socket, ssl, subprocess, sys, threading, urllib.parse, warnings
        warnings.simplefilter("ignore")
        d = sys.argv[1] + "/"
        def certificate(name, *more):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                            "-nodes", "-days", "2", "-subj", "/CN=" + name, "-keyout", d + name + ".key",
                            "-out", d + name + ".pem", *more], check=True, capture_output=True)
        certificate("server", "-addext", "subjectAltName=IP:127.0.0.1")
        certificate("robot")
        backend = None
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def log_message(self, *a): pass
            def answer(self):
                der = self.connection.getpeercert(binary_form=True)
                print(self.server.name, self.command, self.path.split("?")[0], "robot" if der else "nobody",
                      flush=True)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {k: v for k, v in self.headers.items() if k.lower() not in ("connection", "host")}
                headers["Host"] = self.headers["Host"]
                if der: headers["X-Client-Cert"] = urllib.parse.quote(ssl.DER_cert_to_PEM_cert(der))
                link = http.client.HTTPConnection(backend)
                link.request(self.command, self.path, body, headers)
                reply = link.getresponse()
                content = reply.read()
                self.send_response_only(reply.status)
                for k, v in reply.getheaders():
                    if k.lower() not in ("connection", "content-length", "transfer-encoding"): self.send_header(k, v)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            do_GET = do_POST = do_PUT = do_DELETE = answer
        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            def finish_request(self, request, address):
                try:
                    request.do_handshake()
                    super().finish_request(request, address)
                except OSError:
                    pass
        def server(name, verify):
            s = Server(("127.0.0.1", 0), Handler)
            s.name = name
            c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            c.load_cert_chain(d + "server.pem", d + "server.key")
            c.load_verify_locations(d + "robot.pem")
            c.verify_mode = verify
            s.socket = c.wrap_socket(s.socket, server_side=True, do_handshake_on_connect=False)
            threading.Thread(target=s.serve_forever, daemon=True).start()
            return name + "=" + str(s.server_address[1])
        print(server("plain", ssl.CERT_NONE), server("asking", ssl.CERT_OPTIONAL),
              server("api", ssl.CERT_OPTIONAL), server("demanding", ssl.CERT_REQUIRED), flush=True)
        backend = sys.stdin.readline().strip().removeprefix("http://")
        sys.stdin.read()
        """#
}

/// The demo provider behind these servers, with a client whose tokens are bound to its certificate, and the program
/// as that client.
struct CertificateWorld {
    let front: CertificateFront
    let provider: ProviderServer
    var program: Program

    init(
        issuesJWTs: Bool = true, clientAuth: String = "self_signed_tls_client_auth",
        _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws {
        front = try CertificateFront()
        var configuration = DemoConfiguration()
        configuration.certificateHeader = "X-Client-Cert"
        configuration.mutualTLSBase = front.origin("asking")
        configuration.issuesJWTAccessTokens = issuesJWTs
        configuration.clients.append(
            DemoClient(
                id: "robot", authenticationMethods: ["self_signed_tls_client_auth", "tls_client_auth"],
                certificateThumbprint: try front.thumbprint()))
        change(&configuration)
        provider = try ProviderServer(configuration, issuer: front.origin("plain"))
        front.start(before: provider.backend)
        program = try Program(
            provider, client: "robot",
            [
                "OIDC_CA_FILE": front.path("server.pem"), "OIDC_CLIENT_AUTH": clientAuth,
                "OIDC_TLS_CLIENT_CERTIFICATE": front.path("robot.pem"),
                "OIDC_TLS_CLIENT_KEY": front.path("robot.key"),
            ])
    }

    func signIn(_ options: String...) throws {
        let outcome = try program.signIn(at: provider, options)
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
    }

    /// Rewrites the session file.
    func editSession(_ change: (inout [String: Any]) -> Void) throws {
        let file = try #require(program.sessionFiles.first)
        var object = try #require(
            JSONSerialization.jsonObject(with: try Data(contentsOf: file)) as? [String: Any])
        change(&object)
        try JSONSerialization.data(withJSONObject: object).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }
}
