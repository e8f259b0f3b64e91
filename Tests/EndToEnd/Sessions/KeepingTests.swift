import DemoProvider
import Foundation
import LoopbackHTTP
import OIDCCore
import TestSupport
import Testing

@Suite("a session that cannot be stored", .serialized, .waiting)
struct KeepingTests {
    private static let machine = [
        "OIDC_CLIENT_ID": "demo-confidential", "OIDC_CLIENT_SECRET": "demo-secret",
        "OIDC_GRANT": "client_credentials",
    ]

    @Test("a store that breaks during a refresh: the token is printed, with a warning")
    func breaksMeanwhile() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        let run = try world.duringTokenRequest {
            try world.program.start(["token"])
        } _: { _ in
            try world.shell(#"mv "$1" "$1.old"; : > "$1""#, [world.directory.path])
        }
        let outcome = run.finish()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(outcome.token.count > 10)
        let warnings = outcome.errorOutput.split(separator: "\n").filter { $0.hasPrefix("warning:") }
        #expect(warnings.count == 1, "\(outcome.errorOutput)")
        #expect(warnings.first?.contains("the new refresh token could not be stored") == true)
    }

    @Test("status lists the sessions if the settings name no provider")
    func statusWithoutProvider() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let none = ["OIDC_ISSUER": "", "OIDC_CLIENT_ID": ""]
        let outcome = try world.program.start(["status"], none).finish()
        #expect(outcome.status == 0 && outcome.output.contains("alice"), "\(outcome)")
        // The only session is used, as no profile describes it.
        let token = try world.program.start(["token"], none).finish()
        #expect(token.status == 0 && !token.output.isEmpty, "\(token)")
        #expect(try world.program.start(["logout", "--local"]).finish().status == 0)
        for words in [["status"], ["status", "--all"], ["status", "--all", "-o", "json"]] {
            let empty = try world.program.start(words, none).finish()
            #expect(empty.status == 3 && empty.errorOutput.contains("nobody is signed in"), "\(empty)")
            #expect(empty.output == (words.count == 4 ? "[]\n" : ""))
        }
    }

    @Test("status fails where token would: the session lacks a scope of the settings")
    func statusOfMissingScope() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        for words in [["status"], ["token"]] {
            let outcome = try world.program.start(words + ["--set", "scope=openid more"]).finish()
            #expect(outcome.status == 3, "\(outcome)")
            #expect(outcome.error?.contains("was not granted the scope \"more\"") == true, "\(outcome)")
        }
    }

    @Test(
        "a store that is known to be broken: the refresh token is not sent, and the session stays",
        .disabled(if: Program.isThreadSanitized))
    func brokenBefore() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        let before = try world.bytes
        let outcome = try world.runBelowShell("ulimit -f 0", ["token"])
        #expect(outcome.status == 1, "\(outcome.errorOutput)")
        #expect(outcome.error != nil)
        #expect(outcome.output == "")
        #expect(world.refreshes == 0)
        #expect(try world.bytes == before)
        #expect(try world.program.run("token").status == 0)
    }

    @Test("logout from a store that is out of reach fails, and leaves an earlier session in a file")
    func logoutOutOfReach() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let key = world.program.home.appendingPathComponent("store.key").path
        #expect(try world.program.run("config", "new-key", key).status == 0)
        let closed = try LoopbackServer()
        let port = closed.port
        closed.close()
        let outcome = try world.program.run(
            "logout", "--set", "store=redis://127.0.0.1:\(port)", "--set", "store_key_file=\(key)")
        #expect(outcome.status != 0 && outcome.error != nil, "\(outcome)")
        #expect(!outcome.errorOutput.contains("forgotten") && world.program.sessionFiles.count == 1)
    }

    @Test(
        "a token that needs no user is printed even if it cannot be stored",
        .disabled(if: Program.isThreadSanitized))
    func machineUnkept() throws {
        let world = try SessionWorld(KeepingTests.machine)
        defer { world.remove() }
        let outcome = try world.runBelowShell("ulimit -f 0", ["token"])
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("warning: "))
        #expect(world.program.sessionFiles.isEmpty)
    }

    @Test("no HOME: the token is printed with a warning, and nothing is written anywhere")
    func nowhere() throws {
        let world = try SessionWorld(KeepingTests.machine)
        defer { world.remove() }
        var program = world.program
        program.environment["HOME"] = nil
        program.environment["TMPDIR"] = world.program.home.appendingPathComponent("tmp").path
        try FileManager.default.createDirectory(
            atPath: program.environment["TMPDIR"] ?? "", withIntermediateDirectories: false)
        let outcome = try program.run("token")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(outcome.token.count > 10)
        #expect(outcome.errorOutput.contains("warning: "))
        #expect(outcome.errorOutput.contains("OIDC_STATE_DIR"))
        #expect(program.files(in: "").map(\.lastPathComponent) == ["tmp"])
        #expect(program.files(in: "tmp").isEmpty)
    }

    @Test("a HOME that is not a directory: the token is printed with a warning")
    func homeIsFile() throws {
        let world = try SessionWorld(KeepingTests.machine)
        defer { world.remove() }
        let file = world.program.home.appendingPathComponent("file")
        try Data("x".utf8).write(to: file)
        var program = world.program
        program.environment["HOME"] = file.path
        let outcome = try program.run("token")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(outcome.token.count > 10 && outcome.errorOutput.contains("warning: "))
        #expect(
            try program.run("login", "--flow", "browser", "--no-browser", "--set", "grant=authorization_code")
                .status == 1)
    }

    @Test("too few descriptors are an error of this machine, by their name", arguments: [5, 10])
    func descriptors(limit: Int) throws {
        let world = try SessionWorld(KeepingTests.machine)
        defer { world.remove() }
        let outcome = try world.runBelowShell("ulimit -n \(limit)", ["token"])
        #expect(outcome.status == 1, "\(outcome.errorOutput)")
        #expect(outcome.error?.contains("Too many open files") == true, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("raise the limit (ulimit -n)"), "\(outcome.errorOutput)")
    }

    @Test("with too few descriptors a command works, or its error names the limit and how to raise it")
    func fewDescriptors() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let authorities = world.program.home.appendingPathComponent("authorities.pem")
        try Data("-----BEGIN CERTIFICATE-----\n".utf8).write(to: authorities)
        let tls = ["--set", "ca_file=\(authorities.path)", "--issuer", "https://localhost:1"]
        let settings = world.program.home.appendingPathComponent("settings.json")
        try Data("{}".utf8).write(to: settings)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: settings.path)
        for limit in [4, 5, 6, 8, 10, 14] {
            for arguments in [
                ["token", "--refresh", "--config", settings.path], ["discover"] + tls, ["pkce"], ["doctor"],
            ] {
                let outcome = try world.runBelowShell("ulimit -n \(limit)", arguments)
                let words =
                    "\(limit) \(arguments): \(outcome.status) \(outcome.output) \(outcome.errorOutput)"
                guard outcome.errorOutput.contains("Too many open files") else {
                    // The file has no complete certificate, and nothing listens on that port.
                    #expect([0, 1].contains(outcome.status) || arguments[0] == "discover", "\(words)")
                    continue
                }
                #expect(outcome.status == 1, "\(words)")
                #expect(outcome.errorOutput.contains("raise the limit (ulimit -n)"), "\(words)")
            }
        }
    }

    @Test("OIDC_STORE=none stores nothing, and prints nothing about it", arguments: [true, false])
    func memory(hasHome: Bool) throws {
        let world = try SessionWorld(KeepingTests.machine.merging(["OIDC_STORE": "none"]) { $1 })
        defer { world.remove() }
        var program = world.program
        if !hasHome { program.environment["HOME"] = nil }
        let outcome = try program.run("token")
        #expect(outcome.status == 0)
        #expect(outcome.errorOutput == "")
        #expect(program.sessionFiles.isEmpty)
    }

    @Test("login fails before the sign-in starts if nothing can be stored")
    func loginNowhere() throws {
        let world = try SessionWorld()
        defer { world.remove() }
        var program = world.program
        program.environment["HOME"] = nil
        let outcome = try program.run("login", "--flow", "browser", "--no-browser", "--timeout", "2")
        #expect(outcome.status == 1)
        #expect(outcome.errorOutput.contains("OIDC_STATE_DIR"))
        #expect(!outcome.errorOutput.contains("code_challenge"))
    }

    @Test(
        "token --login prints its token even if nothing can be stored",
        .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"),
        arguments: ["HOME", "none"])
    func tokenLoginNowhere(variable: String) throws {
        let world = try SessionWorld { $0.user = .approves("alice") }
        defer { world.remove() }
        var program = world.program
        if variable == "HOME" {
            program.environment["HOME"] = nil
        } else {
            program.environment["OIDC_STORE"] = "none"
        }
        try world.install("browser", "#!/bin/sh\nexec curl -sL -o /dev/null \"$1\"\n")
        program.environment["BROWSER"] = world.program.home.appendingPathComponent("bin/browser").path
        let outcome = try program.run("token", "--login", "--set", "timeout=20")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(outcome.token.count > 10)
        #expect(outcome.errorOutput.contains("warning: ") == (variable == "HOME"))
    }

    @Test(
        "token --login signs in and prints its token if nothing can be written from the start",
        .disabled(if: Program.isThreadSanitized),
        .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"),
        arguments: [false, true])
    func tokenLoginUnstorable(hasDirectory: Bool) throws {
        var world = try SessionWorld { $0.user = .approves("alice") }
        defer { world.remove() }
        try world.install("browser", "#!/bin/sh\nexec curl -sL -o /dev/null \"$1\"\n")
        world.program.environment["BROWSER"] = world.program.home.appendingPathComponent("bin/browser").path
        if hasDirectory {
            world.program.environment["OIDC_CACHE_DIR"] = "/dev/full"
        } else {
            // No directory can be made there, and so no lock either.
            world.program.environment["OIDC_STATE_DIR"] = "/proc/sessions"
        }
        let words = ["token", "--login", "--set", "timeout=60"]
        let outcome = try world.runBelowShell(hasDirectory ? "ulimit -f 0" : ":", words)
        #expect(outcome.status == 0 && outcome.token.count > 10, "\(outcome)")
        #expect(outcome.errorOutput.contains("warning: the session could not be stored: "), "\(outcome)")
        #expect(try world.runBelowShell(hasDirectory ? "ulimit -f 0" : ":", ["login"]).status == 1)
    }

    @Test(
        "token --login prints its token if the store breaks during the sign-in",
        .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
    func tokenLoginBreaks() throws {
        let world = try SessionWorld { $0.user = .approves("alice") }
        defer { world.remove() }
        try world.install("browser", "#!/bin/sh\nexec curl -sL -o /dev/null \"$1\"\n")
        let browser = world.program.home.appendingPathComponent("bin/browser").path
        let run = try world.duringTokenRequest {
            try world.program.start(["token", "--login", "--set", "timeout=20"], ["BROWSER": browser])
        } _: { _ in
            try world.shell(#"mv "$1" "$1.old"; : > "$1""#, [world.directory.path])
        }
        let outcome = run.finish()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(outcome.token.count > 10)
        #expect(outcome.errorOutput.contains("could not be stored"))
    }
}
