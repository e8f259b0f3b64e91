import DemoProvider
import Foundation
import OIDCCore
import OIDCSessions
import Posix
import TestSupport
import Testing

@Suite("lend, and the far side", .serialized, .waitingLong)
struct LendTests {
    @Test(
        "token, status, userinfo, request, exec, credential and inspect work on the far side; each token is logged"
    )
    func farSide() throws {
        let world = try LendWorld()
        let token = try world.world.store.load(world.world.key)?.tokens.access.token.revealed ?? ""
        let printed = try world.run("token")
        #expect(printed.status == 0 && printed.output == token + "\n", "\(printed)")
        #expect(world.log("work: access token")?.contains("bob@") == true, "\(world.lender.errorOutput)")

        let status = try world.run("status")
        #expect(
            status.status == 0 && status.output.contains("lent by alice@")
                && status.output.contains("alice"), "\(status)")
        let json = try JSONValue(parsing: try world.run("status", "-o", "json").output)
        #expect(json["profile"]?.string == "work" && json["can_refresh"]?.bool == true, "\(json.compact)")

        let claim = try world.run("userinfo", "--claim", "sub")
        #expect(claim.status == 0 && claim.output == "alice\n", "\(claim)")
        let answer = try world.run("request", "\(world.world.issuer)/api/hello")
        #expect(answer.status == 0 && answer.output.contains("hello"), "\(answer)")
        let child = try world.run("exec", "--", "sh", "-c", "echo $OIDC_ACCESS_TOKEN")
        #expect(child.status == 0 && child.output == token + "\n", "\(child)")
        let password = try world.run(
            "credential", "git", "get", input: "protocol=https\nhost=git.example.com\n\n")
        #expect(password.status == 0 && password.output.contains("password=\(token)"), "\(password)")
        let resources = try world.run("resources")
        #expect(resources.status == 0 && resources.output.contains("API"), "\(resources)")
        let inspected = try world.run("doctor", "--offline")
        #expect(inspected.output.contains("lent by alice@"), "\(inspected)")
    }

    @Test("store=lent:PATH does what the variable does")
    func setting() throws {
        let world = try LendWorld()
        let printed = try world.run(
            "token", "--set", "store=lent:\(world.socket)", variables: ["OIDC_LENT": ""])
        #expect(printed.status == 0, "\(printed)")
        let variable = try world.run(
            "token", variables: ["OIDC_LENT": "", "OIDC_STORE": "lent:\(world.socket)"])
        #expect(variable.output == printed.output, "\(variable)")
    }

    @Test("a profile with store=lent:PATH has a name of its own, and the session must be what it says")
    func profileOfFarSide() throws {
        let world = try LendWorld(["-p", "work", "-p", "machine"])
        let store = JSONValue.string("lent:\(world.socket)")
        try world.configure([
            "default_profile": "build",
            "profiles": [
                "build": ["store": store, "issuer": .string(world.world.issuer), "client_id": "demo"],
                "other": ["store": store, "issuer": "http://127.0.0.1:1", "client_id": "demo"],
                "client": ["store": store, "issuer": .string(world.world.issuer), "client_id": "another"],
            ],
        ])
        let none = ["OIDC_LENT": "", "OIDC_ISSUER": ""]
        let token = try world.run("token")
        for words in [["token"], ["token", "-p", "build"]] {
            let printed = try world.start(words, none).finish()
            #expect(printed.status == 0 && printed.output == token.output, "\(words) \(printed)")
        }
        let status = try world.run("status", "--all", variables: none)
        #expect(
            status.status == 0 && status.output.components(separatedBy: "lent by").count == 3, "\(status)")
        for name in ["other", "client"] {
            let refused = try world.run("token", "-p", name, variables: none)
            #expect(
                refused.status == 2 && refused.output == ""
                    && refused.errorOutput.contains("is not that of the session"), "\(refused)")
        }
    }

    @Test("a provider on the far machine itself counts only if that side names it")
    func local() throws {
        let world = try LendWorld()
        for words in [["token"], ["userinfo"], ["status"], ["request", "\(world.world.issuer)/api/hello"]] {
            let before = world.world.requests.count
            let outcome = try world.start(words, ["OIDC_ISSUER": ""]).finish()
            #expect(
                outcome.status == 4 && outcome.output == ""
                    && outcome.errorOutput.contains("which is on this machine"), "\(words) \(outcome)")
            #expect(world.world.requests.count == before)
        }
        #expect(try world.run("userinfo", "--issuer", world.world.issuer).status == 0)
    }

    @Test(
        "the socket of another user is not believed, except root's: exit 4",
        .enabled(if: OtherUser.isAvailable))
    func socketOfAnotherUser() throws {
        let folder = "/tmp/lend-\(UUID().uuidString)"
        let open: [FileAttributeKey: Any] = [.posixPermissions: 0o777]
        for path in [folder, folder + "/home"] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try FileManager.default.setAttributes(open, ofItemAtPath: path)
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.copyItem(atPath: Program.path, toPath: folder + "/oidc")
        let world = try LendWorld()
        let script = """
            import os, socket, sys
            os.umask(0); os.setgid(65533); os.setuid(65533)
            s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(5); print("ready", flush=True)
            while True:
                c = s.accept()[0]; print("asked " + str(len(c.recv(9))), flush=True); c.close()
            """
        let program = try Program()
        defer { program.remove() }
        let lender = try program.start(
            ["-c", script, folder + "/s"], executable: "/usr/bin/python3")
        defer { lender.signal(SIGKILL) }
        let isReady: Bool? = lender.output { $0.contains("ready") ? true : nil }
        try #require(isReady == true)
        func token(_ socket: String, _ user: String) throws -> ToolResult {
            try world.world.run(
                ["--reuid=\(user)", "--regid=\(user)", "--clear-groups", folder + "/oidc", "token"],
                ["OIDC_LENT": socket, "HOME": folder + "/home", "OIDC_ISSUER": world.world.issuer],
                as: "/usr/bin/setpriv")
        }
        let refused = try token(folder + "/s", "65534")
        #expect(refused.code == 4 && refused.errors.contains("that of user 65533"), "\(refused)")
        // It is asked by its own user.
        #expect(try token(folder + "/s", "65533").code == 5)
        let asked = lender.output { $0.contains("asked 9") ? $0 : nil } ?? ""
        #expect(asked.components(separatedBy: "asked 9").count == 2, "\(asked)")
    }

    @Test("a proxy on the far side adds the token that is lent")
    func proxy() throws {
        let world = try LendWorld()
        let proxy = try world.start(["proxy", "\(world.world.issuer)/api"])
        let url = proxy.output { text in text.split(separator: " ").first.map(String.init) }
        let answer = try world.world.run(["-sS", "\(url ?? "")hello"], as: "/usr/bin/curl")
        proxy.signal(SIGTERM)
        #expect(answer.output.contains("hello"), "\(answer) \(proxy.finish())")
    }

    /// That profile may have the name of the one that is lent, and may only list the URL.
    @Test(
        "a route whose URL has a profile of its own on the far side does not get the token that is lent",
        arguments: [("own", true), ("work", true), ("own", false), ("work", false)])
    func proxyOfOwnProfile(name: String, isResource: Bool) throws {
        let world = try LendWorld()
        let url = "https://api.example/mcp"
        let listed: JSONValue = [["title": "API", "url": .string(url)]]
        var profile = JSONObject()
        profile[isResource ? "resource" : "resources"] = isResource ? .string(url) : listed
        var profiles = JSONObject()
        profiles["x"] = [:]
        profiles[name] = .object(profile)
        try world.configure(["default_profile": "x", "profiles": .object(profiles)])
        let refused = try world.run("exec", "--proxy", url, "--", "true")
        #expect(
            refused.status == 2 && refused.errorOutput.contains("the session that is lent is for"),
            "\(refused)")
        #expect(refused.errorOutput.contains("add -p work"), "\(refused)")
        let named = try world.run("exec", "-p", "work", "--proxy", url, "--", "true")
        #expect(named.status == 0, "\(named)")
        let above = try world.run("exec", "--proxy", "https://api.example/", "--", "true")
        #expect(above.status == 0 && above.errorOutput.contains("of their own") == isResource, "\(above)")
        let other = try world.run("exec", "--proxy", "\(world.world.issuer)/api", "--", "true")
        #expect(other.status == 0, "\(other)")
    }

    @Test("a proxy stays with the session that was lent first, whatever another lender has by that name")
    func proxyOfAnotherLender() throws {
        let socket =
            FileManager.default.temporaryDirectory.path + "/oidc-\(UInt32.random(in: 0 ... .max)).sock"
        let world = try LendWorld(["-p", "work", "--listen", "unix:\(socket)"])
        let issuer = JSONValue.string(world.world.issuer)
        let proxy = try world.start(["proxy", "\(world.world.issuer)/api", "--timeout", "5"])
        let url =
            proxy.output { $0.includes(" ") ? $0.split(separator: " ").first.map(String.init) : nil } ?? ""
        func call() throws -> String {
            try world.world.run(["-sS", "\(url)hello"], as: "/usr/bin/curl").output
        }
        #expect(try call().contains("hello"))
        world.lender.signal(SIGTERM)
        _ = world.lender.finish()
        try world.world.configure([
            "profiles": [
                "work": [
                    "issuer": issuer, "client_id": "demo-confidential", "client_secret": "demo-secret",
                    "grant": "client_credentials",
                    "resources": [["title": "API", "url": .string("\(world.world.issuer)/api")]],
                ]
            ]
        ])
        let other = try Program(at: world.world).start(
            ["lend", "-p", "work", "--listen", "unix:\(socket)"], ["USER": "alice"])
        _ = other.output { $0.contains("\n") ? $0 : nil }
        defer {
            other.signal(SIGTERM)
            _ = other.finish()
            proxy.signal(SIGTERM)
            _ = proxy.finish()
        }
        var answer = ""
        let end = Date().addingTimeInterval(60)
        repeat {
            answer = try call()
            if !answer.contains("another session is lent now") { usleep(200_000) }
        } while !answer.contains("another session is lent now") && Date() < end
        #expect(answer.contains("another session is lent now"), "\(answer)")
    }

    @Test(
        "what only the session's owner can do is refused, with the owner's name",
        arguments: [
            ["login"], ["logout"], ["revoke"], ["token", "--login"], ["introspect", "--refresh-token"],
            ["login", "-p", "work"], ["logout", "--all"],
        ])
    func owner(_ words: [String]) throws {
        let world = try LendWorld()
        let outcome = try world.start(words).finish()
        #expect(outcome.status == 2 && outcome.errorOutput.contains("lent by alice@"), "\(outcome)")
        #expect(outcome.output == "")
        #expect(world.world.sessionIsStored)
    }

    @Test("another profile, another client and another grant are refused")
    func otherProfile() throws {
        let world = try LendWorld()
        for words in [
            ["token", "-p", "private"], ["token", "--client-id", "other"],
            ["token", "--grant", "client_credentials"], ["token", "--resource", "https://api.example.com"],
            ["token", "--account", "private"], ["token", "https://mcp.example.com/mcp"],
        ] {
            let outcome = try world.start(words).finish()
            #expect(outcome.status == 2 && outcome.output == "", "\(words) \(outcome)")
        }
    }

    @Test("several profiles may be lent, and the far side chooses; other commands take one")
    func profiles() throws {
        let world = try LendWorld(["-p", "work", "-p", "machine"])
        let work = try world.run("token")
        let machine = try world.run("token", "-p", "machine")
        #expect(work.status == 0 && machine.status == 0 && work.output != machine.output, "\(machine)")
        #expect(try world.run("token", "-p", "private").status == 2)
        let twice = try world.run("token", "-p", "work", "-p", "machine")
        #expect(twice.status == 2 && twice.errorOutput.contains("given twice"), "\(twice)")
    }

    @Test("no answer has a refresh token, an ID token or a key, whatever is asked")
    func nothingElse() throws {
        let world = try LendWorld()
        let session = try #require(try world.world.store.load(world.world.key))
        let secrets = [session.tokens.refreshToken?.revealed, session.tokens.idToken?.revealed]
            .compactMap { $0 }
        try #require(secrets.count == 2)
        for ask in ["terms", "access_token", "id_token", "refresh_token", "session", "proof"] {
            let answer = world.post(
                #"{"version":1,"ask":"\#(ask)","profile":"work","user":"x","host":"y","command":"z","#
                    + #""method":"POST","url":"\#(world.world.issuer)/api/hello","token":"x"}"#)
            #expect(!answer.isEmpty && !secrets.contains { answer.contains($0) }, "\(ask): \(answer)")
        }
        let idToken = try world.run("token", "--type", "id")
        #expect(idToken.status == 4 && idToken.output == "", "\(idToken)")
    }

    @Test("--type id lends ID tokens, too")
    func idToken() throws {
        let world = try LendWorld(["-p", "work", "--type", "id"])
        let printed = try world.run("token", "--type", "id")
        #expect(printed.status == 0 && printed.output.split(separator: ".").count == 3, "\(printed)")
    }

    @Test("fifty callers on a token that has expired: one refresh, fifty equal tokens")
    func crowd() throws {
        let world = try LendWorld()
        try world.world.signIn { $0.expire($0.tokens.access.token) }
        let runs = try (0..<50).map { _ in try world.start(["token"]) }
        let outcomes = runs.map { $0.finish() }
        #expect(
            outcomes.allSatisfy { $0.status == 0 }, "\(outcomes.first { $0.status != 0 }?.errorOutput ?? "")")
        #expect(Set(outcomes.map(\.output)).count == 1)
        #expect(world.world.provider.requestCount(grant: "refresh_token") == 1)
    }

    @Test("--scope narrows each token, and nothing wider is lent; a provider that does not narrow is refused")
    func scope() throws {
        let world = try LendWorld(["-p", "work", "--scope", "openid profile"])
        let json = try JSONValue(parsing: try world.run("token", "-o", "json").output)
        #expect(json["scope"]?.string == "openid profile", "\(json.compact)")
        let wider = try world.run("token", "--scope", "email")
        #expect(wider.status == 4 && wider.errorOutput.contains("is not lent"), "\(wider)")
        let unrefreshable = try ToolWorld()
        try unrefreshable.signIn { $0.tokens.refreshToken = nil }
        let refused = try unrefreshable.run(["lend", "--scope", "openid"], unrefreshable.person)
        #expect(refused.code == 4 && refused.errors.contains("does not narrow"), "\(refused)")
    }

    @Test("after --for nothing is handed out, and the far side says that the lender is gone, exit 5")
    func time() throws {
        let world = try LendWorld(["-p", "work", "--for", "1s"])
        let outcome = world.lender.finish()
        #expect(outcome.status == 0 && outcome.errorOutput.contains("Nothing is lent"), "\(outcome)")
        #expect(!FileManager.default.fileExists(atPath: world.socket))
        let late = try world.run("token")
        #expect(late.status == 5 && late.errorOutput.contains("run it again: oidc lend"), "\(late)")
        // A command for the other side has nothing of this one.
        let named = try world.run("token", "-p", "machine", "--set", "http_timeout=9")
        #expect(
            named.status == 5 && named.errorOutput.contains("run it again: oidc lend (for")
                && named.errorOutput.contains("unset OIDC_LENT"), "\(named)")
    }

    @Test("a token that a server refuses is replaced once, by the lender")
    func refused() throws {
        let world = try LendWorld()
        let first = try world.run("token")
        let refused = "Bearer \(first.output.trimmingCharacters(in: .whitespacesAndNewlines))"
        world.world.provider.intercept { request in
            guard request.headers["Authorization"] == refused else { return nil }
            let challenge = HTTPHeaders([("WWW-Authenticate", "Bearer error=\"invalid_token\"")])
            return HTTPResponse(status: 401, headers: challenge)
        }
        let answer = try world.run("request", "\(world.world.issuer)/api/hello")
        #expect(answer.status == 0 && answer.output.contains("hello"), "\(answer)")
        #expect(try world.run("token").output != first.output)
    }

    @Test("a token of a certificate is not lent, and nothing is lent without a session")
    func unfit() throws {
        let world = try ToolWorld()
        let signedOut = try world.run(["lend"], world.person)
        #expect(signedOut.code == 3 && signedOut.errors.contains("oidc login"), "\(signedOut)")
        try world.signIn {
            $0.tokens.access.token = Redacted("opaque")
            $0.bindsOpaqueTokens = true
        }
        let bound = try world.run(["lend"], world.person)
        #expect(bound.code == 2 && bound.errors.contains("client certificate"), "\(bound)")
    }

    @Test(
        "mistakes on the command line are explained",
        arguments: [
            (["--for", "8"], "a time as in"), (["--for", "31d"], "at most 30d"),
            (["--listen", "x"], "unix:PATH"),
            (["make"], "--to HOST"), (["--to=-oProxyCommand=x"], "--to takes a host"),
            (["--to", "h", "--listen", "unix:x"], "together"), (["-p", "a", "-p", "a"], "given twice"),
            (["--ask"], "--ask needs a terminal"), (["--peer=-1"], "--peer takes"),
        ] as [([String], String)])
    func mistakes(_ options: [String], _ message: String) throws {
        let world = try ToolWorld()
        let outcome = try world.run(["lend"] + options, world.person)
        #expect(outcome.code == 2 && outcome.errors.contains(message) && outcome.output == "", "\(outcome)")
    }
}

@Suite("lend: who may ask", .serialized, .waitingLong)
struct LendCallerTests {
    @Test(
        "the socket has mode 0600, and the kernel's answer about the caller decides, too",
        .enabled(if: OtherUser.isAvailable))
    func otherUser() throws {
        let folder = "/tmp/lend-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func answer(_ options: [String]) throws -> String {
            let world = try LendWorld(["-p", "work", "--listen", "unix:\(folder)/s"] + options)
            var status = stat()
            #expect(lstat(world.socket, &status) == 0 && status.st_mode & 0o777 == 0o600)
            try #require(chmod(world.socket, 0o666) == 0)
            let body = #"{"version":1,"ask":"terms","user":"x","host":"y","command":"z"}"#
            return try world.world.run(
                [
                    "--reuid=65534", "--regid=65534", "--clear-groups", "curl", "-sS", "--unix-socket",
                    world.socket, "-H", "Content-Type: application/json", "-d", body, "http://localhost/",
                ], as: "/usr/bin/setpriv"
            ).output
        }
        #expect(try answer([]).contains("for another user"))
        #expect(try answer(["--peer", "65534"]).contains("\"profile\":\"work\""))
    }

    @Test("endless, slow and idle callers by the hundred do not keep others from a token, and end")
    func hostileCallers() throws {
        let world = try LendWorld()
        let idle = (0..<400).compactMap { _ in RawConnection(socket: world.socket) }
        let endless = try #require(RawConnection(socket: world.socket))
        endless.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")
        #expect(endless.waitForEnd(within: 30) != .none)
        let headers = try #require(RawConnection(socket: world.socket))
        headers.send("POST / HTTP/1.1\r\n" + String(repeating: "X: y\r\n", count: 5_000))
        #expect(headers.waitForEnd(within: 30) != .none)
        let slow = try #require(RawConnection(socket: world.socket))
        slow.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n1")
        let token = try world.run("token")
        #expect(token.status == 0, "\(token)")
        #expect(slow.waitForEnd(within: 60) != .none)
        withExtendedLifetime(idle) {}
        for body in [
            "", "[]", "{}", #"{"version":2,"ask":"terms"}"#, #"{"version":1,"ask":"tokens"}"#,
            #"{"version":1,"ask":"access_token","scope":"a\"b"}"#,
            #"{"version":1,"ask":"terms","profile":1}"#,
            String(repeating: "[", count: 60_000),
        ] {
            #expect(world.post(body).contains("\"error\""), "\(body.prefix(80))")
        }
        let wrongHost = try #require(RawConnection(socket: world.socket))
        wrongHost.send("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        #expect(wrongHost.received().contains("404"))
    }
}

@Suite("lend: tokens that are bound to a key", .serialized, .waiting)
struct LentProofTests {
    @Test("the lender signs for the API, with the nonce that it demands; the key stays")
    func api() throws {
        let world = try LendWorld(["-p", "machine"]) { $0.requiresDPoPNonceAtResource = true }
        let answer = try world.run("request", "\(world.world.issuer)/api/hello")
        #expect(answer.status == 0 && answer.output.contains("hello"), "\(answer)")
        #expect(world.log("proof for GET") != nil)
        let proxy = try world.start(["proxy", "\(world.world.issuer)/api"])
        let url = proxy.output { text in text.split(separator: " ").first.map(String.init) }
        let hello = try world.world.run(["-sS", "\(url ?? "")hello"], as: "/usr/bin/curl")
        proxy.signal(SIGTERM)
        #expect(hello.output.contains("hello"), "\(hello) \(proxy.finish())")
    }

    @Test("a proof needs no request of its own to the provider")
    func provider() throws {
        let world = try LendWorld(["-p", "machine"])
        func hello() throws -> Program.Outcome { try world.run("request", "\(world.world.issuer)/api/hello") }
        #expect(try hello().status == 0)
        try FileManager.default.removeItem(atPath: world.world.home + "/.cache/oidc")
        let asked = RequestCounter()
        world.world.provider.intercept { request in
            guard request.url.path.hasPrefix("/.well-known/") else { return nil }
            asked.add()
            return HTTPResponse(status: 500)
        }
        for _ in 0..<3 { #expect(try hello().status == 0) }
        #expect(asked.value == 0)
    }

    @Test(
        "no proof for the provider's endpoints, however they are spelled, nor for origins that get no token")
    func endpoints() throws {
        let world = try LendWorld(["-p", "machine"])
        let token = try world.run("token").output.trimmingCharacters(in: .whitespacesAndNewlines)
        let issuer = world.world.issuer
        func answer(_ url: String, token: String) -> String {
            world.post(
                #"{"version":1,"ask":"proof","profile":"machine","user":"x","host":"y","command":"z","#
                    + #""method":"POST","url":"\#(url)","token":"\#(token)"}"#)
        }
        #expect(answer("\(issuer)/api/hello", token: token).contains("\"proof\""))
        for url in [
            "\(issuer)/token", "\(issuer)/par", "\(issuer)/register", "\(issuer)/revoke",
            "\(issuer)/authorize",
            "\(issuer)//token", "\(issuer)/%74oken", "\(issuer)/api/../token", "\(issuer)/api/%2e%2e/token",
            "\(issuer)/token/", "\(issuer)/TOKEN", "\(issuer)/", "https://evil.example/api/hello",
            "\(issuer)/apis",
        ] {
            let text = answer(url, token: token)
            #expect(text.contains("no proof is signed") && !text.contains("\"proof\""), "\(url): \(text)")
        }
        #expect(answer("\(issuer)/api/hello", token: "other").contains("only for a token that was lent"))
    }
}

extension ToolWorld {
    fileprivate var sessionIsStored: Bool { (try? store.load(key)) ?? nil != nil }
}
