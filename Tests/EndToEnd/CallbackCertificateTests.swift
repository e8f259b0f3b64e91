import DemoProvider
import Foundation
import OIDCCore
import Posix
import TestSupport
import Testing

@Suite("an https callback to this machine, by the built program", .serialized, .waiting)
struct CallbackCertificateTests {
    private let provider: ProviderServer
    private let program: TestSupport.Program
    private let port: UInt16

    init() throws {
        let (descriptor, free) = try LoopbackSocket.listen(.ipv4Loopback, port: 0, backlog: 1)
        descriptor.close()
        port = free
        var configuration = DemoConfiguration()
        configuration.clients = [
            DemoClient(id: "demo", redirectURIs: ["https://localhost:\(port)/callback"])
        ]
        provider = try ProviderServer(configuration)
        program = try Program(provider)
    }

    private struct Made: Decodable {
        let certificate: String
        let key: String
        let expires_at: Int64
    }

    private func make() throws -> Made {
        let outcome = try program.run("login", "--make-certificate", "-o", "json")
        try #require(outcome.status == 0, "\(outcome)")
        return try JSONDecoder().decode(Made.self, from: Data(outcome.output.utf8))
    }

    @Test("no certificate is made where another user could put his own in its place")
    func openDirectory() throws {
        defer { program.remove() }
        let directory = program.home.appendingPathComponent("open")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory.path)
        let outcome = try program.start(
            ["login", "--make-certificate"], ["OIDC_CONFIG": directory.path + "/config.json"]
        ).finish()
        #expect(outcome.status == 2 && outcome.errorOutput.contains("chmod go-w"), "\(outcome)")
        #expect(program.files(in: "open").isEmpty)
    }

    private func options(_ certificate: String, _ key: String) -> [String] {
        [
            "--set", "redirect_uri=https://localhost:\(port)/callback", "--set",
            "callback_certificate=\(certificate)", "--set", "callback_key=\(key)",
        ]
    }

    /// The request of the user's browser after the provider's pages.
    private func redirect(of run: Run) throws -> HTTPRequest {
        let url = try #require(run.address.flatMap(WebURL.init))
        return try #require(provider.redirect(of: url))
    }

    /// Fetches a URL as a browser that trusts the certificate, and follows its redirects.
    private func fetch(_ url: String, trusting certificate: String) throws -> Program.Outcome {
        try program.start(
            [
                "-s", "-S", "-L", "--max-time", "20", "--cacert", certificate, "-w",
                "\n%{http_code} %{http_version}",
                url,
            ], executable: "/usr/bin/curl"
        ).finish()
    }

    private func openssl(_ arguments: String...) throws -> Program.Outcome {
        try program.start(arguments, executable: "/usr/bin/openssl").finish()
    }

    @Test(
        "a leaf for this machine alone is made once: localhost and loopback, no authority, 397 days, a key with mode 0600",
        .enabled(if: Installed.programs("openssl")))
    func made() throws {
        defer { program.remove() }
        let made = try make()
        let lifetime = made.expires_at - Int64(Date().timeIntervalSince1970)
        #expect(lifetime > 396 * 86_400 - 7_200 && lifetime < 397 * 86_400)
        for file in [made.certificate, made.key] {
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(file)")
        }
        let text = try openssl("x509", "-in", made.certificate, "-noout", "-text").output
        for part in [
            "CA:FALSE", "TLS Web Server Authentication",
            "DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1", "prime256v1",
        ] { #expect(text.contains(part), "\(text)") }
        #expect(!text.contains("CA:TRUE") && !text.contains("Certificate Sign"))
        let first = try Data(contentsOf: URL(fileURLWithPath: made.certificate))
        let again = try program.run("login", "--make-certificate")
        #expect(again.status == 0 && again.errorOutput.contains("it was kept"), "\(again)")
        #expect(again.output.contains("callback_certificate=\(made.certificate)"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: made.certificate)) == first)
    }

    @Test(
        "curl that trusts the certificate gets the callback page, also from a process that waits",
        .enabled(if: Installed.programs("curl")))
    func signsIn() throws {
        defer {
            for process in WaitingProcesses.all(in: program.home) { kill(process, SIGKILL) }
            program.remove()
        }
        let made = try make()
        let settings = options(made.certificate, made.key)
        let run = try program.start(["login", "--flow", "browser", "--no-browser"] + settings)
        let redirect = try redirect(of: run)
        #expect(redirect.url.text.hasPrefix("https://localhost:\(port)/callback?"))
        let stranger = try program.start(
            ["-s", "--max-time", "20", redirect.url.text], executable: "/usr/bin/curl"
        ).finish()
        #expect(stranger.status == 60, "without --cacert, the certificate is not trusted: \(stranger)")
        let page = try fetch(redirect.url.text, trusting: made.certificate)
        #expect(page.output.contains("Signed in") && page.output.hasSuffix("\n200 1.1"), "\(page)")
        let outcome = run.finish()
        #expect(outcome.status == 0 && !outcome.errorOutput.contains("warning"), "\(outcome.errorOutput)")

        let started = try program.start(["login", "--start", "--flow", "browser", "-o", "json"] + settings)
            .finish()
        let document = try JSONValue(parsing: started.output)
        let url = try #require(document["authorization_url"]?.string.flatMap { WebURL($0) })
        let answer = try #require(provider.redirect(of: url))
        let second = try fetch(answer.url.text, trusting: made.certificate)
        #expect(second.output.contains("Signed in"), "\(second)")
        #expect(try program.run("login", "--finish").status == 0)
    }

    @Test(
        "plain http, garbage, a handshake that never ends and one that is refused are strangers; the wait continues",
        .enabled(if: Installed.programs("curl")))
    func strangers() throws {
        defer { program.remove() }
        let made = try make()
        let run = try program.start(
            ["login", "--flow", "browser", "--no-browser", "-v"] + options(made.certificate, made.key))
        let redirect = try redirect(of: run)
        let plain = RawConnection(port: port)
        plain?.send("GET /callback?\(redirect.url.query ?? "") HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
        let answer = plain?.received(within: 10) ?? ""
        #expect(answer.hasPrefix("HTTP/1.1 400 ") && !answer.contains("Signed in"), "\(answer)")
        // A hello that is cut off, one that is none, and one that goes on forever with records of a byte.
        let open = (0..<40).compactMap { number -> RawConnection? in
            let connection = RawConnection(port: port)
            connection?.send(number % 2 == 0 ? [0x16, 3, 1, 2, 0, 1, 0] : [0x16, 3, 1, 0, 1, UInt8(number)])
            return connection
        }
        let garbage = RawConnection(port: port)
        garbage?.send([0x16] + [UInt8](repeating: 0xFF, count: 70_000))
        _ = garbage?.received(within: 10)
        let old = try program.start(
            ["-s", "--max-time", "10", "--tls-max", "1.1", "--cacert", made.certificate, redirect.url.text],
            executable: "/usr/bin/curl"
        ).finish()
        #expect(old.status == 35, "TLS 1.1 is refused: \(old)")
        let page = try fetch(redirect.url.text, trusting: made.certificate)
        #expect(page.output.contains("Signed in"), "\(page)")
        let outcome = run.finish()
        withExtendedLifetime(open) {}
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("no TLS on a TLS port (400)"), "\(outcome.errorOutput)")
    }

    @Test(
        "a certificate that cannot work ends with 2 before the browser opens, and doctor says why",
        .enabled(if: Installed.programs("openssl")))
    func refused() throws {
        defer { program.remove() }
        let made = try make()
        func file(_ name: String) -> String { program.home.appendingPathComponent(name).path }
        func request(_ name: String, days: String, host: String) throws {
            let outcome = try openssl(
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                file("\(name).key"), "-out", file("\(name).pem"), "-days", days, "-subj", "/CN=\(host)",
                "-addext", "subjectAltName=DNS:\(host)")
            try #require(outcome.status == 0, "\(outcome)")
        }
        try request("other", days: "10", host: "elsewhere.example")
        try Data("none".utf8).write(to: URL(fileURLWithPath: file("none.pem")))
        try FileManager.default.copyItem(atPath: made.key, toPath: file("open.key"))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file("open.key"))
        let cases: [(certificate: String, key: String, message: String)] = [
            (file("other.pem"), file("other.key"), "is not for localhost"),
            (made.certificate, file("other.key"), "does not fit the key"),
            (file("none.pem"), made.key, "contains no PEM certificate"),
            (made.certificate, file("none.pem"), "others may read it"),
            (made.certificate, file("open.key"), "others may read it"),
            (file("missing.pem"), made.key, "there is no such file"),
        ]
        for (certificate, key, message) in cases {
            let settings = options(certificate, key)
            for step in [[], ["--start"]] {
                let outcome = try program.start(["login", "--flow", "browser"] + step + settings).finish()
                #expect(
                    outcome.status == 2 && outcome.error?.contains(message) == true, "\(message): \(outcome)")
                #expect(!outcome.errorOutput.contains("code_challenge"))
            }
            let doctor = try program.start(["doctor", "--offline"] + settings).finish()
            #expect(doctor.output.contains(message), "\(doctor.output)")
        }
        let good = try program.start(["doctor", "--offline"] + options(made.certificate, made.key)).finish()
        #expect(good.output.contains("is available; its certificate expires in"), "\(good.output)")
    }

    @Test(
        "a certificate without its key, or for a redirect that is not https, ends with 2",
        arguments: [
            ["callback_certificate=/x"], ["callback_key=/x"],
            ["callback_certificate=/x", "callback_key=/y"],
            ["callback_certificate=/x", "callback_key=/y", "redirect_uri=https://code.example/cb"],
        ])
    func contradictions(settings: [String]) throws {
        defer { program.remove() }
        let outcome = try program.start(["login"] + settings.flatMap { ["--set", $0] }).finish()
        #expect(outcome.status == 2 && outcome.error?.contains("callback_certificate") == true, "\(outcome)")
    }
}
