import OIDCCore
import OIDCSessions

/// The user's own provider, whose session gives access to resources of other servers (grant=id_jag). It is
/// the provider of `user_profile`, or else of the settings, unless they are for the resource's server itself.
struct OwnProvider {
    private let account: Account

    init(_ provider: ProviderContext) throws(OIDCError) {
        guard let target = provider.target else {
            throw .usage("grant id_jag is for a resource", hint: .run("token --grant id_jag URL"))
        }
        let operand = target.operand
        let context = provider.context
        if let name = provider.settings.token.userProfile {
            account = try OwnProvider.account(profile: name, context)
            return
        }
        let settings = OwnProvider.settings(operand)
        guard let issuer = settings.provider.issuer, !ExactText.isSame(issuer, target.link.issuer) else {
            throw .usage(
                "grant id_jag needs the user's own provider, and none is set",
                hint: "set user_profile to its profile, or name it with -p")
        }
        account = try Account(ProviderContext(settings, context))
    }

    func keepSecret() throws(OIDCError) { try account.provider.keepSecret() }

    /// Returns the settings that are for the user's own provider. Without --issuer, --client-id and other options for
    /// one server are about the resource's server.
    static func settings(_ operand: ResourceOperand) -> Settings {
        let isNamed = operand.settings.layers.given.contains {
            $0.setting == .issuer && $0.origin.layer == .options
        }
        let entries = operand.settings.layers.given.filter { entry in
            guard entry.origin.layer == .options else { return entry.setting != .grant }
            guard ![.grant, .scope].contains(entry.setting) else { return false }
            return isNamed || !entry.setting.isForOneServer
        }
        return operand.context.settings(profile: operand.settings.profile, entries)
    }

    private static func account(
        profile name: String, _ context: CommandContext
    ) throws(OIDCError) -> Account {
        var loader = context.settingsLoader
        loader.profileName = name
        let own = try loader.load().layers.given.filter { $0.origin.layer == .profile }
        return try Account(ProviderContext(context.settings(profile: name, own), context))
    }

    /// Checks that the user's session is available, for any resource, and returns its issuer. Sends nothing.
    static func checkSession(of provider: ProviderContext) throws(OIDCError) -> String {
        let context = provider.context
        let own: OwnProvider
        if let name = provider.settings.token.userProfile {
            own = OwnProvider(try account(profile: name, context))
        } else {
            let entries = provider.settings.layers.given.filter { $0.setting != .grant }
            let settings = context.settings(profile: provider.settings.profile, entries)
            own = OwnProvider(try Account(ProviderContext(settings, context)))
        }
        let session = try own.session()
        let idToken = session.tokens.idToken.flatMap { IDToken.stored($0.revealed) }
        guard session.canRefresh || idToken.map({ $0.expiresAt > context.now }) == true else {
            throw OIDCError(
                .loginRequired, "id_jag: the user's session has no ID token that is still valid",
                hint: own.account.provider.settings.loginLine, stage: .idToken)
        }
        return own.account.key.provider
    }

    private init(_ account: Account) {
        self.account = account
    }

    /// Returns the user's session; without one, the hint is to sign in at the user's provider.
    private func session() throws(OIDCError) -> Session {
        do throws(OIDCError) { return try account.session() } catch {
            guard error.kind == .loginRequired else { throw error }
            var error = error
            error.hint = account.provider.settings.loginLine
            throw error
        }
    }

    /// Returns a string that identifies the user's session, so no user gets a token of another.
    func identity() throws(OIDCError) -> String {
        let session = try self.session()
        return "\(account.key.text)|\(session.subject ?? "")|\(session.createdAt.secondsSinceEpoch)"
    }

    /// Exchanges the user's session for an assertion, and the assertion for the resource's tokens.
    func exchanged(
        _ key: SessionKey, at server: TokenEndpoint, _ environment: OIDCContext
    ) throws(OIDCError) -> TokenEndpoint.Issued {
        let provider = account.provider
        let subject = try subject()
        let session = try self.session()
        let own = try provider.environment()
        provider.context.console.trace(
            "id_jag: requesting an assertion from \(DisplayText.clean(account.key.provider)) for "
                + DisplayText.clean(key.provider))
        let metadata = try provider.metadata(own, for: [.token])
        let client = try provider.client(metadata, method: session.clientAuthentication, own)
        let endpoint = try provider.tokenEndpoint(
            at: session.endpoints.token, client: client,
            dpop: try session.dpopKey.map { pem throws(OIDCError) in try DPoPKey(pem: pem) })
        return try IdentityAssertion(
            issuer: session.endpoints.issuer, audience: key.provider, resources: key.resources,
            scope: key.scope
        ).issue(for: subject, from: endpoint, at: server, environment, own: own)
    }

    /// Returns the session's ID token if it is fresh or can be refreshed, or else the refresh token.
    private func subject() throws(OIDCError) -> IdentityAssertion.Subject {
        do throws(OIDCError) {
            return .idToken(Redacted(try account.idToken(minimumValidity: 60).compact))
        } catch {
            guard error.kind == .loginRequired, let token = try account.load()?.tokens.refreshToken else {
                throw error
            }
            return .refreshToken(token)
        }
    }
}
