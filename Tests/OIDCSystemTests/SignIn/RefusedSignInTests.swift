import DemoProvider
import OIDCCore
import Synchronization
import TestSupport
import Testing

@testable import OIDCSystem

@Suite("a sign-in that is refused after its tokens came")
struct RefusedSignInTests {
    @Test("the refresh token is revoked, or else the access token")
    func revoked() throws {
        for (scope, hint) in [("openid offline_access", "refresh_token"), ("openid", "access_token")] {
            let provider = try InMemoryProvider()
            provider.faults = [.idToken(.nonceInvalid)]
            let error = #expect(throws: OIDCError.self) { try provider.signIn(scope) }
            #expect(error?.kind == .untrusted)
            let requests = provider.with { $0.requests(to: .revocation) }
            #expect(requests.count == 1)
            let body = String(decoding: requests.first?.body ?? [], as: UTF8.self)
            #expect(body.contains("token_type_hint=\(hint)"))
        }
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
            let provider = try InMemoryProvider { $0.person = .approves("alice") }
            provider.faults = [fault]
            let login = try provider.login(scope)
            #expect(throws: OIDCError.self) {
                guard onDevice else { return _ = try provider.finish(login) }
                _ = try login.outcome(of: login.poll(login.beginOnDevice()))
            }
            let body = provider.with { $0.requests(to: .revocation).first?.body } ?? []
            let isOffline = scope.contains("offline_access")
            #expect(
                String(decoding: body, as: UTF8.self)
                    .contains("token_type_hint=\(isOffline ? "refresh_token" : "access_token")"))
        }
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
    @Test("an access token is expired, a refresh token ends the session, others change nothing")
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
        #expect(rest.tokens.refreshToken == session.tokens.refreshToken)
        #expect(session.revoking(Redacted("derived"))?.derived == [])
        #expect(rest.derived == session.derived)
        session.tokens.refreshToken = nil
        #expect(session.revoking(session.tokens.access.token) == nil)
    }
}
