import DemoProvider
import OIDCCore
@testable import OIDCSessions
import Synchronization
import TestSupport
import Testing

@Suite("a sign-in that is refused after its tokens came")
struct RefusedSignInTests {
    @Test("the refresh token is revoked, and then the access token, which may outlive it")
    func revoked() throws {
        for (scope, hints) in [
            ("openid offline_access", ["refresh_token", "access_token"]), ("openid", ["access_token"]),
        ] {
            let provider = try InMemoryProvider()
            provider.faults = [.idToken(.nonceInvalid)]
            let error = #expect(throws: OIDCError.self) { try provider.signIn(scope) }
            #expect(error?.kind == .untrusted)
            let bodies = provider.with {
                $0.requests(to: .revocation).map { String(decoding: $0.body, as: UTF8.self) }
            }
            #expect(bodies.count == hints.count)
            #expect(zip(bodies, hints).allSatisfy { $0.contains("token_type_hint=\($1)") })
        }
    }

    @Test("nothing is revoked if a stored session of the same client would end with it")
    func kept() throws {
        let provider = try InMemoryProvider()
        provider.faults = [.idToken(.nonceInvalid)]
        let error = #expect(throws: OIDCError.self) {
            try provider.signIn { $0.keepsRefusedTokens = { true } }
        }
        #expect(error?.kind == .untrusted)
        #expect(provider.with { $0.requests(to: .revocation).isEmpty })
    }

    @Test(
        "a session of the same issuer and client counts, whatever else it is for; so does an unreadable one")
    func stored() throws {
        let scratch = ScratchDirectory()
        let store = SessionStore(directory: scratch.path)
        let key = SessionKey.example
        #expect(!store.mayHaveSession(ofClientIn: key))
        try store.save(
            .example(key: SessionKey(provider: "https://other.example", clientID: key.clientID)),
            replacingDamaged: false)
        try store.save(
            .example(key: SessionKey(provider: key.provider, clientID: "other")), replacingDamaged: false)
        #expect(!store.mayHaveSession(ofClientIn: key))
        let account = SessionKey(
            provider: key.provider, clientID: key.clientID, audience: "https://api.example")
        try store.save(.example(key: account), replacingDamaged: false)
        #expect(store.mayHaveSession(ofClientIn: key))
        try store.remove(account)
        #expect(!store.mayHaveSession(ofClientIn: key))
        scratch.put("{", "damaged.json", mode: 0o600)
        #expect(store.mayHaveSession(ofClientIn: key))
    }

    @Test("a provider that does not answer a revocation is not asked again")
    func silent() throws {
        let provider = try InMemoryProvider()
        provider.faults = [.idToken(.nonceInvalid)]
        let asked = Mutex(0)
        provider.intercept { request throws(OIDCError) in
            guard request.url.path == "/revoke" else { return nil }
            asked.withLock { $0 += 1 }
            throw OIDCError(.unreachable, "timed out", stage: .revocation)
        }
        let error = #expect(throws: OIDCError.self) { try provider.signIn() }
        #expect(error?.kind == .untrusted)
        #expect(asked.withLock { $0 } == 1)
    }
}

extension RefusedSignInTests {
    @Test(
        "the tokens are revoked if the answer cannot be used, also without a refresh token and with a device code",
        arguments: [.tokenResponse(.typeUnknown), .tokenResponse(.typeMissing), .idToken(.expired)]
            as [Fault],
        [false, true])
    func unusable(fault: Fault, onDevice: Bool) throws {
        for scope in ["openid offline_access", "openid"] {
            let provider = try InMemoryProvider { $0.user = .approves("alice") }
            provider.faults = [fault]
            let login = try provider.login(scope)
            #expect(throws: OIDCError.self) {
                guard onDevice else { return _ = try provider.finish(login) }
                _ = try login.outcome(of: login.poll(login.requestDeviceCode()))
            }
            let body = provider.with { $0.requests(to: .revocation).first?.body } ?? []
            let isOffline = scope.contains("offline_access")
            #expect(
                String(decoding: body, as: UTF8.self)
                    .contains("token_type_hint=\(isOffline ? "refresh_token" : "access_token")"))
        }
    }

    @Test(
        "the tokens of a session that cannot be stored are revoked, or the error says that they stay valid",
        arguments: [nil, "a stored session", "no revocation"])
    func notStored(reason: String?) throws {
        let provider = try InMemoryProvider()
        let full = OIDCError(.unreachable, "no answer within 5 s", stage: .store)
        var login = try provider.login()
        if reason == "a stored session" { login.keepsRefusedTokens = { true } }
        if reason == "no revocation" {
            var metadata = login.metadata
            metadata.endpoints[.revocation] = nil
            login = SignInFlow(
                context: login.context, metadata: metadata, tokenEndpoint: login.tokenEndpoint,
                request: login.request, key: login.key)
        }
        let (pending, url) = try login.begin(redirectURI: "http://127.0.0.1:8765/callback")
        let outcome = try login.finish(try pending.acceptPasted(provider.callback(of: url)))
        let failed = failure { () throws(OIDCError) in
            try login.store(outcome) { _ throws(OIDCError) in throw full }
        }
        let revoked = provider.with { $0.requests(to: .revocation).count }
        #expect(revoked == (reason == nil ? 2 : 0))
        #expect(failed?.kind == .unreachable)
        #expect(failed?.message.contains("stay valid at the provider") == (reason != nil))
        let interrupted = failure { () throws(OIDCError) in
            try login.store(outcome) { _ throws(OIDCError) in throw OIDCError(.interrupted, "interrupted") }
        }
        #expect(interrupted?.kind == .interrupted)
        #expect(provider.with { $0.requests(to: .revocation).count } == revoked)
    }

    private final class Asked: Sendable { let count = Mutex(0) }

    @Test("a session that an unresponsive store may have stored is not revoked, and not reported as lost")
    func unknownWhetherStored() throws {
        let provider = try InMemoryProvider()
        var login = try provider.login()
        let (pending, url) = try login.begin(redirectURI: "http://127.0.0.1:8765/callback")
        let outcome = try login.finish(try pending.acceptPasted(provider.callback(of: url)))
        let silence = OIDCError(.unreachable, "no answer", stage: .store, code: .noStoreAnswer)
        let asked = Asked()
        login.keepsRefusedTokens = {
            asked.count.withLock { $0 += 1 }
            return false
        }
        let failed = failure { () throws(OIDCError) in
            try login.store(outcome) { _ throws(OIDCError) in throw silence }
        }
        #expect(failed?.message.contains("if the session was not stored") == true)
        #expect(asked.count.withLock({ $0 }) == 0 && provider.with { $0.requests(to: .revocation).isEmpty })
    }

    @Test("the access token is revoked if the provider cannot revoke the refresh token")
    func accessToken() throws {
        let provider = try InMemoryProvider()
        provider.faults = [.idToken(.nonceInvalid)]
        provider.intercept { request throws(OIDCError) in
            let body = String(decoding: request.body, as: UTF8.self)
            guard request.url.path == "/revoke", body.contains("hint=refresh_token") else { return nil }
            return HTTPResponse(status: 503)
        }
        #expect(throws: OIDCError.self) { try provider.signIn() }
        let bodies = provider.with {
            $0.requests(to: .revocation).map { String(decoding: $0.body, as: UTF8.self) }
        }
        #expect(bodies.count == 1 && bodies.first?.contains("hint=access_token") == true)
    }
}

@Suite("a session after a revocation")
struct RevokedTokenTests {
    @Test("an access token is dropped, a refresh token ends the session, others change nothing")
    func rest() throws {
        var session = try InMemoryProvider().signIn()
        let now = session.createdAt
        session.keep(
            AccessToken(
                token: Redacted("derived"), type: .bearer, obtainedAt: now, expiresAt: nil, scope: nil),
            scope: nil, resources: ["https://api.example"])
        #expect(session.revoking(Redacted("unknown")) == session)
        #expect(session.revoking(try #require(session.tokens.refreshToken)) == nil)
        let rest = try #require(session.revoking(session.tokens.access.token))
        #expect(!rest.tokens.access.isFresh(at: now, minimum: 0))
        #expect(!rest.hasAccessToken && rest.accessToken(from: .own) == nil)
        #expect(try Session(stored: Array(rest.json.compact.utf8)) == rest)
        // Version 0.1.0 refuses a session whose token is empty.
        #expect(rest.json["access"]?["token"] == "revoked")
        #expect(rest.tokens.refreshToken == session.tokens.refreshToken)
        #expect(session.revoking(Redacted("derived"))?.derived == [])
        #expect(rest.derived == session.derived)
        session.tokens.refreshToken = nil
        #expect(session.revoking(session.tokens.access.token) == nil)
    }
}
