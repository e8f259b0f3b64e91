import DemoProvider
import Foundation
import LoopbackHTTP
import OIDCCore
import TestSupport
import Testing

@Suite("proxy, in the built program", .serialized, .waiting)
struct ProxyCommandTests {
    @Test("each route is a line with its URL, as text or JSON, and routes can be settings")
    func lines() throws {
        let world = try ToolWorld()
        let urls = ["https://a.example/v1", "http://127.0.0.1:9"]
        func lines(_ options: [String], _ more: [String: String] = [:]) throws -> [String] {
            let run = try Program(at: world).start(["proxy"] + options, world.machine.merging(more) { $1 })
            _ = run.output { $0.split(separator: "\n").count == 2 ? true : nil }
            run.signal(SIGINT)
            let outcome = run.finish()
            #expect(outcome.status == 130 && !outcome.errorOutput.contains("error:"), "\(outcome)")
            return outcome.output.split(separator: "\n").map(String.init)
        }
        let pattern = /http:\/\/127\.0\.0\.1:\d+\/[A-Za-z0-9_-]{43}\//
        for (line, url) in zip(try lines(urls), urls) {
            #expect(line.hasSuffix("/ → \(url)") && line.prefixMatch(of: pattern) != nil, "\(line)")
        }
        #expect(try lines(urls, ["LC_ALL": "C"]).first?.hasSuffix("/ -> \(urls[0])") == true)
        let settings =
            "[{\"url\":\"https://a.example/v1\",\"path\":\"/api\"},{\"url\":\"http://127.0.0.1:9\"}]"
        let json = try lines(["-o", "json"], ["OIDC_PROXY_ROUTES": settings]).map {
            try JSONValue(parsing: $0)
        }
        #expect(json.map { $0["target"]?.string } == urls)
        #expect(json.first?["url"]?.string?.hasSuffix("/api/") == true)
    }

    @Test("without a session it does not start: exit 3, and a hint")
    func signedOut() throws {
        let world = try ToolWorld()
        for words in [
            ["proxy", "https://a.example"], ["exec", "--proxy", "https://a.example", "echo", "ran"],
        ] {
            let result = try world.run(words, world.person)
            #expect(
                result.code == 3 && result.output == "" && result.errors.contains("try: oidc login"),
                "\(result)")
        }
    }

    @Test(
        "mistakes on the command line are explained",
        arguments: [
            ([], "no URL to serve"), (["a.example"], "is not a URL"), (["http://a.example"], "plain http"),
            (["https://a.example/?q"], "query"), (["https://u:p@a.example"], "user information"),
            (["u:p@a.example"], "user information"), (["ftp://a.example"], "the scheme"),
            (["https://a.example:99999"], "the port"), (["--log", "", "https://a.example"], "--log takes"),
            (["--listen", "tcp:1", "https://a.example"], "unix:PATH"),
            (["--listen", "unix:x", "--port", "1", "https://a.example"], "together"),
            (["--log", "/no/such/file", "https://a.example"], "--log"),
        ] as [([String], String)])
    func mistakes(options: [String], message: String) throws {
        let world = try ToolWorld()
        let result = try world.run(["proxy"] + options, world.machine)
        #expect(result.code == 2 && result.errors.contains(message) && result.output == "", "\(result)")
        #expect(!result.errors.contains("u:p"), "\(result)")
    }

    @Test("a log that is a pipe without a reader, or a symbolic link, is refused")
    func log() throws {
        let world = try ToolWorld()
        let (pipe, link) = ("\(world.home)/pipe", "\(world.home)/link")
        try #require(mkfifo(pipe, 0o600) == 0 && symlink("/dev/null", link) == 0)
        for (path, word) in [(pipe, "without a reader"), (link, "symbolic link")] {
            let result = try world.run(["proxy", "--log", path, "https://a.example"], world.machine)
            #expect(result.code == 2 && result.errors.contains(word), "\(result)")
        }
    }

    @Test("--listen with an unusable path is a usage error, as is --log")
    func fileAsSocket() throws {
        let world = try ToolWorld()
        let path = "\(world.home)/file"
        try "x".write(toFile: path, atomically: false, encoding: .utf8)
        let pipe = "\(world.home)/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        for (path, message) in [
            (path, "is a file, not a socket"), (pipe, "is a pipe, not a socket"),
            ("/dev/null", "is a device, not a socket"), (world.home, "is a directory, not a socket"),
            ("/no/such/socket", "cannot listen on the socket"),
        ] {
            let result = try world.run(
                ["proxy", "--listen", "unix:\(path)", "https://a.example"], world.machine)
            #expect(result.code == 2 && result.errors.contains(message), "\(result)")
        }
        let open = "\(world.home)/open"
        try #require(mkdir(open, 0o700) == 0 && chmod(open, 0o777) == 0)
        let result = try world.run(
            ["proxy", "--listen", "unix:\(open)/s", "https://a.example"], world.machine)
        #expect(result.code == 2 && result.errors.contains("other users can replace the socket"), "\(result)")
        #expect(result.errors.contains("chmod go-w \(open)"), "\(result)")
        var status = stat()
        #expect(lstat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
        #expect(lstat("/dev/null", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
    }

    @Test("a session that ends is reported once; a new one is used without a restart")
    func ended() throws {
        let world = try ToolWorld()
        try world.signIn()
        let proxy = try RunningProxy(world: world, variables: world.person)
        #expect(proxy.exchange(proxy.get(proxy.prefix)).hasSuffix("hello"))
        _ = try world.run(["logout", "--local"], world.person)
        // The session is looked at again after a second.
        var reply = ask(proxy) { RawConnection.status($0) == 401 }
        #expect(reply.contains("\"login_required\"") && reply.contains("\"hint\":\"oidc login"), "\(reply)")
        _ = proxy.exchange(proxy.get(proxy.prefix))
        try world.signIn()
        reply = ask(proxy) { $0.hasSuffix("hello") }
        #expect(reply.hasSuffix("hello"), "\(reply)")
        #expect(proxy.run.errorOutput.components(separatedBy: "warning: requests get no token: ").count == 2)
    }

    @Test(
        "with --login, a caller that goes on asking opens no browser again after a sign-in that nobody finished"
    )
    func unfinishedSignIn() throws {
        let world = try ToolWorld()
        try world.signIn()
        let browser = world.home + "/browser"
        try ExecutableScript.write(
            "#!/bin/sh\necho tab >>'\(world.home)/tabs'\n", to: URL(fileURLWithPath: browser))
        let proxy = try RunningProxy(
            ["--login"], world: world,
            variables: world.person.merging(["BROWSER": browser, "OIDC_TIMEOUT": "1"]) { $1 })
        _ = try world.run(["logout", "--local"], world.person)
        let first = ask(proxy) { RawConnection.status($0) != 200 }
        #expect(first.contains("application/problem+json"), "\(first)")
        // The time-out is the answer for a second.
        let later = ask(proxy) { RawConnection.status($0) == 401 }
        #expect(later.contains("oidc login"), "\(later)")
        #expect(try String(contentsOfFile: world.home + "/tabs", encoding: .utf8) == "tab\n")
        try world.signIn()
        #expect(ask(proxy) { $0.hasSuffix("hello") }.hasSuffix("hello"))
    }

    /// Repeats a request until the answer is as wanted.
    private func ask(_ proxy: RunningProxy, until isWanted: (String) -> Bool) -> String {
        let end = Date().addingTimeInterval(20)
        while true {
            let reply = proxy.exchange(proxy.get(proxy.prefix))
            if isWanted(reply) || Date() > end { return reply }
            usleep(20_000)
        }
    }

    @Test("tokens of one second never bring a 401 to the caller, and each is obtained once")
    func shortTokens() throws {
        let world = try ToolWorld { $0.accessTokenLifetime = 1 }
        let issuer = world.issuer
        let proxy = try RunningProxy(world: world) { request in
            let token = request.headers["Authorization"]?.dropFirst(7) ?? ""
            var form = HTTPRequest.form(
                WebURL("\(issuer)/introspect")!,
                [FormEncoding.Pair("token", String(token))])
            form.headers["Authorization"] =
                "Basic " + Data("demo-confidential:demo-secret".utf8).base64EncodedString()
            let answer = try? CurlTransportForTests.send(form)
            let isActive = (answer.flatMap { try? JSONValue(parsing: $0.body) })?["active"]?.bool == true
            return HTTPResponse(
                status: isActive ? 200 : 401, headers: HTTPHeaders([("WWW-Authenticate", "Bearer")]))
        }
        let end = Date().addingTimeInterval(2.5)
        var count = 0
        while Date() < end {
            let reply = proxy.exchange(proxy.get(proxy.prefix))
            #expect(reply.hasPrefix("HTTP/1.1 200"), "\(reply)")
            count += 1
        }
        let refreshes = world.provider.requestCount(grant: "client_credentials")
        #expect(count > 5 && (2...10).contains(refreshes), "\(count) \(refreshes)")
    }

    @Test("after the idle time the proxy exits with 0; its socket is only for this user")
    func socket() throws {
        let world = try ToolWorld()
        let path = world.home + "/api.sock"
        let api = try world.serve { _ in HTTPResponse(status: 200, body: Array("hello".utf8)) }
        let run = try Program(at: world).start(
            ["proxy", "--listen", "unix:\(path)", "--idle-timeout", "1", api.origin, "--log", "-"],
            world.machine)
        _ = run.output { $0.contains("\n") ? true : nil }
        #expect((try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int) == 0o600)
        let reply = try world.run(
            ["curl", "-sS", "--unix-socket", path, "http://localhost/x"], as: "/usr/bin/env")
        #expect(reply.output == "hello", "\(reply)")
        let outcome = run.finish()
        #expect(outcome.status == 0 && outcome.output.contains(" GET /x 200 5 "), "\(outcome)")
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}

@Suite("exec --proxy, in the built program", .serialized, .waiting)
struct ProxyExecTests {
    @Test("the command reaches the API and has the token nowhere: environment, arguments, files, memory")
    func noToken() throws {
        let world = try ToolWorld()
        let api = try world.serve { _ in HTTPResponse(status: 200, body: Array("hello".utf8)) }
        let script = """
            import os, re, urllib.request
            print(urllib.request.urlopen(os.environ["OIDC_PROXY_URL_2"] + "x").read().decode())
            with open("seen", "wb") as seen, open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
                for name in ("environ", "cmdline"):
                    seen.write(open("/proc/self/" + name, "rb").read() + b"\\n")
                for fd in os.listdir("/proc/self/fd"):
                    try: seen.write(b"fd " + os.readlink("/proc/self/fd/" + fd).encode() + b"\\n")
                    except OSError: pass
                for line in maps:
                    part = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
                    if part is None: continue
                    start, end = (int(text, 16) for text in part.groups())
                    try:
                        memory.seek(start)
                        seen.write(memory.read(end - start))
                    except (OSError, OverflowError, ValueError): pass
            """
        let variables = world.machine.merging(["OIDC_ACCESS_TOKEN": "inherited", "OIDC_PROXY_URL_3": "old"]) {
            $1
        }
        let result = try world.run(
            [
                "exec", "--proxy", "https://a.example", "--proxy", "\(api.origin)/v1", "--", "sh", "-c",
                "cd \"$HOME\" && exec python3 -c \"$1\"", "sh", script,
            ],
            variables)
        let token = try world.run(["token"], world.machine).output.trimmingCharacters(in: .newlines)
        #expect(result.code == 0 && result.output.hasPrefix("hello\n"), "\(result.errors)")
        #expect(api.requests.map { $0.headers["Authorization"] } == ["Bearer \(token)"])
        func isSeen(_ text: String) throws -> Bool {
            try world.run(["grep", "-qaF", text, world.home + "/seen"], as: "/usr/bin/env").code == 0
        }
        for secret in [
            token, "demo-secret", "OIDC_ACCESS_TOKEN=", "OIDC_CLIENT_SECRET=", "OIDC_PROXY_URL_3=",
        ] {
            #expect(try !isSeen(secret), "\(secret)")
        }
        #expect(try isSeen("OIDC_PROXY_URL=http://127.0.0.1:"))
        #expect(result.errors == "")
    }

    @Test(
        "the command's end is ours, and 128 and the signal if one ended it",
        arguments: [
            ("exit 42", 42), ("true", 0), ("kill -9 $$", 137), ("kill -TERM $$", 143), ("cat; exit 3", 3),
        ])
    func status(script: String, status: Int32) throws {
        let world = try ToolWorld()
        let result = try world.run(
            ["exec", "--proxy", "https://a.example", "--", "sh", "-c", script], world.machine,
            input: "piped in")
        #expect(result.code == status && result.errors == "", "\(result)")
        #expect(result.output == (script.hasPrefix("cat") ? "piped in" : ""))
    }

    @Test("a command that cannot be run has the exit status of env; options that pass a token are refused")
    func failures() throws {
        let world = try ToolWorld()
        for (command, status) in [("no-such-command", 127), ("/etc/passwd", 126)] {
            let result = try world.run(["exec", "--proxy", "https://a.example", command], world.machine)
            #expect(Int(result.code ?? -1) == status && result.errors.contains("cannot be run"), "\(result)")
        }
        for option in [["--id-token"], ["--env", "X"]] {
            #expect(
                try world.run(["exec", "--proxy", "https://a.example"] + option + ["true"], world.machine)
                    .code == 2)
        }
        let script = world.home + "/plain"
        try ExecutableScript.write("echo no interpreter line\n", to: URL(fileURLWithPath: script))
        let result = try world.run(["exec", "--proxy", "https://a.example", script], world.machine)
        #expect(result.output == "no interpreter line\n", "\(result)")
    }

    @Test(
        "signals are passed on to the command, whose end decides",
        arguments: [SIGINT, SIGTERM, SIGHUP, SIGUSR1])
    func signals(number: Int32) throws {
        let world = try ToolWorld()
        let run = try Program(at: world).start(
            [
                "exec", "--proxy", "https://a.example", "--", "sh", "-c",
                "trap 'echo caught; exit 9' INT TERM HUP USR1; echo ready; while :; do sleep 0.05; done",
            ], world.machine)
        _ = run.output { $0.contains("ready") ? true : nil }
        run.signal(number)
        let outcome = run.finish()
        #expect(outcome.status == 9 && outcome.output == "ready\ncaught\n", "\(outcome)")
    }

    @Test(
        "Ctrl-C ends an isolated command, also one in a session of its own",
        .enabled(if: Installed.programs("setsid"), "setsid is not installed"))
    func isolatedInterrupt() throws {
        guard Isolation.isPossible else { return }
        let world = try ToolWorld()
        // Who runs the tests may ignore it.
        let previous = signal(SIGINT, SIG_DFL)
        defer { signal(SIGINT, previous) }
        let run = try TerminalRun(
            Program(at: world),
            [
                "exec", "--isolate", "--proxy", "https://a.example", "--", "sh", "-c",
                "echo rea''dy; while :; do sleep 0.1; done",
            ], world.machine)
        try #require(run.wait(within: 60) { $0.contains("ready") ? true : nil } == true, "\(run.text)")
        run.type("\u{3}")
        #expect(run.finish().status == 130)
    }

    @Test(
        "an isolated command cannot type into the terminal of the shell, also if none of its streams is on it",
        .enabled(if: Installed.programs("setsid"), "setsid is not installed"))
    func isolatedTerminal() throws {
        let setting = try? String(contentsOfFile: "/proc/sys/dev/tty/legacy_tiocsti", encoding: .utf8)
        guard Isolation.isPossible, setting?.first != "0" else { return }
        let world = try ToolWorld()
        let script = """
            "$0" exec --isolate --proxy https://a.example -- sh -c '(: </dev/tty) && echo shared; echo done' \
                </dev/null >"$HOME/out" 2>"$HOME/errors"
            """
        let run = try TerminalRun(
            Program(at: world),
            ["exec", "--proxy", "https://a.example", "--", "sh", "-c", script, Program.path], world.machine)
        #expect(run.finish().status == 0)
        #expect(try String(contentsOfFile: world.home + "/out", encoding: .utf8) == "done\n")
    }

    @Test(
        "an isolated command changes nothing that is run outside for a secret or a session",
        .enabled(if: Isolation.isPossible), arguments: ["secret", "link", "./secret", "sh", "helper"])
    func isolatedPrograms(name: String) throws {
        let world = try ToolWorld { $0.accessTokenLifetime = 1 }
        let (first, folder) = (world.home + "/first", world.home + "/bin")
        for path in [first, folder] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
        let programs = ["secret": "#!/bin/sh\necho demo-secret\n", "helper": HelperTests.keeping]
        let links = ["link": "secret", "docker-credential-fake": "helper"]
        for (name, text) in programs {
            try ExecutableScript.write(text, to: URL(fileURLWithPath: "\(folder)/\(name)"))
        }
        for (name, target) in links {
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder)/\(name)", withDestinationPath: "\(folder)/\(target)")
        }
        let own = #"#!/bin/sh\ntouch "$HOME/ran"\n"#
        let script = #"""
            cd "$HOME" || exit 9; rm -f calls
            printf '\#(own)' >own; chmod +x own
            for name in secret helper; do cp own bin/$name; mv bin/$name bin/$name.old; cp own first/$name; done 2>&-
            for name in link docker-credential-fake; do rm bin/$name; cp own bin/$name; cp own first/$name; done
            sleep 1.5
            url=${OIDC_PROXY_URL#http://}; host=${url%%/*}
            exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
            printf 'GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "${url#*/}" "$host" >&3
            cat <&3 | head -n 1
            """#
        let command: String? =
            switch name {
            case "sh": #"["sh","-c","secret"]"#
            case "./secret": #"["\#(folder)/secret"]"#
            case "helper": nil
            default: #"["\#(name)"]"#
            }
        var variables = world.machine
        variables["PATH"] = "\(first):\(folder):/usr/bin:/bin"
        if command == nil { variables["OIDC_STORE"] = "helper:fake" }
        let result = try world.run(
            ["exec", "--isolate", "--proxy", world.issuer + "/api"]
                + (command.map { ["--set", "client_secret_command=\($0)"] } ?? [])
                + ["--", "bash", "-c", script], variables)
        #expect(result.code == 0 && result.output.hasPrefix("HTTP/1.1 "), "\(result)")
        // Nor is a program run that is as it was, as the command could change what it reads.
        for file in ["/ran", "/calls"] {
            #expect(!FileManager.default.fileExists(atPath: world.home + file), "\(file): \(result)")
        }
        #expect(world.requests.count { $0.url.path == "/token" } >= 2, "\(result)")
        #expect(!result.errors.contains("can change what it calls"), "\(result)")
    }

    @Test(
        "beside an isolated command no browser is started, and all of the URL is shown",
        .enabled(if: Isolation.isPossible && Installed.programs("setsid")))
    func isolatedBrowser() throws {
        let world = try ToolWorld()
        try world.signIn()
        let browser = world.home + "/browser"
        try ExecutableScript.write(
            "#!/bin/sh\ntouch '\(world.home)/tab'\n", to: URL(fileURLWithPath: browser))
        let script = #"""
            echo rea''dy; until [ -e "$HOME/go" ]; do sleep 0.1; done
            url=${OIDC_PROXY_URL#http://}; host=${url%%/*}
            exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
            printf 'GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "${url#*/}" "$host" >&3
            cat <&3
            """#
        let run = try TerminalRun(
            Program(at: world),
            [
                "exec", "--isolate", "--login", "--proxy", world.issuer + "/userinfo", "--", "bash", "-c",
                script,
            ], world.person.merging(["BROWSER": browser]) { $1 })
        try #require(run.wait(within: 60) { $0.contains("ready") ? true : nil } == true, "\(run.text)")
        _ = try world.run(["logout", "--local"], world.person)
        // The proxy looks at an ended session again after a second.
        Thread.sleep(forTimeInterval: 1.2)
        try Data().write(to: URL(fileURLWithPath: world.home + "/go"))
        let url = try #require(
            run.wait { text in
                text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
                    .first { $0.contains("code_challenge=") }.flatMap { WebURL($0) }
            }, "\(run.text)")
        _ = try CurlTransportForTests.send(try #require(world.provider.redirect(of: url)))
        #expect(run.finish().status == 0, "\(run.text)")
        #expect(!FileManager.default.fileExists(atPath: world.home + "/tab"))
    }

    @Test("--isolate hides sessions, settings, secret files and other processes from the command")
    func isolated() throws {
        guard Isolation.isPossible else { return }
        let world = try ToolWorld()
        let api = try world.serve { _ in HTTPResponse(status: 200, body: Array("hello".utf8)) }
        let runtime = world.home + "/run"
        try FileManager.default.createDirectory(atPath: runtime, withIntermediateDirectories: true)
        // Its first token is stored where no directory is yet.
        let client = world.machine.filter { $0.key != "OIDC_CLIENT_SECRET" }
        try Data("demo-secret".utf8).write(to: URL(fileURLWithPath: world.home + "/secret"))
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: world.home + "/secret")
        try Data("socket".utf8).write(to: URL(fileURLWithPath: runtime + "/bus"))
        let usual = world.home + "/.config/oidc"
        try FileManager.default.createDirectory(atPath: usual, withIntermediateDirectories: true)
        // What the default file names is hidden, too, while another one is in use.
        let own = #"{"profiles":{"own":{"client_secret_file":"~/own","store":"redis+unix:~/redis"}}}"#
        for (path, text) in [
            (usual + "/config.json", own), (world.home + "/other.json", "{}"), (world.home + "/own", "own"),
            (world.home + "/named.json", #"{"profiles":{"n":{"client_secret":"s"}}}"#),
        ] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            chmod(path, 0o600)
        }
        let script = """
            import os, subprocess, sys, urllib.request
            print(urllib.request.urlopen(os.environ["OIDC_PROXY_URL"] + "x").read().decode())
            print("token", subprocess.run([sys.argv[1], "token"], capture_output=True).stdout)
            print("run", os.listdir(os.environ["XDG_RUNTIME_DIR"]))
            for name in ["secret", "own", "named.json"]:
                try: print(name, open(os.environ["HOME"] + "/" + name).read())
                except OSError: print("no", name)
            print("usual", os.listdir(os.environ["HOME"] + "/.config/oidc"))
            others = [open(f"/proc/{n}/comm").read() for n in os.listdir("/proc") if n.isdigit()]
            print("others", [name for name in others if name == "oidc\\n"])
            """
        let result = try world.run(
            [
                "exec", "--isolate", "--config", world.home + "/other.json", "--proxy", "\(api.origin)/v1",
                "--set",
                "client_secret_file=\(world.home)/secret", "--", "python3", "-c", script, Program.path,
            ],
            client.merging(["XDG_RUNTIME_DIR": runtime, "OIDC_CONFIG": world.home + "/named.json"]) { $1 })
        let lines = [
            "hello", "token b''", "run []", "no secret", "no own", "no named.json", "usual []", "others []",
        ]
        #expect(result.output.split(separator: "\n").map(String.init) == lines, "\(result)")
        #expect(result.code == 0 && result.errors == "")
    }

    @Test(
        "an isolated command may have a name that looks like a variable or an option",
        .enabled(if: Isolation.isPossible), arguments: ["date=2026/run", "./a=b", "-x/run", "a=b"])
    func isolatedName(name: String) throws {
        let world = try ToolWorld()
        let file = URL(fileURLWithPath: world.home + "/" + name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try ExecutableScript.write("#!/bin/sh\necho ran \"$@\"\n", to: file)
        var variables = world.machine
        variables["PATH"] = "\(world.home):/usr/bin:/bin"
        let script = #"cd "$HOME" && exec "$0" exec --isolate --proxy https://a.example -- "$@""#
        let outer = ["exec", "--proxy", "https://a.example", "--", "sh", "-c", script, Program.path]
        let result = try world.run(outer + [name, "id", "-u"], variables)
        #expect(result.code == 0 && result.output == "ran id -u\n", "\(result)")
    }

    @Test(
        "a secret that the isolated command would inherit in an open file is refused",
        .enabled(if: Isolation.isPossible),
        arguments: ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/dev/./stdin", "~/link"])
    func isolatedInput(path: String) throws {
        let world = try ToolWorld()
        let client = world.machine.filter { $0.key != "OIDC_CLIENT_SECRET" }
        try FileManager.default.createSymbolicLink(
            atPath: world.home + "/link", withDestinationPath: "/dev/stdin")
        for option in [["--set", "client_secret_file=\(path)"], ["--config", path]] {
            let words = ["exec", "--isolate", "--proxy", "https://a.example"] + option + ["--", "cat"]
            let result = try world.run(words, client, input: #"{"profiles":{}}"#)
            #expect(result.code == 2 && result.output == "", "\(result)")
            #expect(result.errors.contains("so the command could read it too"), "\(result)")
        }
    }

    @Test(
        "the directory of a configuration that is named is not hidden, whatever its name",
        .enabled(if: Isolation.isPossible))
    func isolatedProject() throws {
        let world = try ToolWorld()
        let project = world.home + "/oidc"
        try FileManager.default.createDirectory(atPath: project, withIntermediateDirectories: false)
        for name in ["c.json", "Makefile"] {
            try Data("{}".utf8).write(to: URL(fileURLWithPath: "\(project)/\(name)"))
        }
        let words = [
            "exec", "--isolate", "--config", project + "/c.json", "--proxy", "https://a.example", "--",
        ]
        let script = #"cd "$HOME/oidc" && cat Makefile && ! cat c.json 2>&- && echo new >new"#
        let result = try world.run(words + ["sh", "-c", script], world.machine)
        #expect(result.code == 0 && result.output == "{}", "\(result)")
        #expect(FileManager.default.fileExists(atPath: project + "/new"))
    }

    @Test(
        "what a profile that is not in use names as its secret is not hidden if it is a device",
        .enabled(if: Isolation.isPossible))
    func isolatedDevice() throws {
        let world = try ToolWorld()
        let pipe = world.home + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let secrets: [String: JSONValue] = ["b": "/dev/null", "c": .string(pipe)]
        var profiles = JSONObject()
        profiles["a"] = [:]
        for (name, path) in secrets { profiles[name] = ["client_secret_file": path] }
        try world.configure(["default_profile": "a", "profiles": .object(profiles)])
        // A named pipe is hidden like a file.
        let script = #"echo >/dev/null; [ -p "$HOME/pipe" ] && echo pipe; echo done"#
        let words = ["exec", "--isolate", "--proxy", "https://a.example", "--", "sh", "-c", script]
        let result = try world.run(words, world.machine)
        #expect(result.code == 0 && result.output == "done\n" && result.errors == "", "\(result)")
    }

    @Test(
        "an isolated command moves nothing that hides the sessions, not even in a namespace of its own",
        .enabled(if: Isolation.isPossible))
    func isolatedParents() throws {
        let world = try ToolWorld()
        let variables = world.machine.filter { !["OIDC_STATE_DIR", "OIDC_CACHE_DIR"].contains($0.key) }
            .merging(["OIDC_CONFIG": world.home + "/.config/oidc/config.json"]) { $1 }
        let files = FileManager.default
        try files.createDirectory(atPath: world.home + "/.config/oidc", withIntermediateDirectories: true)
        try files.createDirectory(atPath: world.home + "/dotfiles", withIntermediateDirectories: true)
        let target = world.home + "/dotfiles/config.json"
        try Data("{}".utf8).write(to: URL(fileURLWithPath: target))
        try files.createSymbolicLink(
            atPath: world.home + "/.config/oidc/config.json", withDestinationPath: target)
        let script = """
            import os, subprocess
            home = os.environ["HOME"]
            for path in ["/.local/state/oidc", "/.local/state", "/.local", "/.config", "/.cache"]:
                try: os.rename(home + path, home + path + ".old"); print("moved", path)
                except OSError: pass
            try: print(open(home + "/dotfiles/config.json").read())
            except OSError: print("no configuration")
            print(subprocess.run(["unshare", "-Um", "true"], capture_output=True).returncode != 0)
            """
        let command = [
            "exec", "--isolate", "--proxy", "https://a.example", "--", "python3", "-c", script,
        ]
        let result = try world.run(command, variables)
        #expect(result.output == "no configuration\nTrue\n", "\(result)")
        // A link on the way can be replaced, and no mount protects it.
        try files.moveItem(atPath: world.home + "/.local", toPath: world.home + "/elsewhere")
        try files.createSymbolicLink(
            atPath: world.home + "/.local", withDestinationPath: world.home + "/elsewhere")
        let refused = try world.run(command, variables)
        #expect(refused.code == 1 && refused.errors.contains("/.local is a link"), "\(refused)")
    }

    @Test(
        "--isolate removes the variables from which a profile's command prints a secret",
        .enabled(if: Isolation.isPossible))
    func isolatedVariables() throws {
        let world = try ToolWorld()
        let api = try world.serve { request in
            HTTPResponse(status: 200, body: Array((request.headers["Authorization"] ?? "none").utf8))
        }
        try world.configure([
            "default_profile": "usual",
            "profiles": [
                "usual": [:],
                "fleet": [
                    "store": "redis://127.0.0.1:1", "store_key_command": ["sh", "-c", "echo \"$STORE_KEY\""],
                ],
            ],
        ])
        var variables = world.machine
        variables["OIDC_CLIENT_SECRET"] = nil
        variables.merge([
            "OIDC_CLIENT_SECRET_COMMAND": #"["printenv", "THE_SECRET"]"#, "THE_SECRET": "demo-secret",
            "STORE_KEY": "hunter2", "OTHER": "kept",
        ]) { $1 }
        let script = """
            import os, urllib.request
            print(urllib.request.urlopen(os.environ["OIDC_PROXY_URL"]).read().decode()[:7])
            print([name for name in ("THE_SECRET", "STORE_KEY", "OTHER", "HOME") if name in os.environ])
            """
        let result = try world.run(
            ["exec", "--isolate", "--proxy", "\(api.origin)/v1", "--", "python3", "-c", script], variables)
        #expect(result.code == 0 && result.output == "Bearer \n['OTHER', 'HOME']\n", "\(result)")
    }

    @Test(
        "--isolate hides the sockets of the lenders and shared stores that a profile or a variable names",
        .enabled(if: Isolation.isPossible))
    func isolatedSockets() throws {
        let world = try ToolWorld()
        let sockets = ["a", "b", "d", "e", "c"].map { world.home + "/\($0).sock" }
        let listeners = try sockets.map { try SocketListener($0) }
        defer { for listener in listeners { listener.remove() } }
        try world.configure([
            "profiles": [
                "far": ["store": .string("lent:" + sockets[0])],
                "fleet": ["store": .string("redis+unix:" + sockets[2])],
                "other": ["store": .string("redis+unix://user:password@" + sockets[3])],
            ]
        ])
        let result = try world.run(
            ["exec", "--isolate", "--proxy", "https://a.example", "--set", "store=file", "--", "sh", "-c"]
                + ["for path; do [ -S \"$path\" ] && echo \"$path\"; done; true", "sh"] + sockets,
            world.machine.merging(["OIDC_LENT": sockets[1]]) { $1 })
        // One that nothing names is not known.
        #expect(result.code == 0 && result.output == sockets[4] + "\n", "\(result)")
    }

    @Test(
        "--isolate hides displays, also those that variables name by their paths, and X11 cookies",
        .enabled(if: Isolation.isPossible))
    func isolatedDisplays() throws {
        let world = try ToolWorld()
        let displays = "/tmp/.X11-unix"
        let isCreated = mkdir(displays, 0o700) == 0
        defer { if isCreated { rmdir(displays) } }
        let sockets = ["\(displays)/X\(getpid())", world.home + "/wayland", world.home + "/x"]
        let listeners = try sockets.map { try SocketListener($0) }
        defer { for listener in listeners { listener.remove() } }
        let cookies = [world.home + "/.Xauthority", world.home + "/cookies"]
        for path in cookies { try Data("cookie".utf8).write(to: URL(fileURLWithPath: path)) }
        let script = """
            for path; do [ -S "$path" ] && echo "$path"; [ -s "$path" ] && [ -f "$path" ] && echo "$path"; done
            echo "$XAUTHORITY"
            """
        let variables = [
            "WAYLAND_DISPLAY": sockets[1], "DISPLAY": "unix:\(sockets[2]).0", "XAUTHORITY": cookies[1],
        ]
        let result = try world.run(
            [
                "exec", "--isolate", "--proxy", "https://a.example", "--set", "store=file", "--", "sh", "-c",
                script, "sh",
            ] + sockets + cookies, world.machine.merging(variables) { $1 })
        #expect(result.code == 0 && result.output == "\n", "\(result)")
    }

    @Test(
        "--isolate says that the identity of the machine itself cannot be hidden",
        .enabled(if: Isolation.isPossible))
    func isolatedMachine() throws {
        let world = try ToolWorld()
        for setting in ["subject_token_source", "client_assertion_source"] {
            let result = try world.run(
                [
                    "exec", "--isolate", "--proxy", "https://a.example", "--set",
                    "\(setting)=google-metadata",
                    "--", "true",
                ], world.machine)
            #expect(result.errors.contains("metadata service cannot be hidden"), "\(result)")
        }
        // Its agent runs later, too.
        try ExecutableScript.write("#!/bin/sh\n", to: URL(fileURLWithPath: world.home + "/buildkite-agent"))
        let result = try world.run(
            [
                "exec", "--isolate", "--proxy", "https://a.example", "--set",
                "subject_token_source=buildkite",
                "--", "true",
            ], world.machine.merging(["PATH": "\(world.home):/usr/bin:/bin"]) { $1 })
        #expect(result.errors.contains("buildkite-agent is run while the command runs"), "\(result)")
    }

    @Test(
        "an isolated command of root's mounts nothing, and changes neither devices nor the kernel's settings",
        .enabled(if: Isolation.isPossible && getuid() == 0))
    func isolatedRoot() throws {
        let world = try ToolWorld()
        let script = #"""
            mkdir "$HOME/m"
            grep CapEff /proc/self/status
            mount --bind / "$HOME/m" 2>&- && echo mounted
            unshare -Urm mount --bind / "$HOME/m" 2>&- && echo mounted in a namespace
            for file in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys /sys/kernel; do
                test ! -w $file || echo $file
            done
            find /dev -type b
            """#
        let result = try world.run(
            ["exec", "--isolate", "--proxy", "https://a.example", "--", "sh", "-c", script], world.machine)
        #expect(result.output == "CapEff:\t0000000000000000\n", "\(result)")
    }

    @Test("--isolate needs --proxy, and without bubblewrap it names the package")
    func isolationNeeds() throws {
        let world = try ToolWorld()
        #expect(try world.run(["exec", "--isolate", "true"], world.machine).code == 2)
        let result = try world.run(
            ["exec", "--isolate", "--proxy", "https://a.example", "/bin/true"],
            world.machine.merging(["PATH": world.home]) { $1 })
        #expect(result.code == 1 && result.errors.hasSuffix("  try: install the package bubblewrap\n"))
    }

    @Test(
        "signals are passed on to an isolated command, whose end decides", .enabled(if: Isolation.isPossible),
        arguments: [SIGINT, SIGTERM, SIGHUP, SIGUSR1])
    func isolatedSignals(number: Int32) throws {
        let world = try ToolWorld()
        let run = try Program(at: world).start(
            [
                "exec", "--isolate", "--proxy", "https://a.example", "--", "sh", "-c",
                "trap 'echo caught; exit 9' INT TERM HUP USR1; echo ready; while :; do sleep 0.05; done",
            ], world.machine)
        _ = run.output { $0.contains("ready") ? true : nil }
        // On a busy machine, the command is found some time after it has started.
        Thread.sleep(forTimeInterval: 1)
        run.signal(number)
        let outcome = run.finish()
        #expect(outcome.status == 9 && outcome.output == "ready\ncaught\n", "\(outcome)")
    }

    @Test(
        "the command's signals, descriptors and limits are those that it would have without us",
        .disabled(if: Program.isSanitized))
    func surroundings() throws {
        let world = try ToolWorld()
        // One shell runs both, as other tests open descriptors meanwhile.
        let script = """
            list='grep ^SigBlk /proc/self/status; grep "core file" /proc/self/limits; ls /proc/$$/fd'
            before=$(env sh -c "$list"); after=$("$1" exec --proxy https://a.example -- sh -c "$list")
            [ "$before" = "$after" ] || echo "$before; $after"
            """
        let difference = try world.run(
            ["sh", "-c", script, "sh", ToolWorld.program], world.machine, as: "/usr/bin/env")
        #expect(difference.output == "" && difference.errors == "", "\(difference)")
    }
}
