import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("secrets stay where they belong, in the built program", .waiting)
struct LeakTests {
    private static let clientSecret = "planted-client-secret-8d1f"

    /// A browser that writes down how it was called, and what it sees.
    private func recorder(in program: Program) throws -> (variable: String, argv: URL, environ: URL) {
        let script = program.home.appendingPathComponent("recorder")
        let argv = program.home.appendingPathComponent("argv")
        let environ = program.home.appendingPathComponent("environ")
        let text =
            "#!/bin/sh\ncat /proc/$$/environ >'\(environ.path)'\ncat /proc/$$/cmdline >'\(argv.path).new'\n"
            + "mv '\(argv.path).new' '\(argv.path)'\n"
        try Data(text.utf8).write(to: script)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script.path)
        return ("\(script.path) %s", argv, environ)
    }

    private func world() throws -> (ProviderServer, Program) {
        let provider = try TrustWorld.server {
            $0.clients = [DemoClient(id: "planted", secret: Self.clientSecret)]
        }
        return (provider, try Program(provider, client: "planted", ["OIDC_CLIENT_SECRET": Self.clientSecret]))
    }

    /// Everything secret that the provider has seen or given out so far.
    private func secrets(_ provider: ProviderServer, _ program: Program) throws -> [String: String] {
        var secrets = ["the client secret": Self.clientSecret]
        let encoded = Data("planted:\(Self.clientSecret)".utf8).base64EncodedString()
        secrets["the Basic credentials"] = encoded
        for (index, request) in provider.with({ $0.requests(to: .token) }).enumerated() {
            let pairs = FormEncoding.decode(String(decoding: request.body, as: UTF8.self)) ?? []
            for name in ["code", "code_verifier", "refresh_token", "client_secret"] {
                guard let value = pairs.first(where: { $0.name == name })?.value else { continue }
                secrets["\(name) \(index)"] = value
            }
        }
        for endpoint in [Endpoint.userinfo, .resource] {
            for (index, request) in provider.with({ $0.requests(to: endpoint) }).enumerated() {
                secrets["access token \(endpoint) \(index)"] = request.headers["Authorization"].map {
                    String($0.dropFirst(7))
                }
            }
        }
        if let file = program.sessionFiles.first {
            let session = try JSONValue(parsing: Array(try Data(contentsOf: file)))
            var count = 0
            func walk(_ value: JSONValue, _ name: String) {
                if let text = value.string, text.utf8.count > 20, name.contains("token"),
                    !text.contains("://"), name != "token_type"
                {
                    secrets["\(name) of the session \(count)"] = text
                    count += 1
                }
                for member in value.object?.members ?? [] { walk(member.value, member.name) }
                for element in value.array ?? [] { walk(element, name) }
            }
            walk(session, "")
        }
        return secrets
    }

    private func expectNone(
        of secrets: [String: String], in text: String, _ place: String, except: [String] = []
    ) {
        for (name, secret) in secrets where !except.contains(secret) {
            #expect(!text.contains(secret), "\(name) stands in \(place)")
        }
    }

    @Test("login: neither stderr under --verbose nor the browser's argv and environment hold a secret")
    func login() throws {
        let (provider, program) = try world()
        defer { program.remove() }
        let browser = try recorder(in: program)
        let run = try program.start(["login", "--verbose"], ["BROWSER": browser.variable])
        let url = try #require(run.address.flatMap(WebURL.init))
        let end = Date().addingTimeInterval(20)
        while !FileManager.default.fileExists(atPath: browser.argv.path), Date() < end { usleep(5_000) }
        let redirect = try #require(provider.redirect(of: url))
        let command = try String(contentsOfFile: "/proc/\(run.identifier)/cmdline", encoding: .utf8)
        let page = RawConnection.exchange(
            port: UInt16(redirect.url.port ?? 80),
            "GET /callback?\(redirect.url.query ?? "") HTTP/1.1\r\nHost: \(redirect.url.hostAndPort)\r\nConnection: close\r\n\r\n",
            within: 20)
        let outcome = run.finish()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("debug: "))
        let secrets = try secrets(provider, program)
        #expect(secrets.count >= 6, "\(secrets.keys)")
        let argv = try String(contentsOf: browser.argv, encoding: .utf8)
        let environ = try String(contentsOf: browser.environ, encoding: .utf8)
        #expect(argv.contains(url.text) && !environ.contains("OIDC_CLIENT_SECRET"))
        expectNone(of: secrets, in: outcome.errorOutput + outcome.output, "what login printed")
        expectNone(of: secrets, in: argv, "the browser's arguments")
        expectNone(of: secrets, in: environ, "the browser's environment")
        expectNone(of: secrets, in: command, "our own arguments")
        expectNone(of: secrets, in: page, "the callback page")
    }

    @Test(
        "every command under --verbose keeps secrets off stderr, and off stdout but where asked for",
        arguments: [
            ["token"], ["token", "--refresh"], ["token", "--type", "id"], ["token", "--header"], ["userinfo"],
            ["status"], ["status", "--all", "-o", "json"], ["inspect"], ["inspect", "--type", "access"],
            ["introspect"], ["discover"], ["config", "show"], ["config", "check"], ["resources"],
            ["request", "API"], ["exec", "--", "true"], ["credential", "aws"], ["credential", "gcp"],
            ["credential", "kubectl"], ["token", "--grant", "client_credentials"], ["authorize-url"],
            ["pkce"],
            ["revoke"], ["logout"], ["doctor"],
        ])
    func commands(arguments: [String]) throws {
        let (provider, program) = try world()
        defer { program.remove() }
        try #require(try program.signIn(at: provider).status == 0)
        var secrets = try secrets(provider, program)
        let words = arguments.map { $0 == "API" ? "\(provider.origin)/api/hello" : $0 }
        let dashes = words.firstIndex(of: "--") ?? words.endIndex
        let outcome = try program.start(Array(words[..<dashes]) + ["--verbose"] + words[dashes...]).finish()
        secrets.merge(try self.secrets(provider, program)) { old, _ in old }
        expectNone(of: secrets, in: outcome.errorOutput, "stderr of \(arguments)")
        let prints: Set = ["token", "credential", "authorize-url", "pkce"]
        if !prints.contains(arguments[0]) {
            expectNone(of: secrets, in: outcome.output, "stdout of \(arguments)")
        } else {
            let longLived = secrets.filter {
                !$0.key.hasPrefix("access") && !$0.key.hasPrefix("id_token")
                    && !$0.key.contains("of the session")
            }
            expectNone(of: longLived, in: outcome.output, "stdout of \(arguments)")
        }
    }

    @Test("failures under --verbose keep secrets off stderr", arguments: AnswerFault.allCases)
    func failures(fault: AnswerFault) throws {
        let (provider, program) = try world()
        defer { program.remove() }
        try #require(try program.signIn(at: provider).status == 0)
        provider.with { _ = $0.faults.insert(.answer(.token, fault)) }
        let outcome = try program.run("token", "--refresh", "--verbose")
        #expect(outcome.status != 0 || fault == .plainTextType || fault == .byteOrderMark)
        expectNone(of: try secrets(provider, program), in: outcome.errorOutput, "stderr")
    }

    @Test("exec hands over the one token, and not the client secret")
    func exec() throws {
        let (provider, program) = try world()
        defer { program.remove() }
        try #require(try program.signIn(at: provider).status == 0)
        let token = try program.run("token").output.trimmingCharacters(in: .newlines)
        let outcome = try program.run("exec", "--", "cat", "/proc/self/environ", "/proc/self/cmdline")
        #expect(outcome.status == 0 && outcome.output.contains("OIDC_ACCESS_TOKEN=\(token)"))
        expectNone(of: try secrets(provider, program), in: outcome.output, "the child", except: [token])
    }

    @Test("whatever the umask, no file is wider than 0600 and no directory wider than 0700")
    func modes() throws {
        let (provider, program) = try world()
        defer { program.remove() }
        let old = umask(0)
        defer { umask(old) }
        try #require(try program.signIn(at: provider).status == 0)
        try #require(try program.run("token", "--refresh").status == 0)
        var count = 0
        for root in [".local/state/oidc", ".cache/oidc"] {
            let top = program.home.appendingPathComponent(root)
            let mode = try FileManager.default.attributesOfItem(atPath: top.path)[.posixPermissions] as? Int
            #expect(mode == 0o700)
            for file in program.files(in: root) {
                let mode =
                    try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
                #expect(mode == 0o600, "\(file.lastPathComponent)")
                count += 1
            }
        }
        #expect(count >= 3)
        let secrets = try secrets(provider, program)
        for file in program.files(in: ".cache/oidc") {
            expectNone(of: secrets, in: try String(contentsOf: file, encoding: .utf8), "the cache")
        }
        #expect(!FileManager.default.fileExists(atPath: program.home.appendingPathComponent("core").path))
    }

    @Test("a process that holds secrets dumps no core and cannot be read by others")
    func notDumpable() throws {
        let (provider, program) = try world()
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider)
        let limits = try String(contentsOfFile: "/proc/\(signIn.run.identifier)/limits", encoding: .utf8)
        let core = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        #expect(core.split(separator: " ").dropFirst(4).first == "0", "\(core)")
        #expect(signIn.complete().outcome.status == 0)
    }
}
