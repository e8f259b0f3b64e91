import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("a credential helper as the store", .serialized, .waiting)
struct HelperTests {
    /// Its keychain is a directory; each call is noted, with its arguments.
    static let keeping = """
        #!/bin/sh
        echo "$*" >> "$HOME/calls"
        mkdir -p "$HOME/keychain"
        entry() { printf %s "$1" | tr -c 'A-Za-z0-9' '_'; }
        case "$1" in
        store) json=$(cat)
            printf %s "$json" > "$HOME/keychain/$(entry "$(printf %s "$json" | sed 's/.*"ServerURL":"\\([^"]*\\)".*/\\1/')")" ;;
        get) f="$HOME/keychain/$(entry "$(cat)")"
            [ -f "$f" ] && exec cat "$f"; echo "credentials not found in native keychain"; exit 1 ;;
        erase) rm -f "$HOME/keychain/$(entry "$(cat)")" ;;
        esac
        """

    private func world(
        _ script: String?, _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws -> SessionWorld {
        var world = try SessionWorld(["OIDC_STORE": "helper:fake"], change)
        if let script { try world.install("docker-credential-fake", script) }
        let bin = world.program.home.appendingPathComponent("bin").path
        world.program.environment["PATH"] = "\(bin):/usr/local/bin:/usr/bin:/bin"
        return world
    }

    @Test(
        "a signal while the code is redeemed: the helper is still given the session's key",
        .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
    func keptDespiteSignal() throws {
        let world = try world(HelperTests.keeping) { $0.user = .approves("alice") }
        defer { world.remove() }
        try world.install("browser", "#!/bin/sh\nexec curl -sL -o /dev/null \"$1\"\n")
        let browser = world.program.home.appendingPathComponent("bin/browser").path
        let run = try world.duringTokenRequest {
            try world.program.start(["login", "--timeout", "60"], ["BROWSER": browser])
        } _: { run in
            run.signal(SIGTERM)
        }
        let outcome = run.finish()
        #expect(outcome.status == 143, "\(outcome.errorOutput)")
        #expect(sealed(world).count == 1)
        let next = try world.program.run("token", "--refresh")
        #expect(next.status == 0, "\(next.errorOutput)")
    }

    private func sealed(_ world: SessionWorld) -> [URL] {
        world.program.files(in: ".local/state/oidc").filter { $0.pathExtension == "sealed" }
    }

    @Test("the helper stores only a key; the session is an encrypted file, and works like any other")
    func keeping() throws {
        let world = try world(HelperTests.keeping)
        defer { world.remove() }
        let login = try world.program.signIn(at: world.provider)
        #expect(login.status == 0, "\(login.errorOutput)")
        let token = try world.program.run("token").token
        #expect(token.count > 10)
        let file = try #require(sealed(world).first)
        #expect(world.program.sessionFiles.isEmpty)
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        #expect(!text.contains(token))
        for entry in world.program.files(in: "keychain") {
            #expect(try Data(contentsOf: entry).count < 1_000, "within every keychain's limit")
        }
        let refreshed = try world.program.run("token", "--refresh").token
        #expect(refreshed != token)
        #expect(try world.program.run("token").token == refreshed)
        #expect(try world.program.run("status").output.contains("docker-credential-fake"))
        #expect(try world.program.run("logout").status == 0)
        #expect(sealed(world).isEmpty)
        #expect(world.program.files(in: "keychain").isEmpty)
        let calls = try String(
            contentsOf: world.program.home.appendingPathComponent("calls"), encoding: .utf8)
        #expect(Set(calls.split(separator: "\n")) == ["store", "get", "erase"], "no secret in its arguments")
    }

    @Test("six processes refresh once through the helper too")
    func parallel() throws {
        let world = try world(HelperTests.keeping)
        defer { world.remove() }
        #expect(try world.program.signIn(at: world.provider).status == 0)
        let before = try world.program.run("token").token
        let outcomes = try world.crowd(6, ["token", "--min-valid", "86400"])
        #expect(outcomes.allSatisfy { $0.status == 0 && $0.token == before })
        world.provider.with { $0.configuration.accessTokenLifetime = 1 }
        #expect(try world.program.run("token", "--refresh").status == 0)
        sleep(1)
        world.provider.with {
            $0.configuration.accessTokenLifetime = 300
            $0.resetCounts()
        }
        let renewed = try world.crowd(6, ["token"])
        #expect(renewed.allSatisfy { $0.status == 0 }, "\(renewed.map(\.errorOutput))")
        #expect(Set(renewed.map(\.output)).count == 1)
        #expect(world.refreshes == 1)
    }

    @Test(
        "a helper that misbehaves is reported before the sign-in, and nothing falls back to plain files",
        arguments: [
            (nil, 2, "not on PATH"), ("#!/bin/sh\nexit 1\n", 1, "docker-credential-fake"),
            ("#!/bin/sh\ncat >/dev/null; echo garbage\n", 1, "expected JSON"),
            ("#!/bin/sh\ncat >/dev/null; echo locked >&2; exit 1\n", 1, "locked"),
            ("#!/bin/sh\nexec sleep 60\n", 6, "docker-credential-fake"),
        ] as [(String?, Int32, String)])
    func misbehaving(script: String?, status: Int32, word: String) throws {
        let world = try world(script)
        defer { world.remove() }
        let start = Date()
        let outcome = try world.program.run("login", "--flow", "browser", "--no-browser", "--timeout", "5")
        #expect(outcome.status == status, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains(word), "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("store"))
        #expect(!outcome.errorOutput.contains("code_challenge"))
        #expect(Date().timeIntervalSince(start) < 25)
        #expect(world.program.sessionFiles.isEmpty && sealed(world).isEmpty)
    }

    @Test("a helper that fails later does not harm the session, which works again when it recovers")
    func failsLater() throws {
        let world = try world(HelperTests.keeping)
        defer { world.remove() }
        #expect(try world.program.signIn(at: world.provider).status == 0)
        let before = try Data(contentsOf: #require(sealed(world).first))
        try world.install("docker-credential-fake", "#!/bin/sh\ncat >/dev/null; echo locked; exit 1\n")
        for arguments in [["token"], ["token", "--refresh"], ["status"], ["status", "--all"]] {
            let outcome = try world.program.start(arguments).finish()
            #expect(outcome.status == 1)
            #expect(outcome.error?.contains("locked") == true)
            #expect(!outcome.errorOutput.contains("nobody is signed in"))
        }
        #expect(try Data(contentsOf: #require(sealed(world).first)) == before)
        try world.install("docker-credential-fake", HelperTests.keeping)
        #expect(try world.program.run("token").status == 0)
        #expect(world.refreshes == 0)
    }

    @Test("a session that another profile keeps in a file is no leftover of another store")
    func otherProfile() throws {
        var world = try world(HelperTests.keeping)
        defer { world.remove() }
        let own = #""issuer":"\#(world.provider.origin)","client_id":"demo""#
        let file = world.program.home.appendingPathComponent("c.json").path
        try #"{"profiles":{"f":{\#(own),"store":"file"},"h":{\#(own),"store":"helper:fake"}}}"#
            .write(toFile: file, atomically: true, encoding: .utf8)
        for name in ["OIDC_STORE", "OIDC_ISSUER", "OIDC_CLIENT_ID"] { world.program.environment[name] = nil }
        world.program.environment["OIDC_CONFIG"] = file
        for profile in ["f", "h"] {
            let outcome = try world.program.signIn(at: world.provider, ["-p", profile])
            #expect(outcome.status == 0 && !outcome.errorOutput.contains("Removed"), "\(outcome)")
        }
        #expect(world.program.sessionFiles.count == 1 && sealed(world).count == 1)
        for profile in ["f", "h"] { #expect(try world.program.run("token", "-p", profile).status == 0) }
        // Each sign-out ends its own.
        for (profile, left) in [("f", (0, 1)), ("h", (0, 0))] {
            let outcome = try world.program.run("logout", "-p", profile)
            #expect(outcome.status == 0 && outcome.errorOutput.contains("Signed out of"), "\(outcome)")
            #expect(world.program.sessionFiles.count == left.0 && sealed(world).count == left.1)
        }
    }

    @Test(
        "a sealed session is not left behind when the store changes: status names it, login and logout settle it",
        arguments: [["logout"], ["logout", "--local"], ["login"]])
    func moved(settling: [String]) throws {
        let world = try world(HelperTests.keeping)
        defer { world.remove() }
        #expect(try world.program.signIn(at: world.provider).status == 0)
        let status = try world.program.start(["status"], ["OIDC_STORE": "file"]).finish()
        #expect(status.status == 3 && status.errorOutput.contains("a session is still in"), "\(status)")
        #expect(status.errorOutput.contains(".sealed, its key in docker-credential-fake"))
        var moved = world
        moved.program.environment["OIDC_STORE"] = "file"
        let settled =
            settling == ["login"]
            ? try moved.program.signIn(at: world.provider) : try moved.program.start(settling).finish()
        #expect(settled.status == 0, "\(settled.errorOutput)")
        #expect(sealed(world).isEmpty && !settled.errorOutput.contains("there was no session"))
        let keychain = world.program.home.appendingPathComponent("keychain").path
        #expect(try FileManager.default.contentsOfDirectory(atPath: keychain).isEmpty)
        #expect(try moved.program.run("token").status == (settling == ["login"] ? 0 : 3))
    }

    @Test(
        "after a change of store, every sign-out ends the session of before, and a sign-in that keeps nothing does not",
        arguments: [
            ("file", "none"), ("file", "helper:fake"), ("helper:fake", "none"), ("helper:fake", "file"),
            ("helper:fake", "helper:other"),
        ])
    func everySignOut(before: String, after: String) throws {
        let world = try world(HelperTests.keeping)
        defer { world.remove() }
        try world.install("docker-credential-other", HelperTests.keeping)
        var (old, new) = (world, world)
        old.program.environment["OIDC_STORE"] = before
        new.program.environment["OIDC_STORE"] = after
        func files() -> Int { sealed(world).count + world.program.sessionFiles.count }
        for words in [["logout"], ["logout", world.provider.origin], ["logout", "--all"]] {
            #expect(try old.program.signIn(at: world.provider).status == 0)
            #expect(files() == 1)
            let list = try new.program.run("status", "--all")
            #expect(list.status == 0 && list.output.contains(world.provider.origin), "\(list)")
            let outcome = try new.program.start(words).finish()
            #expect(outcome.status == 0 && outcome.errorOutput.contains("Signed out of "), "\(outcome)")
            #expect(files() == 0, "\(words)")
        }
        guard after == "none" else { return }
        #expect(try old.program.signIn(at: world.provider).status == 0)
        #expect(try new.program.signIn(at: world.provider).status == 0)
        #expect(try old.program.run("token").status == 0)
        let status = try new.program.run("status")
        #expect(status.status == 3 && status.errorOutput.contains("(oidc logout forgets it)"), "\(status)")
    }

    @Test(
        "a sign-out without the helper says that nothing was revoked",
        arguments: [["logout"], ["logout", "--all"]])
    func withoutHelper(words: [String]) throws {
        let world = try world(HelperTests.keeping)
        defer { world.remove() }
        #expect(try world.program.signIn(at: world.provider).status == 0)
        let bin = world.program.home.appendingPathComponent("bin")
        try FileManager.default.removeItem(at: bin.appendingPathComponent("docker-credential-fake"))
        let outcome = try world.program.start(words).finish()
        #expect(
            outcome.status == 1 && outcome.error?.hasSuffix("; nothing was revoked") == true, "\(outcome)")
    }

    @Test(
        "a refused sign-in revokes nothing if another store has a session of the client",
        arguments: [true, false])
    func refusedBeside(isSealed: Bool) throws {
        let world = try world(HelperTests.keeping)
        defer { world.remove() }
        var other = world
        other.program.environment["OIDC_STORE"] = "file"
        let (first, second) = isSealed ? (world, other) : (other, world)
        #expect(try first.program.signIn(at: world.provider).status == 0)
        world.provider.with {
            $0.faults = [.idToken(.nonceInvalid)]
            $0.resetCounts()
        }
        #expect(try second.program.signIn(at: world.provider).status == 7)
        #expect(world.provider.requestCount(.revocation) == 0)
        world.provider.with { $0.faults = [] }
        #expect(try first.program.run("token", "--refresh").status == 0)
        // Without one, they are revoked.
        #expect(try first.program.run("logout").status == 0)
        world.provider.with {
            $0.faults = [.idToken(.nonceInvalid)]
            $0.resetCounts()
        }
        #expect(try second.program.signIn(at: world.provider).status == 7)
        #expect(world.provider.requestCount(.revocation) > 0)
    }

    @Test("a sign-out also ends the session of an earlier store beside that of the new one")
    func both() throws {
        let world = try world(HelperTests.keeping)
        defer { world.remove() }
        #expect(try world.program.signIn(at: world.provider).status == 0)
        let kept = try #require(sealed(world).first)
        let copy = try Data(contentsOf: kept)
        let entries = try world.program.files(in: "keychain").map { ($0, try Data(contentsOf: $0)) }
        var moved = world
        moved.program.environment["OIDC_STORE"] = "file"
        #expect(try moved.program.signIn(at: world.provider).status == 0)
        try copy.write(to: kept)
        for (entry, data) in entries { try data.write(to: entry) }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: kept.path)
        let outcome = try moved.program.run("logout")
        #expect(outcome.status == 0, "\(outcome)")
        #expect(sealed(world).isEmpty && world.program.sessionFiles.isEmpty)
    }
}
