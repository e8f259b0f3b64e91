import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("a sign-in by hand: authorize-url and exchange, by the built program", .serialized, .waiting)
struct BuildingBlockTests {
    /// Starts a sign-in and writes its output to a file of that mode; returns the file and the redirected URL.
    private func begin(
        _ mode: Int = 0o600, _ options: [String] = []
    ) throws -> (provider: ProviderServer, program: Program, pending: String, address: String) {
        let provider = try ProviderServer()
        let program = try Program(provider)
        let begun = try program.start(["authorize-url", "--set", "port=8484"] + options).finish()
        #expect(begun.status == 0, "\(begun.errorOutput)")
        let file = program.home.appendingPathComponent("pending.json")
        try Data(begun.output.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        let url = try #require(JSONValue(parsing: begun.output)["url"]?.string.flatMap(WebURL.init))
        let address = try #require(provider.redirect(of: url)).url.text
        #expect(address.hasPrefix("http://127.0.0.1:8484/callback?"))
        return (provider, program, file.path, address)
    }

    @Test("the redirected URL is exchanged for tokens, and nothing is stored")
    func exchange() throws {
        let (provider, program, pending, address) = try begin()
        defer { withExtendedLifetime(provider) { program.remove() } }
        let outcome = try program.run("exchange", "--pending", pending, input: address)
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(try JSONValue(parsing: outcome.output)["access_token"]?.string?.isEmpty == false)
        #expect(program.sessionFiles.isEmpty)
    }

    @Test("a signed answer is verified before its code is exchanged", arguments: [false, true])
    func signedAnswer(isForged: Bool) throws {
        let (provider, program, pending, address) = try begin(0o600, ["--set", "response_mode=jwt"])
        defer { program.remove() }
        #expect(address.contains("?response=") && !address.contains("code="))
        if isForged { try provider.with { for _ in 0..<2 { try $0.rotateKeys() } } }
        let outcome = try program.run("exchange", "--pending", pending, input: address)
        #expect(outcome.status == (isForged ? 7 : 0), "\(outcome)")
        #expect(provider.requestCount(.token) == (isForged ? 0 : 1))
    }

    @Test(
        "an option that names something else than the sign-in was started with is refused, not ignored",
        arguments: [
            ["--issuer", "https://a.example"], ["--client-id", "other"], ["--scope", "openid other"],
            ["--set", "client_id=other"],
        ])
    func otherThanStarted(option: [String]) throws {
        let (provider, program, pending, address) = try begin()
        defer { program.remove() }
        let run = try program.start(["exchange", "--pending", pending] + option, input: .text(address))
        let outcome = run.finish()
        #expect(outcome.status == 2 && outcome.output == "", "\(outcome)")
        let name = option[0] == "--set" ? "--set \(option[1].prefix { $0 != "=" })" : option[0]
        #expect(outcome.error == "\(name) is not the one that the sign-in was started with")
        #expect(provider.requestCount(.token) == 0)
    }

    @Test(
        "a URL whose scheme, host, port or path is not the redirect URI's is 7, and the code stays unused",
        arguments: [
            ("http://127.0.0.1:8484", "https://127.0.0.1:8484"),
            ("http://127.0.0.1:8484", "http://evil.example:8484"),
            ("http://127.0.0.1:8484", "http://127.0.0.1:8485"), ("/callback?", "/elsewhere?"),
        ])
    func elsewhere(part: String, other: String) throws {
        let (provider, program, pending, address) = try begin()
        defer { program.remove() }
        let moved = address.replacingOccurrences(of: part, with: other)
        let outcome = try program.run("exchange", "--pending", pending, input: moved)
        #expect(outcome.status == 7)
        #expect(outcome.output == "")
        #expect(outcome.error?.contains("expected http://127.0.0.1:8484/callback, found") == true)
        #expect(provider.requestCount(.token) == 0)
    }

    @Test(
        "a pending file that others may read or write is refused with a hint, and nothing is sent",
        arguments: [0o644, 0o640, 0o602])
    func openFile(mode: Int) throws {
        let (provider, program, pending, address) = try begin(mode)
        defer { program.remove() }
        let outcome = try program.run("exchange", "--pending", pending, input: address)
        #expect(outcome.status == 2)
        #expect(outcome.errorOutput.contains("try: chmod 600 \(pending)"))
        #expect(provider.requestCount(.token) == 0)
    }

    @Test("authorize-url with a grant that has no user is a usage error")
    func machineGrant() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.run("authorize-url", "--grant", "client_credentials")
        #expect(outcome.status == 2)
        #expect(outcome.output == "")
        #expect(outcome.error == "authorize-url is for users, and grant is client_credentials")
    }

    @Test(
        "an unknown prompt in a setting is sent with a warning, a known one without; none beside another is refused",
        arguments: [
            ("login", 0, false), ("login consent", 0, false), ("create", 0, false), ("zz", 0, true),
            ("login zz", 0, true), ("none login", 2, false),
        ])
    func prompt(value: String, status: Int32, isRemarkedOn: Bool) throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.run("authorize-url", "--set", "prompt=\(value)")
        #expect(outcome.status == status)
        #expect(outcome.errorOutput.contains("warning: unknown prompt \"zz\"") == isRemarkedOn)
        guard status == 0 else { return }
        let url = try JSONValue(parsing: outcome.output)["url"]?.string
        #expect(url?.contains("prompt=\(value.replacingOccurrences(of: " ", with: "%20"))") == true)
    }

    @Test(
        "a redirect URI that a browser would execute is refused",
        arguments: ["javascript:x", "data:,x"])
    func redirect(address: String) throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        for command in ["authorize-url", "login"] {
            let outcome = try program.run(command, "--set", "redirect_uri=\(address)")
            #expect(outcome.status == 2)
            #expect(outcome.error?.hasPrefix("redirect_uri: ") == true)
        }
    }

    @Test("a value that is not valid is quoted as it was typed")
    func words() throws {
        let program = try Program()
        defer { program.remove() }
        let shell = try program.run("completions", "pwsh")
        #expect(shell.status == 2)
        #expect(shell.error == "expected bash, zsh or fish, not 'pwsh'")
        let claim = try program.run("userinfo", "--claim", "")
        #expect(claim.status == 2)
        #expect(claim.error == "--claim takes the name of a claim, not ''")
    }

    @Test("the hint after a refusal starts the next sign-in by hand, not in a browser")
    func nextByHand() throws {
        let (provider, program, pending, address) = try begin()
        defer { program.remove() }
        #expect(try program.run("exchange", "--pending", pending, input: address).status == 0)
        let again = try program.run("exchange", "--pending", pending, input: address)
        #expect(again.status == 4 && provider.requestCount(.token) == 2)
        let hint = try #require(again.errorOutput.split(separator: "\n").last)
        #expect(
            hint.hasPrefix("  try: (umask 077; oidc authorize-url --issuer \(provider.origin) "), "\(again)")
        #expect(hint.hasSuffix(" > \(pending))"), "\(again)")
    }
}
