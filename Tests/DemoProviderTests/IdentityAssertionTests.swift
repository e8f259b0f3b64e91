import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("the demo provider: identity assertions (ID-JAG)")
struct IdentityAssertionTests {
    private static let types = "urn:ietf:params:oauth:token-type:"
    private static let server = "http://127.0.0.1:9481"
    private static let resource = "http://127.0.0.1:9481/mcp"

    /// The user's own provider, and the server of a resource that trusts it.
    private func worlds() throws -> (own: DemoWorld, other: DemoWorld) {
        var own = try DemoWorld { $0.user = .approves("alice") }
        let keys = try own.keys()
        let other = try DemoWorld(issuer: IdentityAssertionTests.server) {
            $0.trustedIssuers = [TrustedIssuer(issuer: "http://127.0.0.1:9480", keys: keys)]
        }
        return (own, other)
    }

    private func exchange(
        _ world: inout DemoWorld, _ token: String, _ type: String = "id_token",
        _ changes: [String: String?] = [:]
    ) throws -> HTTPResponse {
        var values: [String: String?] = [
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "client_id": "demo",
            "subject_token": token, "subject_token_type": IdentityAssertionTests.types + type,
            "requested_token_type": IdentityAssertionTests.types + "id-jag",
            "audience": IdentityAssertionTests.server, "resource": IdentityAssertionTests.resource,
            "scope": "api:read",
        ]
        values.merge(changes) { $1 }
        return try world.post("/token", values.compactMap { name, value in value.map { (name, $0) } })
    }

    private func redeem(
        _ world: inout DemoWorld, _ assertion: String, _ changes: [String: String] = [:]
    ) throws -> HTTPResponse {
        let values = [
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "client_id": "demo",
            "assertion": assertion,
        ].merging(changes) { $1 }
        return try world.post("/token", values.map { ($0.key, $0.value) })
    }

    @Test(
        "a token of the user's sign-in becomes an assertion, and that an access token for one resource",
        arguments: ["id_token", "refresh_token"])
    func wholeWay(type: String) throws {
        var (own, other) = try worlds()
        let tokens = try own.signIn()
        let answer = try exchange(&own, try tokens.text(type), type).json()
        #expect(answer["issued_token_type"]?.string == IdentityAssertionTests.types + "id-jag")
        #expect(answer["token_type"] == "N_A" && answer["refresh_token"] == nil)
        let assertion = try answer.text("access_token")
        let token = try JWS(compact: assertion)
        #expect(token.header["typ"] == "oauth-id-jag+jwt")
        #expect(token.claims?["aud"]?.string == IdentityAssertionTests.server)
        #expect(token.claims?["resource"]?.string == IdentityAssertionTests.resource)
        let access = try redeem(&other, assertion).json()
        #expect(access["scope"] == "api:read" && access["refresh_token"] == nil)
        let bearer = [("Authorization", "Bearer \(try access.text("access_token"))")]
        #expect(try other.get("/mcp", headers: bearer).json() == ["hello": "alice"])
        #expect(try redeem(&other, assertion).oauthError == "invalid_grant")
        #expect(try own.refresh(tokens.text("refresh_token")).status == 200)
    }

    @Test("a provider may also be the resource's server")
    func alone() throws {
        var (own, _) = try worlds()
        let changes = ["audience": "http://127.0.0.1:9480", "resource": "http://127.0.0.1:9480/mcp"]
        let answer = try exchange(&own, try own.signIn().text("id_token"), "id_token", changes).json()
        let access = try redeem(&own, try answer.text("access_token")).json()
        #expect(try !access.text("access_token").isEmpty)
    }

    @Test("an assertion for another server, client, resource or scope is refused")
    func refused() throws {
        var (own, other) = try worlds()
        other.provider.configuration.scopes.append("openid")
        func assertion(_ changes: [String: String?] = [:]) throws -> String {
            try exchange(&own, try own.signIn().text("id_token"), "id_token", changes).json()
                .text("access_token")
        }
        #expect(
            try redeem(&other, assertion(["audience": "https://third.example"])).oauthError == "invalid_grant"
        )
        let secret = ["client_id": "demo-confidential", "client_secret": "demo-secret"]
        #expect(try redeem(&other, assertion(), secret).oauthError == "invalid_grant")
        #expect(try redeem(&other, assertion(), ["scope": "api:write"]).oauthError == "invalid_scope")
        #expect(
            try redeem(&other, assertion(), ["resource": "https://third.example"]).oauthError
                == "invalid_target")
        other.provider.configuration.trustedIssuers = []
        #expect(try redeem(&other, assertion()).oauthError == "invalid_grant")
    }

    @Test("only a client's own tokens, unexpired, become an assertion, and only for one named server")
    func exchangeRefused() throws {
        var (own, _) = try worlds()
        let tokens = try own.signIn()
        let idToken = try tokens.text("id_token")
        let secret: [String: String?] = ["client_id": "demo-confidential", "client_secret": "demo-secret"]
        #expect(try exchange(&own, idToken, "id_token", secret).oauthError == "invalid_request")
        let refresh = try tokens.text("refresh_token")
        #expect(try exchange(&own, refresh, "refresh_token", secret).oauthError == "invalid_request")
        #expect(try exchange(&own, idToken, "id_token", ["audience": nil]).oauthError == "invalid_request")
        own.now = own.now.adding(601)
        #expect(try exchange(&own, idToken).oauthError == "invalid_request")
        #expect(try exchange(&own, refresh, "refresh_token").status == 200)
        #expect(try own.post("/revoke", [("client_id", "demo"), ("token", refresh)]).status == 200)
        #expect(try exchange(&own, refresh, "refresh_token").oauthError == "invalid_request")
    }

    @Test("a provider's own access token is not an assertion")
    func ownAccessToken() throws {
        var (own, _) = try worlds()
        own.provider.configuration.issuesJWTAccessTokens = true
        let tokens = try own.signIn(["resource": "http://127.0.0.1:9480"])
        #expect(try redeem(&own, try tokens.text("access_token")).oauthError == "invalid_grant")
    }
}
