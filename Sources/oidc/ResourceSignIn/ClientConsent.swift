import OIDCCore
import OIDCSessions
import Posix

/// The user's consent to use a client of their own for a resource elsewhere.
///
/// A resource chooses the server and the scopes. If it names the user's own provider, and that ignores
/// `resource`, the token that the resource gets is also good elsewhere.
struct ClientConsent {
    let operand: ResourceOperand
    let resource: ProtectedResourceMetadata
    let issuer: String
    let client: ResourceClient.Choice
    let scope: Scope
    let grant: GrantType
    let server: ProviderMetadata
    /// The settings that configure the client.
    let entries: [SettingLayers.Entry]
    /// Whether the settings name the issuer, now or at the last sign-in.
    let isIssuerNamed: Bool

    private var context: CommandContext { operand.context }

    /// Returns the scopes that the user has agreed to, to be stored with the link; asks only a user at a
    /// terminal. Returns nil if the client was registered for the resource, or if the resource belongs to the
    /// settings and no secret is sent to a server that they do not name.
    func scopes(knownFrom links: [ResourceLink?]) throws(OIDCError) -> Scope? {
        let earlier = earlier(links)
        guard isOfUser(earlier) else { return nil }
        // Consent from a time when the client had no secret does not cover the secret.
        let known = links.compactMap { $0 }.filter { isOfClient($0) && coversResource($0) }.first {
            $0.agreedScope != nil && ($0.isSecretAgreed || !hasUnnamedIssuer)
        }?.agreedScope
        // The profile of an earlier sign-in names the resource, so it does not count if the user was asked then.
        let wasAsked = wasAsked(earlier)
        guard !isOwnOrigin(countsProfile: !wasAsked) || hasUnnamedIssuer else { return nil }
        // An empty scope means the server's default scopes, which may be more than was agreed to.
        if let known, scope.isSubset(of: known), !scope.isEmpty || known.isEmpty { return known }
        let agreed = scope.union(known ?? Scope(""))
        if isNamedByOptions, scopeOption.map({ scope.isSubset(of: $0) }) ?? true { return agreed }
        guard grant.needsUser else { throw unattended }
        // The user agrees to a token of this server, so the server must not get the code of another one.
        if operand.settings.signIn.flow != .device, !isIssuerNamed,
            let fault = operand.fault(
                ofClient: client.clientID, isRegistered: hasOwnRedirect, at: server,
                operand.loginLine.adding("--issuer", DisplayText.clean(issuer))
                    .adding(operand.scopeOption(scope)))
        {
            operand.recordNamedServer(to: server)
            // The line of the hint is the answer then, too, so it is not printed to a user who says no.
            if given(.clientID) != nil { try question.confirm(context, orThrow: fault) }
            throw fault
        }
        do throws(OIDCError) {
            try question.confirm(context, orThrow: unasked)
        } catch {
            // The user may have this client at that server, and another one that the URL names later must not get its codes.
            operand.recordNamedServer(to: server, client: client.clientID)
            throw error
        }
        return agreed
    }

    /// Returns whether the resource is outside the origins of the settings. What they say tokens are for is then not used, as
    /// nothing shows it to the user.
    func isElsewhere(knownFrom links: [ResourceLink?]) -> Bool {
        !isOwnOrigin(countsProfile: !wasAsked(earlier(links)))
    }

    /// Returns the links of earlier sign-ins with the server and client.
    private func earlier(_ links: [ResourceLink?]) -> [ResourceLink] {
        (links.compactMap { $0 } + stored).filter(isOfClient)
    }

    /// Returns whether the user was asked about the client before.
    private func wasAsked(_ earlier: [ResourceLink]) -> Bool {
        let party = ResourceLink.party(issuer: issuer, clientID: client.clientID)
        return earlier.contains { $0.agreedScope != nil || $0.isConsentWithdrawn }
            || stored.contains { $0.askedBefore.contains(party) }
    }

    /// The links of earlier sign-ins on the resource's origin, for any account and profile: the resource may
    /// spell its identifier differently now, or name another one.
    private var stored: [ResourceLink] {
        guard let url = WebURL(resource.resource) else { return [] }
        return (try? ResourceRecords(context)?.links.links(of: url)) ?? []
    }

    private func isOfClient(_ link: ResourceLink) -> Bool {
        WebURL(link.resource)?.origin == WebURL(resource.resource)?.origin
            && ExactText.isSame(link.issuer, issuer) && link.clientID == client.clientID
    }

    private func coversResource(_ link: ResourceLink) -> Bool {
        WebURL(resource.resource).map(link.covers) == true
            || link.resource == resource.resource && link.covers(operand.url)
    }

    /// Returns whether the client is the user's own, and not registered for the resource. The client of a
    /// metadata document is the same for every resource, so it counts as the user's own once it is used for
    /// another resource, or by the user directly; the first resource keeps its scopes.
    private func isOfUser(_ earlier: [ResourceLink]) -> Bool {
        guard client.registered == nil, client.registration == nil else { return false }
        // For id_jag, the server gets the user's identity.
        guard client.clientID == operand.settings.client.metadataURL, grant != .idJAG else { return true }
        let isKept = earlier.contains { link in
            guard link.agreedScope == nil, !link.isConsentWithdrawn, coversResource(link) else {
                return false
            }
            let had = link.unaskedScope ?? link.scope ?? Scope("")
            // An empty scope means the server's default scopes, which may be more than any named ones.
            return scope.isSubset(of: had) && (!scope.isEmpty || link.unaskedScope?.isEmpty == true)
        }
        let origin = WebURL(resource.resource)?.origin
        return !isKept && KnownClients(operand, besides: origin).includes(client.clientID, at: server)
    }

    /// The scopes of an option, which a resource cannot widen.
    private var scopeOption: Scope? {
        operand.settings.isScopeAnOption ? operand.settings.token.scope : nil
    }

    /// Whether options name both the server and the client, which is the answer to the question.
    private var isNamedByOptions: Bool {
        given(.issuer).map { ExactText.isSame($0, issuer) } == true && given(.clientID) == client.clientID
    }

    /// Returns the value that an option gives a setting.
    private func given(_ setting: Setting) -> String? {
        operand.ownership.entries.first {
            $0.setting == setting && $0.origin.layer == .options && $0.origin != .session
        }?.value.string
    }

    /// Whether the client is registered with a redirect URL of its own for the server, as a profile may say.
    private var hasOwnRedirect: Bool {
        let redirect = entries.first { $0.setting == .redirectURI }?.value.string
        return redirect.map { (try? MixUpDefense.isOwn($0, of: issuer)) ?? false } ?? false
    }

    /// Whether a secret, or a token of the machine's identity, would go to a server that only the resource names.
    var hasUnnamedIssuer: Bool {
        guard !isIssuerNamed else { return false }
        // Not the certificate: the question about the client covers it.
        let secrets = Setting.presented(by: grant)
        return ResourceOwnership(entries: entries).entries(for: issuer).contains {
            secrets.contains($0.setting)
        }
    }

    /// Returns whether the resource is on the origin of its server, or on one that the settings name: a profile only if it
    /// is for that server. `countsProfile` is whether a profile's `resource` counts.
    private func isOwnOrigin(countsProfile: Bool) -> Bool {
        guard let origin = WebURL(resource.resource)?.origin else { return false }
        // For id_jag, the server gets the user's identity, so a resource's own does not count.
        let ownership = ResourceOwnership(entries: entries)
        let isNamed = isIssuerNamed || ownership.names(issuer: issuer)
        var urls = isNamed || grant != .idJAG ? [issuer] : []
        func add(_ entry: SettingLayers.Entry) {
            switch entry.setting {
            case .resources, .proxyRoutes: urls += (entry.value.array ?? []).compactMap { $0["url"]?.string }
            case .resource: urls += (entry.value.array ?? []).compactMap(\.string)
            default: break
            }
        }
        // Options and variables are the user's word for this command, unless the variables are for another server. For
        // id_jag, the settings are for the own provider.
        for entry in entries where entry.origin.layer != .profile {
            if grant == .idJAG || entry.origin.layer != .variables || !variablesNameOther { add(entry) }
        }
        for entry in grant == .idJAG ? entries : ownership.entries(for: issuer) {
            // A profile that does not name the client may have been written by a sign-in to the URL.
            let isOfClient = countsProfile && entry.origin == client.profile.map { .profile($0) }
            if entry.origin.layer == .profile, entry.setting != .resource || isOfClient { add(entry) }
            guard ProviderEndpoint(rawValue: entry.setting.name) != nil else { continue }
            urls += [entry.value.string].compactMap { $0 }
        }
        return urls.contains { WebURL.ofIssuer($0)?.origin == origin }
    }

    /// Whether the variables themselves name a server, and not this one.
    private var variablesNameOther: Bool {
        func text(_ setting: Setting) -> String? {
            entries.first { $0.setting == setting && $0.origin.layer == .variables }?.value.string
        }
        return text(.issuer).map { !ExactText.isSame($0, issuer) } ?? (text(.tokenEndpoint) != nil)
    }

    private var question: ScopeQuestion {
        ScopeQuestion(
            asker: DisplayText.clean(resource.resource), issuer: issuer, clientID: client.clientID,
            scope: scope,
            addition: secretText)
    }

    /// The part of the question about the client's secret, if it is sent too.
    private var secretText: String {
        hasUnnamedIssuer ? "; that server, which only this URL names, gets the client's secret" : ""
    }

    /// The error if the user cannot be asked. The hint of `oidc login` has the options that answer the
    /// question; that of other commands is `oidc login`.
    private var unasked: OIDCError {
        let line = operand.loginLine.adding(profileOption)
        guard context.console.command == "login" else {
            let isScopeGiven = scope.isEmpty || scopeOption.map { scope.isSubset(of: $0) } ?? false
            return OIDCError(
                .loginRequired, "\(question.subject): sign in to allow it",
                hint: line.adding(isScopeGiven ? [] : ["--scope", scope.text]),
                stage: .authorization)
        }
        let answer = line.adding(context.loginOptions + names + operand.scopeOption(scope))
        return .usage(
            "\(question.subject): there is no terminal to ask at",
            hint: isIssuerNamed
                ? answer
                : operand.naming(
                    server, sharing: client.clientID, isRegistered: hasOwnRedirect, answer))
    }

    /// The error of a grant without a user, which is never asked.
    private var unattended: OIDCError {
        let missing = hasUnnamedIssuer ? "the server, which gets its secret" : "this resource"
        var question = question
        question.addition = ""
        let message = "\(question.subject): its settings do not name \(missing)"
        // A profile of another server gives its own tokens to what it names, as that of the user's provider for id_jag.
        let ownership = ResourceOwnership(entries: entries)
        let isOfOther = !ownership.isOwned(.profile, by: [issuer])
        guard let profile = client.profile ?? operand.settings.profile, grant != .idJAG, !isOfOther else {
            let options = operand.settings.givenOptions(and: [("--grant", .grant), ("--scope", .scope)])
            // With an issuer by option, the user's own provider has to be named too.
            let user = operand.settings.token.userProfile ?? operand.settings.profile
            let own = grant == .idJAG ? user.map { ["--set", "user_profile=\($0)"] } : nil
            let line = Hint.run("token", [operand.url.text] + options + names + (own ?? []))
            return .usage(message, hint: line.adding(operand.scopeOption(scope)))
        }
        var words = ["-p", profile]
        if hasUnnamedIssuer { words.append("issuer=\(issuer)") }
        if !isOwnOrigin(countsProfile: false) {
            var resources = entries.first { $0.setting == .resources }?.value.array ?? []
            let title = WebURL(resource.resource)?.host ?? resource.resource
            resources.append(["title": .string(title), "url": .string(resource.resource)])
            words.append("resources=\(JSONValue.array(resources).compact)")
        }
        return .usage(message, hint: .run("config set", words))
    }

    private var profileOption: [String] {
        guard operand.namedProfile == nil, let profile = client.profile, profile != operand.settings.profile
        else { return [] }
        return ["-p", profile]
    }

    /// The options that name the server and the client, if they are not given yet.
    private var names: [String] {
        let ownership = operand.ownership
        func option(_ name: String, _ setting: Setting, _ value: String) -> [String] {
            ownership.text(setting, in: [.options]) == nil ? [name, value] : []
        }
        return option("--issuer", .issuer, issuer) + option("--client-id", .clientID, client.clientID)
    }
}
