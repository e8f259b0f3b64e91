import Foundation
import LoopbackHTTP
import OIDCCore
import OIDCSessions
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("lend: what each side believes of the other")
struct LendMessageTests {
    private func terms(
        naming named: String? = nil, _ change: (inout JSONObject) -> Void
    ) throws -> LentTerms {
        var members =
            try JSONValue(
                parsing: #"""
                    {"profile":"work","profiles":["work"],"lender":"alice@laptop","usable":true,"seconds_left":60,
                    "issuer":"https://login.example.com","token_endpoint":"https://login.example.com/token",
                    "settings":{"issuer":"https://login.example.com","client_id":"cli"}}
                    """#
            ).object ?? JSONObject()
        change(&members)
        return try LentTerms(
            JSONReader(members) { name, expected, _ in LentTerms.fault("\(name) is not \(expected)") },
            named: [named.flatMap { WebURL($0) }].compactMap { $0 })
    }

    @Test("settings that name files, programs, stores or weaker checks are not taken from a lender")
    func settings() throws {
        let hostile = JSONValue.object(
            try #require(
                JSONValue(
                    parsing: #"""
                        {"client_id":"cli","browser":["sh"],"ca_file":"/tmp/x","store":"file","allow_insecure_http":true,
                        "client_secret_command":["sh"],"nonce":"off","private_key_file":"/etc/shadow","flow":"device",
                        "client_secret":"x","extra_token_params":{"a":"b"},"dpop":true}
                        """#
                ).object))
        let names = try terms { $0["settings"] = hostile }.settings.names
        #expect(names == ["client_id"])
        for name in ["file", "command", "secret", "store", "browser", "insecure"] {
            #expect(!LentTerms.settings.contains { $0.name.contains(name) }, "\(name)")
        }
    }

    @Test(
        "endpoints are https, or on loopback if the far side names one: a lender leads to no services there",
        arguments: [
            "http://login.example.com/token", "http://127.0.0.1:6379/token", "https://localhost/token",
            "https://[::1]/token", "file:///etc/passwd", "https://login.example.com/token#x",
            "https://169.254.169.254/latest/", "https://10.1.2.3/token", "https://[fe80::1]/token",
            "https://0xc0a80001/token",
        ])
    func endpoints(_ url: String) throws {
        for name in ["token_endpoint", "userinfo_endpoint", "jwks_uri"] {
            #expect(throws: OIDCError.self) { try terms { $0[name] = .string(url) } }
        }
        #expect(try terms { _ in }.tokenEndpoint.text == "https://login.example.com/token")
    }

    @Test("what a lender says of itself does not make a provider or a resource of the far machine acceptable")
    func local() throws {
        let issuer = JSONValue.string("http://127.0.0.1:18799")
        func change(_ members: inout JSONObject) {
            members["issuer"] = issuer
            members["token_endpoint"] = "http://127.0.0.1:18799/token"
            members["userinfo_endpoint"] = "http://127.0.0.1:18799/userinfo"
            members["settings"] = ["issuer": issuer]
        }
        #expect(throws: OIDCError.self) { try terms(change) }
        #expect(try terms(naming: "http://127.0.0.1:1", change).userInfoEndpoint?.port == 18_799)
        for name in ["issuer", "token_endpoint", "aws_sts_endpoint"] {
            #expect(throws: OIDCError.self, "\(name)") {
                try terms { $0["settings"] = [name: issuer] }
            }
        }
        let here: JSONValue = ["title": "here", "url": "http://127.0.0.1:6379/"]
        let there: JSONValue = ["title": "there", "url": "https://api.example.com/"]
        let hosts: JSONValue = [["host": "localhost:5000"], ["host": "git.example.com"]]
        let settings: JSONValue = [
            "resources": [here, there], "resource": ["https://[::1]/x"], "git_hosts": hosts,
        ]
        let taken = try terms { $0["settings"] = settings }.settings
        #expect(taken["resources"]?.array?.count == 1 && taken["resource"]?.array == [])
        #expect(taken["git_hosts"]?.array?.first?["host"]?.string == "git.example.com")
        #expect(
            try terms(naming: "http://127.0.0.1:1") { $0["settings"] = settings }.settings["resources"]?
                .array?.count == 2
        )
    }

    @Test(
        "only this side's own words make a provider at a private address acceptable, and none of this machine"
    )
    func privateAddress() throws {
        let issuer = JSONValue.string("https://10.1.2.3")
        func change(_ members: inout JSONObject) {
            members["issuer"] = issuer
            members["token_endpoint"] = "https://10.1.2.3/token"
            members["userinfo_endpoint"] = "https://10.1.2.4/userinfo"
            members["settings"] = ["issuer": issuer]
        }
        for named in [nil, "https://login.example.com"] {
            let error = #expect(throws: OIDCError.self) { try terms(naming: named, change) }
            #expect(error?.kind == .refused && error?.message.contains("a private address") == true)
        }
        let taken = try terms(naming: "https://10.1.2.3", change)
        #expect(taken.userInfoEndpoint?.host == "10.1.2.4" && taken.settings["issuer"] == issuer)
        #expect(throws: OIDCError.self) {
            try terms(naming: "https://10.1.2.3") { $0["jwks_uri"] = "https://127.0.0.1/keys" }
        }
        for name in ["issuer", "token_endpoint", "aws_sts_endpoint"] {
            #expect(throws: OIDCError.self, "\(name)") { try terms { $0["settings"] = [name: issuer] } }
        }
        // What is asked only for a URL that the user names may be anywhere but here.
        let api: JSONValue = [["title": "inside", "url": "https://10.1.2.3/api"]]
        #expect(try terms { $0["settings"] = ["resources": api] }.settings["resources"]?.array?.count == 1)
    }

    @Test(
        "the time after which to try again is neither negative nor endless", arguments: [Int64.min, -1, .max])
    func retryAfter(seconds: Int64) throws {
        let error = OIDCError(
            lent: try #require(
                JSONValue(parsing: #"{"kind":"unreachable","retry_after":\#(seconds)}"#).object))
        #expect(error.retryAfter.map { (0...86_400).contains($0) } == true)
    }

    @Test("of the profiles that a lender names, each counts once, and sixty-four at most")
    func profiles() throws {
        let names = (0..<1_000).map { JSONValue.string("p\($0 / 2)") }
        #expect(try terms { $0["profiles"] = .array(names) }.profiles == (0..<64).map { "p\($0)" })
    }

    @Test("names from a lender are cleaned or refused, and numbers do not trap")
    func text() throws {
        #expect(throws: OIDCError.self) { try terms { $0["profile"] = "a\u{1B}[2J" } }
        #expect(
            try terms { $0["lender"] = "a\u{1B}[2J\u{202E}b" }.lender.unicodeScalars.allSatisfy {
                $0.value >= 0x20
            })
        #expect(throws: OIDCError.self) { try terms { $0["seconds_left"] = "8" } }
        #expect(try terms { $0["seconds_left"] = JSONValue(.min) }.secondsLeft == 0)
        let now = Instant(secondsSinceEpoch: 1_000)
        let members = try JSONValue(
            parsing:
                #"{"token":"t","token_type":"Bearer","age":9223372036854775807,"seconds":9223372036854775807}"#
        )
        let access = try AccessToken(lent: try #require(members.object), at: now)
        #expect(access.expiresAt == now.adding(315_360_000) && access.obtainedAt < now)
        let past = try JSONValue(
            parsing: #"{"token":"t","token_type":"Bearer","seconds":-9223372036854775808}"#)
        let ended = try AccessToken(lent: try #require(past.object), at: now)
        #expect(ended.expiresAt == now.adding(-315_360_000) && !ended.isFresh(at: now, minimum: 0))
        let seconds = try terms {
            $0["token_seconds"] = JSONValue(.max)
            $0["seconds_left"] = JSONValue(.max)
        }
        #expect(seconds.tokenSeconds == 315_360_000 && seconds.secondsLeft == 315_360_000)
    }

    @Test(
        "a token that a header cannot carry is refused (RFC 6749 appendix A.12)",
        arguments: ["", "a b", "a\r\nX: y", "ä", "a\u{0}"])
    func token(_ token: String) {
        var members = JSONObject()
        members["token"] = .string(token)
        members["token_type"] = "Bearer"
        #expect(throws: OIDCError.self) {
            try AccessToken(lent: members, at: Instant(secondsSinceEpoch: 0))
        }
    }

    @Test("times are lent as seconds, so a clock that is an hour off changes nothing")
    func clock() throws {
        let here = Instant(secondsSinceEpoch: 1_000_000)
        let lent = AccessToken(
            token: Redacted("t"), type: .bearer, obtainedAt: here.adding(-60), expiresAt: here.adding(300),
            scope: Scope("a b")
        ).lent(at: here)
        let there = here.adding(-3_600)
        let access = try AccessToken(lent: try #require(lent.object), at: there)
        #expect(access.expiresAt == there.adding(300) && access.obtainedAt == there.adding(-60))
        #expect(access.scope?.text == "a b" && access.isFresh(at: there, minimum: 60))
    }

    @Test("a request is what was asked, for each matter")
    func requests() throws {
        let claim = LendRequest.Claim(user: "bob", host: "build1", command: "token")
        let url = try #require(WebURL("https://api.example.com/x"))
        let matters: [LendRequest.Matter] = [
            .terms,
            .accessToken(scope: Scope("a"), minimumValidity: 30, isRenewed: true, refused: Redacted("t")),
            .idToken(minimumValidity: 60, isRenewed: false),
            .proof(method: .post, url: url, nonce: "n", token: Redacted("t")),
        ]
        for matter in matters {
            let request = LendRequest(profile: "work", claim: claim, matter: matter)
            let read = try LendRequest(parsing: Array(request.json.compact.utf8))
            #expect(read.json == request.json)
        }
    }

    @Test(
        "spellings that a server may read as an endpoint are that endpoint",
        arguments: [
            "/api//t", "/api/;/t", "/;a/api;b/t", "/api/t.", "/api/t%20", "/api/t%00x", "/api/t%3fx",
            "/api%5Ct",
            "/API/%74/", "/api/t;%cc%81", "/api/t%23x", "/api%ef%bc%8ft",
        ])
    func spelling(path: String) throws {
        let endpoint = try #require(WebURL("https://op.example/api/t"))
        let url = try #require(WebURL("https://op.example\(path)"))
        #expect(url.mayBeRead(asOneOf: [endpoint]))
    }

    @Test(
        "other paths and origins are not",
        arguments: ["op.example/api/tt", "op.example/api", "api.example/api/t"])
    func otherPath(rest: String) throws {
        let endpoint = try #require(WebURL("https://op.example/api/t"))
        let url = try #require(WebURL("https://\(rest)"))
        #expect(!url.mayBeRead(asOneOf: [endpoint]))
    }

    @Test("a provider's endpoints are asked for every ten minutes, and known while it does not answer")
    func knownEndpoints() throws {
        var known = KnownEndpoints()
        let urls = [try #require(WebURL("https://op.example/t"))]
        let down = OIDCError(.unreachable, "down", stage: .discovery)
        func answer(_ provider: String, at seconds: Int64, _ result: Result<[WebURL], OIDCError>) -> String {
            let now = MonotonicTime(nanoseconds: 0).adding(seconds: seconds)
            do throws(OIDCError) {
                let urls = try known.urls(of: provider, at: now) { () throws(OIDCError) in try result.get() }
                return urls.isEmpty ? "none" : "found"
            } catch {
                return error.message
            }
        }
        let answers = [
            answer("a", at: 0, .failure(down)), answer("a", at: 9, .success(urls)),
            answer("a", at: 10, .success(urls)), answer("a", at: 609, .success([])),
            answer("a", at: 611, .failure(down)),
            answer("a", at: 1_212, .failure(OIDCError(.usage, "wrong"))),
            answer("b", at: 1_212, .failure(down)), answer("a", at: 1_212, .success([])),
        ]
        #expect(answers == ["down", "down", "found", "found", "found", "wrong", "down", "none"])
    }

    @Test(
        "answers of a hostile lender end in an error: none, endless, not HTTP, without a length, not JSON",
        arguments: [
            "", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n{\"error\":{\"kind\":\"interrupted\"}}         ",
            String(repeating: "x", count: 2 << 20),
        ])
    func hostileLender(_ answer: String) throws {
        let path = FileManager.default.temporaryDirectory.path + "/lender-\(UUID().uuidString.prefix(8))"
        let listener = try SocketListener(path)
        defer { listener.remove() }
        let server = try BackgroundResult {
            Poll.wait(for: listener.descriptor.rawValue, .reading, until: .now().adding(seconds: 60))
            guard let peer = try? LoopbackSocket.accept(listener.descriptor) else { return false }
            var rest = Array(answer.utf8)[...]
            while !rest.isEmpty {
                do throws(Errno) {
                    rest = rest.dropFirst(try LoopbackSocket.send(rest, to: peer))
                } catch {
                    guard error == .wouldBlock else { break }
                    Poll.wait(for: peer.rawValue, .writing, until: .now().adding(seconds: 10))
                }
            }
            peer.close()
            return true
        }
        let lent = LentSession(path: path, profile: nil, naming: [], environment: [:], command: "token")
        let error = #expect(throws: OIDCError.self) { try lent.terms() }
        #expect([.unreachable, .refused].contains(error?.kind), "\(error as Any)")
        listener.descriptor.close()
        _ = server
    }

    @Test("times are written as 30m, 8h or 2d")
    func times() {
        for (text, seconds) in [("90s", 90), ("30m", 1_800), ("8h", 28_800), ("2d", 172_800)]
            as [(String, Int64)]
        {
            #expect(LendTime(argument: text)?.seconds == seconds)
        }
        #expect(LendTime(seconds: 28_800).argument == "8h" && LendTime(seconds: 61).argument == "61s")
        for text in ["", "8", "h", "0s", "-1h", "31d", "99999999999999999999d", "1w", "1 h"] {
            #expect(LendTime(argument: text) == nil, "\(text)")
        }
    }
}

@Suite("lend --to: words for the shell of another host", .serialized, .waiting)
struct RemoteLendTests {
    private static let shells = [["sh"], ["bash"], ["dash"], ["zsh"], ["csh"], ["tcsh"], ["fish"]]

    @Test("every word arrives unchanged in sh, csh and fish")
    func quoting() throws {
        let words = [
            "plain", "", "two words", "it's", "\"double\"", "$HOME", "`id`", "$(id)", "a\\b", "!history",
            "!!", "~",
            "~root", "#comment", "*", "?", "[a-z]", "{a,b}", "a;b", "a&b", "a|b", "a>b", "a<b", "(a)",
            "%self", "%1",
            "^a^b", "=ls", "-n", "--", "ä€😀", "a=b", "@", "a'b\"c\\d$e!f", "\\\\", "\\n", "$status", "%%",
        ]
        var tried = 0
        for shell in Self.shells where Installed.programs(shell[0]) {
            tried += 1
            let line = try RemoteLend.quoted(["printf", "%s|"] + words)
            var process = ChildProcess(
                shell + ["-c", "exec \(line)"],
                environment: ["PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"])
            process.errorOutput = .captured
            let outcome = try process.run()
            #expect(
                String(decoding: outcome.output, as: UTF8.self) == words.map { $0 + "|" }.joined(),
                "\(shell): \(String(decoding: outcome.errorOutput, as: UTF8.self))")
        }
        #expect(tried > 0)
        #expect(throws: OIDCError.self) { try RemoteLend.quoted(["a\nb"]) }
    }

    /// A stand-in for ssh: runs the command here, with the user's shell, and links the socket.
    private static let stub = """
        #!/bin/sh
        link=
        while [ $# -gt 0 ]; do
          case "$1" in
            -R) link=$2; shift 2;;
            -o) shift 2;;
            -t|-T) shift;;
            --) shift; break;;
            *) echo "unexpected $1" >&2; exit 255;;
          esac
        done
        [ "$1" = build1 ] || exit 255
        shift
        [ -z "$link" ] || ln -s "${link#*:}" "${link%%:*}"
        [ -z "$SSH_LOG" ] || env >>"$SSH_LOG"
        [ -z "$SSH_PAUSE" ] || [ "$1" != "mktemp -d" ] || { sh -c "$1"; : >"$SSH_PAUSE"; sleep 2; exit 0; }
        exec env -u OIDC_LENT ${FAR_SHELL:-sh} -c "$1"

        """

    @Test(
        "the command gets the socket, its words and its exit status; the folder is gone afterwards",
        arguments: shells)
    func command(_ shell: [String]) throws {
        guard Installed.programs(shell[0]) else { return }
        let world = try ToolWorld()
        try world.signIn()
        let folder = "\(world.home)/bin"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try ExecutableScript.write(Self.stub, to: URL(fileURLWithPath: "\(folder)/ssh"))
        let script =
            "echo \"$OIDC_LENT\"; env -u OIDC_CLIENT_ID \(Program.path) token; printf '%s\\n' \"$1\"; exit 7"
        let variables = world.person.merging([
            "PATH": "\(folder):/usr/bin:/bin", "FAR_SHELL": shell[0], "TMPDIR": world.home,
            "XDG_RUNTIME_DIR": world.home,
        ]) { $1 }
        let outcome = try world.run(
            ["lend", "--to", "build1", "--", "sh", "-c", script, "sh", "it's $HOME!"], variables)
        let lines = outcome.output.split(separator: "\n").map(String.init)
        let token = try world.store.load(world.key)?.tokens.access.token.revealed
        #expect(outcome.code == 7 && lines.count == 3, "\(outcome)")
        #expect(lines.dropFirst().first == token && lines.last == "it's $HOME!", "\(outcome)")
        let socket = try #require(lines.first)
        #expect(socket.hasSuffix("/s"))
        #expect(!FileManager.default.fileExists(atPath: String(socket.dropLast(2))))
        let sockets = try FileManager.default.contentsOfDirectory(atPath: "\(world.home)/oidc")
        #expect(sockets.isEmpty, "\(sockets)")
    }

    /// A world with a session, and the variables of a lender that finds the stand-in for ssh.
    private func world() throws -> (ToolWorld, [String: String]) {
        let world = try ToolWorld()
        try world.signIn()
        let folder = "\(world.home)/bin"
        for path in [folder, world.home + "/far"] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        try ExecutableScript.write(Self.stub, to: URL(fileURLWithPath: "\(folder)/ssh"))
        let variables = world.person.merging([
            "PATH": "\(folder):/usr/bin:/bin", "TMPDIR": world.home + "/far", "XDG_RUNTIME_DIR": world.home,
        ]) { $1 }
        return (world, variables)
    }

    @Test("ssh does not get the variables that settings name as secret")
    func secrets() throws {
        let (world, variables) = try world()
        let log = world.home + "/variables"
        let outcome = try world.run(
            ["lend", "--to", "build1", "--", "true"],
            variables.merging([
                "SSH_LOG": log, "OIDC_SUBJECT_TOKEN_ENV": "MINE", "MINE": "secret-1", "KEPT": "kept",
                "OIDC_CLIENT_SECRET": "secret-2",
            ]) { $1 })
        #expect(outcome.code == 0, "\(outcome)")
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.components(separatedBy: "KEPT=kept").count == 3 && !text.contains("secret-"), "\(text)")
    }

    @Test("a signal while the folder is made there does not leave it", arguments: [SIGTERM, SIGINT])
    func signalBeforeStart(_ number: Int32) throws {
        let (world, variables) = try world()
        let mark = world.home + "/made"
        let run = try Program(at: world).start(
            ["lend", "--to", "build1", "--", "true"], variables.merging(["SSH_PAUSE": mark]) { $1 })
        let end = Date().addingTimeInterval(30)
        while !FileManager.default.fileExists(atPath: mark), Date() < end { usleep(10_000) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: world.home + "/far").count == 1)
        run.signal(number)
        let outcome = run.finish()
        #expect(outcome.status == 128 + number, "\(outcome)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: world.home + "/far") == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: world.home + "/oidc") == [])
    }

    @Test("the sockets of lenders that were killed are removed, and those of others are not")
    func abandoned() throws {
        let (world, variables) = try world()
        let folder = world.home + "/oidc"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let (killed, served, new) = (
            folder + "/lend-a.sock", folder + "/lend-b.sock", folder + "/lend-c.sock"
        )
        let file = folder + "/lend-d.sock"
        let listener = try SocketListener(served)
        defer { listener.remove() }
        for path in [killed, new] { try SocketListener(path).descriptor.close() }
        try Data().write(to: URL(fileURLWithPath: file))
        let past = [timeval(tv_sec: 1_000, tv_usec: 0), timeval(tv_sec: 1_000, tv_usec: 0)]
        for path in [killed, served, file] { try #require(utimes(path, past) == 0) }
        #expect(try world.run(["lend", "--to", "build1", "--", "true"], variables).code == 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        // One that is new may be about to be listened on.
        #expect(left == ["lend-b.sock", "lend-c.sock", "lend-d.sock"], "\(left)")
        listener.descriptor.close()
    }
}
