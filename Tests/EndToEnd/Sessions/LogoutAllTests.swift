import DemoProvider
import Foundation
import OIDCCore
import Synchronization
import TestSupport
import Testing

@Suite("Signing out everywhere", .serialized, .waiting)
struct LogoutAllTests {
    private let first: ProviderServer
    private let second: ProviderServer
    private let oidc: Program
    /// The revocation requests that the second provider received.
    private let revocations = RequestLog()

    init() throws {
        first = try ProviderServer()
        second = try ProviderServer()
        oidc = try Program()
        second.intercept { [revocations] request in
            if request.url.path == "/revoke" { revocations.note(request) }
            return nil
        }
        for (name, secret) in [("a", "SECRET-OF-A"), ("b", "demo-secret")] {
            try Data(secret.utf8).write(to: oidc.home.appendingPathComponent(name))
        }
        for name in ["a", "b"] {
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: oidc.home.appendingPathComponent(name).path)
        }
    }

    private func configure(_ second: [String: String]?, and more: [String: [String: String]] = [:]) throws {
        var profiles = [
            "a": [
                "issuer": first.origin, "client_id": "demo-confidential",
                "client_secret_file": oidc.home.appendingPathComponent("a").path,
            ]
        ]
        profiles["b"] = second
        profiles.merge(more) { $1 }
        let directory = oidc.home.appendingPathComponent(".config/oidc")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try JSONSerialization.data(withJSONObject: ["default_profile": "a", "profiles": profiles])
            .write(to: directory.appendingPathComponent("config.json"))
    }

    private var profileB: [String: String] {
        [
            "issuer": second.origin, "client_id": "demo-confidential", "scope": "openid offline_access",
            "client_secret_file": oidc.home.appendingPathComponent("b").path,
        ]
    }

    @Test("logout names the sessions of the client's other accounts, each with a command line that ends it")
    func otherAccounts() throws {
        defer { oidc.remove() }
        try configure(
            ["issuer": second.origin, "client_id": "demo"],
            and: ["c": ["issuer": first.origin, "client_id": "demo"]])
        for options in [["-p", "b"], ["-p", "b", "--account", "bob"], ["-p", "b", "--account", "eve x"]] {
            #expect(try oidc.signIn(at: second, options).status == 0)
        }
        #expect(try oidc.signIn(at: first, ["-p", "c", "--account", "bob"]).status == 0)
        func line(_ account: String, _ quoted: String) -> String {
            "warning: you are still signed in with account \(account) at \(second.origin) "
                + "(oidc logout -p b \(second.origin) --account \(quoted))\n"
        }
        let both = line("bob", "bob") + line("eve x", "'eve x'")
        let outcome = try oidc.run("logout", "-p", "b")
        #expect(outcome.status == 0 && outcome.errorOutput.contains(both), "\(outcome)")
        let none = try oidc.run("logout", "-p", "b")
        #expect(none.errorOutput == both + "there was no session\n", "\(none)")
        // Who names an account means that one.
        let named = try oidc.run("logout", "-p", "b", "--account", "bob")
        #expect(named.status == 0 && !named.errorOutput.contains("warning"), "\(named)")
        let last = try oidc.run("logout", "-p", "b", second.origin, "--account", "eve x")
        #expect(last.status == 0 && !last.errorOutput.contains("warning"), "\(last)")
        #expect(try oidc.run("logout", "-p", "b").errorOutput == "there was no session\n")
        #expect(oidc.sessionFiles.count == 1)
    }

    @Test("each session is revoked as its own client, with its own profile's secret")
    func ownClient() throws {
        defer { oidc.remove() }
        try configure(profileB)
        #expect(try oidc.signIn(at: second, ["-p", "b"]).status == 0)
        let result = try oidc.run("logout", "--all")
        #expect(result.status == 0, "\(result.errorOutput)")
        #expect(revocations.all.count == 2)
        let expected = "Basic " + Data("demo-confidential:demo-secret".utf8).base64EncodedString()
        #expect(revocations.all.allSatisfy { $0.headers["Authorization"] == expected })
        #expect(try oidc.run("status", "--all").status == 3)
        let again = try oidc.run("logout", "--all")
        #expect(again.status == 0 && again.errorOutput == "there was no session\n", "\(again)")
    }

    @Test("a secret from the variables goes to no other provider, and tokens that stay valid are reported")
    func noStrangersSecret() throws {
        defer { oidc.remove() }
        try configure(profileB)
        #expect(try oidc.signIn(at: second, ["-p", "b"]).status == 0)
        try configure(nil)
        let result = try oidc.run(
            "logout", "--all", variables: ["OIDC_CLIENT_SECRET": "SECRET-OF-THE-VARIABLES"])
        #expect(result.status == 4)
        #expect(revocations.all.isEmpty)
        #expect(result.errorOutput.contains("the tokens stay valid at the provider until they expire"))
        #expect(try oidc.run("status", "--all").status == 3)
    }

    @Test("sessions of a profile with another store are found, named, and signed out of")
    func otherStore() throws {
        defer { oidc.remove() }
        let helper = oidc.home.appendingPathComponent("docker-credential-toy")
        try ExecutableScript.write(
            """
            #!/bin/sh
            f="$HOME/helper.json"
            case $1 in
            store) cat >"$f" ;;
            get) [ -e "$f" ] && cat "$f" || { echo "credentials not found in native keychain"; exit 1; } ;;
            erase) rm -f "$f" ;;
            list) echo "{}" ;;
            esac
            """, to: helper)
        let path = oidc.home.path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        var oidc = oidc
        oidc.environment["PATH"] = path
        try configure(profileB.merging(["store": "helper:toy"]) { $1 })
        #expect(try oidc.signIn(at: second, ["-p", "b"]).status == 0)
        let status = try oidc.run("status", "--all", "-o", "json")
        #expect(status.status == 0 && status.output.contains(#""profile":"b""#), "\(status.output)")
        let result = try oidc.run("logout", "--all")
        #expect(result.status == 0, "\(result.errorOutput)")
        #expect(revocations.all.count == 2)
        #expect(!FileManager.default.fileExists(atPath: oidc.home.appendingPathComponent("helper.json").path))
    }

    @Test("a session of two profiles that differ in their store has the name of the profile of that store")
    func profileOfStore() throws {
        defer { oidc.remove() }
        try configure(profileB)
        #expect(try oidc.signIn(at: second, ["-p", "b"]).status == 0)
        // Another profile for the same client, whose store is away.
        let other = profileB.merging([
            "store": "redis+unix:/nowhere/redis.sock",
            "store_key_file": oidc.home.appendingPathComponent("b").path,
        ]) { $1 }
        try configure(profileB, and: ["0": other])
        let all = try oidc.run("status", "--all", "-o", "json")
        #expect(all.status == 0 && all.output.contains(#""profile":"b""#), "\(all.output)")
        #expect(all.errorOutput.contains("warning: store: redis+unix:/nowhere/redis.sock"))
        try configure(profileB.merging(["store": "none"]) { $1 })
        let status = try oidc.run("status", "--all", "-o", "json", variables: ["OIDC_STORE": "file"])
        #expect(status.output.contains(#""profile":null"#), "\(status.output)")
        // The other stores' sessions are ended nevertheless.
        try configure(profileB, and: ["0": other])
        let ended = try oidc.run("logout", "--all", "-o", "json")
        #expect(ended.status == 5 && ended.output.contains(#""profile":"b""#), "\(ended.output)")
        #expect(ended.errorOutput.contains("/nowhere/redis.sock"))
        #expect(revocations.all.count == 2)
    }

    @Test("a failure is the last thing on stderr, and names its provider; the others are warnings before it")
    func failure() throws {
        defer { oidc.remove() }
        try configure(profileB)
        for format in ["text", "json"] {
            #expect(try oidc.signIn(at: second, ["-p", "b"]).status == 0)
            #expect(
                try oidc.signIn(at: first, ["--issuer", first.origin, "--client-id", "demo"]).status == 0)
            for (server, status) in [(first, 400), (second, 503)] {
                server.intercept {
                    $0.url.path == "/revoke" ? HTTPResponse(status: status, body: Array("{}".utf8)) : nil
                }
            }
            let result = try oidc.run("logout", "--all", "-o", format)
            for server in [first, second] { server.intercept(nil) }
            #expect(result.status == 5)
            let lines = result.errorOutput.split(separator: "\n").map { String($0) }
            #expect(lines.contains { $0.hasPrefix("warning: \(first.origin): revocation: ") }, "\(lines)")
            let start = "\(second.origin): revocation: the provider answered"
            let last = lines.last ?? ""
            if format == "json" {
                let error = try JSONValue(parsing: last)["error"]
                #expect(error?["kind"] == "unreachable" && error?["exit"] == 5)
                #expect(error?["message"]?.string?.hasPrefix(start) == true, "\(last)")
                #expect(try JSONValue(parsing: result.output).array?.count == 2)
            } else {
                #expect(
                    last.hasPrefix("  try: ") && lines.dropLast().last?.hasPrefix("error: \(start)") == true)
            }
            #expect(try oidc.run("status", "--all").status == 3)
        }
    }

    /// Waits until a condition holds, at most 20 seconds. Returns whether it does.
    private static func wait(for condition: () -> Bool) -> Bool {
        for _ in 0..<2000 where !condition() { usleep(10_000) }
        return condition()
    }

    @Test("a provider that does not answer keeps no other from being asked")
    func atOnce() throws {
        defer { oidc.remove() }
        try configure(nil)
        let asked = RequestLog()
        for server in [first, second] {
            #expect(
                try oidc.signIn(at: server, ["--issuer", server.origin, "--client-id", "demo"]).status == 0)
            // Each answers only when the other was asked too.
            server.intercept { request in
                guard request.url.path == "/revoke" else { return nil }
                asked.note(request)
                let isAtOnce = LogoutAllTests.wait { Set(asked.all.map(\.url.port)).count == 2 }
                return isAtOnce ? nil : HTTPResponse(status: 503, body: [])
            }
        }
        let result = try oidc.run("logout", "--all", "-o", "json")
        #expect(result.status == 0, "\(result.errorOutput)")
        #expect(try JSONValue(parsing: result.output).array?.count == 2)
        #expect(result.errorOutput.components(separatedBy: "Signed out of").count == 3)
    }

    @Test("a shared store that does not answer delays no sign-out of a session that is stored here")
    func hangingStore() throws {
        defer { oidc.remove() }
        try configure(profileB)
        #expect(try oidc.signIn(at: second, ["-p", "b"]).status == 0)
        let wasLate = Mutex(false)
        let store = try ScriptedServer { [revocations] _ in
            if !LogoutAllTests.wait(for: { revocations.all.count == 2 }) { wasLate.withLock { $0 = true } }
        }
        let other = profileB.merging([
            "store": "redis://127.0.0.1:\(store.port)/0",
            "store_key_file": oidc.home.appendingPathComponent("b").path,
        ]) { $1 }
        try configure(profileB, and: ["0": other])
        let result = try oidc.run("logout", "--all", "-o", "json")
        #expect(result.status == 5 && result.output.contains(#""profile":"b""#), "\(result)")
        #expect(revocations.all.count == 2 && !wasLate.withLock { $0 })
        withExtendedLifetime(store) {}
    }

    @Test("after a signal, running requests have two seconds, as nobody can revoke those tokens later")
    func signal() throws {
        defer { oidc.remove() }
        try configure(nil)
        let asked = RequestLog()
        let isSignalled = Mutex(false)
        for server in [first, second] {
            #expect(
                try oidc.signIn(at: server, ["--issuer", server.origin, "--client-id", "demo"]).status == 0)
            let hangs = server === second
            server.intercept { request in
                guard request.url.path == "/revoke" else { return nil }
                asked.note(request)
                if hangs {
                    usleep(10_000_000)
                } else {
                    _ = LogoutAllTests.wait { isSignalled.withLock { $0 } }
                    usleep(300_000)
                }
                return nil
            }
        }
        let run = try oidc.start(["logout", "--all"])
        #expect(LogoutAllTests.wait { Set(asked.all.map(\.url.port)).count == 2 })
        run.signal(SIGINT)
        isSignalled.withLock { $0 = true }
        let result = run.finish()
        #expect(result.status == 130, "\(result)")
        #expect(result.errorOutput.contains("Signed out of \(first.origin);"), "\(result.errorOutput)")
        #expect(result.errorOutput.contains("The session at \(second.origin) is forgotten here."))
        #expect(oidc.sessionFiles.isEmpty)
    }
}
