import Foundation
import TestSupport

/// A server in Python that fails every exchange: it has a self-signed certificate, or closes the connection before
/// the answer.
final class OddServer {
    enum Kind: String {
        case untrusted
        case closing
    }

    let port: Int
    private let server: PythonServer
    private let folder: URL

    init(_ kind: Kind) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("odd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        server = try PythonServer(OddServer.script, [kind.rawValue, folder.path])
        port = Int(server.firstLine) ?? 0
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Connections that have brought a request.
    var requests: Int {
        (try? Data(contentsOf: folder.appendingPathComponent("requests")).count) ?? 0
    }

    private static let script = #"""
        import os, socket, ssl, subprocess, sys, threading
        kind, folder = sys.argv[1:]
        listener = socket.create_server(("127.0.0.1", 0))
        context = None
        if kind == "untrusted":
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-keyout", folder + "/key", "-out", folder + "/pem", "-subj", "/CN=odd", "-addext",
                "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder + "/pem", folder + "/key")
        def serve():
            while True:
                connection, _ = listener.accept()
                try:
                    if context: connection = context.wrap_socket(connection, server_side=True)
                    if connection.recv(65536):
                        with open(folder + "/requests", "a") as file: file.write("x")
                except OSError: pass
                connection.close()
        threading.Thread(target=serve, daemon=True).start()
        print(listener.getsockname()[1], flush=True)
        sys.stdin.read()
        """#
}
