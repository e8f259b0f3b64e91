import DemoProvider
import Foundation
import OIDCCore
import Synchronization
import TestSupport
import Testing

@Suite("a sign-in in two steps, by the built program", .serialized, .waiting)
struct TwoStepTests {
    private let world: SessionWorld
    private var program: TestSupport.Program { world.program }
    private var provider: ProviderServer { world.provider }

    init() throws { world = try SessionWorld { $0.deviceInterval = 1 } }

    /// The document of a first step.
    private struct Started: Decodable {
        let id: String
        let authorization_url: String?
        let redirect_uri: String?
        let verification_uri: String?
        let user_code: String?
        let expires_at: Int64
        let waiting: Bool

        /// The request of the user's browser after the provider's pages.
        func redirect(
            _ provider: ProviderServer, _ choice: BrowserStandIn.Choice = .approve
        ) throws -> HTTPRequest {
            let url = try #require(authorization_url.flatMap(WebURL.init))
            return try #require(provider.redirect(of: url, choice))
        }

        var port: UInt16? {
            redirect_uri.flatMap(WebURL.init).flatMap { $0.port.flatMap { UInt16(exactly: $0) } }
        }

        var isListening: Bool { port.flatMap { RawConnection(port: $0) } != nil }
    }

    private func start(_ options: String..., variables: [String: String] = [:]) throws -> Started {
        let outcome = try program.start(["login", "--start", "-o", "json"] + options, variables).finish()
        try #require(outcome.status == 0, "\(outcome)")
        return try JSONDecoder().decode(Started.self, from: Data(outcome.output.utf8))
    }

    private func finish(
        _ arguments: String..., input: String? = nil, variables: [String: String] = [:]
    ) throws -> Program.Outcome {
        try program.start(
            ["login", "--finish"] + arguments, input: input.map { .text($0) } ?? .none, variables
        ).finish()
    }

    /// Answers a sign-in, and returns while its process redeems the code.
    private func answer(_ started: Started, delay milliseconds: Int64 = 1_500) throws {
        provider.delayTokens(milliseconds: milliseconds)
        let request = try started.redirect(provider)
        Thread { _ = try? Visit.send(request) }.start()
        for _ in 0..<1_000 where try !stored().contains("\"redeeming\"") { usleep(10_000) }
    }

    /// Ends the processes that wait in this home.
    private func remove() {
        for process in WaitingProcesses.all(in: program.home) { kill(process, SIGKILL) }
        world.remove()
    }

    private var file: URL? {
        program.files(in: ".local/state/oidc/sign-ins").first { $0.pathExtension == "json" }
    }

    private func stored() throws -> String {
        try String(contentsOf: try #require(file), encoding: .utf8)
    }

    private var codes: Int { provider.requestCount(grant: "authorization_code") }

    @Test("the first step returns at once, and its process redeems the browser's answer")
    func listener() throws {
        defer { remove() }
        let started = try start("--flow", "browser")
        #expect(started.waiting && started.user_code == nil && started.isListening)
        let page = try Visit.send(try started.redirect(provider))
        #expect(page.status == 200)
        let outcome = try finish(started.id, "-o", "json")
        #expect(outcome.status == 0 && outcome.errorOutput.contains("Signed in"), "\(outcome)")
        let report = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        #expect(report?["subject"] as? String != nil)
        #expect(try finish(started.id, "-o", "json").output == outcome.output)
        #expect(try finish("-o", "json").output == outcome.output)
        #expect(codes == 1 && !started.isListening)
        #expect(try program.run("token").status == 0)
    }

    @Test(
        "a second step that comes first waits for the answer, and its own time limit does not end the sign-in"
    )
    func early() throws {
        defer { remove() }
        let started = try start("--flow", "browser")
        let late = try finish(started.id, "--timeout", "1")
        #expect(late.status == 6 && late.error?.contains("nobody has answered yet") == true, "\(late)")
        let run = try program.start(["login", "--finish"])
        try Visit.send(try started.redirect(provider))
        let outcome = run.finish()
        #expect(outcome.status == 0, "\(outcome)")
    }

    @Test("without a process, the pasted URL finishes it; two second steps send the code once")
    func paste() throws {
        defer { remove() }
        let started = try start("--no-wait", "--flow", "browser")
        #expect(!started.waiting && !started.isListening)
        #expect(WaitingProcesses.all(in: program.home).isEmpty)
        let url = try started.redirect(provider).url.text
        provider.delayTokens(milliseconds: 500)
        let runs = try (0..<2).map { _ in try program.start(["login", "--finish", started.id, url]) }
        let outcomes = runs.map { $0.finish() }
        #expect(outcomes.allSatisfy { $0.status == 0 && $0.errorOutput.contains("Signed in") }, "\(outcomes)")
        #expect(codes == 1)
    }

    @Test("a URL from stdin is redeemed in place of the process that waits, which stops listening")
    func pasteBesideListener() throws {
        defer { remove() }
        let started = try start("--flow", "browser")
        let url = try started.redirect(provider).url.text
        let outcome = try finish(started.id, "-", input: url + "\n")
        #expect(outcome.status == 0 && codes == 1 && !started.isListening, "\(outcome)")
    }

    @Test("a signal to the process that redeems the answer waits until the sign-in is finished")
    func signaled() throws {
        defer { remove() }
        let started = try start("--flow", "browser")
        try answer(started)
        for process in WaitingProcesses.all(in: program.home) { kill(process, SIGTERM) }
        let outcome = try finish(started.id)
        #expect(outcome.status == 0 && outcome.errorOutput.contains("Signed in"), "\(outcome)")
        #expect(try program.run("token").status == 0 && codes == 1)
    }

    @Test(
        "a pasted URL that cannot be redeemed for want of a network leaves the sign-in open",
        arguments: ["query", "query.jwt"])
    func pasteOffline(mode: String) throws {
        defer { remove() }
        let started = try start("--flow", "browser", "--set", "response_mode=\(mode)")
        let url = try started.redirect(provider).url.text
        try? FileManager.default.removeItem(at: program.home.appendingPathComponent(".cache"))
        provider.intercept { request in
            request.url.path.contains("well-known") ? HTTPResponse(status: 503) : nil
        }
        #expect(try finish(started.id, url).status == 5)
        #expect(started.isListening && codes == 0)
        provider.intercept(nil)
        let outcome = try finish(started.id, url)
        #expect(outcome.status == 0 && codes == 1, "\(outcome)")
    }

    @Test("the time limit of a second step ends its wait, and never a redemption")
    func limitedRedemption() throws {
        defer { remove() }
        let started = try start("--flow", "browser")
        for process in WaitingProcesses.all(in: program.home) { kill(process, SIGKILL) }
        for _ in 0..<500 where started.isListening { usleep(10_000) }
        let run = try program.start(["login", "--finish", started.id, "--timeout", "2"])
        for _ in 0..<500 where !started.isListening { usleep(10_000) }
        provider.delayTokens(milliseconds: 3_000)
        try Visit.send(try started.redirect(provider))
        let outcome = run.finish()
        #expect(outcome.status == 0 && codes == 1, "\(outcome)")
    }

    @Test("a time limit that passes while another process redeems the answer says so, and ends nothing")
    func limitBesideRedemption() throws {
        defer { remove() }
        let started = try start("--flow", "browser")
        try answer(started, delay: 600_000)
        let late = try finish(started.id, "--timeout", "1")
        let message = "the user has answered, and another process is finishing the sign-in \(started.id)"
        #expect(late.status == 6 && late.error == message, "\(late)")
        provider.delayTokens(milliseconds: 0)
        let outcome = try finish(started.id)
        #expect(outcome.status == 0 && codes == 1, "\(outcome)")
    }

    @Test("a process that was asked to stop and was killed first leaves the next one its ears")
    func leftStop() throws {
        defer { remove() }
        let started = try start("--flow", "browser")
        for process in WaitingProcesses.all(in: program.home) { kill(process, SIGKILL) }
        for _ in 0..<500 where started.isListening { usleep(10_000) }
        let stop = try #require(file).deletingPathExtension().appendingPathExtension("stop")
        try Data().write(to: stop)
        let run = try program.start(["login", "--finish", started.id, "--timeout", "20"])
        for _ in 0..<1_000 where !started.isListening { usleep(10_000) }
        try Visit.send(try started.redirect(provider))
        #expect(run.finish().status == 0)
    }

    @Test("a process that was killed after it stored the session has signed in")
    func killedLate() throws {
        defer { remove() }
        let started = try start("--flow", "browser")
        try answer(started)
        let redeeming = try stored()
        #expect(try finish(started.id).status == 0)
        try redeeming.write(to: try #require(file), atomically: false, encoding: .utf8)
        let outcome = try finish(started.id)
        #expect(outcome.status == 0 && outcome.errorOutput.contains("Signed in"), "\(outcome)")
        for file in program.sessionFiles { try FileManager.default.removeItem(at: file) }
        try redeeming.write(to: try #require(file), atomically: false, encoding: .utf8)
        #expect(try finish(started.id).status == 1)
    }

    @Test("a second step that waits goes on when the sign-in is started again")
    func startedAgain() throws {
        defer { remove() }
        _ = try start("--flow", "browser")
        let run = try program.start(["login", "--finish"])
        usleep(300_000)
        let again = try start("--flow", "browser")
        #expect(again.waiting && again.isListening)
        try Visit.send(try again.redirect(provider))
        let outcome = run.finish()
        #expect(outcome.status == 0, "\(outcome)")
    }

    @Test("an expired sign-in is exit 6, also after its process has ended and other commands ran")
    func expiredBesideProcess() throws {
        defer { remove() }
        let started = try start("--flow", "browser", "--timeout", "1")
        for _ in 0..<600 where !WaitingProcesses.all(in: program.home).isEmpty { usleep(10_000) }
        usleep(1_000_000)
        for _ in 0..<2 {
            let outcome = try finish(started.id)
            #expect(outcome.status == 6 && outcome.error?.contains("has expired") == true, "\(outcome)")
            _ = try program.run("status")
        }
    }

    @Test("logout cancels the sign-in that waits for the same session", arguments: [[], ["--all"]])
    func loggedOut(options: [String]) throws {
        defer { remove() }
        let started = try start("--flow", "browser")
        let outcome = try program.start(["logout"] + options).finish()
        #expect(outcome.status == 0, "\(outcome)")
        #expect(outcome.errorOutput.contains("Canceled the sign-in \(started.id)"), "\(outcome)")
        #expect(try finish(started.id).status == 2 && !started.isListening)
    }

    @Test(
        "logout waits for a sign-in whose answer is being redeemed, and ends its session",
        arguments: [[], ["--all"]])
    func loggedOutLate(options: [String]) throws {
        defer { remove() }
        let started = try start("--flow", "browser")
        try answer(started)
        #expect(try program.start(["logout"] + options).finish().status == 0)
        #expect(codes == 1 && program.sessionFiles.isEmpty)
        #expect(try program.run("token").status == 3)
    }

    @Test(
        "after a sign-out, a finished sign-in says so, and has forgotten who signed in",
        arguments: [[], ["--all"]])
    func signedOut(options: [String]) throws {
        defer { remove() }
        let started = try start("--flow", "browser")
        try Visit.send(try started.redirect(provider))
        let first = try finish(started.id, "-o", "json")
        try #require(first.status == 0, "\(first)")
        expectSuccess(try program.start(["logout"] + options).finish())
        let message = "the sign-in \(started.id) is finished, and its session was signed out"
        for arguments in [[started.id], [started.id, "https://x.example/?code=c&state=s"], []] {
            let again = try program.start(["login", "--finish"] + arguments).finish()
            #expect(again.status == 3 && again.output.isEmpty, "\(again)")
            #expect(again.errorOutput == "error: \(message)\n  try: oidc login --start\n", "\(again)")
        }
        #expect(try !stored().contains("result"))
        let next = try start("--no-wait", "--flow", "browser")
        #expect(next.id == started.id)
    }

    @Test("a secret that belongs to another provider or client now is not sent")
    func otherSecret() throws {
        defer { remove() }
        let client = ["OIDC_CLIENT_ID": "demo-confidential", "OIDC_CLIENT_SECRET": "demo-secret"]
        let started = try start("--no-wait", "--flow", "browser", variables: client)
        let url = try started.redirect(provider).url.text
        let other = [
            "OIDC_ISSUER": "https://bank.example", "OIDC_CLIENT_ID": "bank", "OIDC_CLIENT_SECRET": "its-own",
        ]
        for variables in [other, other.merging(["OIDC_ISSUER": provider.origin]) { $1 }] {
            let outcome = try finish(started.id, url, variables: variables)
            #expect(outcome.status == 2 && outcome.errorOutput.contains("client_secret"), "\(outcome)")
        }
        #expect(provider.requestCount(.token) == 0)
        #expect(try finish(started.id, url, variables: client).status == 0)
    }

    @Test("what a parameter holds is kept with the secrets; a file of the caller's own process is refused")
    func secretParameter() throws {
        defer { remove() }
        let started = try start(
            "--no-wait", "--flow", "browser", "--param", "ticket=a-secret", "--set",
            "extra_token_params={\"software\":\"a-secret-too\"}")
        let plan = try JSONValue(parsing: Array(stored().utf8))["plan"]?.compact
        #expect(plan?.contains("a-secret") == false)
        #expect(started.authorization_url?.contains("ticket=a-secret") == true)
        #expect(try finish(started.id, try started.redirect(provider).url.text).status == 0)
        let outcome = try program.start(["login", "--start", "--set", "client_secret_file=/dev/fd/0"])
            .finish()
        #expect(outcome.status == 2 && outcome.errorOutput.contains("client_secret_file"), "\(outcome)")
    }

    @Test("once its URL has expired, the next step is another first step")
    func expiredURL() throws {
        defer { remove() }
        _ = try start("--no-wait", "--flow", "browser")
        let file = try #require(file)
        let text = try stored().replacingOccurrences(
            of: "\"expires_at\":[0-9]+", with: "\"expires_at\":1000", options: .regularExpression)
        try text.write(to: file, atomically: false, encoding: .utf8)
        let outcome = try program.run("token")
        #expect(outcome.status == 3 && outcome.errorOutput.contains("login --start"), "\(outcome)")
    }

    @Test(
        "options of the first step are refused at the others",
        arguments: [["--finish", "--request-object-out", "F"], ["--cancel", "https://example.com/"]])
    func refusedOptions(words: [String]) throws {
        defer { remove() }
        #expect(try program.start(["login"] + words).finish().status == 2)
    }

    @Test("a URL of another sign-in is refused, and the sign-in stays open (RFC 6749 §10.12)")
    func stray() throws {
        defer { remove() }
        let started = try start("--flow", "browser")
        let url = try started.redirect(provider).url.text
        let other = url.replacingOccurrences(of: "state=", with: "state=A")
        #expect(try finish(started.id, other).status == 7)
        #expect(try finish(started.id, "https://example.com/").status != 0)
        #expect(codes == 0 && started.isListening)
        #expect(try finish(started.id, url).status == 0)
    }

    @Test("a refused sign-in is reported by each second step, and leaves the session of before")
    func refused() throws {
        defer { remove() }
        try program.storeSession(at: provider)
        let started = try start("--flow", "browser")
        try Visit.send(try started.redirect(provider, .deny))
        for _ in 0..<2 {
            let outcome = try finish(started.id)
            #expect(outcome.status == 4 && outcome.error?.contains("access_denied") == true, "\(outcome)")
        }
        // The one code is that of the session of before.
        #expect(try program.run("token").status == 0 && codes == 1)
    }

    @Test("a device code is polled by the process, and finishes the sign-in")
    func device() throws {
        defer { remove() }
        provider.with { $0.configuration.user = .approves("alice") }
        let started = try start("--flow", "device")
        #expect(started.authorization_url == nil && started.user_code != nil && started.waiting)
        let again = try program.start(["login", "--start", "-o", "json", "--flow", "device"]).finish()
        #expect(again.errorOutput.contains("Continue only if you started this."), "\(again)")
        let outcome = try finish(started.id)
        #expect(outcome.status == 0, "\(outcome)")
    }

    @Test(
        "in one step with -o json, stderr has an event for the page and one for the answer, each a line of JSON"
    )
    func events() throws {
        defer { remove() }
        let run = try program.start(["login", "--flow", "browser", "--no-browser", "-o", "json"])
        let url = try #require(run.address.flatMap(WebURL.init))
        try Visit.send(try #require(provider.redirect(of: url)))
        let outcome = run.finish()
        let lines = outcome.errorOutput.split(separator: "\n").prefix(2)
        #expect(lines.first == "{\"event\":\"authorize\",\"url\":\"\(url.text)\"}", "\(outcome)")
        #expect(lines.last == "{\"event\":\"callback\"}", "\(outcome)")
        #expect(outcome.status == 0 && outcome.output.contains("\"subject\""))
    }

    @Test("canceled: the listener is gone within a second, and the id is unknown")
    func cancel() throws {
        defer { remove() }
        let started = try start("--flow", "browser")
        let outcome = try program.run("login", "--cancel", started.id, "-o", "json")
        #expect(outcome.status == 0 && outcome.output.contains("\"canceled\":true"), "\(outcome)")
        #expect(!started.isListening && file == nil)
        #expect(try finish(started.id).status == 2)
        #expect(try finish().status == 2)
        #expect(try program.run("login", "--cancel", started.id).status == 2)
    }

    /// Starts a sign-in whose poll for the device code has no answer, and returns once that poll was sent.
    private func startBesidePoll(_ flow: String) throws -> Started {
        provider.delayTokens(milliseconds: 20_000)
        let isPolled = Mutex(false)
        provider.intercept { request in
            if request.url.path == "/token" { isPolled.withLock { $0 = true } }
            return nil
        }
        let started = try start("--flow", flow)
        try #require(started.user_code != nil)
        // The first poll is due after a second.
        for _ in 0..<1_000 where !isPolled.withLock({ $0 }) { usleep(10_000) }
        return started
    }

    @Test(
        "canceled while a poll for the device code has no answer: within a second, and its tokens are revoked",
        arguments: ["auto", "device"])
    func cancelBesidePoll(flow: String) throws {
        defer { remove() }
        provider.with { $0.configuration.user = .approves("alice") }
        let started = try startBesidePoll(flow)
        let start = Date()
        let outcome = try program.run("login", "--cancel", started.id, "-o", "json")
        #expect(Date().timeIntervalSince(start) < 2, "\(Date().timeIntervalSince(start))")
        #expect(outcome.status == 0 && outcome.output.contains("\"canceled\":true"), "\(outcome)")
        #expect(!started.isListening && file == nil)
        // The process ends with the answer, and nobody has the tokens.
        #expect(!WaitingProcesses.all(in: program.home).isEmpty)
        provider.delayTokens(milliseconds: 0)
        for _ in 0..<1_000 where !WaitingProcesses.all(in: program.home).isEmpty { usleep(10_000) }
        #expect(WaitingProcesses.all(in: program.home).isEmpty)
        #expect(provider.requestCount(grant: deviceGrant) == 1 && provider.requestCount(.revocation) >= 1)
        #expect(program.sessionFiles.isEmpty)
    }

    @Test("a pasted answer does not wait for a poll that has none")
    func pasteBesidePoll() throws {
        defer { remove() }
        let started = try startBesidePoll("auto")
        let url = try started.redirect(provider, .deny).url.text
        let start = Date()
        let outcome = try finish(started.id, url)
        #expect(Date().timeIntervalSince(start) < 2, "\(Date().timeIntervalSince(start))")
        #expect(outcome.status == 4 && outcome.error?.contains("access_denied") == true, "\(outcome)")
        provider.delayTokens(milliseconds: 0)
    }

    private var deviceGrant: String { "urn:ietf:params:oauth:grant-type:device_code" }

    @Test("started again, it has another URL, the same id, and one listener")
    func again() throws {
        defer { remove() }
        let first = try start("--flow", "browser")
        let second = try start("--flow", "browser")
        #expect(first.id == second.id && first.authorization_url != second.authorization_url)
        #expect(second.isListening && (first.port == second.port || !first.isListening))
        try Visit.send(try second.redirect(provider))
        #expect(try finish().status == 0)
    }

    /// A server that answers requests for device codes once its gate is open.
    private func codeServer(_ isOpen: @escaping @Sendable () -> Bool) throws -> ScriptedServer {
        let code =
            #"{"device_code":"d","user_code":"ABCD","verification_uri":"http://127.0.0.1/","expires_in":600}"#
        return try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            while !isOpen() { usleep(10_000) }
            peer.write(TestSupport.answer("200 OK", "Content-Type: application/json", body: code))
        }
    }

    /// Starts a sign-in by a code of that server, which need not end.
    private func startSlow(_ account: String, at server: ScriptedServer) throws -> Run {
        try program.start(
            [
                "login", "--start", "--no-wait", "--flow", "device", "--account", account, "--set",
                "device_authorization_endpoint=\(server.origin)/device",
            ], ["OIDC_HTTP_TIMEOUT": "300"])
    }

    @Test("a first step whose request has no answer holds up no other sign-in")
    func silentServer() throws {
        defer { remove() }
        let isOpen = Mutex(false)
        let server = try codeServer { isOpen.withLock { $0 } }
        let run = try startSlow("a", at: server)
        for _ in 0..<2_000 where server.requests.isEmpty { usleep(10_000) }
        try #require(server.requests.count == 1)
        let other = try start("--flow", "browser", "--account", "b")
        #expect(other.waiting && other.isListening)
        try Visit.send(try other.redirect(provider))
        #expect(try finish(other.id).status == 0)
        #expect(run.isRunning)
        isOpen.withLock { $0 = true }
        #expect(run.finish().status == 0)
    }

    @Test(
        "without a place, no request is sent; a place that is taken meanwhile ends a first step, and no other"
    )
    func taken() throws {
        defer { remove() }
        let isOpen = Mutex(false)
        let server = try codeServer { isOpen.withLock { $0 } }
        for number in 1...7 { _ = try start("--no-wait", "--flow", "browser", "--account", "a\(number)") }
        let late = try startSlow("late", at: server)
        for _ in 0..<2_000 where server.requests.isEmpty { usleep(10_000) }
        _ = try start("--no-wait", "--flow", "browser", "--account", "a8")
        let ninth = try startSlow("ninth", at: server).finish()
        #expect(ninth.status == 2 && server.requests.count == 1, "\(ninth)")
        isOpen.withLock { $0 = true }
        let outcome = late.finish()
        #expect(outcome.status == 2 && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.error == "8 sign-ins are waiting, and no more may", "\(outcome)")
        let files = program.files(in: ".local/state/oidc/sign-ins").filter { $0.pathExtension == "json" }
        #expect(files.count == 8)
    }

    @Test("a ninth sign-in is refused, and the second step needs an id if several wait")
    func limit() throws {
        defer { remove() }
        for number in 1...8 { _ = try start("--no-wait", "--flow", "browser", "--account", "a\(number)") }
        let ninth = try program.run("login", "--start", "--no-wait", "--account", "a9")
        #expect(ninth.status == 2 && ninth.output.isEmpty, "\(ninth)")
        _ = try start("--no-wait", "--flow", "browser", "--account", "a1")
        let outcome = try finish()
        #expect(outcome.status == 2 && outcome.error?.contains("several sign-ins") == true, "\(outcome)")
    }

    @Test("expired: exit 6, and the next command removes the verifier")
    func expired() throws {
        defer { remove() }
        let started = try start("--no-wait", "--flow", "browser")
        #expect(try !stored().contains("code_verifier"))
        let text = try stored()
        let end = try #require(text.range(of: "\"end\":\\d+", options: .regularExpression))
        let old = text.replacingCharacters(in: end, with: "\"end\":\(Int(Date().timeIntervalSince1970) - 5)")
        try Data(old.utf8).write(to: try #require(file))
        _ = try program.run("status")
        #expect(try !stored().contains("\"secrets\""))
        #expect(try finish(started.id).status == 6)
        #expect(try finish("00000000").status == 2)
    }

    @Test("token, request and status name the page of a sign-in that waits")
    func named() throws {
        defer { remove() }
        let started = try start("--no-wait", "--flow", "browser")
        let url = try #require(started.authorization_url)
        for arguments in [["token"], ["status"], ["request", provider.origin + "/api"]] {
            let outcome = try program.start(arguments).finish()
            #expect(outcome.status == 3 && outcome.output.isEmpty, "\(outcome)")
            #expect(outcome.errorOutput.contains("a sign-in is waiting, until "), "\(outcome)")
            #expect(outcome.errorOutput.contains(url), "\(outcome)")
        }
    }

    @Test(
        "a secret that came as a value is in no file, argument or variable, and is needed again by a pasted URL"
    )
    func secret() throws {
        defer { remove() }
        let secret = ["OIDC_CLIENT_ID": "demo-confidential", "OIDC_CLIENT_SECRET": "demo-secret"]
        let started = try start("--flow", "browser", variables: secret)
        #expect(started.waiting)
        for process in WaitingProcesses.all(in: program.home) {
            for name in ["cmdline", "environ"] {
                let text = (try? String(contentsOfFile: "/proc/\(process)/\(name)", encoding: .utf8)) ?? ""
                #expect(!text.contains("demo-secret"))
            }
        }
        for file in program.files(in: ".local/state/oidc/sign-ins") {
            #expect(try !String(contentsOf: file, encoding: .utf8).contains("demo-secret"))
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        let url = try started.redirect(provider).url.text
        let outcome = try finish(started.id, url)
        #expect(outcome.status == 2 && outcome.errorOutput.contains("OIDC_CLIENT_SECRET"), "\(outcome)")
        #expect(try finish(started.id, url, variables: secret).status == 0)
    }

    @Test("a sealed store seals the verifier, and its key is gone at the end")
    func sealed() throws {
        defer { remove() }
        var world = world
        try world.install("docker-credential-fake", HelperTests.keeping)
        let bin = world.program.home.appendingPathComponent("bin").path
        let variables = [
            "OIDC_STORE": "helper:fake", "PATH": "\(bin):/usr/local/bin:/usr/bin:/bin",
            "OIDC_EXTRA_TOKEN_PARAMS": "{\"software_secret\":\"a-secret-too\"}",
        ]
        world.program.environment.merge(variables) { $1 }
        // The key of one that is replaced is gone, and that of its successor is not.
        _ = try start("--no-wait", "--flow", "browser", variables: variables)
        let started = try start("--no-wait", "--flow", "browser", variables: variables)
        let text = try stored()
        let secrets = try #require(
            text.range(of: "\"secrets\":\"[^\"]+", options: .regularExpression).map { text[$0].dropFirst(11) }
        )
        let sealed = try #require(Base64URL.decode(String(secrets)))
        #expect(String(decoding: sealed, as: UTF8.self).contains("\"sealed\""))
        #expect(!text.contains("a-secret-too"))
        #expect(keys(world).count == 1)
        let url = try started.redirect(provider).url.text
        // Whoever can write the file cannot lead the code elsewhere.
        let file = try #require(file)
        let other = text.replacingOccurrences(
            of: "\"token_endpoint\":\"", with: "\"token_endpoint\":\"https://evil.example")
        #expect(other != text)
        try other.write(to: file, atomically: false, encoding: .utf8)
        let refused = try finish(started.id, url, variables: variables)
        #expect(refused.status == 1 && refused.errorOutput.contains("damaged"), "\(refused)")
        try text.write(to: file, atomically: false, encoding: .utf8)
        #expect(try finish(started.id, url, variables: variables).status == 0)
        #expect(keys(world).count == 1 && !keys(world).contains { $0.contains("sign_in") })
    }

    private func keys(_ world: SessionWorld) -> [String] {
        world.program.files(in: "keychain").map(\.lastPathComponent)
    }

    @Test(
        "kill -9 at random moments leaves no listener and, after expiry and the next command, no verifier",
        .enabled(
            if: FileManager.default.fileExists(atPath: "/proc/self/cwd"), "it looks for processes in /proc"))
    func killed() throws {
        defer { remove() }
        let rounds = ProcessInfo.processInfo.environment["OIDC_KILL_ROUNDS"].flatMap { Int($0) } ?? 10
        for round in 0..<rounds {
            let begun = try program.start(["login", "--start", "--flow", "browser", "-o", "json"])
            if round % 3 == 0 {
                usleep(.random(in: 0...60_000))
                begun.signal(SIGKILL)
            }
            let output = begun.finish().output
            let started = try? JSONDecoder().decode(Started.self, from: Data(output.utf8))
            let second = try program.start(["login", "--finish", "--timeout", "5"])
            if let started, round % 2 == 0, let request = try? started.redirect(provider) {
                let visit = Thread { _ = try? Visit.send(request) }
                visit.start()
            }
            usleep(.random(in: 0...120_000))
            second.signal(SIGKILL)
            _ = second.finish()
            // One that has just begun may not be in the list yet, and one that was killed may still be.
            var looks = 0
            while looks < 3 {
                let waiting = WaitingProcesses.all(in: program.home)
                for process in waiting { kill(process, SIGKILL) }
                looks = waiting.isEmpty ? looks + 1 : 0
                usleep(20_000)
            }
            if let started { #expect(!started.isListening) }
            #expect(program.sessionFiles.count <= 1)
            try expire()
            _ = try program.run("status")
            for file in program.files(in: ".local/state/oidc/sign-ins") {
                #expect(try !String(contentsOf: file, encoding: .utf8).contains("\"secrets\""), "\(file)")
            }
        }
        let last = try start("--no-wait", "--flow", "browser")
        #expect(try finish(last.id, try last.redirect(provider).url.text).status == 0)
    }

    /// Makes what is stored as old as after its end.
    private func expire() throws {
        for file in program.files(in: ".local/state/oidc/sign-ins") where file.pathExtension == "json" {
            let text = try String(contentsOf: file, encoding: .utf8)
            guard let end = text.range(of: "\"end\":\\d+", options: .regularExpression) else { continue }
            let past = "\"end\":\(Int(Date().timeIntervalSince1970) - 5)"
            try Data(text.replacingCharacters(in: end, with: past).utf8).write(to: file)
        }
    }
}

/// The processes that wait for an answer.
enum WaitingProcesses {
    /// Returns those that were started in a directory.
    static func all(in home: URL) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { process in
            let line = (try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)) ?? ""
            guard line.contains("--detached=sign-in") else { return false }
            let directory = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/cwd")
            return directory.map { $0.hasSuffix(home.lastPathComponent) } ?? false
        }
    }
}
