import DemoProvider
import OIDCCore
import TestSupport
import Testing

@Suite("refresh: the successor comes before everything else (RFC 9700 §4.14.2)")
struct TokenRefreshTests {
    private static func refresh(_ provider: InMemoryProvider, _ session: Session) -> TokenRefresh {
        TokenRefresh(
            context: provider.environment,
            tokenEndpoint: TokenEndpoint(url: session.endpoints.token, client: Client(id: "demo")))
    }

    /// Every fault of a refresh answer under which the provider has rotated the refresh token all the same.
    static let faults: [Fault] = {
        let withoutToken: Set<TokenResponseFault> = [
            .refreshTokenMissing, .refreshTokenEmpty, .refreshTokenNumber, .errorWithSuccess,
        ]
        var faults: [Fault] = []
        for fault in TokenResponseFault.allCases where !withoutToken.contains(fault) {
            faults.append(.refreshResponse(fault))
        }
        faults += IDTokenFault.allCases.map { .refreshedIDToken($0) }
        faults += KeySetFault.allCases.map { .keys($0) }
        for fault in AnswerFault.allCases { faults.append(.answer(.jwks, fault)) }
        return faults
    }()

    @Test("the new refresh token of an answer with any fault is the one to use next", arguments: faults)
    func successor(_ fault: Fault) throws {
        let (provider, session) = try InMemoryProvider.signedIn()
        let refresh = Self.refresh(provider, session)
        provider.faults = [fault]
        let answer = try refresh.request(session, for: .own)
        var expected = session
        expected.tokens.refreshToken = answer.successor.tokens.refreshToken
        expected.replacedToken = FNV1a.digits(try #require(session.tokens.refreshToken?.revealed))
        #expect(answer.successor == expected)
        #expect(answer.successor.tokens.refreshToken != session.tokens.refreshToken)
        if let outcome = try? refresh.check(answer) {
            #expect(outcome.session.tokens.refreshToken == answer.successor.tokens.refreshToken)
        }
        provider.faults = []
        let next = try refresh.refresh(answer.successor, for: .own)
        #expect(throws: Never.self) { try next.access.get() }
    }

    @Test("a scope separated by commas is a list, also in the token that is handed out; without one it stays")
    func commas() throws {
        let (provider, signedIn) = try InMemoryProvider.signedIn()
        var session = signedIn
        session.tokens.access.scope = Scope("a b")
        for (member, granted) in [(#","scope":"a,b""#, "a b"), ("", "a b"), (#","scope":"a""#, "a")] {
            let body = #"{"access_token":"new","token_type":"Bearer"\#(member)}"#
            provider.intercept { _ in
                HTTPResponse(
                    status: 200, headers: HTTPHeaders([("Content-Type", "application/json")]),
                    body: Array(body.utf8))
            }
            let outcome = try Self.refresh(provider, session).refresh(session, for: .own)
            #expect(outcome.session.tokens.access.scope?.text == granted)
            #expect(try outcome.access.get() == outcome.session.tokens.access)
        }
    }

    @Test("a refreshed token that is no longer for the session's audience is stored, with a warning")
    func otherAudience() throws {
        let (provider, signedIn) = try InMemoryProvider.signedIn()
        func token(_ audience: String) -> String {
            let part = { (text: String) in Base64URL.encode(Array(text.utf8)) }
            return "\(part(#"{"alg":"RS256"}"#)).\(part(#"{"aud":"\#(audience)"}"#)).c2ln"
        }
        var session = signedIn
        session.key.audience = "api"
        session.tokens.access.token = Redacted(token("api"))
        for (audience, warns) in [("api", false), ("other", true)] {
            let body = #"{"access_token":"\#(token(audience))","token_type":"Bearer"}"#
            provider.intercept { _ in
                HTTPResponse(
                    status: 200, headers: HTTPHeaders([("Content-Type", "application/json")]),
                    body: Array(body.utf8))
            }
            let outcome = try Self.refresh(provider, session).refresh(session, for: .own)
            #expect(outcome.session.tokens.access.token.revealed == token(audience))
            #expect(outcome.warnings.contains { $0.message.hasSuffix("is other, no longer api") } == warns)
        }
    }

    @Test("the nonce of the sign-in is kept, also if an ID token in between has none (OIDC Core §12.2)")
    func nonce() throws {
        let (provider, signedIn) = try InMemoryProvider.signedIn()
        #expect(signedIn.nonce != nil)
        #expect(try Session(stored: signedIn.json.bytes) == signedIn)
        // The demo provider's refreshed ID tokens have no nonce.
        let refreshed = try Self.refresh(provider, signedIn).refresh(signedIn, for: .own).session
        #expect(refreshed.nonce == signedIn.nonce)
        let between = refreshed.tokens.idToken.flatMap { IDToken.stored($0.revealed) }
        #expect(between != nil && between?.claims["nonce"] == nil)
        provider.faults = [.refreshedIDToken(.nonceInvalid)]
        let error = #expect(throws: OIDCError.self) {
            try Self.refresh(provider, refreshed).refresh(refreshed, for: .own)
        }
        #expect(error?.kind == .untrusted && error?.member == "nonce")
    }

    @Test("an answer that is broken, or has too long an access token, keeps its new refresh token")
    func brokenAnswers() throws {
        let (provider, session) = try InMemoryProvider.signedIn()
        let long = String(repeating: "a", count: 65_537)
        let rest = #""token_type":"Bearer","refresh_token":"next"}"#
        let answers: [(String, String?)] = [
            (#"{"access_token":"\#(long)",\#(rest)"#, "next"),
            (#"{"access_token":"a","access_token":"b",\#(rest)"#, "next"),
            (#"{"access_token":"a","refresh_token":"spent",\#(rest)"#, "next"),
            (#"{"access_token":"a",\#(rest) trailing"#, "next"),
            (#"{"error":"server_error",\#(rest)"#, "next"),
            (#"{"x":"\ud800","access_token":"a",\#(rest)"#, "next"),
            (String(repeating: "[", count: 90) + #"{"access_token":"a",\#(rest)"#, "next"),
            (#")]}' {"access_token":"a",\#(rest)"#, "next"),
            (#"<br>Notice {"refresh_token" : "spent","refresh_token" : "a\/b","exp"#, "a/b"),
            (#"{"access_token":"a","refresh_token":"cut of"#, nil),
            (#"["next"]"#, nil), ("", nil), ("<html>", nil),
        ]
        for (body, next) in answers {
            provider.intercept { _ in
                HTTPResponse(
                    status: 200, headers: HTTPHeaders([("Content-Type", "application/json")]),
                    body: Array(body.utf8))
            }
            let answer = Result { () throws(OIDCError) in
                try Self.refresh(provider, session).request(session, for: .own)
            }
            #expect(
                (try? answer.get())?.successor.tokens.refreshToken?.revealed == next, "\(body.prefix(80))")
            if let answer = try? answer.get() {
                #expect(throws: OIDCError.self) { try Self.refresh(provider, session).check(answer) }
            }
        }
    }

    private static func json(_ body: String) -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: HTTPHeaders([("Content-Type", "application/json")]), body: Array(body.utf8))
    }

    @Test("a new refresh token may contain spaces (RFC 6749 appendix A.17)")
    func spaces() throws {
        let (provider, session) = try InMemoryProvider.signedIn()
        provider.intercept { _ in
            Self.json(#"{"access_token":"a","token_type":"Bearer","refresh_token":"two words"}"#)
        }
        let outcome = try Self.refresh(provider, session).refresh(session, for: .own)
        #expect(outcome.session.tokens.refreshToken?.revealed == "two words")
        #expect(outcome.session.ended == nil)
        provider.intercept { request in
            let form = FormEncoding.decode(String(decoding: request.body, as: UTF8.self)) ?? []
            #expect(form.contains { $0.name == "refresh_token" && $0.value == "two words" })
            return nil
        }
        #expect(throws: OIDCError.self) {
            try Self.refresh(provider, outcome.session).request(outcome.session, for: .own)
        }
    }

    @Test(
        "a new refresh token that cannot be used leaves the access token, and the old one is not presented again",
        arguments: [
            #""r\u001b[2Jt""#, #""ü""#, "\"" + String(repeating: "a", count: 65_537) + "\"", #"["next"]"#,
            "7",
        ])
    func unusable(text: String) throws {
        let (provider, session) = try InMemoryProvider.signedIn()
        provider.intercept { _ in
            Self.json(#"{"access_token":"a","token_type":"Bearer","refresh_token":\#(text)}"#)
        }
        let outcome = try Self.refresh(provider, session).refresh(session, for: .own)
        #expect(outcome.session.tokens.access.token.revealed == "a")
        #expect(outcome.session.tokens.refreshToken == nil)
        #expect(outcome.session.ended?.reason.hasPrefix("the new refresh token cannot be used: ") == true)
        let stored = try Session(stored: outcome.session.json.bytes)
        #expect(stored == outcome.session, "it is stored as it is")
        #expect(stored.endedError?.message.contains("refresh_token: expected ") == true)
    }

    @Test("a form-encoded answer keeps its new refresh token too")
    func formEncoded() throws {
        let (provider, session) = try InMemoryProvider.signedIn()
        provider.intercept { _ in
            HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/x-www-form-urlencoded")]),
                body: Array("refresh_token=next&access_token=a%0Db&token_type=bearer".utf8))
        }
        let answer = try Self.refresh(provider, session).request(session, for: .own)
        #expect(answer.successor.tokens.refreshToken?.revealed == "next")
    }

    @Test(
        "a refusal has no new refresh token",
        arguments: ["invalid_grant", "invalid_client", "temporarily_unavailable"])
    func refusals(code: String) throws {
        let (provider, session) = try InMemoryProvider.signedIn()
        provider.faults = [.refuses(.token, code)]
        #expect(throws: OIDCError.self) {
            try Self.refresh(provider, session).request(session, for: .own)
        }
    }

    @Test(
        "with a wrong clock the answer is refused and the session stays",
        arguments: [-7_200, -600, 7_200] as [Int64])
    func wrongClock(seconds: Int64) throws {
        let (provider, session) = try InMemoryProvider.signedIn()
        let refresh = Self.refresh(provider, session)
        provider.with { $0.configuration.clockOffset = -seconds }
        let answer = try refresh.request(session, for: .own)
        let error = #expect(throws: OIDCError.self) { try refresh.check(answer) }
        #expect(error?.kind == .untrusted)
        provider.with { $0.configuration.clockOffset = 0 }
        let next = try refresh.refresh(answer.successor, for: .own)
        #expect(throws: Never.self) { try next.access.get() }
    }

    @Test(
        "an ID token that was not asked for is checked too",
        arguments: [nil, .issuerInvalid, .audienceInvalid, .expired, .keyIDUnknown] as [IDTokenFault?])
    func unrequested(_ fault: IDTokenFault?) throws {
        let (provider, signedIn) = try InMemoryProvider.signedIn()
        var session = signedIn
        session.requestedScope = Scope("api:read offline_access")
        (session.subject, session.tokens.idToken) = (nil, nil)
        provider.faults = fault.map { [.refreshedIDToken($0)] } ?? []
        let refresh = Self.refresh(provider, session)
        let answer = try refresh.request(session, for: .own)
        if fault == nil {
            #expect(try refresh.check(answer).session.tokens.idToken != nil)
        } else {
            #expect(throws: OIDCError.self) { try refresh.check(answer) }
        }
    }

    @Test("if the keys cannot be fetched, the access token is returned and the old ID token stays")
    func keysOutOfReach() throws {
        let (provider, session) = try InMemoryProvider.signedIn()
        provider.intercept { request throws(OIDCError) in
            guard request.url.path == "/jwks" else { return nil }
            throw OIDCError(.unreachable, "down", stage: .keys)
        }
        let outcome = try Self.refresh(provider, session).refresh(session, for: .own)
        #expect(outcome.session.tokens.idToken == session.tokens.idToken)
        #expect(outcome.warnings.count == 1)
        #expect(try outcome.access.get() == outcome.session.tokens.access)
    }
}

@Suite("the tokens that a session derives")
struct DerivedTokenLimitTests {
    private let now = Instant(secondsSinceEpoch: 1_800_000_000)

    private func token(_ text: String, lifetime: Int64? = 300, at time: Instant) -> AccessToken {
        AccessToken(
            token: Redacted(text), type: .bearer, obtainedAt: time,
            expiresAt: lifetime.map { time.adding($0) }, scope: nil)
    }

    @Test("expired ones are dropped when one is added")
    func expired() throws {
        var session = try InMemoryProvider.signedIn().session
        for index in 0..<10 {
            session.keep(token("t\(index)", at: now), scope: nil, resources: ["https://api\(index).example"])
        }
        session.keep(token("last", at: now.adding(300)), scope: nil, resources: ["https://last.example"])
        #expect(session.derived.map(\.access.token.revealed) == ["last"])
    }

    @Test("with many long tokens, the newest stay and the file stays small")
    func bounded() throws {
        var session = try InMemoryProvider.signedIn().session
        for index in 0..<999 {
            session.keep(
                token(String(repeating: "x", count: 4_096) + "\(index)", lifetime: nil, at: now), scope: nil,
                resources: ["https://api\(index).example"])
        }
        #expect(session.derived.count == 64)
        #expect(session.derived.last?.resources == ["https://api998.example"])
        for index in 0..<64 {
            session.keep(
                token(String(repeating: "y", count: 65_536), at: now), scope: nil,
                resources: ["https://big\(index).example"])
        }
        #expect(session.json.bytes.count < 2 << 20)
        #expect(session.derived.last?.resources == ["https://big63.example"])
    }
}
