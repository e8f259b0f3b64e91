import CurlHTTP
import DemoProvider
import Foundation
import LoopbackHTTP
import OIDCCore
import TestSupport
import Testing

@Suite("the end of a sign-in, by the built program", .serialized, .waiting)
struct SignInEndTests {
    private func redirect(
        _ provider: ProviderServer, _ run: Run
    ) throws -> HTTPRequest {
        let url = try #require(run.address.flatMap { WebURL($0) })
        return try #require(provider.redirect(of: url))
    }

    private func isListening(_ url: WebURL) -> Bool {
        (try? CurlTransport().send(HTTPRequest(.get, url), stage: .authorization)) != nil
    }

    @Test("a sign-in that nobody can see, as stderr is closed and no browser is opened, ends at once")
    func unseen() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        for flow in ["auto", "device", "paste"] {
            let outcome = try program.start(
                ["-c", "exec \"$0\" login --flow \(flow) --timeout 60 <&- 2>&-", Program.path],
                executable: "/bin/sh"
            ).finish()
            #expect(outcome.status == 2, "\(flow): \(outcome)")
        }
    }

    @Test(
        "a browser that does not follow the redirect delays nothing, and a late one still gets the page: nothing holds the caller's descriptors"
    )
    func linger() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let run = try program.start(["login", "--flow", "browser", "--no-browser"])
        let callback = try redirect(provider, run)
        let query = try #require(callback.url.query)
        let port = try #require(callback.url.port.flatMap { UInt16(exactly: $0) })
        let browser = try #require(RawConnection(port: port))
        browser.send(
            "GET /callback?\(query) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nAccept: text/html\r\n\r\n")
        let answer = browser.received(within: 30)
        #expect(RawConnection.status(answer) == 303, "\(answer)")
        // `finish` also waits until nobody has the program's standard output and error.
        let start = Date()
        let outcome = run.finish()
        #expect(outcome.status == 0 && outcome.errorOutput.contains("Signed in as alice"), "\(outcome)")
        #expect(Date().timeIntervalSince(start) < 9)
        let page = try #require(WebURL(callback.url.origin + "/callback/done"))
        let late = try CurlTransport().send(HTTPRequest(.get, page), stage: .authorization)
        let text = String(decoding: late.body, as: UTF8.self)
        #expect(late.status == 200 && text.contains("Signed in") && text.contains("alice"))
        #expect(late.headers["Content-Security-Policy"]?.contains("default-src 'none'") == true)
        #expect(!text.contains("code="))
        // Once it was shown, the process ends; without, after ten seconds.
        let end = Date().addingTimeInterval(30)
        while isListening(page), Date() < end { usleep(50_000) }
        #expect(!isListening(page))
    }

    @Test("the process that shows the result leaves a fixed port to the next sign-in, in one step or two")
    func leavesPort() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer {
            for process in WaitingProcesses.all(in: program.home) { kill(process, SIGKILL) }
            program.remove()
        }
        let server = try LoopbackServer()
        let port = server.port
        server.close()
        /// Signs in with a browser that does not follow the redirect to the result.
        func answer(_ url: String?) throws {
            let page = try #require(url.flatMap { WebURL($0) })
            let callback = try #require(provider.redirect(of: page))
            #expect(callback.url.port == Int(port))
            let browser = try #require(RawConnection(port: port))
            browser.send(
                "GET /callback?\(callback.url.query ?? "") HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
                    + "Accept: text/html\r\n\r\n")
            #expect(RawConnection.status(browser.received(within: 30)) == 303)
        }
        for _ in 0..<2 {
            let run = try program.start(
                ["login", "--flow", "browser", "--no-browser", "--port", String(port)])
            try answer(run.address)
            let outcome = run.finish()
            #expect(outcome.status == 0, "\(outcome)")
            #expect(RawConnection(port: port) != nil)
        }
        let first = try program.start(
            ["login", "--start", "-o", "json", "--flow", "browser", "--port", String(port)]
        ).finish()
        let started = try JSONValue(parsing: first.output)
        #expect(started["waiting"]?.bool == true, "\(first)")
        try answer(started["authorization_url"]?.string)
        #expect(try program.run("login", "--finish").status == 0)
        // Another program does not give its port away.
        let other = try LoopbackServer()
        let busy = try program.run(
            "login", "--flow", "browser", "--no-browser", "--port", String(other.port))
        #expect(busy.status == 1 && busy.error?.contains("in use") == true, "\(busy)")
        withExtendedLifetime(other) {}
    }

    @Test("the hidden argument does nothing for anybody else")
    func hiddenArgument() throws {
        let program = try Program()
        defer { program.remove() }
        #expect(try program.run("--detached=result-page").status == 2)
        #expect(try program.run("--detached=other").status == 2)
    }

    @Test("in a CI job without terminal and browser a sign-in is refused at once; --flow and --timeout wait")
    func continuousIntegration() throws {
        let provider = try ProviderServer()
        let program = try Program(provider, ["CI": "true", "DISPLAY": "", "WAYLAND_DISPLAY": ""])
        defer { program.remove() }
        let refused = try program.run("login")
        #expect(refused.status == 2 && refused.error?.contains("CI is set") == true, "\(refused)")
        #expect(provider.requestCount(.discovery) == 0)
        #expect(try program.run("login", "--timeout", "1").status == 6)
        let run = try program.start(["login", "--flow", "browser"])
        _ = try? Visit.send(try redirect(provider, run))
        #expect(run.finish().status == 0)
        let off = try program.start(["login", "--timeout", "1"], ["CI": "false"])
        #expect(off.finish().status == 6)
    }

    @Test("after a signal there is no hint, after a time-out one that does not guess")
    func noGuess() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let run = try program.start(["login", "--flow", "browser", "--no-browser"])
        _ = try #require(run.address)
        run.signal(SIGINT)
        let stopped = run.finish()
        #expect(stopped.status == 130 && !stopped.errorOutput.contains("redirect URL"), "\(stopped)")
        let late = try program.run("login", "--flow", "browser", "--no-browser", "--timeout", "1")
        #expect(
            late.status == 6 && late.errorOutput.contains("if the browser shows an error page"), "\(late)")
    }

    @Test("the options for one sign-in reach the authorization URL")
    func options() throws {
        let provider = try ProviderServer()
        let program = try Program(
            provider, ["OIDC_EXTRA_AUTHORIZE_PARAMS": #"{"access_type":"offline","a":"old"}"#])
        defer { program.remove() }
        let run = try program.start([
            "login", "--flow", "browser", "--no-browser", "--max-age", "60", "--acr-values", "gold silver",
            "--dpop", "--par", "off", "--param", "kc_idp_hint=partner", "--param", "a=x=y",
        ])
        let url = try #require(run.address.flatMap { WebURL($0) })
        let pairs = FormEncoding.decode(url.query ?? "") ?? []
        func value(_ name: String) -> String? { pairs.first { $0.name == name }?.value }
        #expect(value("max_age") == "60" && value("acr_values") == "gold silver")
        #expect(value("dpop_jkt") != nil && value("kc_idp_hint") == "partner")
        #expect(value("a") == "x=y" && value("access_type") == "offline")
        run.signal(SIGTERM)
        _ = run.finish()
        #expect(try program.run("login", "--param", "novalue").status == 2)
        #expect(try program.run("login", "--par", "sometimes").status == 2)
    }
}
