import DemoProvider
import OIDCCore
import Synchronization
import TestSupport
import Testing

@Suite("the device flow in memory (RFC 8628)")
struct DeviceFlowTests {
    /// Polls as a program would, on a clock that only the waits move.
    private func signIn(_ provider: InMemoryProvider) throws -> Session { try outcome(provider).session }

    private func outcome(
        _ provider: InMemoryProvider, dpop: DPoPKey? = nil, _ change: (inout SignInFlow) -> Void = { _ in }
    ) throws -> SignInFlow.Outcome {
        var login = try provider.login(dpop: dpop)
        change(&login)
        return try outcome(provider, login)
    }

    private func outcome(_ provider: InMemoryProvider, _ login: SignInFlow) throws -> SignInFlow.Outcome {
        let authorization = try login.requestDeviceCode()
        var polling = DevicePolling(authorization)
        provider.pass(polling.firstWait(now: provider.now).components.seconds)
        while true {
            let answer = Result { () throws(OIDCError) in try login.poll(authorization) }
            guard case .failure(let error) = answer else {
                return try login.outcome(of: try answer.get())
            }
            switch polling.next(after: error, now: provider.now) {
            case .wait(let wait): provider.pass(wait.components.seconds)
            case .failed(let error): throw error
            }
        }
    }

    private func polls(_ provider: InMemoryProvider) -> Int {
        provider.with { $0.requestCount(grant: "urn:ietf:params:oauth:grant-type:device_code") }
    }

    @Test("polls at the interval until the user has signed in elsewhere (§3.5)")
    func approved() throws {
        let provider = try InMemoryProvider {
            $0.user = .approves("alice")
            $0.devicePollsBeforeDecision = 2
        }
        let session = try signIn(provider)
        #expect(session.subject == "alice" && session.tokens.refreshToken != nil)
        #expect(polls(provider) == 3)
        #expect(session.nonce == nil && session.signInID != nil, "it can be told from another sign-in")
    }

    @Test("with DPoP, the request for the code has a proof too, again with a nonce if that is demanded")
    func proof() throws {
        let provider = try InMemoryProvider { _ in }
        let key = try DPoPKey.generate()
        let login = try provider.login(dpop: key)
        let transport = NonceDemandingDevice()
        var environment = login.context
        environment.transport = transport
        var request = DeviceAuthorization.Request(scope: Scope("openid"))
        request.audience = "api"
        let endpoint = try #require(WebURL("https://op.example/device"))
        _ = try DeviceAuthorization.request(
            request, from: endpoint, client: login.tokenEndpoint.client, dpop: key, environment)
        let nonces = try transport.proofs.withLock { $0 }.map {
            try JWS(compact: try #require($0)).claims?["nonce"]?.string
        }
        #expect(nonces == [nil, "n1"])
        transport.demands.withLock { $0 = 9 }
        #expect(throws: OIDCError.self) {
            try DeviceAuthorization.request(
                request, from: endpoint, client: login.tokenEndpoint.client, dpop: key, environment)
        }
    }

    @Test("a denial ends the sign-in")
    func denied() throws {
        let provider = try InMemoryProvider { $0.user = .denies }
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
        let provider = try InMemoryProvider { $0.user = .approves("alice") }
        provider.faults = [.idToken(fault)]
        let error = #expect(throws: OIDCError.self) { try signIn(provider) }
        #expect(error?.kind == .untrusted)
    }

    @Test("without an ID token the session is kept with a warning, and UserInfo says who signed in")
    func withoutIDToken() throws {
        let provider = try InMemoryProvider { $0.user = .approves("alice") }
        provider.faults = [.idToken(.missing)]
        let outcome = try outcome(provider)
        #expect(outcome.session.subject == "alice" && outcome.session.tokens.idToken == nil)
        #expect(outcome.session.displayName == "alice@example.com")
        #expect(
            outcome.warnings.map(\.message) == ["the provider sent no ID token; UserInfo says who signed in"])
        #expect(provider.with { $0.requestCount(.revocation) } == 0)
    }

    @Test("a key that tokens are bound to is proven to UserInfo too, with the nonce that is demanded")
    func withoutIDTokenBound() throws {
        let provider = try InMemoryProvider {
            $0.user = .approves("alice")
            $0.requiresDPoP = true
            $0.requiresDPoPNonceAtResource = true
        }
        provider.faults = [.idToken(.missing)]
        #expect(try outcome(provider, dpop: .generate()).session.subject == "alice")
    }

    @Test(
        "a UserInfo that fails does not cost the sign-in",
        arguments: [
            .answer(.userinfo, .notFound), .answer(.userinfo, .unavailable), .userInfo(.subjectMissing),
        ]
            as [Fault])
    func withoutUserInfo(fault: Fault) throws {
        let provider = try InMemoryProvider { $0.user = .approves("alice") }
        provider.faults = [.idToken(.missing), fault]
        let outcome = try outcome(provider)
        #expect(outcome.session.subject == nil && outcome.session.tokens.refreshToken != nil)
        #expect(outcome.warnings.first?.message.contains("who signed in is unknown: ") == true)
    }

    @Test("a token for other resources is not shown to UserInfo")
    func otherResources() throws {
        let provider = try InMemoryProvider { $0.user = .approves("alice") }
        provider.faults = [.idToken(.missing)]
        let outcome = try outcome(provider) { $0.request.resources = ["https://api.example"] }
        #expect(outcome.session.subject == nil && outcome.warnings.count == 1)
        #expect(provider.with { $0.requestCount(.userinfo) } == 0)
    }

    @Test("max_age cannot be checked without an ID token, so the sign-in is refused and revoked")
    func withoutIDTokenAndAge() throws {
        let provider = try InMemoryProvider { $0.user = .approves("alice") }
        provider.faults = [.idToken(.missing)]
        let error = #expect(throws: OIDCError.self) {
            try outcome(provider) { $0.request.maxAge = .seconds(60) }
        }
        #expect(error?.kind == .refused && error?.member == "id_token")
        #expect(provider.with { $0.requestCount(.revocation) } == 2)
    }

    @Test("an ID token that a refresh brings first is checked, says who it is, and must be UserInfo's user")
    func laterIDToken() throws {
        let provider = try InMemoryProvider { $0.user = .approves("alice") }
        provider.faults = [.idToken(.missing), .answer(.userinfo, .notFound)]
        let unknown = try outcome(provider).session
        provider.faults = [.idToken(.missing)]
        let known = try outcome(provider).session
        func refreshed(_ session: Session, _ faults: Set<Fault>) throws -> Session {
            provider.faults = faults
            let endpoint = TokenEndpoint(url: session.endpoints.token, client: Client(id: "demo"))
            let refresh = TokenRefresh(context: provider.environment, tokenEndpoint: endpoint)
            return try refresh.refresh(session, for: .own).session
        }
        let first = try refreshed(unknown, [])
        #expect(first.subject == "alice" && first.tokens.idToken != nil && first.displayName != nil)
        #expect(throws: OIDCError.self) { try refreshed(first, [.idToken(.subjectInvalid)]) }
        #expect(throws: OIDCError.self) { try refreshed(known, [.idToken(.subjectInvalid)]) }
        #expect(throws: OIDCError.self) {
            try refreshed(outcome(provider).session, [.idToken(.signatureInvalid)])
        }
    }
}

/// A device authorization endpoint that demands a DPoP nonce before it issues a code.
private final class NonceDemandingDevice: HTTPTransport {
    let proofs = Mutex<[String?]>([])
    let demands = Mutex(1)

    func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
        proofs.withLock { $0.append(request.headers["DPoP"]) }
        let isDemand = demands.withLock { left in
            left -= 1
            return left >= 0
        }
        return isDemand
            ? HTTPResponse(
                status: 400, headers: HTTPHeaders([("DPoP-Nonce", "n1")]),
                body: Array(#"{"error":"use_dpop_nonce"}"#.utf8))
            : HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/json")]),
                body: Array(
                    #"{"device_code":"d","user_code":"u","verification_uri":"https://op.example/d"}"#.utf8))
    }
}
