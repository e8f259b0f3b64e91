import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("secrets stay where they belong, in the built program", .serialized, .waiting)
struct LeakTests {
    /// A browser that records its arguments and environment.
    private func recorder(in program: Program) throws -> (variable: String, argv: URL, environ: URL) {
        let script = program.home.appendingPathComponent("recorder")
        let argv = program.home.appendingPathComponent("argv")
        let environ = program.home.appendingPathComponent("environ")
        let text =
            "#!/bin/sh\ncat /proc/$$/environ >'\(environ.path)'\ncat /proc/$$/cmdline >'\(argv.path).new'\n"
            + "mv '\(argv.path).new' '\(argv.path)'\n"
        try ExecutableScript.write(text, to: script)
        return ("\(script.path) %s", argv, environ)
    }

    @Test("login: no secret is in stderr with --verbose, or in the browser's arguments and environment")
    func login() throws {
        let (provider, program) = try PlantedSecrets.world()
        defer { program.remove() }
        let browser = try recorder(in: program)
        let run = try program.start(["login", "--verbose"], ["BROWSER": browser.variable])
        let url = try #require(run.address.flatMap(WebURL.init))
        let end = Date().addingTimeInterval(60)
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
        let secrets = try PlantedSecrets.all(provider, program)
        #expect(secrets.count >= 6, "\(secrets.keys)")
        let argv = try String(contentsOf: browser.argv, encoding: .utf8)
        let environ = try String(contentsOf: browser.environ, encoding: .utf8)
        #expect(argv.contains(url.text) && !environ.contains("OIDC_CLIENT_SECRET"))
        PlantedSecrets.expectNone(of: secrets, in: outcome.errorOutput + outcome.output, "what login printed")
        PlantedSecrets.expectNone(of: secrets, in: argv, "the browser's arguments")
        PlantedSecrets.expectNone(of: secrets, in: environ, "the browser's environment")
        PlantedSecrets.expectNone(of: secrets, in: command, "our own arguments")
        PlantedSecrets.expectNone(of: secrets, in: page, "the callback page")
    }

    @Test(
        "with --verbose, no command prints a secret on stderr, or on stdout unless it was asked for",
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
        let (provider, program) = try PlantedSecrets.signedIn()
        defer { program.remove() }
        var secrets = try PlantedSecrets.all(provider, program)
        let words = arguments.map { $0 == "API" ? "\(provider.origin)/api/hello" : $0 }
        let dashes = words.firstIndex(of: "--") ?? words.endIndex
        let outcome = try program.start(Array(words[..<dashes]) + ["--verbose"] + words[dashes...]).finish()
        secrets.merge(try PlantedSecrets.all(provider, program)) { old, _ in old }
        PlantedSecrets.expectNone(of: secrets, in: outcome.errorOutput, "stderr of \(arguments)")
        let prints: Set = ["token", "credential", "authorize-url", "pkce"]
        if !prints.contains(arguments[0]) {
            PlantedSecrets.expectNone(of: secrets, in: outcome.output, "stdout of \(arguments)")
        } else {
            let longLived = secrets.filter {
                !$0.key.hasPrefix("access") && !$0.key.hasPrefix("id_token")
                    && !$0.key.contains("of the session")
            }
            PlantedSecrets.expectNone(of: longLived, in: outcome.output, "stdout of \(arguments)")
        }
    }

    @Test(
        "with --verbose, a failure prints no secret on stderr",
        arguments: [
            AnswerFault.htmlForbidden, .unauthorized, .unavailable, .errorWithEscapes, .errorHuge, .noJSON,
            .duplicateMembers, .truncated, .hugeBody, .redirectForeign, .redirectForeignKeepingMethod,
            .redirectScript,
        ])
    func failures(fault: AnswerFault) throws {
        let (provider, program) = try PlantedSecrets.signedIn()
        defer { program.remove() }
        provider.with { _ = $0.faults.insert(.answer(.token, fault)) }
        let outcome = try program.run("token", "--refresh", "--verbose")
        #expect(outcome.status != 0)
        PlantedSecrets.expectNone(
            of: try PlantedSecrets.all(provider, program), in: outcome.errorOutput, "stderr")
    }

    @Test("exec passes on the token, and not the client secret")
    func exec() throws {
        let (provider, program) = try PlantedSecrets.signedIn()
        defer { program.remove() }
        let token = try program.run("token").output.trimmingCharacters(in: .newlines)
        let outcome = try program.run("exec", "--", "cat", "/proc/self/environ", "/proc/self/cmdline")
        #expect(outcome.status == 0 && outcome.output.contains("OIDC_ACCESS_TOKEN=\(token)"))
        PlantedSecrets.expectNone(
            of: try PlantedSecrets.all(provider, program), in: outcome.output, "the child", except: [token])
    }

    @Test("with any umask, no file is wider than 0600 and no directory wider than 0700")
    func modes() throws {
        let (provider, program) = try PlantedSecrets.world()
        defer { program.remove() }
        // In a shell of its own: this process shares its umask with other tests.
        func unmasked(_ words: String) throws -> Run {
            try program.start(
                ["-c", "umask 0; exec \"$0\" \(words)", TestSupport.Program.path], executable: "/bin/sh")
        }
        let signIn = try unmasked("login --flow browser --no-browser")
        let url = try #require(signIn.address.flatMap(WebURL.init))
        let redirect = try #require(provider.redirect(of: url))
        _ = try? Visit.send(redirect)
        try #require(signIn.finish().status == 0)
        try #require(try unmasked("token --refresh").finish().status == 0)
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
        let secrets = try PlantedSecrets.all(provider, program)
        for file in program.files(in: ".cache/oidc") {
            PlantedSecrets.expectNone(
                of: secrets, in: try String(contentsOf: file, encoding: .utf8), "the cache")
        }
        #expect(!FileManager.default.fileExists(atPath: program.home.appendingPathComponent("core").path))
    }

    @Test("a process that has secrets does not dump core")
    func notDumpable() throws {
        let (provider, program) = try PlantedSecrets.world()
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider)
        let limits = try String(contentsOfFile: "/proc/\(signIn.run.identifier)/limits", encoding: .utf8)
        let core = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        #expect(core.split(separator: " ").dropFirst(4).first == "0", "\(core)")
        #expect(signIn.complete().outcome.status == 0)
    }
}
