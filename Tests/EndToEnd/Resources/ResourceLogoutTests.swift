import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "the end of a resource's sessions", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ResourceLogoutTests {
    /// A world whose servers issue refresh tokens, and revoke tokens.
    private func world() throws -> ResourceWorld {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        for server in [world.server, world.other] {
            let endpoint = JSONValue.string("\(server.origin)/revoke")
            server.change {
                $0.issuesRefreshTokens = true
                $0.metadata["revocation_endpoint"] = endpoint
            }
        }
        return world
    }

    /// The clients that revoked a refresh token at a server.
    private func revocations(_ server: ServerStandIn) -> [String] {
        server.revocations.filter { $0["token_type_hint"] == "refresh_token" }.compactMap { $0["client_id"] }
    }

    @Test(
        "the URL of a provider means the session there, whatever profiles there are",
        arguments: ["written", "none", "second"])
    func provider(profile: String) throws {
        let world = try world()
        var options = ["--scope", "api"]
        if profile == "none" { options.append("--no-profile") }
        if profile == "second" {
            let own = #"{"issuer":"\#(world.server.issuer)","client_id":"mine"}"#
            try world.configure(
                #"{"default_profile":"a","profiles":{"a":\#(own.replacing("mine", with: "other")),"b":\#(own)}}"#
            )
            options = ["-p", "b"] + options
            expectSuccess(try world.run(["login"] + options))
        } else {
            expectSuccess(try world.run(["login", world.server.issuer] + options))
        }
        let token = try world.run(["token", world.server.issuer])
        #expect(token.status == 0 && !token.output.isEmpty, "\(token)")
        expectSuccess(try world.run(["logout", "\(world.server.issuer)/"]))
        #expect(revocations(world.server).count == 1 && world.program.sessionFiles.isEmpty)
        let none = try world.run(["token", world.server.issuer])
        #expect(none.status == 3, "\(none)")
    }

    @Test("a sign-in as another client of the same server ends the session that it supersedes")
    func superseded() throws {
        let world = try world()
        let login = ["login", world.url, "--no-profile", "--client-id"]
        expectSuccess(try world.run(login + ["first"]))
        let first = try world.run(["token", world.url]).output
        expectSuccess(try world.run(login + ["first"]))
        #expect(world.server.revocations.isEmpty)
        let second = try world.run(login + ["second"])
        #expect(
            second.status == 0
                && second.errorOutput.contains("Ended the earlier session of the client first."))
        #expect(revocations(world.server) == ["first"] && world.program.sessionFiles.count == 1)
        let token = try world.run(["token", world.url])
        #expect(token.status == 0 && token.output != first, "\(token)")
        world.server.change { $0.revocationStatus = 503 }
        let third = try world.run(login + ["third"])
        #expect(
            third.status == 0
                && third.errorOutput.contains("the tokens of the earlier session were not revoked: "))
        #expect(world.program.sessionFiles.count == 1)
    }

    @Test(
        "sessions of two profiles of a URL with clients of their own stay beside each other",
        arguments: [1, 2])
    func twoProfiles(servers: Int) throws {
        let world = try world()
        let other = servers == 1 ? world.server : world.other
        let (server, issuers) = (world.server.issuer, Set([world.server.issuer, other.issuer]))
        world.resource.change { $0.servers = Array(issuers) }
        let resource = #""resource":["\#(world.url)"]"#
        try world.configure(
            """
            {"profiles":{"a":{\(resource),"issuer":"\(server)","client_id":"c1"},
            "b":{\(resource),"issuer":"\(other.issuer)","client_id":"c2"}}}
            """)
        for profile in ["a", "b", "a"] { expectSuccess(try world.run(["login", world.url, "-p", profile])) }
        #expect(world.server.revocations.isEmpty && world.other.revocations.isEmpty)
        let tokens = try ["a", "b"].map { try world.run(["token", "-p", $0]).output }
        #expect(Set(tokens).count == 2 && !tokens.contains(""))
        // The last one that was signed in to.
        #expect(try world.run(["token", world.url]).output == tokens[0])
        let list = try JSONValue(parsing: world.run(["status", "--all", "-o", "json"]).output).array ?? []
        #expect(Set(list.map { $0["profile"]?.string }) == ["a", "b"])
        expectSuccess(try world.run(["logout", "-p", "a"]))
        #expect(revocations(world.server) == ["c1"] && world.other.revocations.isEmpty)
        #expect(try world.run(["token", "-p", "a"]).status == 3)
        #expect(try world.run(["token", "-p", "b"]).output == tokens[1])
        expectSuccess(try world.run(["logout", "-p", "b"]))
        #expect(revocations(other).last == "c2" && world.program.sessionFiles.isEmpty)
    }

    @Test("a superseded session is not revoked if the client has another one, which could end with it")
    func supersededBeside() throws {
        let world = try world()
        let options = ["--issuer", world.server.issuer, "--client-id", "first"]
        expectSuccess(try world.run(["login", "--no-profile", "--scope", "a"] + options))
        expectSuccess(try world.run(["login", world.url, "--no-profile"] + options))
        expectSuccess(try world.run(["login", world.url, "--no-profile", "--client-id", "second"]))
        #expect(world.server.revocations.isEmpty && world.program.sessionFiles.count == 2)
        expectSuccess(try world.run(["token"] + options))
    }

    @Test("nothing is superseded for another account, or by a sign-in that fails")
    func kept() throws {
        let world = try world()
        expectSuccess(try world.run(["login", world.url, "--client-id", "first"]))
        expectSuccess(try world.run(["login", world.url, "--client-id", "second", "--account", "b"]))
        world.server.change { $0.responseError = ["error": "access_denied"] }
        #expect(try world.run(["login", world.url, "--client-id", "third"]).status == 4)
        #expect(world.server.revocations.isEmpty)
        expectSuccess(try world.run(["token", world.url]))
        expectSuccess(try world.run(["logout", world.url]))
        #expect(revocations(world.server) == ["first"])
        expectSuccess(try world.run(["token", world.url, "--account", "b"]))
        expectSuccess(try world.run(["logout", world.url, "--account", "b"]))
        #expect(Set(revocations(world.server)) == ["first", "second"] && world.program.sessionFiles.isEmpty)
    }

    @Test("logout names the sessions of other accounts, each with a command line that ends it")
    func otherAccounts() throws {
        let world = try world()
        for options in [[], ["--account", "bob"], ["--account", "eve x"]] {
            expectSuccess(try world.run(["login", world.url, "--no-profile"] + options))
        }
        func line(_ account: String, _ quoted: String) -> String {
            "warning: you are still signed in with account \(account) to \(world.url) "
                + "(oidc logout \(world.url) --account \(quoted))\n"
        }
        let (bob, eve) = (line("bob", "bob"), line("eve x", "'eve x'"))
        let first = try world.run(["logout", world.url])
        #expect(first.status == 0 && first.errorOutput.contains(bob + eve), "\(first)")
        let none = try world.run(["logout", world.url])
        #expect(none.errorOutput == bob + eve + "there was no session\n", "\(none)")
        let atProvider = try world.run(["logout", world.server.issuer])
        for (account, quoted) in [("bob", "bob"), ("eve x", "'eve x'")] {
            let words =
                "with account \(account) for \(world.url) (oidc logout \(world.url) --account \(quoted))\n"
            #expect(atProvider.errorOutput.contains(words), "\(atProvider)")
        }
        // Who names an account means that one.
        let last = try world.run(["logout", world.url, "--account", "bob"])
        #expect(last.status == 0 && !last.errorOutput.contains("warning"), "\(last)")
        expectSuccess(try world.run(["logout", world.url, "--account", "eve x"]))
        #expect(try world.run(["logout", world.url]).errorOutput == "there was no session\n")
        #expect(world.program.sessionFiles.isEmpty)
    }

    @Test("logout names the session of a URL above, which commands then use")
    func sessionAbove() throws {
        let world = try world()
        let root = world.resource.origin
        for (resource, path) in [(root, ""), (world.url, "/mcp")] {
            world.resource.change {
                $0.metadata = ["resource": .string(resource)]
                $0.metadataPath = "/.well-known/oauth-protected-resource" + path
            }
            expectSuccess(try world.run(["login", resource]))
        }
        let outcome = try world.run(["logout", world.url])
        let warning = "still signed in to \(root), which covers the URL (oidc logout \(root))\n"
        #expect(outcome.status == 0 && outcome.errorOutput.contains(warning), "\(outcome)")
        expectSuccess(try world.run(["token", world.url]))
        let last = try world.run(["logout", root])
        #expect(last.status == 0 && !last.errorOutput.contains("warning"), "\(last)")
        #expect(try world.run(["token", world.url]).status == 3)
    }

    @Test("logout ends the session at an earlier server too, and each server sees only its own tokens")
    func earlierServer() throws {
        let world = try world()
        expectSuccess(try world.call())
        world.trust(world.other)
        expectSuccess(try world.call())
        #expect(world.program.sessionFiles.count == 2 && world.server.revocations.isEmpty)
        let outcome = try world.run(["logout", world.url, "-o", "json"])
        let answer = try JSONValue(parsing: outcome.output)
        #expect(answer["issuer"] == .string(world.other.issuer), "\(outcome)")
        #expect(answer["others"]?.array?.first?["issuer"] == .string(world.server.issuer))
        #expect(answer["others"]?.array?.first?["provider"] == "revoked")
        #expect(revocations(world.server) == ["registered-1"])
        #expect(revocations(world.other) == ["at-the-other"])
        #expect(world.program.sessionFiles.isEmpty)
        #expect(try world.run(["token", world.url]).status == 3)
        #expect(try world.run(["status"]).output.isEmpty)
    }

    @Test("a store that cannot be listed does not hide the sessions in others, and is a warning")
    func unlistedStore() throws {
        let world = try world()
        expectSuccess(try world.call())
        world.trust(world.other)
        expectSuccess(try world.call())
        try world.configure(
            #"""
            {"default_profile":"here","profiles":{"here":{},"far":{"issuer":"https://op.example","client_id":"x",
            "store":"redis://127.0.0.1:1","store_key_file":"key"}}}
            """#)
        let outcome = try world.run(["logout", world.url])
        #expect(
            outcome.status == 0
                && outcome.errorOutput.contains("warning: store: redis://127.0.0.1:1"), "\(outcome)")
        #expect(revocations(world.server).count == 1 && revocations(world.other).count == 1, "\(outcome)")
        #expect(world.program.sessionFiles.isEmpty)
    }

    @Test("a store of the URL's own profile that cannot be asked, or is not known, is the sign-out's error")
    func ownStoreAway() throws {
        let world = try world()
        expectSuccess(try world.call())
        func signOut(_ settings: String) throws -> Program.Outcome {
            try world.configure(
                #"""
                {"default_profile":"here","profiles":{"here":{},"own":{"resource":"\#(world.url)",\#(settings)}}}
                """#)
            return try world.run(["logout", world.url])
        }
        let away = #""store":"redis://127.0.0.1:1","store_key_file":"key""#
        let outcome = try signOut(away)
        #expect(outcome.status == 5 && outcome.errorOutput.contains("may stay there"), "\(outcome)")
        #expect(revocations(world.server).count == 1 && world.program.sessionFiles.isEmpty)
        let invalid = try signOut(#""nonsense":1"#)
        #expect(invalid.status == 2 && invalid.errorOutput.contains("may stay there"), "\(invalid)")
    }

    @Test("the session of a profile with an issuer and the URL as its resource is ended, of one account")
    func profileOfIssuer() throws {
        let world = try world()
        func profile(_ rest: String) -> String {
            #"{"issuer":"\#(world.server.issuer)","client_id":"own","scope":"a""#
                + #","resource":"\#(world.url)"\#(rest)}"#
        }
        try world.configure(
            #"{"profiles":{"plain":\#(profile("")),"al":\#(profile(#","account":"al""#))}}"#)
        for name in ["plain", "al"] { expectSuccess(try world.run(["login", "-p", name])) }
        try #require(world.program.sessionFiles.count == 2)
        let first = try world.run(["logout", world.url])
        #expect(first.status == 0 && first.errorOutput.contains("--account al"), "\(first)")
        #expect(world.program.sessionFiles.count == 1)
        let second = try world.run(["logout", world.url, "--account", "al"])
        #expect(second.status == 0 && world.program.sessionFiles.isEmpty, "\(second)")
        #expect(revocations(world.server).count == 2)
    }

    @Test("the session of a profile with several resources stays, with a line that ends it")
    func profileOfSeveral() throws {
        let world = try world()
        try world.configure(
            """
            {"profiles":{"both":{"issuer":"\(world.server.issuer)","client_id":"own","scope":"a",
            "resource":["\(world.url)","\(world.resource.origin)/other"]}}}
            """)
        expectSuccess(try world.run(["login", "-p", "both"]))
        for url in [world.url, "\(world.resource.origin)/other"] {
            let outcome = try world.run(["logout", url])
            #expect(outcome.status == 0 && outcome.errorOutput.contains("(oidc logout \(url) -p both)"))
            #expect(outcome.errorOutput.hasSuffix("no session was ended\n"), "\(outcome)")
        }
        let none = try world.run(["logout", "\(world.resource.origin)/third"])
        #expect(none.errorOutput == "there was no session\n")
        expectSuccess(try world.run(["logout", world.url, "-p", "both"]))
        #expect(world.program.sessionFiles.isEmpty && revocations(world.server) == ["own"])
        #expect(try world.run(["logout", world.url]).errorOutput == "there was no session\n")
    }

    @Test("a sign-in that waits at the provider is canceled, and one for a URL is named")
    func waiting() throws {
        let world = try world()
        let start = ["login", "--start", "--no-wait"]
        expectSuccess(try world.run(start + [world.url]))
        let options = ["--issuer", world.server.issuer, "--client-id", "c1", "--scope", "a"]
        expectSuccess(try world.run(start + options))
        let first = try world.run(["logout", world.server.issuer])
        #expect(first.status == 0 && first.errorOutput.contains("Canceled the sign-in "), "\(first)")
        #expect(first.errorOutput.contains("warning: a sign-in to \(world.url) is waiting"), "\(first)")
        let line = try #require(first.errorOutput.components(separatedBy: "waiting (oidc ").last)
        expectSuccess(try world.run(line.prefix { $0 != ")" }.split(separator: " ").map(String.init)))
        let second = try world.run(["logout", world.server.issuer])
        #expect(second.errorOutput == "there was no session\n", "\(second)")
    }

    @Test("a sign-in to the URL that waits for another account stays, and is named")
    func waitingForAccount() throws {
        let world = try world()
        let start = ["login", "--start", "--no-wait", world.url]
        expectSuccess(try world.run(start + ["--account", "bob"]))
        expectSuccess(try world.run(start))
        let first = try world.run(["logout", world.url])
        #expect(first.status == 0 && first.errorOutput.contains("Canceled the sign-in "), "\(first)")
        let warning = "warning: a sign-in to \(world.url) (account bob) is waiting (oidc login --cancel "
        #expect(first.errorOutput.contains(warning), "\(first)")
        let second = try world.run(["logout", world.url, "--account", "bob"])
        #expect(second.errorOutput.contains("Canceled the sign-in "), "\(second)")
        #expect(!second.errorOutput.contains("waiting ("), "\(second)")
        #expect(try world.run(["logout", world.url]).errorOutput == "there was no session\n")
    }

    @Test("a session that was last seen in a shared store that no setting names now is not taken for none")
    func seenElsewhere() throws {
        let world = try world()
        var key = SessionKey(provider: world.server.issuer, clientID: "c1", grant: .authorizationCode)
        key.resources = [world.url]
        let folder = world.program.home.appendingPathComponent(".local/state/oidc/versions")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let name = ".local/state/oidc/versions/\(key.fileStem)-0123456789abcdef.version"
        let text = "7 =7-aa @\(Base64URL.encode(Array(key.text.utf8)))"
        _ = try world.keep(name, text)
        try world.configure(
            #"{"default_profile":"a","profiles":{"a":{"issuer":"\#(world.server.issuer)","client_id":"c1"}}}"#
        )
        let warning = "that was last seen in another shared store may still be there"
        for words in [["logout", world.url], ["logout", "--all"]] {
            let outcome = try world.run(words)
            #expect(outcome.status == 0 && outcome.errorOutput.contains(warning), "\(outcome)")
            #expect(outcome.errorOutput.hasSuffix("no session was ended\n"), "\(outcome)")
        }
        // Another URL's, and that of another resource.
        for words in [["logout", "\(world.resource.origin)/other"], ["logout"]] {
            #expect(try world.run(words).errorOutput == "there was no session\n")
        }
        _ = try world.keep(name, text + " 7-aa")
        for words in [["logout", world.url], ["logout", "--all"]] {
            #expect(try world.run(words).errorOutput == "there was no session\n")
        }
    }

    @Test("the session of another account that cannot be read here is named, too")
    func unreadableAccount() throws {
        let world = try world()
        let bin = world.program.home.appendingPathComponent("bin")
        try ExecutableScript.write(
            HelperTests.keeping, to: bin.appendingPathComponent("docker-credential-fake"))
        var program = world.program
        program.environment["PATH"] = "\(bin.path):/usr/local/bin:/usr/bin:/bin"
        program.environment["OIDC_STORE"] = "helper:fake"
        let login = ["login", world.url, "--no-profile"]
        expectSuccess(try program.start(login + ["--account", "bob"]).finish())
        try FileManager.default.removeItem(at: program.home.appendingPathComponent("keychain"))
        expectSuccess(try program.start(login).finish())
        let outcome = try program.start(["logout", world.url]).finish()
        #expect(outcome.status == 0 && outcome.errorOutput.contains("Signed out of "), "\(outcome)")
        #expect(outcome.errorOutput.contains("(oidc logout \(world.url) --account bob)"), "\(outcome)")
    }

    @Test("a damaged session is set aside until the next logout of its URL")
    func damaged() throws {
        let world = try world()
        expectSuccess(try world.call())
        let file = try #require(world.program.sessionFiles.first)
        try Data("{".utf8).write(to: file)
        #expect(try world.run(["logout", world.url]).status == 4)
        func aside() -> Int {
            world.program.files(in: ".local/state/oidc").count { $0.pathExtension == "damaged" }
        }
        #expect(aside() == 1)
        _ = try world.run(["logout", world.url])
        #expect(aside() == 0)
    }

    @Test("logout ends sessions without a link, of the URL's resource only")
    func withoutLink() throws {
        let world = try world()
        expectSuccess(try world.run(["login", world.url, "--client-id", "first"]))
        let file = try #require(world.program.sessionFiles.first)
        let kept = try Data(contentsOf: file)
        expectSuccess(try world.run(["login", world.url, "--client-id", "second"]))
        // As a program left it that did not end what it superseded.
        try kept.write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        #expect(try world.run(["logout", "\(world.resource.origin)/other"]).status == 0)
        #expect(world.program.sessionFiles.count == 2)
        world.server.forget()
        let below = try world.run(["logout", "\(world.url)/below"])
        #expect(below.status == 2 && below.errorOutput.contains("try: oidc logout \(world.url)"), "\(below)")
        expectSuccess(try world.run(["logout", world.url]))
        #expect(Set(revocations(world.server)) == ["second", "first"] && world.program.sessionFiles.isEmpty)
    }

    @Test("a server that refuses to revoke one session does not keep the others")
    func refused() throws {
        let world = try world()
        expectSuccess(try world.call())
        world.trust(world.other)
        expectSuccess(try world.call())
        world.other.change { $0.revocationStatus = 400 }
        let outcome = try world.run(["logout", world.url])
        #expect(outcome.status == 4 && world.program.sessionFiles.isEmpty, "\(outcome)")
        #expect(revocations(world.server) == ["registered-1"])
    }

    @Test("of several failures the worst is the error, the other is a warning, and each names its server")
    func severalFailures() throws {
        let world = try world()
        expectSuccess(try world.call())
        world.trust(world.other)
        expectSuccess(try world.call())
        world.other.change { $0.revocationStatus = 400 }
        world.server.change { $0.revocationStatus = 503 }
        let outcome = try world.run(["logout", world.url])
        #expect(outcome.status == 5 && world.program.sessionFiles.isEmpty, "\(outcome)")
        #expect(outcome.errorOutput.contains("warning: \(world.other.issuer): "), "\(outcome)")
        #expect(outcome.errorOutput.contains("error: \(world.server.issuer): "), "\(outcome)")
    }
}
