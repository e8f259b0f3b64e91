import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCAccount
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("the order in which a refresh is stored")
struct RefreshOrderTests {
    private let scratch = ScratchDirectory()

    private func tokens() throws -> CountedTokens {
        let tokens = CountedTokens(SessionStore(directory: scratch.path))
        try tokens.store.save(.example(), replacingDamaged: false)
        return tokens
    }

    private var successor: Session {
        var session = Session.example()
        session.tokens.refreshToken = Redacted("rt-2")
        return session
    }

    @Test("the new refresh token is on disk before the checks start, and stays if they fail")
    func successorFirst() throws {
        let tokens = try tokens()
        let error = #expect(throws: OIDCError.self) {
            try tokens.refreshed { [successor] (_) throws(OIDCError) in
                SessionTokens.Answer(successor: successor) { () throws(OIDCError) in
                    #expect(try tokens.store.load(.example) == successor)
                    throw OIDCError(.untrusted, "exp", stage: .idToken)
                }
            }
        }
        #expect(error?.message == "exp")
        #expect(try tokens.store.load(.example) == successor)
    }

    @Test("without a free file descriptor the refresh token is not sent", .waiting)
    func noDescriptors() async throws {
        let tokens = try tokens()
        _ = tokens
        await #expect(processExitsWith: .success) { [path = scratch.path as String] in
            let tokens = CountedTokens(SessionStore(directory: path))
            var limit = rlimit(rlim_cur: 10, rlim_max: 10)
            setrlimit(.init(RLIMIT_NOFILE.rawValue), &limit)
            let error = #expect(throws: OIDCError.self) {
                try tokens.refreshed { (_) throws(OIDCError) in throw OIDCError(.refused, "presented") }
            }
            #expect(error?.kind == .failed)
        }
    }

    @Test("a refused refresh token is dropped, and the access token stays")
    func refused() throws {
        let tokens = try tokens()
        let over = OIDCError(
            .loginRequired, "over", stage: .token, oauthError: "invalid_grant", code: .sessionEnded)
        #expect(tokens.failure(over) == over)
        let left = try #require(try tokens.store.load(.example))
        #expect(left.tokens.refreshToken == nil)
        #expect(left.tokens.access == Session.example().tokens.access)
        #expect(tokens.failure(over)?.kind == .loginRequired)
        #expect(tokens.requests == 1)
    }

    @Test(
        "a token that a server has refused is dropped, also by a process that takes another's refusal",
        arguments: [OIDCError.Code.sessionEnded, .signInAgain])
    func refusedElsewhere(code: OIDCError.Code) throws {
        let tokens = try tokens()
        let over = OIDCError(.loginRequired, "over", stage: .token, oauthError: "invalid_grant", code: code)
        let loaded = try #require(try tokens.store.load(.example))
        #expect(tokens.failure(over) == over)
        #expect(try tokens.store.load(.example)?.hasAccessToken == true)
        #expect(throws: OIDCError.self) {
            try tokens.refreshed(loaded: loaded, refusing: .refused(loaded.tokens.access)) {
                (_) throws(OIDCError) in throw over
            }
        }
        let left = try #require(try tokens.store.load(.example))
        #expect(!left.hasAccessToken && left.ended?.error == "invalid_grant")
        let isKept = code == .signInAgain
        #expect((left.tokens.refreshToken != nil) == isKept)
        #expect(tokens.requests == (isKept ? 2 : 1), "one that is kept is tried again")
    }

    @Test("invalid_grant for a resource does not end a session whose own token is still given")
    func refusedResource() throws {
        let tokens = try tokens()
        let over = OIDCError(
            .loginRequired, "over", stage: .token, oauthError: "invalid_grant", code: .sessionEnded)
        let requests = Mutex(0)
        let error = #expect(throws: OIDCError.self) {
            try tokens.refreshed(TokenDemand(resources: ["https://api.example"])) {
                (current) throws(OIDCError) in
                guard
                    requests.withLock({
                        $0 += 1; return $0
                    }) > 1
                else { throw over }
                var session = current ?? .example()
                session.tokens.access.token = Redacted("own")
                session.tokens.refreshToken = Redacted("rt-2")
                return SessionTokens.Answer(successor: session) { () throws(OIDCError) in
                    TokenRefresh.Outcome(session: session, access: .success(session.tokens.access))
                }
            }
        }
        #expect(error?.kind == .refused && error?.oauthError == "invalid_grant")
        let left = try #require(try tokens.store.load(.example))
        #expect(left.tokens.refreshToken?.revealed == "rt-2" && left.tokens.access.token.revealed == "own")
        // When it has ended, the second request says so too, and the token is dropped.
        let ended = #expect(throws: OIDCError.self) {
            try tokens.refreshed(TokenDemand(resources: ["https://api.example"])) { (_) throws(OIDCError) in
                throw over
            }
        }
        #expect(ended?.endsSession == true)
        #expect(try tokens.store.load(.example)?.tokens.refreshToken == nil)
    }

    @Test("a token that was revoked while a process waited is not returned to it")
    func revokedMeanwhile() throws {
        let tokens = try tokens()
        let loaded = try #require(try tokens.store.load(.example))
        var revoked = loaded
        revoked.expire(loaded.tokens.access.token)
        try tokens.store.save(revoked, replacingDamaged: false)
        let late = SessionTokens(
            store: tokens.store, key: .example, now: { tokens.now }, wait: LockWait(limit: .seconds(20))
        ) { (_, _) throws(OIDCError) in throw OIDCError(.unreachable, "asked") }
        let error = #expect(throws: OIDCError.self) {
            try late.refreshed(TokenDemand(), loaded: loaded, refusing: .none)
        }
        #expect(error?.message == "asked")
    }

    @Test("without a session nothing is locked, created or requested")
    func nothing() throws {
        let tokens = CountedTokens(SessionStore(directory: scratch["none"]))
        let error = tokens.failure(OIDCError(.failed, "asked"))
        #expect(error?.kind == .loginRequired)
        #expect(tokens.requests == 0 && scratch.names == [])
    }

    @Test("a grant without a user returns its token with a warning if nothing can be stored")
    func unkept() throws {
        scratch.put("", "file")
        let key = SessionKey(provider: "https://op.example", clientID: "app", grant: .clientCredentials)
        let tokens = CountedTokens(SessionStore(directory: scratch["file"] + "/below"), key: key)
        let session = Session.example("machine", key: key)
        let tokensOfNobody = SessionTokens(
            store: tokens.store, key: key, now: { tokens.now }, wait: LockWait(limit: .zero)
        ) { (_, _) throws(OIDCError) in
            SessionTokens.Answer { () throws(OIDCError) in
                TokenRefresh.Outcome(session: session, access: .success(session.tokens.access))
            }
        }
        let delivery = try tokensOfNobody.refreshed(TokenDemand(), loaded: nil, refusing: .none)
        #expect(delivery.access.token.revealed == "machine")
        #expect(delivery.warnings.count == 1)
    }
}
