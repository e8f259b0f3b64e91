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
            #expect(ended.isRest(of: session))
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
        #expect(kept.isRest(of: session))
    }

    @Test("a session whose tokens the user revoked is no rest, so no late answer is written over it")
    func revoked() throws {
        let session = try Self.session()
        var revoked = session
        revoked.tokens.refreshToken = nil
        #expect(!revoked.isRest(of: session))
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
