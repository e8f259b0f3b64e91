import CommandLineKit
import OIDCCore

struct IntrospectCommand: TokenOperandCommand {
    static let name = "introspect"
    static let summary = "Ask the provider about a token"
    static let declaration: Declaration<IntrospectCommand> = tokenDeclaration(
        """
        Asks the provider (RFC 7662) and prints its answer as JSON. If the provider offers signed answers (RFC 9701), one \
        is requested, and verified. With `introspection_signed_response_alg`, no other is accepted, or none is requested \
        if it is `none`.
        """,
        examples: [
            Example("oidc introspect", "the session's access token"),
            Example("oidc introspect - < token.txt", "any token"),
        ],
        refreshToken: "introspect the session's refresh token")

    var source: String?
    var isRefreshToken = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let provider = try provider(context)
        let (token, session) = try token(provider)
        let endpoint = try AuthenticatedEndpoint(
            provider: provider, endpoint: .introspection, session: session)
        let environment = endpoint.environment
        let answer = try environment.transport.perform(
            try Introspection.call(
                token, hint: hint, at: endpoint.url, client: endpoint.client,
                signed: try provider.signedIntrospection(of: session, environment), now: environment.now(),
                random: environment.random))
        try context.console.output(.object(answer.claims))
        if !answer.isActive { explain(token, endpoint.client, context) }
        return 0
    }

    /// Reports that an inactive token may be for another audience. Keycloak describes a token only to the
    /// clients in `aud` (26.7, 2026-11), and RFC 7662 §2.2 has no other answer for that.
    private func explain(_ token: Redacted<String>, _ client: Client, _ context: CommandContext) {
        let access = AccessToken(
            token: token, type: .bearer, obtainedAt: context.now, expiresAt: nil, scope: nil)
        guard let claims = (try? JWS(compact: token.revealed))?.claims, let audience = access.audience,
            !audience.contains(client.id)
        else { return }
        let expiry = claims["exp"]?.integer.map { Instant(secondsSinceEpoch: $0) }
        guard expiry.map({ $0 > context.now }) ?? true else { return }
        context.console.note(
            "note: the token has not expired, and its aud is \(DisplayText.clean(audience.joined(separator: ", "))): "
                + "some providers tell only the clients in aud whether a token is active")
    }
}

extension ProviderContext {
    /// Returns the rules for signed answers, if the settings demand them or the provider offers them.
    fileprivate func signedIntrospection(
        of session: Session?, _ environment: OIDCContext
    ) throws(OIDCError) -> SignedIntrospection? {
        let needed: [ProviderEndpoint] = [.introspection, .keys]
        let registered = settings.client.introspectionAlgorithm
        guard registered != "none" else { return nil }
        let metadata: ProviderMetadata
        do throws(OIDCError) { metadata = try self.metadata(environment, for: needed) } catch {
            // Without metadata, nothing is known to be offered, and the endpoint may still answer.
            guard registered == nil, error.kind == .refused || error.kind == .unreachable else { throw error }
            if error.kind == .unreachable { context.console.warn(error, "no signed answer was requested") }
            return nil
        }
        let offered = metadata.introspectionSigningAlgValuesSupported
        guard registered != nil || offered?.isEmpty == false else { return nil }
        guard let issuer = session?.endpoints.issuer ?? metadata.issuer,
            let keys = session?.endpoints.keys ?? metadata.jwksURI
        else {
            guard registered != nil else { return nil }
            throw .usage(
                "a signed answer cannot be checked without issuer and jwks_uri",
                hint: .advice(.setIssuerOrKeys))
        }
        var signed = SignedIntrospection(
            issuer: issuer, keys: documents(environment).keys(keys),
            algorithms: registered.map { [$0] } ?? offered, isRequired: registered != nil)
        signed.leeway = .seconds(settings.network.leeway)
        return signed
    }
}
