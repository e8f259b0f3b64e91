import CommandLineKit
import Foundation
import LoopbackHTTP
import OIDCCore
import OIDCShared
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("the settings of a shared store")
struct SharedStoreSettingsTests {
    private func settings(_ variables: [String: String]) throws -> Settings {
        try SettingsLoader(environment: Variables(variables), common: CommonOptions()).load(from: nil, in: "")
    }

    @Test("a password is not taken from the command line, and not shown")
    func password() throws {
        for word in ["store=redis://:hunter2@h", "store=etcd://u:hunter2@", "store=redis://hunter2@h/x"] {
            let refusal = #expect(throws: OIDCError.self) { try SettingsLoader.assignment(word) }
            #expect(refusal?.kind == .usage && refusal?.message.contains("hunter2") == false)
        }
        _ = try SettingsLoader.assignment("store=redis://h")
        for (url, shown) in [
            ("redis://:hunter2@h", "redis://:(secret)@h:6379/0"), ("redis://:hunter2@h/x", "(not shown)"),
            ("file", "file"),
        ] {
            let entry = try #require(try settings(["OIDC_STORE": url]).layers.entries.first)
            #expect(ConfigShowCommand.redacted(entry) == .string(shown))
        }
    }

    @Test("a shared store needs a key, which is a file or a program")
    func key() throws {
        let none = try settings(["OIDC_STORE": "redis://h", "OIDC_ISSUER": "https://op.example"])
        let refusal = #expect(throws: OIDCError.self) { try none.check() }
        #expect(refusal?.message.contains("store_key_file or store_key_command") == true)
        for key in ["OIDC_STORE_KEY_FILE": "/k", "OIDC_STORE_KEY_COMMAND": #"["k"]"#] {
            try settings(["OIDC_STORE": "redis://h", key.key: key.value]).check()
        }
        try settings(["OIDC_STORE": "keychain"]).check()
    }

    @Test("a server that does not answer keeps a short sign-in from ending for five seconds at most")
    func silentServer() throws {
        let silent = try LoopbackServer()
        let program = try Program()
        defer {
            silent.close()
            program.remove()
        }
        let file = program.home.appendingPathComponent("store.key").path
        #expect(try program.run("config", "new-key", file).status == 0)
        let login = try program.run(
            "login", "--timeout", "1", "--issuer", "http://127.0.0.1:1", "--client-id", "c",
            variables: ["OIDC_STORE": "redis://127.0.0.1:\(silent.port)", "OIDC_STORE_KEY_FILE": file])
        #expect(login.status == 5 && login.errorOutput.contains("no answer within 5 s"), "\(login)")
    }

    @Test("new-key makes a private file once, or prints another key each time")
    func newKey() throws {
        let program = try Program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("store.key").path
        #expect(try program.run("config", "new-key", file).status == 0)
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let kept = try String(contentsOfFile: file, encoding: .utf8)
        #expect(try program.run("config", "new-key", file).status == 2)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == kept && kept.utf8.count == 44)
        let printed = [
            try program.run("config", "new-key").output, try program.run("config", "new-key", "-").output,
        ]
        #expect(printed[0] != printed[1] && printed.allSatisfy { $0.utf8.count == 44 })
    }

    @Test(
        "a file with the password of a store is refused if others may read it, also one with many profiles",
        arguments: ["%p", #"{"profiles":{"a":%p}}"#, #"{"profiles":{"default":{"client_id":"y"},"b":%p}}"#])
    func openFile(form: String) throws {
        let program = try Program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("config.json")
        let profile =
            #"{"issuer":"https://op.example","client_id":"x","store":"redis://:hunter2@h","store_key_file":"k"}"#
        try Data(form.replacing("%p", with: profile).utf8).write(to: file)
        for (mode, status) in [(0o644, Int32(2)), (0o600, 0)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
            let outcome = try program.run("config", "show", "--config", file.path)
            #expect(outcome.status == status)
            #expect(!(outcome.output + outcome.errorOutput).contains("hunter2"))
        }
    }

    @Test("config check warns of a key file that is not there")
    func missingKey() throws {
        let program = try Program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("config.json")
        let profile =
            #"{"issuer":"https://op.example","client_id":"x","store":"redis://h","store_key_file":"/nowhere/key"}"#
        try Data(profile.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        let outcome = try program.run("config", "check", "--config", file.path)
        #expect(outcome.errorOutput.contains("warning: store_key_file: there is no file /nowhere/key"))
    }

    @Test("a program may print the key as it is in a file: 32 bytes, or a line")
    func keyCommand() throws {
        let directory = try Program()
        defer { directory.remove() }
        let file = directory.home.appendingPathComponent("raw.key")
        // Neither UTF-8, nor without a line end.
        let key = [0xFF] + [UInt8](repeating: 7, count: 30) + [0x0A]
        let settings = try settings(["OIDC_STORE_KEY_COMMAND": #"["cat","\#(file.path)"]"#]).sharedStore
        let secrets = SecretReader(
            environment: { Variables(ProcessInfo.processInfo.environment) }, deadline: nil, warn: { _ in })
        let expected = try SealingKeys(key, source: "raw").ids
        for bytes in [key, Array("\(Base64.encode(key))\n".utf8)] {
            try Data(bytes).write(to: file)
            #expect(try secrets.storeKeys(settings).ids == expected)
        }
    }

    @Test("an unusable store is an error, not a missing session", arguments: ["status", "token"])
    func unusable(command: String) throws {
        let program = try Program()
        defer { program.remove() }
        let provider = ["--issuer", "https://op.example", "--client-id", "x"]
        let helper = try program.start(
            [command, "--set", "store=helper:nowhere"] + provider, input: .none
        ).finish()
        #expect(helper.status == 2 && helper.errorOutput.contains("docker-credential-nowhere is not on PATH"))
        let keychain = try program.start(
            [command, "--set", "store=keychain"] + provider, input: .none
        ).finish()
        #expect(keychain.status == 1 && keychain.errorOutput.contains("no D-Bus session bus"))
    }

    @Test("config set and unset say that a session stays on the server that store named before")
    func moved() throws {
        let program = try Program()
        defer { program.remove() }
        for (word, isNoted) in [
            ("store=redis://h/1", false), ("scope=a", false), ("store=file", true), ("store=file", false),
        ] {
            let words = [
                "config", "set", "issuer=https://op.example", "client_id=x", "store_key_file=k", word,
            ]
            let outcome = try program.start(words, input: .none).finish()
            #expect(outcome.status == 0, "\(outcome.errorOutput)")
            #expect(outcome.errorOutput.contains("the session on redis://h:6379/1 stays there") == isNoted)
        }
        for word in ["store=redis://h/1", "store=file"] {
            let words = ["config", "set", "-p", "default", "--config", ".config/oidc/config.json", word]
            let named = try program.start(words, input: .none).finish()
            let line = "set store back and run oidc logout -p default --config .config/oidc/config.json\n"
            #expect(
                named.status == 0 && named.errorOutput.contains(line) == (word == "store=file"), "\(named)")
        }
        for (words, isNoted) in [
            (["set", "store=redis://h/1"], false), (["unset", "scope"], false), (["unset", "store"], true),
        ] {
            let outcome = try program.start(["config"] + words, input: .none).finish()
            let line = "redis://h:6379/1 stays there: to end it, set store back and run oidc logout\n"
            #expect(outcome.status == 0 && outcome.errorOutput.contains(line) == isNoted, "\(outcome)")
        }
    }

    @Test("a session in a file that another profile uses is no earlier session of this one")
    func othersFile() throws {
        let provider = try ProviderServer()
        let program = try Program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("config.json")
        let own = #""issuer":"\#(provider.origin)","client_id":"demo","scope":"openid""#
        for (others, isEarlier) in [("", true), (#","f":{\#(own)}"#, false)] {
            try Data(#"{"profiles":{"r":{\#(own),"store":"helper:nowhere"}\#(others)}}"#.utf8).write(to: file)
            if isEarlier {
                #expect(
                    try program.signIn(at: provider, ["--config", file.path, "--set", "store=file"]).status
                        == 0)
            }
            let status = try program.run("status", "-p", "r", "--config", file.path)
            #expect(
                status.errorOutput.contains("a session is still in") == isEarlier, "\(status.errorOutput)")
        }
    }
}
