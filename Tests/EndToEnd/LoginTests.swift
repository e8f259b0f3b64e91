import DemoProvider
import Foundation
import LoopbackHTTP
import OIDCCore
import Posix
import TestSupport
import Testing

@Suite("login, in the built program", .serialized, .waitingLong)
struct LoginTests {
    @Test("a sign-in makes three requests with an empty cache and one after that, and its file is private")
    func requests() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let first = try program.signIn(at: provider)
        #expect(first.status == 0, "\(first.errorOutput)")
        #expect(first.output == "")
        #expect(first.errorOutput.contains("Signed in as alice@example.com"))
        #expect(provider.requestCount(.discovery) == 1)
        #expect(provider.requestCount(.token) == 1)
        #expect(provider.requestCount(.jwks) == 1)
        let second = try program.signIn(at: provider)
        #expect(second.status == 0, "\(second.errorOutput)")
        #expect(provider.requestCount(.discovery) == 1)
        #expect(provider.requestCount(.token) == 2)
        #expect(provider.requestCount(.jwks) == 1)
        // Nobody reads the name of a user here, so UserInfo is not asked for one that the ID token lacks.
        provider.with { $0.faults = [.idToken(.subjectAlone)] }
        #expect(try program.signIn(at: provider).status == 0)
        #expect(provider.requestCount(.token) == 3 && provider.requestCount(.userinfo) == 0)
        let file = try #require(program.sessionFiles.first)
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test("--timeout bounds the wait for a secret command")
    func secretCommand() throws {
        let provider = try ProviderServer()
        let program = try Program(provider, ["OIDC_CLIENT_SECRET_COMMAND": #"["sleep","30"]"#])
        defer { program.remove() }
        let start = Date()
        let outcome = try program.run("login", "--flow", "browser", "--no-browser", "--timeout", "1")
        #expect(outcome.status == 6 && outcome.error?.contains("sleep") == true, "\(outcome.errorOutput)")
        #expect(Date().timeIntervalSince(start) < 20)
    }

    @Test("--timeout bounds the wait for the session's lock, and the sign-in is stored")
    func heldLock() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        #expect(try program.signIn(at: provider).status == 0)
        let lock = try #require(program.files(in: ".local/state/oidc").first { $0.pathExtension == "lock" })
        let descriptor = open(lock.path, O_RDWR)
        defer { close(descriptor) }
        try #require(flock(descriptor, LOCK_EX) == 0)
        let before = try Data(contentsOf: try #require(program.sessionFiles.first))
        let start = Date()
        let outcome = try program.signIn(at: provider, ["--timeout", "8"])
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(Date().timeIntervalSince(start) < 40)
        #expect(try Data(contentsOf: try #require(program.sessionFiles.first)) != before)
    }

    @Test("a browser setting that would let a shell read the URL is refused with 2")
    func shellBrowser() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.run(
            "login", "--timeout", "5", "--set", #"browser=["sh","-c","firefox '%s'"]"#)
        #expect(outcome.status == 2, "\(outcome.errorOutput)")
        #expect(outcome.error == "browser: sh -c could execute parts of the URL")
    }

    @Test("a token parameter that cannot be sent is an error before the sign-in starts")
    func extraParameter() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        for flow in [["--no-browser"], ["--flow", "device"]] {
            let outcome = try program.start(
                ["login", "--timeout", "5", "--set", #"extra_token_params={"client_id":"x"}"#] + flow
            ).finish()
            #expect(outcome.status == 2, "\(flow): \(outcome.errorOutput)")
            #expect(outcome.error?.contains("token request: client_id") == true)
            #expect(outcome.errorOutput.contains("try: remove it from extra_token_params"))
            #expect(!outcome.errorOutput.contains(provider.origin))
        }
    }

    @Test("with store=none, a sign-in says that nothing is kept")
    func keptNowhere() throws {
        let provider = try ProviderServer()
        var program = try Program(provider)
        defer { program.remove() }
        program.environment["OIDC_STORE"] = "none"
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == 0 && program.sessionFiles.isEmpty, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("warning: store is none, so the session is not kept"))
        #expect(!outcome.errorOutput.contains("then refreshed"))
    }

    @Test("access_denied ends the sign-in with 4, and nothing is stored")
    func denied() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.signIn(at: provider, choice: .deny)
        #expect(outcome.status == 4)
        #expect(outcome.error?.contains("access_denied") == true)
        #expect(program.sessionFiles.isEmpty)
    }

    @Test("the redirected URL can be pasted, as a whole or only its query")
    func paste() throws {
        let provider = try ProviderServer()
        for isWhole in [true, false] {
            let program = try Program(provider)
            defer { program.remove() }
            let run = try program.start(["login", "--flow", "paste"], input: .open)
            let url = try #require(run.address.flatMap(WebURL.init))
            let redirect = try #require(provider.redirect(of: url))
            run.type((isWhole ? redirect.url.text : redirect.url.query ?? "") + "\n")
            let outcome = run.finish()
            #expect(outcome.status == 0, "\(outcome.errorOutput)")
        }
    }

    @Test("if stdin is at its end, the user is not asked to paste, and the callback signs in")
    func noPaste() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let run = try program.start(["login", "--flow", "paste"])
        let url = try #require(run.address.flatMap(WebURL.init))
        let redirect = try #require(provider.redirect(of: url))
        try Visit.send(redirect)
        let outcome = run.finish()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(!outcome.errorOutput.lowercased().contains("paste"), "\(outcome.errorOutput)")
    }

    @Test("pasted nonsense is answered with what to paste, and the wait continues")
    func pastedNonsense() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let run = try program.start(["login", "--flow", "paste"], input: .open)
        let url = try #require(run.address.flatMap(WebURL.init))
        run.type("nonsense\n")
        run.type(try #require(provider.redirect(of: url)).url.text + "\n")
        let outcome = run.finish()
        #expect(outcome.status == 0)
        #expect(outcome.errorOutput.contains("(paste the whole URL"), "\(outcome.errorOutput)")
    }

    @Test("a pasted URL with another state ends the sign-in with 7")
    func pastedState() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let run = try program.start(["login", "--flow", "paste"], input: .open)
        _ = try #require(run.address)
        run.type("http://127.0.0.1/callback?code=abc&state=other\n")
        let outcome = run.finish()
        #expect(outcome.status == 7)
        #expect(outcome.error?.contains("state") == true)
    }

    @Test("with a custom scheme the URL can only be pasted, and a closed stdin is a usage error")
    func customScheme() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.run(
            "login", "--flow", "browser", "--set", "redirect_uri=com.example.demo:/callback")
        #expect(outcome.status == 2)
        let run = try program.start(
            ["login", "--set", "redirect_uri=com.example.demo:/callback"], input: .open)
        let url = try #require(run.address.flatMap(WebURL.init))
        var browser = BrowserStandIn()
        var request: HTTPRequest? = browser.open(url)
        var location: String?
        while let current = request {
            let response = provider.with { $0.handle(current, at: Clock.now()) }
            location = response.headers["Location"] ?? location
            request = browser.next(after: response, to: current)
        }
        run.type(try #require(location) + "\n")
        let pasted = run.finish()
        #expect(pasted.status == 0, "\(pasted.errorOutput)")
    }

    @Test("a device code signs in after it is approved in another browser")
    func device() throws {
        var configuration = DemoConfiguration()
        configuration.user = .approves("alice")
        configuration.deviceInterval = 1
        let provider = try ProviderServer(configuration)
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.run("login", "--flow", "device")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("/device"))
    }

    @Test("without a callback the sign-in ends with 6 after --timeout, and no listener is left")
    func timeout() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.run("login", "--flow", "browser", "--no-browser", "--timeout", "1")
        #expect(outcome.status == 6)
    }

    @Test(
        "a signal ends login at once with 128 plus its number",
        arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
    func signal(number: Int32, status: Int32) throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let run = try program.start(["login", "--flow", "browser", "--no-browser"])
        _ = try #require(run.address)
        run.signal(number)
        let outcome = run.finish(within: 30)
        #expect(outcome.status == status)
        // Who pressed Ctrl-C knows why.
        #expect(!outcome.errorOutput.contains("try:"), "\(outcome)")
        #expect(program.sessionFiles.isEmpty)
    }

    @Test("a fixed port that is in use is an error at once, with 1")
    func busyPort() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let busy = try LoopbackServer()
        let outcome = try program.run("login", "--flow", "browser", "--no-browser", "--port", "\(busy.port)")
        #expect(outcome.status == 1)
        #expect(outcome.error?.contains("\(busy.port)") == true)
    }

    @Test("form_post is answered by POST")
    func formPost() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.signIn(at: provider, ["--set", "response_mode=form_post"])
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
    }

    @Test("a provider that does not answer is 5")
    func gone() throws {
        let program = try Program(["OIDC_ISSUER": "http://127.0.0.1:9", "OIDC_CLIENT_ID": "demo"])
        defer { program.remove() }
        #expect(try program.run("login", "--flow", "browser", "--no-browser").status == 5)
    }

    @Test("prompt=none without a session at the provider is refused with login_required")
    func promptNone() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.signIn(at: provider, ["--prompt", "none"])
        #expect(outcome.status == 4)
        #expect(outcome.error?.contains("login_required") == true)
    }
}
