import OIDCCrypto
import Testing

@testable import OIDCCore

/// Answers of real token endpoints, word for word, and what they mean.
@Suite("refusals of the token endpoint, as real providers write them")
struct TokenVerdictTests {
    enum Grant: Sendable { case code, refresh, machine, exchange }

    /// How the client of a row authenticates.
    enum By: Sendable { case none, basic, key, secretJWT, certificate }

    struct Row: Sendable, CustomTestStringConvertible, CustomStringConvertible {
        let provider: String
        let status: Int
        let body: String
        var grant = Grant.refresh
        var by = By.none
        var isBound = false
        var methods: [String]?
        var offersDPoP = false
        /// The `Date` of the answer, in seconds before our clock's time.
        var ahead: Int64?
        let code: OIDCError.Code?
        let hint: Hint?

        init(
            _ provider: String, _ status: Int, _ body: String, grant: Grant = .refresh, by: By = .none,
            isBound: Bool = false, methods: [String]? = nil, offersDPoP: Bool = false, ahead: Int64? = nil,
            _ code: OIDCError.Code?, _ hint: Hint?
        ) {
            self.provider = provider
            self.status = status
            self.body = body
            self.grant = grant
            self.by = by
            self.isBound = isBound
            self.methods = methods
            self.offersDPoP = offersDPoP
            self.ahead = ahead
            self.code = code
            self.hint = hint
        }

        var description: String { testDescription }
        var testDescription: String { "\(provider) \(status) \(body)" }
    }

    private static func body(_ error: String, _ words: String? = nil) -> String {
        guard let words else { return #"{"error":"\#(error)"}"# }
        return (["error": .string(error), "error_description": .string(words)] as JSONValue).compact
    }

    private static let hydra =
        "The provided authorization grant (e.g., authorization code, resource owner credentials) or refresh token "
        + "is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or "
        + "was issued to another client."

    private static let hydraClient =
        "Client authentication failed (e.g., unknown client, no client authentication included, or unsupported "
        + "authentication method). The OAuth 2.0 Client supports client authentication method "
    private static let hydraMethod =
        hydraClient
        + "'client_secret_post', but method 'client_secret_basic' was requested. You must configure the "
        + "OAuth 2.0 client's 'token_endpoint_auth_method' value to accept 'client_secret_basic'."
    private static let hydraPublic =
        hydraClient
        + "'none', but method 'client_secret_basic' was requested. You must configure the OAuth 2.0 "
        + "client's 'token_endpoint_auth_method' value to accept 'client_secret_basic'."

    /// The session has ended, or the user must sign in again.
    static let sessions: [Row] = [
        Row("Keycloak", 400, body("invalid_grant", "Session not active"), .sessionEnded, .signIn),
        Row("Keycloak", 400, body("invalid_grant", "Stale token"), .sessionEnded, .signIn),
        Row("Hydra", 400, body("invalid_grant", hydra), .sessionEnded, .signIn),
        Row(
            "oidc-provider", 400, body("invalid_grant", "grant request is invalid"), offersDPoP: true,
            .sessionEnded, .signIn),
        Row(
            "Keycloak, a key", 400, body("invalid_grant", "Token is not active"), by: .key, .sessionEnded,
            .signIn),
        Row(
            "Dex", 400,
            body(
                "invalid_request",
                "Refresh token is invalid or has already been claimed by another client."), .signInAgain,
            .signIn),
        Row("Dex", 400, body("invalid_request", "Refresh token expired."), .signInAgain, .signIn),
        Row("Gitea", 400, body("unauthorized_client", "token was already used"), .signInAgain, .signIn),
        Row(
            "Gitea (its source)", 400, body("unauthorized_client", "unable to parse refresh token"),
            .signInAgain,
            .signIn),
        Row(
            "MITREid", 401, body("invalid_token", "Invalid refresh token: ((secret))"), by: .basic,
            .signInAgain,
            .signIn),
        Row("a gateway", 404, body("invalid_grant", "no such grant"), .signInAgain, .signIn),
        Row("a gateway", 405, body("invalid_grant"), .signInAgain, .signIn),
        Row(
            "UAA", 401,
            body("invalid_token", "The token expired, was revoked, or the token ID is incorrect."),
            by: .basic,
            .signInAgain, .signIn),
        Row(
            "Entra", 400,
            body("interaction_required", "AADSTS50076: … you must use multi-factor authentication"),
            .signInAgain,
            .signIn),
        Row(
            "Slack (by memory)", 200, #"{"ok":false,"error":"invalid_refresh_token"}"#, .signInAgain, .signIn),
        Row("GitHub (by memory)", 200, body("bad_refresh_token"), .signInAgain, .signIn),
        Row(
            "Twitch (by memory)", 400,
            #"{"error":"Bad Request","status":400,"message":"Invalid refresh token"}"#, .signInAgain, .signIn),
        Row("Figma (by memory)", 400, #"{"message":"Invalid refresh token"}"#, .signInAgain, .signIn),
        Row(
            "Atlassian (by memory)", 403, body("unauthorized_client", "refresh_token is invalid"),
            .signInAgain,
            .signIn),
        Row("Notion (by memory)", 400, #"{"error":{"code":"invalid_grant"}}"#, .signInAgain, .signIn),
        Row(
            "Keycloak (by memory)", 400, body("invalid_grant", "Session doesn't have required client"),
            .signInAgain, .signIn),
        Row(
            "UAA, a key", 401,
            body("invalid_token", "The token expired, was revoked, or the token ID is incorrect."), by: .key,
            .signInAgain, .signIn),
        Row(
            "Hydra 1", 401,
            body("token_inactive", "Token is inactive because it is malformed, expired or otherwise invalid"),
            .signInAgain, .signIn),
        Row("Auth0", 403, body("mfa_required", "Multifactor authentication required"), .signInAgain, .signIn),
        Row(
            "a reason after Hydra's text", 400,
            body("invalid_grant", hydra + String(repeating: " ", count: 140) + "x"),
            .sessionEnded, .signIn),
        Row("unknown words", 400, body("odd_code", "come back tomorrow"), nil, .signIn),
    ]

    /// The client was not accepted.
    static let clients: [Row] = [
        Row(
            "Spring", 401, body("invalid_client"), grant: .code, by: .basic,
            methods: ["client_secret_basic", "client_secret_post"], .clientNotAccepted,
            .checkSecret(sentBy: "client_secret_basic", other: "client_secret_post")),
        Row(
            "Spring", 401, body("invalid_client"), grant: .code, .secretMissing,
            .advice(.giveSecretOrCheckClientID)),
        Row(
            "Keycloak", 401, body("unauthorized_client", "Invalid client or Invalid client credentials"),
            grant: .code,
            by: .basic, methods: ["client_secret_basic"], .clientNotAccepted, .advice(.checkClient)),
        Row(
            "UAA", 401, body("unauthorized", "Bad credentials"), by: .basic, .clientNotAccepted,
            .advice(.checkClient)),
        Row(
            "Gitea", 400, body("unauthorized_client", "invalid client secret"), grant: .code, by: .basic,
            .clientNotAccepted, .advice(.checkClient)),
        Row("no body", 401, "", grant: .machine, by: .basic, .clientNotAccepted, .advice(.checkClient)),
        Row(
            "Hydra", 401, body("invalid_client", hydraMethod), grant: .code, by: .basic, .otherClientMethod,
            .set(.clientAuthentication, to: "client_secret_post")),
        Row(
            "Hydra, a public client", 401, body("invalid_client", hydraPublic), grant: .code, by: .basic,
            .secretOfPublicClient, .set(.clientAuthentication, to: "none")),
        Row(
            "Hydra, no secret", 401, body("invalid_client", hydraMethod), grant: .code, .secretMissing,
            .advice(.giveSecretOrCheckClientID)),
        Row(
            "Entra AADSTS700025", 401,
            body(
                "invalid_client",
                "AADSTS700025: Client is public so neither 'client_assertion' nor 'client_secret' should be presented."
            ),
            grant: .code, by: .basic, .secretOfPublicClient, .set(.clientAuthentication, to: "none")),
        Row(
            "Entra AADSTS7000222", 401,
            body(
                "invalid_client",
                "AADSTS7000222: The provided client secret keys for app are expired. Create new keys, or consider using certificate credentials for added security."
            ),
            grant: .machine, by: .basic, .clientNotAccepted, .advice(.checkClient)),
        Row(
            "Entra AADSTS700027", 401,
            body(
                "invalid_client",
                "AADSTS700027: The certificate with identifier used to sign the client assertion is expired on application."
            ),
            grant: .machine, by: .key, .unknownKey, .advice(.checkClientKey)),
        Row(
            "Entra AADSTS700024", 401,
            body("invalid_client", "AADSTS700024: Client assertion is not within its valid time range."),
            grant: .machine, by: .key, .clock, .advice(.checkClock)),
        Row(
            "a certificate", 401, body("invalid_client"), grant: .code, by: .certificate, .clientNotAccepted,
            .advice(.useKnownClientCertificate)),
        Row(
            "a signed secret", 401, body("invalid_client"), grant: .code, by: .secretJWT, .clientNotAccepted,
            .advice(.checkClient)),
        Row(
            "Hydra", 401,
            body(
                "invalid_client",
                "Client authentication failed (…). Claim 'audience' from 'client_assertion' must match the "
                    + "authorization server's token endpoint 'http://127.0.0.1:18320/oauth2/token'."),
            grant: .machine,
            by: .key, .assertionAudience, .set(.assertionAudience, to: "token_endpoint")),
        Row(
            "Keycloak", 401, body("invalid_client", "Signature on JWT token failed validation"), grant: .code,
            by: .key,
            .unknownKey, .advice(.checkClientKey)),
        Row(
            "Keycloak", 401, body("invalid_client", "Invalid signature algorithm"), grant: .code, by: .key,
            .signatureAlgorithm, .advice(.checkClientKeyAlgorithm)),
        Row(
            "Keycloak (FAPI)", 400, body("invalid_grant", "not allowed signature algorithm."), by: .key,
            .signatureAlgorithm, .advice(.checkClientKeyAlgorithm)),
        Row(
            "Keycloak", 401, body("invalid_client", "Token was issued in the future"), by: .key, .clock,
            .advice(.checkClock)),
        Row(
            "Keycloak", 401, body("invalid_client", "Token is not active"), by: .key, .clock,
            .advice(.checkClock)),
        Row(
            "words that only contain others", 401,
            body("invalid_client", "initiated by an unassociated client"),
            by: .key, .unknownKey, .advice(.checkClientKey)),
        Row("oidc-provider", 401, body("invalid_client"), by: .key, ahead: 600, .clock, .advice(.checkClock)),
        Row(
            "oidc-provider", 401, body("invalid_client"), by: .key, ahead: 2, .unknownKey,
            .advice(.checkClientKey)),
        Row(
            "a public client", 401, body("invalid_client", "public clients send no secret"), grant: .code,
            by: .basic,
            .secretOfPublicClient, .set(.clientAuthentication, to: "none")),
    ]

    /// The request lacks something.
    static let requests: [Row] = [
        Row(
            "words about a refresh token", 400,
            body("unsupported_grant_type", "invalid grant_type refresh_token"),
            .grantNotAllowed, .advice(.allowGrant)),
        Row(
            "Keycloak", 400, body("invalid_request", "Parameter 'subject_token' supports access tokens only"),
            grant: .exchange, .subjectToken, .set(.subjectTokenType, to: "access_token")),
        Row(
            "Keycloak", 400, body("invalid_request", "Requested audience not available: api-orders"),
            grant: .exchange, .scope, .advice(.askForAudienceScope)),
        Row(
            "Keycloak", 400, body("invalid_request", "Pushed Authorization Request is only allowed."),
            grant: .code,
            .needsPAR, .set(.pushedAuthorization, to: "require")),
        Row(
            "Keycloak", 400, body("invalid_request", "DPoP proof is missing"), grant: .code, offersDPoP: true,
            .needsDPoP,
            .set(.dpop, to: "true")),
        Row(
            "Keycloak", 400, body("invalid_request", "DPoP proof is missing"), offersDPoP: true, .needsDPoP,
            .advice(.signInWithDPoP)),
        Row(
            "Keycloak (FAPI)", 400, body("invalid_grant", "DPoP proof is missing"), offersDPoP: true,
            .needsDPoP,
            .advice(.signInWithDPoP)),
        Row(
            "oidc-provider", 400, body("invalid_grant", "grant request is invalid"), grant: .code,
            offersDPoP: true,
            .needsDPoP, .set(.dpop, to: "true")),
        Row(
            "Keycloak", 400, body("invalid_request", "DPoP proof is not active"), isBound: true,
            offersDPoP: true,
            .clock, .advice(.checkClock)),
        Row(
            "oidc-provider", 400, body("invalid_dpop_proof", "invalid DPoP key binding"), isBound: true,
            .clock,
            .advice(.checkClock)),
        Row(
            "Keycloak", 400,
            body("invalid_request", "Client Certification missing for MTLS HoK Token Binding"),
            grant: .code, .needsCertificate, .advice(.giveClientCertificate)),
        Row(
            "Keycloak (FAPI)", 400,
            body("invalid_grant", "Client Certification missing for MTLS HoK Token Binding"),
            .needsCertificate,
            .advice(.giveClientCertificate)),
        Row(
            "Hydra", 400,
            body(
                "invalid_grant",
                hydra + " The requested OAuth 2.0 Client does not have the "
                    + "'urn:ietf:params:oauth:grant-type:device_code' grant."), .grantNotAllowed,
            .advice(.allowGrant)),
        Row(
            "Keycloak", 400, body("not_allowed", "Offline tokens not allowed for the user or client"),
            grant: .code,
            .scope, .signInForScope("openid profile")),
        Row(
            "Keycloak", 400, body("invalid_scope", "Invalid scopes: a"), grant: .machine, .scope,
            .advice(.checkScope)),
        Row(
            "Keycloak", 401, body("unauthorized_client", "Client not enabled to retrieve service account"),
            grant: .machine, by: .basic, .grantNotAllowed, .advice(.allowGrant)),
        Row(
            "Dex", 500, body("invalid_request", "Refresh token is invalid"), .tryLater,
            .tryAgain(seconds: nil)),
    ]

    private static func client(_ by: By) throws -> Client {
        let authentication: ClientAuthentication =
            switch by {
            case .none: .none
            case .basic: .clientSecretBasic(Redacted("a-secret-of-32-bytes-or-even-more"))
            case .key: .privateKeyJWT(try JWTSigner(.generate(.p256)))
            case .secretJWT: .clientSecretJWT(Redacted("a-secret-of-32-bytes-or-even-more"), .hs256)
            case .certificate: .tlsClientAuth
            }
        return Client(id: "cli", authentication: authentication, assertionAudience: "https://op.example")
    }

    private static func request(_ grant: Grant) throws -> TokenRequest {
        switch grant {
        case .refresh: return .refresh(Redacted("rt"))
        case .machine: return .clientCredentials()
        case .code: return .authorizationCode(try Fixture.code())
        case .exchange: return .tokenExchange(TokenExchange(subjectToken: Redacted("st")))
        }
    }

    /// Returns the error of a row, whose client `change` may correct.
    private static func error(
        _ row: Row, _ change: (inout TokenEndpoint) -> Void = { _ in }
    ) throws -> OIDCError? {
        var endpoint = TokenEndpoint(
            url: try Fixture.url("https://op.example/token"), client: try client(row.by),
            dpop: row.isBound ? try .generate() : nil)
        var offer = ProviderMetadata(issuer: "https://op.example")
        offer.tokenEndpointAuthMethodsSupported = row.methods
        if row.offersDPoP { offer.dpopSigningAlgValuesSupported = ["ES256"] }
        let metadata = offer
        endpoint.offer = { metadata }
        change(&endpoint)
        var response = Fixture.json(row.body, status: row.status)
        if let ahead = row.ahead {
            response.headers["Date"] = "Sun, 06 Nov 1994 08:49:37 GMT"
            response.receivedAt = HTTPDate.instant("Sun, 06 Nov 1994 08:49:37 GMT")?.adding(ahead)
        }
        let call = try endpoint.call(request(row.grant), now: Fixture.now, random: Fixture.random())
        return Fixture.error { try call.read(response) }
    }

    @Test("the answer has one meaning and one hint", arguments: sessions + clients + requests)
    func verdict(_ row: Row) throws {
        let found = try Self.error(row)
        #expect(found?.code == row.code, "\(row)")
        #expect(found?.hint == row.hint, "\(row)")
        let kind: OIDCError.Kind =
            switch row.code {
            case .sessionEnded?, .signInAgain?: .loginRequired
            case .tryLater?: .unreachable
            default: .refused
            }
        #expect(found?.kind == kind, "\(row)")
        #expect(found?.endsSession == (row.code == .sessionEnded), "\(row)")
        if row.code == .sessionEnded {
            #expect(found?.oauthDescription?.isEmpty == false, "\(row)")
        }
    }

    @Test(
        "no hint is a sign-in where the sign-in would be refused for the same reason",
        arguments: clients + requests)
    func noLoop(_ row: Row) throws {
        let found = try Self.error(row)
        let parts =
            if case .joined(let hints)? = found?.hint { hints } else { [found?.hint].compactMap { $0 } }
        for hint in [Hint.signIn, .advice(.signInForNewCode)] {
            #expect(!parts.contains(hint), "\(row): \(found?.description ?? "")")
        }
    }

    @Test("a hint that has been followed is not given again", arguments: clients + requests)
    func followed(_ row: Row) throws {
        let hint = try #require(try Self.error(row)?.hint)
        let again = try Self.error(row) { endpoint in
            switch hint {
            case .set(.dpop, _), .advice(.signInWithDPoP): endpoint.dpop = try? .generate()
            case .set(.clientAuthentication, let method):
                let secret = Redacted("a-secret-of-32-bytes-or-even-more")
                endpoint.client.authentication = method == "none" ? .none : .clientSecretPost(secret)
            case .set(.assertionAudience, _): endpoint.client.assertionAudience = endpoint.url.text
            case .advice(.giveClientCertificate): endpoint.client.presentsCertificate = true
            case .checkSecret(_, let other):
                endpoint.client.authentication =
                    other == "none" ? .none : .clientSecretPost(Redacted("a-secret-of-32-bytes-or-even-more"))
            // The others change what the provider has, or what is asked for.
            default: return
            }
        }
        switch hint {
        case .set(.dpop, _), .set(.clientAuthentication, _), .set(.assertionAudience, _), .checkSecret,
            .advice(.signInWithDPoP), .advice(.giveClientCertificate):
            #expect(again?.hint != hint, "\(row)")
        default: break
        }
    }

    @Test("a code that a preset lists for its provider ends a session as invalid_grant does, and no other")
    func presetCode() throws {
        let row = Row("GitHub (by memory)", 200, Self.body("bad_refresh_token"), .sessionEnded, .signIn)
        #expect(try Self.error(row) { $0.refreshEnds = ["bad_refresh_token"] }?.endsSession == true)
        #expect(try Self.error(row) { $0.refreshEnds = ["other"] }?.endsSession == false)
        let code = Row("GitHub (by memory)", 200, Self.body("bad_refresh_token"), grant: .code, nil, nil)
        #expect(try Self.error(code) { $0.refreshEnds = ["bad_refresh_token"] }?.endsSession == false)
    }

    @Test("without a Date, the clock is compared with the last ID token's iat")
    func lastIDToken() throws {
        let row = Row(
            "oidc-provider", 401, Self.body("invalid_client"), by: .key, .clock, .advice(.checkClock))
        #expect(try Self.error(row) { $0.clockAhead = -600 }?.code == .clock)
        #expect(try Self.error(row) { $0.clockAhead = -2 }?.code == .unknownKey)
    }

    @Test("a description that is too long lacks its middle, so its end is shown")
    func middle() throws {
        let words = String(repeating: "boilerplate ", count: 60) + "the reason"
        let found = try Self.error(
            Row("Hydra", 400, Self.body("invalid_grant", words), .sessionEnded, .signIn))
        #expect(found?.message.contains("…") == true && found?.message.hasSuffix("the reason\")") == true)
        #expect((found?.oauthDescription?.count ?? 0) <= 300)
    }
}
