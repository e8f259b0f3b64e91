import Foundation
import OIDCCore
import OIDCSessions
import Posix
import TestSupport
import Testing

@Suite("the hint of an error, in the built program", .serialized, .waiting)
struct ErrorHintTests {
    private struct Slip: CustomTestStringConvertible, Sendable {
        let arguments: [String]
        var variables: [String: String] = [:]
        let hint: String

        var testDescription: String { arguments.joined(separator: " ") }
    }

    private static let slips = [
        Slip(arguments: ["token", "--set", "foo=bar"], hint: "oidc help settings"),
        Slip(
            arguments: ["token", "--issuer", "login.example.com", "--client-id", "x"],
            hint: "--issuer https://login.example.com"),
        Slip(arguments: ["pkce", "--verifier-file", "none"], hint: "check the path in --verifier-file"),
        Slip(arguments: ["exchange", "--pending", "none"], hint: "check the path in --pending"),
        Slip(arguments: ["exec", "--", "nosuch"], hint: "check its name and PATH"),
        Slip(arguments: ["exec", "--", "/dev/null"], hint: "check that the file may be executed"),
        Slip(
            arguments: ["config", "init"], variables: ["OIDC_ISSUER": "https://a.example"],
            hint: "--issuer URL --client-id ID"),
        Slip(
            arguments: ["config", "init", "--issuer", "https://a.example"],
            hint: "--issuer https://a.example --client-id ID"),
        Slip(
            arguments: ["pkce", "--verifier-file", String(repeating: "a", count: 700)],
            hint: "check the path in --verifier-file"),
        Slip(
            arguments: ["token", "--config", String(repeating: "a", count: 700)],
            hint: "check the path in --config or OIDC_CONFIG"),
        Slip(arguments: ["token"], hint: "oidc login"),
        Slip(
            arguments: [
                "config", "init", "-p", "a\nb", "--issuer", "https://127.0.0.1:9", "--client-id", "x",
            ],
            hint: "-p NAME"),
    ]

    @Test("a typing mistake is an error with a hint", arguments: slips)
    private func hints(slip: Slip) throws {
        let program = try Program()
        defer { program.remove() }
        let outcome = try program.start(slip.arguments, slip.variables).finish()
        #expect(outcome.status != 0)
        let hint = outcome.errorOutput.split(separator: "\n").last
        #expect(hint?.hasPrefix("  try: ") == true && hint?.contains(slip.hint) == true, "\(outcome)")
        #expect(!FileManager.default.fileExists(atPath: program.home.path + "/.config"))
    }

    @Test("an operand that is not a token is an error that says what a token is")
    func junk() throws {
        let program = try Program()
        defer { program.remove() }
        let outcome = try program.run("inspect", "-", input: "junk")
        #expect(outcome.status == 7)
        #expect(outcome.errorOutput.contains("  try: a signed token has three parts"))
    }

    @Test("a hint does not repeat a long value in full")
    func length() throws {
        let program = try Program()
        defer { program.remove() }
        let outcome = try program.run(
            "token", "--issuer", "https://a.example", "--client-id", "c", "--audience",
            String(repeating: "a", count: 500))
        let hint = outcome.errorOutput.split(separator: "\n").last
        #expect(hint?.contains("--client-id c --audience aaa") == true && hint?.hasSuffix("…") == true)
        #expect((hint?.count ?? 0) < 200)
    }

    @Test("a file without keys is an error that says where keys are")
    func keys() throws {
        let program = try Program()
        defer { program.remove() }
        try Data("{}".utf8).write(to: program.home.appendingPathComponent("keys.json"))
        let outcome = try program.run(
            "inspect", "--jwks", "keys.json", "-", input: "eyJhbGciOiJSUzI1NiJ9.e30.AA")
        #expect(outcome.status == 2)
        #expect(outcome.errorOutput.contains("  try: use the document at the provider's jwks_uri"))
    }

    @Test("a directory that cannot be created is an error that names its variable")
    func directory() throws {
        let provider = try ProviderServer()
        let program = try Program(
            provider, client: "demo-confidential",
            ["OIDC_CLIENT_SECRET": "demo-secret", "OIDC_GRANT": "client_credentials"])
        defer { program.remove() }
        let outcome = try program.run("token", variables: ["OIDC_STATE_DIR": "/proc/none"])
        #expect(outcome.errorOutput.contains("OIDC_STATE_DIR"), "\(outcome)")
    }

    @Test("without an issuer, the error lists the profiles; broken JSON is an error with a hint")
    func profiles() throws {
        let program = try Program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("config.json")
        try Data(#"{"profiles":{"home":{},"work":{}}}"#.utf8).write(to: file)
        let several = try program.run("token", "--config", file.path)
        #expect(several.status == 2)
        #expect(several.errorOutput.contains("choose a profile with -p: home, work"))
        for command in [["config", "show"], ["doctor"]] {
            let outcome = try program.start(command + ["--config", file.path], [:]).finish()
            let text = outcome.output + outcome.errorOutput
            #expect(text.contains("choose a profile with -p: home, work"), "\(outcome)")
            #expect(!text.contains("config init"), "\(outcome)")
        }
        try Data(#"{"profiles":"#.utf8).write(to: file)
        let broken = try program.run("token", "--config", file.path)
        #expect(broken.status == 2)
        #expect(broken.errorOutput.contains("  try: fix it, then: oidc config check"))
    }

    @Test(
        "an unknown member of a list of objects is named beside those that are known",
        arguments: [
            (#"docker_registries=[{"host":"a.example","user":"x"}]"#, "user", "host and optionally username"),
            (#"resources=[{"title":"a","url":"https://a","verb":"x"}]"#, "verb", "scope, method"),
        ])
    func member(assignment: String, unknown: String, known: String) throws {
        let program = try Program()
        defer { program.remove() }
        let option = try program.run("config", "show", "--set", assignment)
        #expect(option.status == 2)
        #expect(option.error?.contains("unknown member \"\(unknown)\"") == true)
        #expect(option.error?.contains(known) == true, "\(option.errorOutput)")
        let file = program.home.appendingPathComponent("config.json")
        let parts = assignment.split(separator: "=", maxSplits: 1)
        try Data("{\"\(parts[0])\":\(parts[1])}".utf8).write(to: file)
        let profile = try program.run("config", "show", "--config", file.path)
        #expect(profile.error?.contains("unknown member \"\(unknown)\"") == true, "\(profile.errorOutput)")
    }

    @Test("an empty resource is refused by every command, before anything is sent")
    func emptyResource() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        try program.storeSession(at: provider)
        for words in [
            ["--resource="], ["--set", "resource="], ["--set", #"resource=["https://a.example",""]"#],
        ] {
            let outcome = try program.start(["token"] + words).finish()
            #expect(outcome.status == 2 && outcome.output == "", "\(outcome)")
        }
        #expect(try program.run("token", variables: ["OIDC_RESOURCE": #"[""]"#]).status == 2)
        #expect(try program.run("token").status == 0 && provider.requestCount(grant: "refresh_token") == 0)
    }

    @Test(
        "without a store, the hint signs in and prints what was asked for, instead of leading in a circle",
        arguments: [
            (["token"], "oidc token --login"), (["userinfo"], "oidc userinfo --login"),
            (["exec", "--", "true"], "give --login"), (["status"], "oidc token --login"),
        ])
    func storeNone(words: [String], hint: String) throws {
        let program = try Program([
            "OIDC_STORE": "none", "OIDC_ISSUER": "https://a.example", "OIDC_CLIENT_ID": "x",
        ])
        defer { program.remove() }
        let outcome = try program.start(words).finish()
        #expect(outcome.status == 3)
        #expect(outcome.errorOutput.hasSuffix("  try: \(hint)\n"), "\(outcome)")
        #expect(outcome.error?.contains("store is none") == true)
    }

    @Test("after a device code that nobody entered, the hint starts the same sign-in")
    func deviceFlow() throws {
        let provider = try ProviderServer()
        let program = try Program()
        defer { program.remove() }
        let words = ["--issuer", provider.origin, "--client-id", "demo", "--account", "two"]
        let outcome = try program.start(
            ["login"] + words + ["--scope", "openid", "--flow", "device", "--timeout", "1"]
        ).finish()
        #expect(outcome.status == 6)
        let hint = "oidc login \(words.joined(separator: " ")) --scope openid --flow device --timeout 900"
        #expect(outcome.errorOutput.hasSuffix("  try: \(hint)\n"), "\(outcome)")
    }

    @Test(
        "where only a resource was signed in to, the hint is a command that works for it, if there is one",
        arguments: [
            ("token", "oidc login URL"), ("inspect", "oidc login URL"), ("introspect", "oidc login URL"),
            ("revoke", "oidc login URL"),
            ("userinfo", "name a profile of a provider with -p: oidc config list"),
        ])
    func resourceSession(command: String, hint: String) throws {
        let program = try Program()
        defer { program.remove() }
        let resource = "https://mcp.example/mcp"
        var session = try InMemoryProvider().signIn()
        session.key = SessionKey(provider: "https://a.example", clientID: "demo")
        session.key.resources = [resource]
        let store = SessionStore(directory: program.home.appendingPathComponent(".local/state/oidc").path)
        try store.withLock(session.key, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            try store.save(session, replacingDamaged: false)
        }
        let outcome = try program.run(command)
        #expect(outcome.status == (command == "userinfo" ? 2 : 3))
        let expected = hint.replacingOccurrences(of: "URL", with: resource)
        #expect(outcome.errorOutput.hasSuffix("  try: \(expected)\n"), "\(outcome)")
    }

    @Test("--json beside another format is refused, wherever it stands")
    func formats() throws {
        let program = try Program()
        defer { program.remove() }
        for words in [
            ["--json", "config", "path", "-o", "text"], ["config", "path", "-o", "text", "--json"],
        ] {
            let outcome = try program.start(words).finish()
            #expect(outcome.status == 2 && outcome.output == "", "\(outcome)")
            #expect(
                outcome.errorOutput.contains("--json and --output text cannot be used together"), "\(outcome)"
            )
        }
        #expect(try program.run("config", "path", "--json", "-o", "json").status == 0)
    }

    @Test("a profile that names no provider is completed by the hint; a new one of its name would be refused")
    func incompleteProfile() throws {
        let program = try Program()
        defer { program.remove() }
        let empty = try program.run("status", "--all")
        #expect(empty.status == 3, "\(empty)")
        #expect(
            empty.errorOutput.hasSuffix("try: oidc login\n"), "\(empty)")
        #expect(try program.run("config", "set", "scope=openid").status == 0)
        let line = "try: oidc config set -p default issuer=URL"
        for words in [["token"], ["status", "--all"], ["userinfo"], ["doctor"]] {
            let outcome = try program.start(words).finish()
            let text = outcome.output + outcome.errorOutput
            #expect(outcome.status != 0 && text.contains("\(line) client_id=ID\n"), "\(outcome)")
        }
        let named = try program.run("token", "--client-id", "x")
        #expect(named.errorOutput.hasSuffix("\(line)\n"), "\(named)")
        #expect(
            try program.run("config", "set", "-p", "default", "issuer=https://a.example", "client_id=x")
                .status == 0)
    }

    @Test("sessions without a profile are named by all that tells them apart")
    func accounts() throws {
        let program = try Program()
        defer { program.remove() }
        let store = SessionStore(directory: program.home.appendingPathComponent(".local/state/oidc").path)
        for account in ["bob", "eve"] {
            var session = try InMemoryProvider().signIn()
            session.key = SessionKey(provider: "https://a.example", clientID: "demo", account: account)
            try store.withLock(session.key, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
                try store.save(session, replacingDamaged: false)
            }
        }
        let outcome = try program.run("token")
        for account in ["bob", "eve"] {
            let options = "--issuer https://a.example --client-id demo --account \(account)"
            #expect(outcome.status == 2 && outcome.errorOutput.contains(options), "\(outcome)")
            #expect(
                try program.start(["status"] + options.split(separator: " ").map(String.init)).finish().status
                    == 0)
        }
    }

    @Test("the command that status names for a grant without a user is for the same provider and grant")
    func machineStatus() throws {
        let program = try Program()
        defer { program.remove() }
        let words = ["--issuer", "https://a.example", "--client-id", "c", "--grant", "client_credentials"]
        let outcome = try program.start(["status"] + words).finish()
        #expect(outcome.status == 0, "\(outcome)")
        let line = try #require(outcome.output.firstMatch(of: /; (oidc token .*) requests one with/)).1
        for option in ["--issuer https://a.example", "--client-id c", "--grant client_credentials"] {
            #expect(line.contains(option), "\(line)")
        }
    }
}
