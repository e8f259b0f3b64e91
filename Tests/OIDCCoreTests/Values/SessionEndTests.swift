import Testing

@testable import OIDCCore

@Suite("the end of a session")
struct SessionEndTests {
    private typealias Sample = SampleProvider

    private static let now = Instant(secondsSinceEpoch: 1_562_265_296)
    private static let refusal = OIDCError(
        .loginRequired, "ended", oauthError: "invalid_grant", code: .sessionEnded)

    private static func access(_ token: String) -> AccessToken {
        AccessToken(
            token: Redacted(token), type: .bearer, obtainedAt: now, expiresAt: now.adding(300), scope: nil)
    }

    private static func session() throws -> Session {
        var session = Session(
            key: SessionKey(provider: "https://op.example", clientID: "cli"),
            endpoints: Session.Endpoints(
                issuer: "https://op.example", token: try Fixture.url("https://op.example/token")),
            clientAuthentication: "none", createdAt: now, requestedScope: nil,
            tokens: TokenSet(access: access("own"), refreshToken: Redacted("rt")))
        session.derived = [
            Session.DerivedToken(
                requestedScope: nil, resources: ["https://a.example"], access: access("derived"))
        ]
        return session
    }

    /// The session after a refresh.
    private static func next() throws -> Session {
        var next = try session()
        next.tokens.refreshToken = Redacted("rt-2")
        next.replacedToken = "rt"
        return next
    }

    @Test("a session that was changed and not refreshed takes the successor of its refresh token")
    func changed() throws {
        let session = try Self.session()
        var changed = session
        changed.expire(Redacted("own"))
        changed.expire(Redacted("derived"))
        var expected = try Self.next()
        expected.tokens.access = changed.tokens.access
        expected.derived = []
        #expect(try changed.successor(Self.next(), of: session) == expected)
        // Nothing is lost if the provider has issued none.
        #expect(changed.successor(session, of: session) == nil)
        #expect(try Self.next().successor(Self.next(), of: session) == nil)
        var other = changed
        other.nonce = "another sign-in"
        #expect(try other.successor(Self.next(), of: session) == nil)
    }

    @Test("only the access token that a server refused is dropped")
    func refused() throws {
        let session = try Self.session()
        let plain = session.refused(by: Self.refusal, at: Self.now)
        #expect(plain.tokens.access == session.tokens.access && plain.derived == session.derived)
        let derived = plain.without(Self.access("derived"))
        #expect(derived.tokens.access == session.tokens.access && derived.derived.isEmpty)
        let own = plain.without(Self.access("own"))
        #expect(!own.hasAccessToken && own.derived == session.derived)
        for ended in [plain, derived, own] {
            #expect(ended.tokens.refreshToken == nil && ended.ended?.error == "invalid_grant")
            #expect(ended.successor(try Self.next(), of: session)?.tokens.refreshToken == Redacted("rt-2"))
            // A new access token does not bring the session back.
            var same = session
            same.tokens.access = Self.access("new")
            #expect(ended.successor(same, of: session) == nil)
            #expect(try Session(stored: ended.json.bytes) == ended)
        }
    }

    @Test("a refresh token that may be of use again is kept, with the reason why it was refused")
    func kept() throws {
        let session = try Self.session()
        let kept = session.refused(
            by: OIDCError(.loginRequired, "again", oauthError: "interaction_required", code: .signInAgain),
            at: Self.now)
        #expect(kept.tokens == session.tokens && kept.ended?.error == "interaction_required")
        #expect(try kept.successor(Self.next(), of: session) == Self.next())
    }

    @Test("a session whose refresh token the user revoked takes no successor")
    func revoked() throws {
        let session = try Self.session()
        var revoked = session
        revoked.tokens.refreshToken = nil
        #expect(try revoked.successor(Self.next(), of: session) == nil)
        var later = session.refused(by: Self.refusal, at: Self.now)
        later.replacedToken = "rt"
        #expect(try later.successor(Self.next(), of: session) == nil)
    }

    @Test("the clock is compared with the token that the ID token came with, a derived one too")
    func clock() throws {
        var session = try Self.session()
        session.tokens.idToken = Redacted(try Sample.token(claims: ["iat": JSONValue(Sample.seconds)]))
        session.createdAt = Instant(secondsSinceEpoch: Sample.seconds - 3_000)
        session.tokens.access.obtainedAt = session.createdAt
        session.derived[0].access.obtainedAt = Instant(secondsSinceEpoch: Sample.seconds + 2)
        #expect(session.clockAhead == 2)
        session.derived = []
        #expect(session.clockAhead == -3_000)
    }
}
