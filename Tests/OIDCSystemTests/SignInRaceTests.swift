import DemoProvider
import OIDCCore
import Synchronization
import TestSupport
import Testing

@testable import OIDCSystem

/// A sign-in without a display: URL, pasted URL and device code at once, at a provider in memory.
private final class Race {
    let provider: InMemoryProvider
    let redirect: String?
    /// The notices, by name, without those of each second.
    var steps: [String] = []
    var refusals: [OIDCError] = []
    var url: WebURL?
    var kept: [Session] = []
    var page: Page?
    /// Runs when the sign-in waits.
    var onWaiting: (Race) -> Void = { _ in }
    var milliseconds: Int64 = 20_000
    var silence: Int64 = 20_000
    var offersDeviceCode = true
    var unanswered: [(String, String)] = []
    var warnings: [String] = []

    init(
        redirect: String? = nil, _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws {
        self.redirect = redirect
        provider = try InMemoryProvider(
            {
                $0.deviceInterval = 1
                change(&$0)
            }, clock: { Clock.now() })
    }

    /// A browser that asks for a URL on a thread of its own.
    final class Page: Sendable {
        private final class Answer: Sendable {
            let result = Mutex<Result<HTTPResponse, OIDCError>?>(nil)
        }

        private let answer = Answer()
        private let thread: BackgroundThread

        init(_ url: String) throws {
            let request = HTTPRequest(.get, try #require(WebURL(url)))
            thread = try BackgroundThread { [answer] in
                let result = Result { () throws(OIDCError) in
                    try Visit.send(request)
                }
                answer.result.withLock { $0 = result }
            }
        }

        func response() throws -> HTTPResponse {
            thread.join()
            return try #require(answer.result.withLock { $0 }).get()
        }
    }

    /// Sends the user's browser back to the listener.
    func answerInBrowser(_ choice: BrowserStandIn.Choice = .approve) throws {
        guard page == nil, let url else { return }
        page = try Page(try provider.callback(of: url, choice))
    }

    private func note(_ notice: SignInNotice) {
        switch notice {
        case .url(let url):
            self.url = url
            steps.append("url")
        case .device: steps.append("device")
        case .noDeviceCode(let error):
            refusals.append(error)
            steps.append("no device code")
        case .unanswered(let url, let client): unanswered.append((url, client))
        case .answered: steps.append("answered")
        case .waiting: onWaiting(self)
        case .opened, .notOpened, .listening, .pasteOffered, .strayRequest: break
        case .warning(let warning): warnings.append(warning.message)
        }
    }

    func run() -> Result<Session, OIDCError> {
        Result { () throws(OIDCError) in
            let client = Client(id: "demo")
            let metadata = try ProviderDocuments(environment: provider.environment).metadata(
                issuer: InMemoryProvider.issuer)
            let login = SignInFlow(
                environment: provider.environment, metadata: metadata,
                tokenEndpoint: TokenEndpoint(url: try metadata.require(.token), client: client),
                request: AuthorizationRequest(
                    client: client, redirectURI: RedirectAddress.standard, scope: Scope("openid")),
                key: SessionKey(provider: InMemoryProvider.issuer, clientID: client.id))
            var signIn = BrowserSignIn(
                login: login, redirect: try RedirectAddress(redirect), readsInput: false, browser: nil,
                environment: [:], deadline: .now().adding(milliseconds: milliseconds),
                notice: { [self] in note($0) })
            signIn.offersDeviceCode = offersDeviceCode
            signIn.silence = silence
            return try signIn.run { kept.append($0.session) }.session
        }
    }

    func requests(_ grant: String) -> Int { provider.with { $0.requestCount(grant: grant) } }
    var deviceRequests: Int { requests("urn:ietf:params:oauth:grant-type:device_code") }
    var codeRequests: Int { requests("authorization_code") }
}

private struct Refusal: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let path: String
    let answer: HTTPResponse
    let hint: Hint?

    init(_ description: String, at path: String, _ status: Int, _ body: String, _ hint: Hint? = nil) {
        testDescription = description
        self.path = path
        self.hint = hint
        answer = HTTPResponse(
            status: status, headers: HTTPHeaders([("Content-Type", "application/json")]),
            body: Array(body.utf8))
    }
}

private let refusals = [
    // Google, "OAuth 2.0 for TV and limited-input devices", 2026-11: a desktop client.
    Refusal(
        "Google, a desktop client", at: "/device_authorization", 401,
        #"{"error":"invalid_client","error_description":"Invalid client type."}"#,
        .advice(.checkClientOrDeviceGrant)),
    Refusal(
        "a client without the grant", at: "/device_authorization", 400, #"{"error":"unauthorized_client"}"#,
        .advice(.allowDeviceGrant)),
    Refusal(
        "a server without the grant", at: "/device_authorization", 400,
        #"{"error":"unsupported_grant_type"}"#,
        .advice(.allowDeviceGrant)),
    Refusal("an endpoint that is not there", at: "/device_authorization", 404, "{}"),
    Refusal("an endpoint that is down", at: "/device_authorization", 503, "{}", .tryAgain(seconds: nil)),
    Refusal("an answer without a code", at: "/device_authorization", 200, "{}"),
    Refusal(
        "at the token endpoint", at: "/token", 400, #"{"error":"unauthorized_client"}"#,
        .advice(.allowDeviceGrant)),
    Refusal(
        "by a policy, at the token endpoint", at: "/token", 400, #"{"error":"invalid_grant"}"#,
        .advice(.signInForNewCode)),
    Refusal("an expired code", at: "/token", 400, #"{"error":"expired_token"}"#, .signIn),
]

@Suite("without a display, the first way that is finished signs in", .serialized, .waiting)
struct SignInRaceTests {
    @Test("an approved device code signs in, and the listener is closed")
    func device() throws {
        let race = try Race { $0.person = .approves("alice") }
        let session = try race.run().get()
        #expect(race.kept == [session] && session.subject == "alice")
        #expect(race.steps == ["url", "device", "answered"])
        #expect(race.deviceRequests == 1 && race.codeRequests == 0)
        let callback = try race.provider.callback(of: try #require(race.url))
        #expect(throws: OIDCError.self) { try Race.Page(callback).response() }
    }

    @Test("the browser's answer signs in, and the device code is abandoned")
    func browser() throws {
        let race = try Race()
        race.onWaiting = { try? $0.answerInBrowser() }
        let session = try race.run().get()
        #expect(race.kept == [session])
        #expect(race.codeRequests == 1 && race.deviceRequests == 0)
        #expect(try #require(race.page).response().status == 200)
    }

    @Test("a callback that arrives while the device code is redeemed gets the page; its code is not redeemed")
    func deviceFirst() throws {
        let race = try Race { $0.person = .approves("alice") }
        let callback = Mutex<String?>(nil)
        let page = Mutex<Race.Page?>(nil)
        race.onWaiting = { race in
            guard let url = race.url else { return }
            callback.withLock { text in
                if text == nil { text = try? race.provider.callback(of: url) }
            }
        }
        race.provider.intercept { request in
            guard request.url.path == "/token", let url = callback.withLock({ $0 }) else { return nil }
            page.withLock { $0 = try? Race.Page(url) }
            // The kernel has accepted the connection, and holds the request, once it was sent.
            Poll.sleep(until: .now().adding(milliseconds: 300))
            return nil
        }
        let session = try race.run().get()
        #expect(race.kept == [session])
        #expect(race.deviceRequests == 1 && race.codeRequests == 0)
        let answer = try #require(page.withLock { $0 }).response()
        #expect(answer.status == 200 && String(decoding: answer.body, as: UTF8.self).contains("Signed in"))
    }

    @Test("a provider that keeps the request for a device code waiting does not delay the browser's answer")
    func hangingDeviceEndpoint() throws {
        let race = try Race()
        let isReleased = Mutex(false)
        defer { isReleased.withLock { $0 = true } }
        race.provider.intercept { request in
            guard request.url.path == "/device_authorization" else { return nil }
            while !isReleased.withLock({ $0 }) { Poll.sleep(until: .now().adding(milliseconds: 10)) }
            return HTTPResponse(status: 503)
        }
        race.onWaiting = { try? $0.answerInBrowser() }
        let session = try race.run().get()
        #expect(race.kept == [session] && race.steps == ["url", "answered"])
        #expect(race.codeRequests == 1 && race.deviceRequests == 0 && race.refusals.isEmpty)
        #expect(try #require(race.page).response().status == 200)
    }

    @Test("without a browser here, a busy port is reported once, and the device code signs in")
    func busyPort() throws {
        let other = try LoopbackServer()
        let race = try Race(redirect: "http://127.0.0.1:\(other.port)/callback") {
            $0.person = .approves("alice")
        }
        let session = try race.run().get()
        #expect(race.kept == [session] && race.warnings.count == 1)
        #expect(race.warnings.first?.contains("port \(other.port) on 127.0.0.1 is in use") == true)
        race.offersDeviceCode = false
        let error = #expect(throws: OIDCError.self) { try race.run().get() }
        #expect(error?.message.contains("in use") == true && race.warnings.count == 1)
    }

    @Test("an approval that arrives while the browser's code is redeemed is never redeemed")
    func browserFirst() throws {
        let race = try Race()
        race.onWaiting = { try? $0.answerInBrowser() }
        race.provider.intercept { [weak provider = race.provider] request in
            if request.url.path == "/token" {
                provider?.with { $0.configuration.person = .approves("alice") }
            }
            return nil
        }
        let session = try race.run().get()
        #expect(race.kept == [session])
        #expect(race.codeRequests == 1 && race.deviceRequests == 0)
    }

    @Test("a refused device code is reported once, and the others go on", arguments: refusals)
    private func refused(_ refusal: Refusal) throws {
        let race = try Race()
        race.provider.intercept { request in
            let isCode = String(decoding: request.body, as: UTF8.self).contains(
                "grant_type=authorization_code")
            return request.url.path == refusal.path && !isCode ? refusal.answer : nil
        }
        race.onWaiting = { if !$0.refusals.isEmpty { try? $0.answerInBrowser() } }
        let session = try race.run().get()
        #expect(race.kept == [session])
        #expect(race.refusals.count == 1 && race.refusals.first?.hint == refusal.hint)
        #expect(race.steps.suffix(2) == ["no device code", "answered"])
    }

    @Test("the user's own no, on either device, ends the sign-in")
    func declined() throws {
        let onDevice = try Race { $0.person = .denies }
        #expect(throws: OIDCError.self) { try onDevice.run().get() }
        #expect(onDevice.kept.isEmpty && onDevice.refusals.isEmpty)
        let inBrowser = try Race()
        inBrowser.onWaiting = { try? $0.answerInBrowser(.deny) }
        let error = #expect(throws: OIDCError.self) { try inBrowser.run().get() }
        #expect(error?.oauthError == "access_denied" && inBrowser.deviceRequests == 0)
    }

    @Test(
        "if the redirect cannot come back here and nothing can be pasted, a refused device code ends the sign-in"
    )
    func onlyWay() throws {
        for path in ["/device_authorization", "/token"] {
            let race = try Race(redirect: "com.example.demo:/callback")
            race.provider.intercept { request in
                request.url.path == path ? refusals[1].answer : nil
            }
            let error = #expect(throws: OIDCError.self) { try race.run().get() }
            #expect(error?.oauthError == "unauthorized_client" && race.refusals.isEmpty)
        }
        let approved = try Race(redirect: "com.example.demo:/callback") { $0.person = .approves("alice") }
        #expect(try approved.run().get().subject == "alice")
    }

    @Test("the time-out bounds all of them, and names what to compare with the registration")
    func timeout() throws {
        let race = try Race()
        race.milliseconds = 1_500
        let error = #expect(throws: OIDCError.self) { try race.run().get() }
        #expect(error?.kind == .timedOut && race.deviceRequests == 1)
        guard case .checkRegistration(let url, "demo") = error?.hint else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(url.hasPrefix("http://127.0.0.1:"))
    }

    @Test("silence is reported once, with the redirect URL and the client; not while a device code is shown")
    func silence() throws {
        for (offersDeviceCode, count) in [(false, 1), (true, 0)] {
            let race = try Race()
            race.offersDeviceCode = offersDeviceCode
            (race.silence, race.milliseconds) = (1, 2_500)
            #expect(throws: OIDCError.self) { try race.run().get() }
            #expect(race.unanswered.count == count)
            #expect(race.unanswered.allSatisfy { $0.0.hasPrefix("http://127.0.0.1:") && $0.1 == "demo" })
        }
    }
}
