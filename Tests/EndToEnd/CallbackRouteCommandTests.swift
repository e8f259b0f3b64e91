import DemoProvider
import Foundation
import OIDCCore
import Posix
import TestSupport
import Testing

/// A proxy in front of the listener that removes a prefix, as code-server's `/proxy/PORT` does, and adds it to each
/// `Location` that starts with a slash (code-server 4.104).
private struct Front {
    let server: PythonServer
    let port: UInt16

    /// Passes requests on to the port at 127.0.0.2, with the browser's Host unless `changesHost`.
    init(to target: UInt16, changesHost: Bool = false) throws {
        server = try PythonServer(
            """
            import http.client, http.server, sys
            target, changes = int(sys.argv[1]), sys.argv[2] == "1"
            class Front(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    if not self.path.startswith("/proxy/%d/" % target):
                        return self.send_error(404)
                    inner = http.client.HTTPConnection("127.0.0.2", target, timeout=20)
                    path = self.path[len("/proxy/%d" % target):]
                    inner.putrequest("GET", path, skip_host=True)
                    inner.putheader("Host", "evil.example" if changes else self.headers["Host"])
                    inner.endheaders()
                    answer = inner.getresponse()
                    body = answer.read()
                    self.send_response(answer.status)
                    for name, value in answer.getheaders():
                        if name.lower() not in ("connection", "content-length"):
                            if name.lower() == "location" and value.startswith("/"):
                                value = "/proxy/%d%s" % (target, value)
                            self.send_header(name, value)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                def log_message(self, *_): pass
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front)
            import threading
            threading.Thread(target=server.serve_forever, daemon=True).start()
            print(server.server_port, flush=True)
            sys.stdin.read()
            """, [String(target), changesHost ? "1" : "0"])
        port = try #require(UInt16(server.firstLine))
    }

    /// The settings of a sign-in behind it.
    func options(_ target: UInt16) -> [String] {
        [
            "--set", "redirect_uri=http://localhost:\(port)/proxy/\(target)/callback", "--set",
            "callback_listen=127.0.0.2:\(target)", "--set", "callback_path=/callback",
        ]
    }
}

@Suite("a callback that is not on this loopback, by the built program", .serialized, .waiting)
struct CallbackRouteCommandTests {
    private let provider: ProviderServer
    private let program: TestSupport.Program
    private let ports = HeldPorts()

    init() throws {
        provider = try ProviderServer()
        program = try Program(provider)
    }

    private func freePort() throws -> UInt16 { try #require(ports.next()) }

    @Test(
        "behind a front that strips a prefix: the callback and the result page arrive, and nothing is warned of"
    )
    func front() throws {
        defer { program.remove() }
        let target = try freePort()
        let front = try Front(to: target)
        let run = try program.start(["login", "--flow", "browser", "--no-browser"] + front.options(target))
        let url = try #require(run.address.flatMap(WebURL.init))
        let redirect = try #require(provider.redirect(of: url))
        #expect(redirect.url.text.hasPrefix("http://localhost:\(front.port)/proxy/\(target)/callback?"))
        let page = try Visit.send(redirect)
        #expect(page.status == 200 && String(decoding: page.body, as: UTF8.self).contains("Signed in"))
        let outcome = run.finish()
        #expect(outcome.status == 0 && !outcome.errorOutput.contains("warning"), "\(outcome.errorOutput)")
        #expect(program.sessionFiles.count == 1)
    }

    @Test("a front that changes the Host is turned away, and the wait continues")
    func changedHost() throws {
        defer { program.remove() }
        let target = try freePort()
        let front = try Front(to: target, changesHost: true)
        let run = try program.start(
            ["login", "--flow", "browser", "--no-browser", "--timeout", "3"] + front.options(target))
        let url = try #require(run.address.flatMap(WebURL.init))
        #expect(try Visit.send(try #require(provider.redirect(of: url))).status == 400)
        let outcome = run.finish()
        #expect(outcome.status == 6, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("expected localhost:\(front.port), found evil.example"))
        #expect(outcome.errorOutput.contains("must keep the browser's Host"))
    }

    @Test(
        "a URL elsewhere is received at the port of callback_listen, with its own Host and path or those of the listener"
    )
    func elsewhere() throws {
        let text = "https://code.example/proxy/x/callback"
        var configuration = DemoConfiguration()
        configuration.clients = [DemoClient(id: "demo", redirectURIs: [text])]
        let provider = try ProviderServer(configuration)
        let program = try Program(provider)
        defer { program.remove() }
        for host in ["code.example", "127.0.0.1:PORT"] {
            let port = try freePort()
            let run = try program.start([
                "login", "--flow", "browser", "--no-browser", "--set", "redirect_uri=\(text)", "--set",
                "callback_listen=127.0.0.1:\(port)", "--set", "callback_path=/callback",
            ])
            let url = try #require(run.address.flatMap(WebURL.init))
            let redirect = try #require(provider.redirect(of: url))
            #expect(redirect.url.text.hasPrefix("\(text)?"))
            func ask(_ path: String, _ host: String) -> String {
                let connection = RawConnection(port: port)
                connection?.send(
                    "GET \(path)?\(redirect.url.query ?? "") HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
                )
                return connection?.received(within: 20) ?? ""
            }
            #expect(ask("/proxy/x/callback", host).contains(" 404 "), "the front removes the prefix")
            #expect(ask("/callback", "evil.example").contains(" 400 "))
            let answer = ask("/callback", host.replacingOccurrences(of: "PORT", with: String(port)))
            #expect(answer.contains(" 303 "), "\(answer)")
            let start = "\r\nLocation: ./callback/done-"
            let name = try #require(answer.components(separatedBy: start).dropFirst().first?.prefix(22))
            #expect(name.allSatisfy { $0.isLetter || $0.isNumber || "-_".contains($0) }, "\(answer)")
            // Whoever can use the front does not get the page without it, nor uses it up.
            #expect(ask("/callback/done", host).contains(" 404 "))
            let outcome = run.finish()
            #expect(outcome.status == 0, "\(outcome.errorOutput)")
        }
    }

    @Test("in two steps, the process that waits listens there too, and its page is found behind the front")
    func twoSteps() throws {
        defer {
            for process in WaitingProcesses.all(in: program.home) { kill(process, SIGKILL) }
            program.remove()
        }
        let target = try freePort()
        let front = try Front(to: target)
        let started = try program.start(
            ["login", "--start", "--flow", "browser", "-o", "json"] + front.options(target)
        ).finish()
        try #require(started.status == 0, "\(started)")
        let document = try JSONValue(parsing: started.output)
        #expect(document["waiting"] == true)
        let url = try #require(document["authorization_url"]?.string.flatMap { WebURL($0) })
        let page = try Visit.send(try #require(provider.redirect(of: url)))
        #expect(page.status == 200, "\(String(decoding: page.body, as: UTF8.self))")
        let outcome = try program.run("login", "--finish", try #require(document["id"]?.string))
        #expect(outcome.status == 0 && outcome.errorOutput.contains("Signed in"), "\(outcome)")
    }

    @Test(
        "settings that cannot work end with 2 before the browser opens",
        arguments: [
            (["redirect_uri=http://code.example/callback", "callback_listen=127.0.0.1:8484"], "plain http"),
            (["redirect_uri=https://code.example/callback", "callback_listen=127.0.0.1"], "no port"),
            (["callback_listen=example.com:8484"], "expected an address"),
            (["callback_path=callback"], "expected a path"),
            (["callback_path=/cb"], "callback_path: there is no port"),
            (["callback_listen=::1"], "no port"),
            (
                ["callback_listen=0.0.0.0:1", "redirect_ports=[2,3]"],
                "port 1 is not one of redirect_ports (2, 3)"
            ),
            (
                ["redirect_uri=https://code.example/cb", "callback_path=/cb", "redirect_ports=[1,2]"],
                "redirect_ports: 1, 2 are for a redirect on loopback"
            ),
        ])
    func refused(settings: [String], message: String) throws {
        defer { program.remove() }
        let options = settings.flatMap { ["--set", $0] }
        for step in [[], ["--start"]] {
            let outcome = try program.start(["login", "--flow", "browser"] + step + options).finish()
            #expect(outcome.status == 2 && outcome.error?.contains(message) == true, "\(outcome.errorOutput)")
            #expect(!outcome.errorOutput.contains(provider.origin) && outcome.output.isEmpty)
        }
    }

    @Test("a URL elsewhere, or a port in callback_listen, replaces the list of ports of a weaker layer")
    func replacedPorts() throws {
        defer { program.remove() }
        let port = try freePort()
        let listen = ["--set", "callback_listen=127.0.0.2:\(port)"]
        let elsewhere = listen + ["--set", "redirect_uri=https://code.example/cb"]
        for (options, list, line) in [
            (listen, "[1,2]", "http://127.0.0.1:\(port)/callback has to lead there"),
            (elsewhere, "[1,2]", "https://code.example/cb has to lead there"),
            (
                listen + ["--set", "redirect_ports=[1,\(port)]"], "[3]",
                "http://127.0.0.1:\(port)/callback has to"
            ),
        ] {
            let variables = ["OIDC_REDIRECT_PORTS": list]
            let outcome = try program.start(["doctor", "--offline"] + options, variables).finish()
            #expect(outcome.output.contains(line), "\(outcome.output)")
        }
    }

    @Test(
        "a redirect that is passed on with another path than callback_path names it, and the wait continues")
    func otherPath() throws {
        defer { program.remove() }
        let port = try freePort()
        let run = try program.start([
            "login", "--flow", "browser", "--no-browser", "--set", "redirect_uri=http://localhost:9999/x/cb",
            "--set",
            "callback_listen=127.0.0.1:\(port)", "--set", "callback_path=/callback",
        ])
        let url = try #require(run.address.flatMap(WebURL.init))
        let redirect = try #require(provider.redirect(of: url))
        let query = try #require(redirect.url.query)
        func ask(_ target: String) -> String {
            let connection = RawConnection(port: port)
            connection?.send(
                "GET \(target) HTTP/1.1\r\nHost: localhost:9999\r\nAccept: text/html\r\n"
                    + "Connection: close\r\n\r\n")
            return connection?.received(within: 20) ?? ""
        }
        let other = ask("/favicon.ico?state=another")
        #expect(other.contains(" 404 ") && other.contains("does not finish the sign-in"), "\(other)")
        for _ in 0..<2 {
            let page = ask("/x/cb?\(query)")
            #expect(page.contains(" 404 ") && page.contains("another path than /callback"), "\(page)")
        }
        #expect(ask("/callback?\(query)").contains(" 303 "))
        let outcome = run.finish()
        let warning = "callback_path: the redirect arrived at /x/cb, expected /callback; set it to /x/cb"
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.components(separatedBy: "warning: ").count == 2, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains(warning), "\(outcome.errorOutput)")
    }

    @Test("the first of two steps names the port to forward in a workspace, unless a route is set")
    func workspaceSteps() throws {
        defer {
            for process in WaitingProcesses.all(in: program.home) { kill(process, SIGKILL) }
            program.remove()
        }
        let target = try freePort()
        for (options, isNamed) in [([], true), (["--set", "callback_listen=127.0.0.2:\(target)"], false)] {
            let outcome = try program.start(
                ["login", "--start", "--flow", "browser"] + options, ["REMOTE_CONTAINERS": "true"]
            ).finish()
            #expect(outcome.status == 0, "\(outcome)")
            #expect(outcome.errorOutput.contains("Forward the port") == isNamed, "\(outcome.errorOutput)")
        }
    }

    @Test("doctor says where the redirect has to lead")
    func doctor() throws {
        defer { program.remove() }
        let port = try freePort()
        let options = [
            "redirect_uri=https://code.example/x/cb", "callback_listen=127.0.0.2:\(port)",
            "callback_path=/cb",
        ]
        let outcome = try program.start(["doctor", "--offline"] + options.flatMap { ["--set", $0] }).finish()
        #expect(
            outcome.output.contains(
                "127.0.0.2:\(port)/cb is available, and https://code.example/x/cb has to lead there"),
            "\(outcome.output)")
    }

    @Test(
        "in a workspace whose browser is elsewhere, the URL is printed with the port to forward",
        arguments: [
            ["CODESPACES": "true", "CODESPACE_NAME": "blue-train"],
            ["VSCODE_PROXY_URI": "https://code.example/proxy/{{port}}/"], ["REMOTE_CONTAINERS": "true"],
            ["REMOTE_DEV_LAUNCHER_NAME_FOR_USAGE": "remote-dev-server.sh"],
        ])
    func workspace(variables: [String: String]) throws {
        defer { program.remove() }
        let run = try program.start(
            ["login", "--flow", "browser"], variables.merging(["DISPLAY": ":77"]) { $1 })
        let url = try #require(run.address.flatMap(WebURL.init))
        let redirect = try #require(provider.redirect(of: url))
        try Visit.send(redirect)
        let outcome = run.finish()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        let port = try #require(redirect.url.port)
        #expect(
            outcome.errorOutput.contains("redirected to port \(port) of its own"), "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("blue-train") == (variables["CODESPACE_NAME"] != nil))
    }

    @Test("the program that a workspace puts into BROWSER opens the URL")
    func helper() throws {
        defer { program.remove() }
        let script = program.home.appendingPathComponent("browser.sh")
        try ExecutableScript.write("#!/bin/sh\necho \"$1\" > \"$HOME/opened\"\n", to: script)
        let run = try program.start(
            ["login"],
            ["REMOTE_CONTAINERS": "true", "BROWSER": script.path, "VSCODE_IPC_HOOK_CLI": "/tmp/x"])
        let url = try #require(run.address.flatMap(WebURL.init))
        try Visit.send(try #require(provider.redirect(of: url)))
        let outcome = run.finish()
        #expect(
            outcome.status == 0 && !outcome.errorOutput.contains("Forward the port"), "\(outcome.errorOutput)"
        )
        let opened = try String(contentsOf: program.home.appendingPathComponent("opened"), encoding: .utf8)
        #expect(opened == url.text + "\n")
    }
}
