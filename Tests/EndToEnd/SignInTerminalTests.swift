import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

/// The built program on terminals of given sizes.
@Suite(
    "a sign-in on a terminal, by the built program", .serialized, .waiting,
    .enabled(if: Installed.programs("setsid"), "setsid is not installed"))
struct SignInTerminalTests {
    private func world(_ user: DemoConfiguration.User = .atBrowser) throws -> SessionWorld {
        try SessionWorld {
            $0.user = user
            $0.deviceInterval = 1
        }
    }

    /// Starts a sign-in, and returns once it waits for the user.
    private func waitingLogin(
        _ world: SessionWorld, _ options: [String] = ["--no-browser"],
        _ variables: [String: String] = ["DISPLAY": ""], columns: UInt16 = 80, rows: UInt16 = 24
    ) throws -> TerminalRun {
        let run = try TerminalRun(
            world.program, ["login"] + options, columns: columns, rows: rows, variables)
        _ = try #require(run.wait { $0.contains(" left") ? 0 : nil })
        return run
    }

    private func authorizationURL(_ run: TerminalRun) -> WebURL? {
        run.wait { text in
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
                .first { $0.contains("code_challenge=") }.flatMap { WebURL($0) }
        }
    }

    private func hasCode(_ rows: [String]) -> Bool {
        let code = #/ +[A-Z]{4}-[A-Z]{4}/#
        return rows.contains { $0.contains("/device") } && rows.contains { $0.wholeMatch(of: code) != nil }
    }

    @Test(
        "a pasted URL wins against a device code; it is not shown, and the last lines say who, where, until when and the scopes"
    )
    func paste() throws {
        let world = try world()
        defer { world.remove() }
        let run = try TerminalRun(
            world.program, ["login", "--flow", "auto"], ["DISPLAY": "", "SSH_TTY": "/dev/pts/0"])
        let url = try #require(authorizationURL(run))
        _ = try #require(
            run.wait { $0.contains("waiting for your browser, a pasted URL or the device code") ? 0 : nil }
        )
        let callback = try #require(world.provider.redirect(of: url)).url.text
        run.type(callback)
        let count = callback.utf8.count
        _ = run.wait { $0.contains("press Enter: \(count) characters pasted") ? 0 : nil }
        run.type("\r")
        let (status, text) = run.finish()
        #expect(status == 0, "\(text)")
        #expect(!text.contains("&code=") && !text.contains("?code=") && !text.contains(callback))
        let lines = text.split(separator: "\n").suffix(4)
        #expect(
            lines.first?.hasSuffix("\u{1B}[32m✓\u{1B}[0m Signed in as alice@example.com") == true, "\(text)")
        #expect(lines.dropFirst().first == "  where  \(world.provider.origin)")
        let until = try #require(lines.dropFirst(2).first)
        #expect(until.firstMatch(of: /^  until  (\d{4}-\d\d-\d\d )?\d\d:\d\d, in [45] minutes; then/) != nil)
        #expect(lines.last?.hasPrefix("  scope  openid") == true, "\(text)")
        #expect(world.program.sessionFiles.count == 1)
    }

    @Test("beside a command that has the terminal, all of the URL is shown, as no key can ask for it")
    func besideCommand() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        // The proxy looks at an ended session again after a second.
        let script = #"""
            "$0" logout --local; sleep 1.2
            url=${OIDC_PROXY_URL#http://}; host=${url%%/*}
            exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
            printf 'GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "${url#*/}" "$host" >&3
            cat <&3
            """#
        let run = try TerminalRun(
            world.program,
            [
                "exec", "--login", "--proxy", "\(world.provider.origin)/userinfo", "--", "bash", "-c", script,
                Program.path,
            ], ["BROWSER": "/bin/true"])
        let url = try #require(authorizationURL(run))
        _ = try Visit.send(try #require(world.provider.redirect(of: url)))
        let (status, text) = run.finish()
        #expect(status == 0 && text.contains("alice") && !text.contains("shows all of it"), "\(text)")
    }

    @Test(
        "the terminal shows what is typed again, however a sign-in is stopped",
        arguments: ["\u{3}", "\u{1C}"])
    func echo(key: String) throws {
        let world = try world()
        defer { world.remove() }
        let run = try waitingLogin(world)
        #expect(!run.echoes)
        run.type(key)
        #expect(run.finish().status != 0)
        #expect(run.echoes)
    }

    @Test("after the end of input nobody is invited to paste, and the terminal is as it was")
    func endOfInput() throws {
        let world = try world()
        defer { world.remove() }
        let run = try TerminalRun(world.program, ["login", "--no-browser"], ["DISPLAY": ""])
        _ = try #require(run.wait { $0.contains("waiting for your browser or a pasted URL") ? 0 : nil })
        run.type("\u{4}")
        _ = try #require(run.wait { $0.contains("waiting for your browser\u{1B}[K") ? 0 : nil })
        #expect(run.echoes)
        run.type("\u{3}")
        #expect(run.finish().status == 130)
        #expect(run.echoes)
    }

    @Test("what is pasted stays hidden after a shell has stopped the program and let it go on")
    func resumed() throws {
        let world = try world()
        defer { world.remove() }
        let run = try waitingLogin(world)
        #expect(run.resetModes())
        #expect(run.wait { _ in run.echoes ? nil : 0 } != nil)
        run.type("\u{3}")
        #expect(run.finish().status == 130)
        #expect(run.echoes)
    }

    @Test("the URL is a link on a terminal that is known to show links", arguments: [true, false])
    func link(isKnown: Bool) throws {
        let world = try world()
        defer { world.remove() }
        let terminal = isKnown ? "xterm-kitty" : "xterm-256color"
        let run = try waitingLogin(
            world, ["--no-browser"], ["DISPLAY": "", "TERM": terminal, "LC_ALL": "C"])
        run.type("\u{3}")
        let text = run.finish().text
        let url = try #require(text.firstMatch(of: #/http://[!-\[\]-~]*code_challenge=[!-\[\]-~]*/#)).output
        let link = "\n  \u{1B}]8;;\(url)\u{1B}\\\(url)\u{1B}]8;;\u{1B}\\\n"
        #expect(text.contains(link) == isKnown && text.contains("\u{1B}]") == isKnown, "\(text)")
        #expect(text.utf8.allSatisfy { $0 < 0x80 })
    }

    @Test("a terminal without UTF-8 gets ASCII only, also on stdout")
    func ascii() throws {
        let program = try Program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("config.json")
        try Data(#"{"profiles":{"häuser":{"issuer":"https://a.example","client_id":"x"}}}"#.utf8).write(
            to: file)
        let arguments = ["config", "list", "--config", file.path]
        let (status, text) = try TerminalRun(program, arguments, ["LC_ALL": "C"]).finish()
        #expect(status == 0 && text.contains("h?user") && text.utf8.allSatisfy { $0 < 0x80 }, "\(text)")
    }

    @Test("a device code that is approved elsewhere wins against the URL")
    func device() throws {
        let world = try world(.approves("alice"))
        defer { world.remove() }
        let run = try TerminalRun(world.program, ["login"], ["DISPLAY": ""])
        let (status, text) = run.finish()
        #expect(status == 0 && text.contains("Signed in as alice@example.com"), "\(text)")
        #expect(world.program.sessionFiles.count == 1)
    }

    @Test("a refused device grant is one line, and pasting still signs in; with --flow device it is 4")
    func refused() throws {
        let world = try world()
        defer { world.remove() }
        world.provider.with { $0.faults = [.refuses(.device, "unauthorized_client")] }
        let run = try TerminalRun(world.program, ["login"], ["DISPLAY": ""])
        let url = try #require(authorizationURL(run))
        _ = try #require(run.wait { $0.contains("No device code: ") ? 0 : nil })
        run.type("\(try #require(world.provider.redirect(of: url)).url.text)\r")
        let (status, text) = run.finish()
        #expect(status == 0 && text.components(separatedBy: "No device code: ").count == 2, "\(text)")
        let alone = try world.program.run("login", "--flow", "device")
        #expect(alone.status == 4 && alone.errorOutput.contains("try: allow the device grant"), "\(alone)")
    }

    @Test(
        "URL and code are the last rows; the QR code is drawn only if everything fits",
        arguments: [
            (80, 24, true), (40, 28, true), (40, 24, false), (36, 24, false), (80, 22, false),
            (200, 60, true),
            (20, 10, false),
        ] as [(UInt16, UInt16, Bool)])
    func sizes(columns: UInt16, rows: UInt16, isDrawn: Bool) throws {
        let world = try world()
        defer { world.remove() }
        let run = try waitingLogin(world, ["--flow", "device"], [:], columns: columns, rows: rows)
        run.type("\u{3}")
        let (status, text) = run.finish()
        #expect(status == 130)
        #expect(text.contains("█") == isDrawn, "\(text)")
        let shown = text.components(separatedBy: "\r").first ?? ""
        let screen = shown.lastRows(Int(rows) - 1, columns: Int(columns))
        #expect(hasCode(Array(screen.suffix(columns < 40 ? 8 : 4))), "\(screen)")
    }

    @Test(
        "no escape sequence with NO_COLOR or TERM=dumb, and only ASCII without a UTF-8 locale",
        arguments: [["NO_COLOR": "1"], ["TERM": "dumb"], ["LANG": "C"], ["LC_ALL": "C", "NO_COLOR": "1"]])
    func plain(variables: [String: String]) throws {
        let world = try world()
        defer { world.remove() }
        for options in [["--flow", "device"], ["--flow", "paste"]] {
            let run = try TerminalRun(world.program, ["login", "--set", "prompt=odd"] + options, variables)
            _ = run.wait { $0.contains("/device\n") || $0.contains("press Enter") ? 0 : nil }
            run.type("\u{3}")
            let (status, text) = run.finish()
            #expect(status == 130, "\(text)")
            #expect(text.contains("warning: unknown prompt") || variables["LANG"] != nil)
            if variables["LANG"] == nil { #expect(!text.contains("\u{1B}"), "\(text)") }
            if variables["LANG"] != nil || variables["LC_ALL"] != nil {
                #expect(text.utf8.allSatisfy { $0 < 0x80 }, "\(text)")
            }
        }
    }

    @Test("errors are red and warnings yellow, on a terminal only")
    func colors() throws {
        let world = try world()
        defer { world.remove() }
        let options = ["login", "--set", "prompt=odd", "--timeout", "1", "--flow", "paste"]
        let (status, text) = try TerminalRun(world.program, options).finish()
        #expect(status == 6)
        #expect(text.contains("\u{1B}[33mwarning:\u{1B}[0m unknown prompt \"odd\""), "\(text)")
        #expect(
            text.contains(
                "\u{1B}[31merror:\u{1B}[0m timed out waiting for the sign-in\n  try: if the browser"))
        let piped = try world.program.start(options).finish()
        #expect(!piped.errorOutput.contains("\u{1B}") && piped.errorOutput.contains("\nerror: timed out"))
    }

    @Test("a variable that is nearly one of ours is a warning on a terminal, and nothing in a log")
    func strayVariables() throws {
        let program = try Program()
        defer { program.remove() }
        let variables = ["OIDC_SCOPES": "a", "OIDC_CLIENTID": "b", "OIDC_TENANT_OF_OTHERS": "c"]
        let (_, text) = try TerminalRun(program, ["status"], variables).finish()
        #expect(text.contains("OIDC_SCOPES is not read, did you mean OIDC_SCOPE?"), "\(text)")
        #expect(text.contains("OIDC_CLIENTID is not read, did you mean OIDC_CLIENT_ID?"), "\(text)")
        #expect(!text.contains("OTHERS"))
        #expect(try !program.start(["status"], variables).finish().errorOutput.contains("OIDC_SCOPES"))
    }
}
