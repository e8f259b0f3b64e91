import DemoProvider
import OIDCCore
import TestSupport
import Testing

@Suite("the device flow in memory (RFC 8628)")
struct DeviceFlowTests {
    /// Polls as a program would, on a clock that only the waits move.
    private func signIn(_ provider: InMemoryProvider) throws -> Session {
        var session: Session?
        _ = try provider.signIn { login in
            let authorization = try login.beginOnDevice()
            var polling = DevicePolling(authorization)
            provider.pass(polling.firstWait(now: provider.now))
            while session == nil {
                let answer = Result { () throws(OIDCError) in try login.poll(authorization) }
                guard case .failure(let error) = answer else {
                    session = try login.outcome(of: try answer.get()).session
                    continue
                }
                switch polling.next(after: error, now: provider.now) {
                case .wait(let seconds): provider.pass(seconds)
                case .failed(let error): throw error
                }
            }
        }
        return try #require(session)
    }

    private func polls(_ provider: InMemoryProvider) -> Int {
        provider.with { $0.requestCount(grant: "urn:ietf:params:oauth:grant-type:device_code") }
    }

    @Test("polls at the interval until the user has signed in elsewhere (§3.5)")
    func approved() throws {
        let provider = try InMemoryProvider {
            $0.person = .approves("alice")
            $0.devicePollsBeforeDecision = 2
        }
        let session = try signIn(provider)
        #expect(session.subject == "alice" && session.tokens.refreshToken != nil)
        #expect(polls(provider) == 3)
    }

    @Test("a denial ends the sign-in")
    func denied() throws {
        let provider = try InMemoryProvider { $0.person = .denies }
        let error = #expect(throws: OIDCError.self) { try signIn(provider) }
        #expect(error?.kind == .refused && error?.oauthError == "access_denied")
        #expect(polls(provider) == 1)
    }

    @Test("a code that is not entered expires")
    func expired() throws {
        let provider = try InMemoryProvider { $0.deviceLifetime = 60 }
        let start = provider.now
        let error = #expect(throws: OIDCError.self) { try signIn(provider) }
        #expect(error?.kind == .timedOut && error?.oauthError == "expired_token")
        #expect(provider.now.seconds(since: start) == 60)
    }

    @Test("slow_down makes every later wait five seconds longer")
    func slowDown() throws {
        let provider = try InMemoryProvider { $0.deviceLifetime = 60 }
        provider.faults = [.device(.alwaysSlowDown)]
        #expect(throws: OIDCError.self) { try signIn(provider) }
        // 5 + 10 + 15 + 20 seconds, and the rest of the lifetime.
        #expect(polls(provider) == 5)
    }

    @Test("an ID token is checked as after any sign-in", arguments: [IDTokenFault.issuerInvalid, .expired])
    func checked(fault: IDTokenFault) throws {
        let provider = try InMemoryProvider { $0.person = .approves("alice") }
        provider.faults = [.idToken(fault)]
        let error = #expect(throws: OIDCError.self) { try signIn(provider) }
        #expect(error?.kind == .untrusted)
    }
}
