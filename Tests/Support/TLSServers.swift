import Foundation
package import OIDCCore

/// Servers that speak TLS, each with its own fault, and the certificates they need, all made here; by python3
/// and openssl, since we write no TLS.
package final class TLSServers: Sendable {
    package let folder: String
    private let ports: [String: Int]
    private let server: PythonServer

    package static let areAvailable: Bool = PythonServer.interpreter != nil && Installed.programs("openssl")

    /// Made once for all tests.
    package static let shared = try? TLSServers()

    private init() throws {
        folder = NSTemporaryDirectory() + "oidc-tls-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        server = try PythonServer(TLSServers.script, [folder])
        let words = server.firstLine.split(separator: " ")
        ports = Dictionary(
            uniqueKeysWithValues: words.map { word in
                let parts = word.split(separator: "=")
                return (String(parts[0]), Int(parts[1]) ?? 0)
            })
    }

    package func url(_ name: String, host: String = "127.0.0.1") -> WebURL? {
        ports[name].flatMap { WebURL("https://\(host):\($0)/x?secret") }
    }

    /// What `good` answers below `/NAME/`, instead of its protocol's version. Every server refuses the bearer token
    /// `token-1`.
    package func publish(_ name: String, _ body: String) throws {
        try Data(body.utf8).write(to: URL(fileURLWithPath: path("\(name).json")))
    }

    /// A proxy whose tunnels all end at this machine, for any host name.
    package var proxy: String { "http://127.0.0.1:\(ports["proxy"] ?? 0)" }

    package func port(_ name: String) -> Int { ports[name] ?? 0 }

    package func path(_ file: String) -> String { "\(folder)/\(file)" }

    private static let script = #"""
        import os, shutil, socket, ssl, subprocess, sys, threading, warnings
        warnings.simplefilter("ignore")
        d = sys.argv[1] + "/"
        def openssl(*a):
            subprocess.run(["openssl", *a], check=True, capture_output=True, cwd=d)
        def key(name):
            openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", name + ".key")
        def authority(name):
            key(name)
            openssl("req", "-x509", "-new", "-key", name + ".key", "-days", "2", "-subj", "/CN=" + name,
                    "-out", name + ".pem")
        def leaf(name, ca, days="2", comment=""):
            key(name)
            openssl("req", "-new", "-key", name + ".key", "-subj", "/CN=" + name, "-out", name + ".csr")
            with open(d + "san", "w") as f:
                f.write("subjectAltName=IP:127.0.0.1,DNS:idp.invalid\n" + (comment and "nsComment=" + comment + "\n"))
            openssl("x509", "-req", "-in", name + ".csr", "-CA", ca + ".pem", "-CAkey", ca + ".key",
                    "-CAcreateserial", "-days", days, "-extfile", "san", "-out", name + ".pem")
        authority("ca"); authority("alien")
        key("selfsigned")
        openssl("req", "-x509", "-new", "-key", "selfsigned.key", "-days", "2", "-subj", "/CN=selfsigned",
                "-addext", "subjectAltName=IP:127.0.0.1", "-out", "selfsigned.pem")
        # Authorities of the right name with other keys.
        key("imitation")
        openssl("req", "-x509", "-new", "-key", "imitation.key", "-days", "2", "-subj", "/CN=ca",
                "-out", "imitation.pem")
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "rsaca.key", "-days", "2",
                "-subj", "/CN=rsaca", "-out", "rsaca.pem")
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "rsaimitation.key", "-days", "2",
                "-subj", "/CN=rsaca", "-out", "rsaimitation.pem")
        leaf("ofrsa", "rsaca")
        leaf("good", "ca"); leaf("expired", "ca", "-1"); leaf("client", "ca"); leaf("stranger", "alien")
        # The same authorities as a bundle, and as a directory by the hashes of their names.
        def hashed(name, *authorities):
            os.mkdir(d + name, 0o755); os.chmod(d + name, 0o755)
            for authority in authorities: shutil.copy(d + authority + ".pem", d + name)
            openssl("rehash", d + name)
            with open(d + name + ".pem", "w") as bundle:
                for authority in authorities: bundle.write(open(d + authority + ".pem").read())
        hashed("both", "ca", "rsaca"); hashed("imitations", "imitation", "rsaimitation"); hashed("others", "alien")
        openssl("pkcs8", "-topk8", "-in", "client.key", "-out", "locked.key", "-passout", "pass:open sesame")
        # Chains of "good" with more certificates, of which no verification needs any.
        def chain(name, *more):
            with open(d + name + ".pem", "w") as file:
                for part in ("good",) + more: file.write(open(d + part + ".pem").read())
            shutil.copy(d + "good.key", d + name + ".key")
        chain("chain6", "ca", "rsaca", "alien", "imitation", "rsaimitation")
        chain("chain32", *["rsaca"] * 31); chain("chain33", *["ca"] * 32)
        openssl("ecparam", "-name", "prime256v1", "-param_enc", "explicit", "-genkey", "-noout", "-out", "explicit.key")
        openssl("req", "-x509", "-new", "-key", "explicit.key", "-days", "2", "-subj", "/CN=explicit",
                "-out", "explicit.pem")
        chain("explicitchain", "explicit")
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "plain.key")
        openssl("ec", "-in", "plain.key", "-conv_form", "compressed", "-out", "compressed.key")
        openssl("req", "-x509", "-new", "-key", "compressed.key", "-days", "2", "-subj", "/CN=compressed",
                "-out", "compressed.pem")
        chain("compressedchain", "compressed")
        leaf("large", "ca", comment="a" * 67000)
        def serve(context, listener):
            def talk(raw):
                try:
                    with context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False) as s:
                        try: s.do_handshake()
                        except OSError:
                            # Closes in order: a reset would overtake the alert.
                            rest = socket.socket(fileno=os.dup(s.fileno()))
                            rest.shutdown(socket.SHUT_WR)
                            while rest.recv(4096): pass
                            return rest.close()
                        while True:
                            head = b""
                            while b"\r\n\r\n" not in head:
                                more = s.recv(4096)
                                if not more: return
                                head += more
                            peer = s.getpeercert()
                            name = peer["subject"][0][0][1] if peer else "nobody"
                            body = (s.version() + " " + name).encode()
                            page = d + (head.split()[1].decode() + "/").split("/")[1] + ".json"
                            if os.path.exists(page): body = open(page, "rb").read()
                            status = b"401 Unauthorized" if b"token-1\r\n" in head else b"200 OK"
                            s.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
                except OSError:
                    raw.close()
            while True:
                threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()
        def relay(a, b):
            try:
                while data := a.recv(65536): b.sendall(data)
                b.shutdown(socket.SHUT_WR)
            except OSError: pass
        def tunnel(raw):
            port = int(raw.recv(65536).split()[1].rsplit(b":", 1)[1])
            end = socket.create_connection(("127.0.0.1", port))
            raw.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            threading.Thread(target=relay, args=(raw, end), daemon=True).start()
            relay(end, raw)
        def proxy():
            listener = socket.create_server(("127.0.0.1", 0))
            def serve():
                while True:
                    threading.Thread(target=tunnel, args=(listener.accept()[0],), daemon=True).start()
            threading.Thread(target=serve, daemon=True).start()
            return "proxy=" + str(listener.getsockname()[1])
        def server(name, certificate="good", newest=None, oldest=None, verify=None):
            c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            if oldest: c.minimum_version = oldest; c.set_ciphers("ALL:@SECLEVEL=0")
            if newest: c.maximum_version = newest
            c.load_cert_chain(d + certificate + ".pem", d + certificate + ".key")
            if verify is not None:
                c.verify_mode = verify
                c.load_verify_locations(d + "ca.pem")
            listener = socket.socket()
            listener.bind(("127.0.0.1", 0)); listener.listen(16)
            threading.Thread(target=serve, args=(c, listener), daemon=True).start()
            return name + "=" + str(listener.getsockname()[1])
        v = ssl.TLSVersion
        print(server("good"), server("expired", "expired"), server("stranger", "stranger"),
              server("tls12", newest=v.TLSv1_2), server("tls11", oldest=v.TLSv1, newest=v.TLSv1_1),
              server("asking", verify=ssl.CERT_OPTIONAL), server("demanding", verify=ssl.CERT_REQUIRED),
              server("demanding12", newest=v.TLSv1_2, verify=ssl.CERT_REQUIRED),
              server("selfsigned", "selfsigned"), server("ofrsa", "ofrsa"), proxy(),
              *[server(name + suffix, name, newest=newest)
                for name in ("chain6", "chain32", "chain33", "large", "explicitchain", "compressedchain")
                for suffix, newest in (("", None), ("12", v.TLSv1_2))], flush=True)
        sys.stdin.read()
        shutil.rmtree(d)
        """#
}
