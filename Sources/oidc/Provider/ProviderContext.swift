import OIDCCore
import OIDCSessions
import OIDCSignIn
import Posix

/// The provider of the settings, with the network, client and store that a command uses for it.
///
/// A class, because dozens of values hold it, and each would need its own code to copy the members.
final class ProviderContext: Sendable {
    let settings: Settings
    let context: CommandContext
    /// The end of the whole sign-in. It limits every wait for the network, a program or another process.
    let deadline: MonotonicTime?
    /// The resource that the URL operand names, and the link to store after a sign-in.
    let target: ResourceTarget?

    init(
        _ settings: Settings, _ context: CommandContext, until deadline: MonotonicTime? = nil,
        target: ResourceTarget? = nil
    ) {
        self.settings = settings
        self.context = context
        self.deadline = deadline
        self.target = target
    }

    /// Returns the context of a sign-in. If there is no deadline yet, `timeout` starts now.
    func forSignIn(until deadline: MonotonicTime? = nil) -> ProviderContext {
        ProviderContext(
            settings, context, until: deadline ?? .now().adding(seconds: settings.signIn.timeout),
            target: target)
    }

    var secrets: SecretReader {
        SecretReader(
            environment: { [settings, context] in settings.childEnvironment(context.environment) },
            deadline: deadline,
            warn: { [console = context.console] in console.warn($0) })
    }

    var allowsInsecureHTTP: Bool { settings.provider.allowsInsecureHTTP }

    /// The environment of child processes.
    var childEnvironment: Variables { settings.childEnvironment(context.environment) }

    /// Returns the metadata: discovered, or only the configured endpoints if no issuer is set or nothing else
    /// is needed.
    func metadata(
        _ environment: ProviderEnvironment, for needed: [ProviderEndpoint]
    ) throws(OIDCError) -> ProviderMetadata {
        let explicit = try settings.provider.checkedEndpoints()
        let configured = ProviderMetadata(
            issuer: settings.provider.issuer, endpoints: explicit, allowsInsecureHTTP: allowsInsecureHTTP)
        guard let issuer = settings.provider.issuer else {
            guard !explicit.isEmpty else {
                throw noIssuer
            }
            return registered(configured)
        }
        if needed.allSatisfy({ explicit[$0] != nil }) {
            try settings.provider.checkIssuer()
            return registered(configured)
        }
        return registered(try discovered(issuer, environment).merging(explicit: explicit))
    }

    /// Returns the metadata from the well-known URLs or `metadata_url`.
    func discovered(
        _ issuer: String, _ environment: ProviderEnvironment
    ) throws(OIDCError) -> ProviderMetadata {
        if let target {
            return try ResourceSearch(
                target.operand.url, environment: environment, allowsInsecureHTTP: allowsInsecureHTTP
            ).authorizationServer(
                issuer: issuer, configured: settings.provider.endpoints,
                forSignIn: settings.token.grant.needsUser)
        }
        return try documents(environment).metadata(
            issuer: issuer, at: try settings.provider.checkedMetadataURL())
    }

    /// Returns the obstacles to getting a token with these settings at a provider with this metadata.
    func obstacles(_ metadata: ProviderMetadata) -> [ProviderMetadata.Obstacle] {
        guard settings.token.grant.needsUser else {
            return metadata.obstacles(to: [.token], scope: Scope(""))
        }
        let first: ProviderEndpoint =
            settings.signIn.flow == .device ? .deviceAuthorization : .authorization
        return metadata.obstacles(to: [first, .token], scope: settings.token.scope ?? Scope("openid"))
    }

    /// Returns the metadata with the algorithm registered for this client's ID tokens, if one is set.
    private func registered(_ metadata: ProviderMetadata) -> ProviderMetadata {
        guard let algorithms = settings.client.idTokenAlgorithms else { return metadata }
        var metadata = metadata
        metadata.idTokenSigningAlgValuesSupported = algorithms
        return metadata
    }

    /// Returns the provider's name in session keys: the issuer, or the token endpoint if no issuer is set.
    func identifier() throws(OIDCError) -> String {
        if let issuer = settings.provider.issuer {
            try settings.provider.checkIssuer()
            return issuer
        }
        if let endpoint = settings.provider.endpoint(.token) { return endpoint }
        throw noIssuer
    }

    /// Whether the settings name a provider.
    var namesProvider: Bool {
        settings.provider.issuer != nil || settings.provider.endpoint(.token) != nil
    }

    /// The hint to choose a profile; nil if one is in use, or the file has none.
    var profileChoice: String? {
        let profiles = settings.profile == nil ? (try? context.settingsLoader.file())?.profiles ?? [] : []
        let names = DisplayText.clean(profiles.map(\.name).joined(separator: ", "), limit: 200)
        return profiles.isEmpty ? nil : "choose a profile with -p: \(names)"
    }

    /// The error for a missing issuer, which lists the profiles if none was chosen.
    private var noIssuer: OIDCError {
        if let choice = profileChoice {
            return .usage("issuer is not set", hint: "\(choice) (or give --issuer URL)")
        }
        // There may be sessions of sign-ins without a profile. Only files are fast to list.
        let sessions = settings.store == "file" ? try? KnownProviders(self).sessions() : nil
        let keys = (sessions ?? []).compactMap(\.session.session?.key)
        let own = keys.filter { $0.resources.isEmpty || !$0.grant.needsUser }.map(\.options)
        let ways = own.isEmpty ? keys.compactMap(way) : own
        let listed = ways.prefix(3).joined(separator: ", or ")
        return .usage(
            keys.isEmpty ? "issuer is not set" : "issuer is not set, and no profile names one",
            hint: ways.isEmpty
                ? setUpLine
                : own.isEmpty ? listed : "name an existing session: \(listed)")
    }

    /// The command that sets a provider, in a new profile or in the profile in use.
    var setUpLine: String {
        guard let profile = settings.profile else {
            return settings.token.grant.needsUser
                ? "oidc login" : "oidc config init --issuer URL --client-id ID"
        }
        return "oidc config set -p \(ShellWord.quoted(profile)) issuer=URL"
            + (settings.client.id == nil ? " client_id=ID" : "")
    }

    /// Returns the equivalent of the current command for a resource's session; nil if there is none.
    private func way(of key: SessionKey) -> String? {
        guard let resource = key.resources.first.map({ ShellWord.quoted($0) }) else { return nil }
        return switch context.console.command {
        case "token": "oidc token \(resource)"
        case "revoke": "oidc logout \(resource)"
        case "inspect": "oidc token \(resource) | oidc inspect -"
        case "introspect":
            "oidc token \(resource) | oidc introspect - \(key.options)"
        default: nil
        }
    }

    /// Returns the key of the settings' session.
    func sessionKey() throws(OIDCError) -> SessionKey {
        var key = SessionKey(
            provider: try identifier(), clientID: try settings.client.requiredID(),
            grant: settings.token.grant,
            audience: settings.token.audience, account: settings.token.account)
        if let resource = settings.resource { key.resources = [resource.identifier] }
        guard !key.grant.needsUser else { return key }
        key.scope = settings.token.scope
        key.resources = settings.token.resources
        key.subject =
            key.grant == .idJAG ? try OwnProvider(self).identity() : try SubjectToken(self).identity()
        return key
    }

    /// Returns the browser to open. Refuses a setting that passes the URL to a shell, and skips such an entry
    /// of `$BROWSER`.
    func browserChoice() throws(OIDCError) -> BrowserChoice {
        BrowserChoice.resolve(
            setting: try settings.signIn.checkedBrowser(), .current(environment: context.environment),
            warn: { [console = context.console] in console.warn($0) })
    }
}
