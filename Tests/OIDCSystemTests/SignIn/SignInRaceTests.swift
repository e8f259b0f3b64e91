import DemoProvider
@testable import LoopbackHTTP
import OIDCCore
import OIDCSignIn
@testable import Posix
import Synchronization
import TestSupport
import Testing

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

@Suite("without a display, the first way that is finished signs in", .serialized, .waitingLong)
struct SignInRaceTests {
    @Test("an approved device code signs in, and the listener is closed")
    func device() throws {
        let race = try SignInRace { $0.user = .approves("alice") }
        let session = try race.run().get()
        #expect(race.kept == [session] && session.subject == "alice")
        #expect(race.steps == ["device", "url", "answered"])
        #expect(race.deviceRequests == 1 && race.codeRequests == 0)
        let callback = try race.provider.callback(of: try #require(race.url))
        #expect(throws: OIDCError.self) { try SignInRace.Page(callback).response() }
    }

    @Test("the browser's answer signs in, and the device code is abandoned")
    func browser() throws {
        let race = try SignInRace()
        race.onWaiting = { try? $0.answerInBrowser() }
        let session = try race.run().get()
        #expect(race.kept == [session])
        #expect(race.codeRequests == 1 && race.deviceRequests == 0)
        #expect(try #require(race.page).response().status == 200)
    }

    @Test(
        "a callback that arrives after the tokens of the device code gets the page; its code is not redeemed")
    func deviceFirst() throws {
        let race = try SignInRace { $0.user = .approves("alice") }
        let callback = Mutex<String?>(nil)
        let page = Mutex<SignInRace.Page?>(nil)
        race.onWaiting = { race in
            guard let url = race.url else { return }
            callback.withLock { text in
                if text == nil { text = try? race.provider.callback(of: url) }
            }
        }
        race.provider.intercept { request in
            // The tokens have come, and their signature is checked.
            guard request.url.path == "/jwks", let url = callback.withLock({ $0 }) else { return nil }
            page.withLock { $0 = try? SignInRace.Page(url) }
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

    /// A poll for the device code that gets its answer only once it is released, or at `end`.
    private final class HeldPoll: Sendable {
        private let state = Mutex((hasArrived: false, isReleased: false))

        init(_ race: SignInRace, until end: MonotonicTime? = nil) {
            race.provider.intercept { [self] request in
                guard request.url.path == "/token",
                    String(decoding: request.body, as: UTF8.self).contains("device_code")
                else { return nil }
                state.withLock { $0.hasArrived = true }
                while !state.withLock({ $0.isReleased }), end.map({ MonotonicTime.now() < $0 }) ?? true {
                    Poll.sleep(until: .now().adding(milliseconds: 10))
                }
                return nil
            }
        }

        var hasArrived: Bool { state.withLock { $0.hasArrived } }
        func release() { state.withLock { $0.isReleased = true } }
    }

    @Test(
        "a callback is redeemed while a poll for the device code has no answer, whose tokens are revoked unless kept",
        arguments: [false, true])
    func hangingPoll(keepsTokens: Bool) throws {
        let race = try SignInRace { $0.user = .approves("alice") }
        race.keepsRefusedTokens = keepsTokens
        let poll = HeldPoll(race)
        defer { poll.release() }
        race.onWaiting = { race in if poll.hasArrived { try? race.answerInBrowser() } }
        // Nobody waits for tokens that would be kept.
        race.onKept = { if !keepsTokens { poll.release() } }
        let session = try race.run().get()
        #expect(race.kept == [session] && race.codeRequests == 1)
        #expect(race.deviceRequests == (keepsTokens ? 0 : 1))
        #expect((race.provider.with { $0.requestCount(.revocation) } > 0) != keepsTokens)
        #expect(try #require(race.page).response().status == 200)
    }

    @Test(
        "a poll that is left to the caller does not hold up the sign-in, and is revoked once the caller is ready"
    )
    func leftPoll() throws {
        let race = try SignInRace { $0.user = .approves("alice") }
        let poll = HeldPoll(race)
        defer { poll.release() }
        race.onWaiting = { race in if poll.hasArrived { try? race.answerInBrowser() } }
        var polls: [UnansweredPoll] = []
        race.leave = { polls.append($0) }
        let session = try race.run().get()
        #expect(race.kept == [session] && race.deviceRequests == 0 && polls.count == 1)
        poll.release()
        var revocations: Int { race.provider.with { $0.requestCount(.revocation) } }
        polls.first?.settle { #expect(race.deviceRequests == 1 && revocations == 0) }
        #expect(revocations > 0)
    }

    @Test("tokens of a poll that is answered at the end of the time are not lost")
    func lastPoll() throws {
        let race = try SignInRace { $0.user = .approves("alice") }
        race.milliseconds = 1_500
        _ = HeldPoll(race, until: .now().adding(milliseconds: 2_500))
        let session = try race.run().get()
        #expect(race.kept == [session] && race.deviceRequests == 1)
        #expect(race.provider.with { $0.requestCount(.revocation) } == 0)
    }

    @Test("a provider that keeps the request for a device code waiting does not delay the browser's answer")
    func hangingDeviceEndpoint() throws {
        let race = try SignInRace()
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
        let race = try SignInRace(redirect: "http://127.0.0.1:\(other.port)/callback") {
            $0.user = .approves("alice")
        }
        let session = try race.run().get()
        #expect(race.kept == [session] && race.warnings.count == 1)
        #expect(race.warnings.first?.contains("port \(other.port) on 127.0.0.1 is in use") == true)
        // Another program has the port, and a code would go to it.
        #expect(race.url == nil && !race.steps.contains("url"), "\(race.steps)")
        race.offersDeviceCode = false
        let error = #expect(throws: OIDCError.self) { try race.run().get() }
        #expect(error?.message.contains("in use") == true && race.warnings.count == 1)
    }

    @Test(
        "where 127.0.0.1 cannot be bound, one line says so, and the device code signs in; alone, the hint helps"
    )
    func withoutLoopback() throws {
        let race = try SignInRace { $0.user = .approves("alice") }
        let missing = LoopbackListener.error(LoopbackAddress(), 0, .addressNotAvailable)
        #expect(
            missing
                == OIDCError(
                    .failed, "this machine has no address 127.0.0.1 to listen on",
                    hint: .advice(.useOtherLoopback)))
        race.bindingFailure = missing
        let session = try race.run().get()
        #expect(race.kept == [session])
        #expect(race.warnings == ["\(missing.message); the sign-in goes on without a listener"])
        // With a prompt, the URL is shown, with a port that no program is likely to have.
        race.readsInput = true
        _ = race.run()
        let port = race.url?.text.parts(around: "redirect_uri=http%3A%2F%2F127.0.0.1%3A")?.after
            .prefix { $0.isNumber }
        #expect(port.flatMap { UInt16($0) }.map { $0 >= 49_152 } == true, "\(race.url?.text ?? "")")
        race.readsInput = false
        race.offersDeviceCode = false
        #expect(throws: missing) { try race.run().get() }
    }

    @Test("an approval that arrives while the browser's code is redeemed is never redeemed")
    func browserFirst() throws {
        let race = try SignInRace()
        race.onWaiting = { try? $0.answerInBrowser() }
        race.provider.intercept { [weak provider = race.provider] request in
            if request.url.path == "/token" {
                provider?.with { $0.configuration.user = .approves("alice") }
            }
            return nil
        }
        let session = try race.run().get()
        #expect(race.kept == [session])
        #expect(race.codeRequests == 1 && race.deviceRequests == 0)
    }

    @Test("a refused device code is reported once, and the others go on", arguments: refusals)
    private func refused(_ refusal: Refusal) throws {
        let race = try SignInRace()
        race.provider.intercept { request in
            let isCode = String(decoding: request.body, as: UTF8.self).contains(
                "grant_type=authorization_code")
            return request.url.path == refusal.path && !isCode ? refusal.answer : nil
        }
        race.onWaiting = { if !$0.refusals.isEmpty { try? $0.answerInBrowser() } }
        let session = try race.run().get()
        #expect(race.kept == [session])
        #expect(race.refusals.count == 1 && race.refusals.first?.hint == refusal.hint)
        #expect(race.steps.count { $0 == "no device code" } == 1 && race.steps.last == "answered")
    }

    @Test("the user's own no, on either device, ends the sign-in")
    func declined() throws {
        let onDevice = try SignInRace { $0.user = .denies }
        #expect(throws: OIDCError.self) { try onDevice.run().get() }
        #expect(onDevice.kept.isEmpty && onDevice.refusals.isEmpty)
        let inBrowser = try SignInRace()
        inBrowser.onWaiting = { try? $0.answerInBrowser(.deny) }
        let error = #expect(throws: OIDCError.self) { try inBrowser.run().get() }
        #expect(error?.oauthError == "access_denied" && inBrowser.deviceRequests == 0)
    }

    @Test(
        "if the redirect cannot come back here and nothing can be pasted, a refused device code ends the sign-in"
    )
    func onlyWay() throws {
        for path in ["/device_authorization", "/token"] {
            let race = try SignInRace(redirect: "com.example.demo:/callback")
            race.provider.intercept { request in
                request.url.path == path ? refusals[1].answer : nil
            }
            let error = #expect(throws: OIDCError.self) { try race.run().get() }
            #expect(error?.oauthError == "unauthorized_client" && race.refusals.isEmpty)
        }
        let approved = try SignInRace(redirect: "com.example.demo:/callback") {
            $0.user = .approves("alice")
        }
        #expect(try approved.run().get().subject == "alice")
    }

    @Test("the time-out bounds all of them, and names what to compare with the registration")
    func timeout() throws {
        let race = try SignInRace()
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
            let race = try SignInRace()
            race.offersDeviceCode = offersDeviceCode
            (race.silence, race.milliseconds) = (1, 2_500)
            #expect(throws: OIDCError.self) { try race.run().get() }
            #expect(race.unanswered.count == count)
            #expect(race.unanswered.allSatisfy { $0.0.hasPrefix("http://127.0.0.1:") && $0.1 == "demo" })
        }
    }

    @Test("after the silence, a connection without a request finds out whether the provider is down")
    func unreachable() throws {
        let down = OIDCError(.unreachable, "authorize: cannot connect", stage: .authorization)
        for failure in [down, nil] {
            let race = try SignInRace()
            race.offersDeviceCode = false
            race.connectionFailure = failure
            (race.silence, race.milliseconds) = (1, 2_500)
            #expect(throws: OIDCError.self) { try race.run().get() }
            #expect(race.unreachable == [failure].compactMap { $0 })
            #expect(race.connections.urls == ["\(InMemoryProvider.issuer)/authorize"])
        }
    }
}
