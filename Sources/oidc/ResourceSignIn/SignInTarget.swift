import OIDCCore
import OIDCSessions

/// What `oidc login URL` signs in to.
enum SignInTarget {
    /// A protected resource, and what was found out about it.
    case resource(ResourceOperand, ResourceOperand.Evidence)
    /// A provider whose issuer the URL is, with the settings of its profile, or else with the issuer as its
    /// metadata spells it and with a client. A client that was registered just now has its ID as an option's
    /// value; its other settings have the URL as their origin.
    case provider(ProviderContext)
}

extension ResourceOperand {
    /// Finds out what the URL is. In this order: a provider that the settings or a profile name, an earlier
    /// sign-in, a protected resource (RFC 9728), a profile's resource, a provider by its own metadata, and a resource
    /// without metadata at its origin's server.
    ///
    /// Nothing is sent to a host that neither the URL nor the profile names. The time limit of the sign-in
    /// starts here.
    func signInTarget() throws(OIDCError) -> SignInTarget {
        if let issuer = url.issuerOfMetadata {
            throw .usage(
                "\(DisplayText.clean(url.withoutQuery)) is the URL of a provider's metadata",
                hint: .text("oidc login \(ShellWord.quoted(issuer))"))
        }
        let operand = forSignIn()
        if let known = try operand.knownProvider({ $0.isIssuer(url) }) { return .provider(known) }
        var evidence = Evidence()
        evidence.asksResource = true
        if let link = try operand.link(), link.isFor(url) { return .resource(operand, evidence) }
        let notProtected: OIDCError
        do throws(OIDCError) {
            evidence.found = try ResourceResolution(operand, evidence).published()
            return .resource(operand, evidence)
        } catch {
            guard error.kind == .refused, error.stage == .discovery else { throw error }
            notProtected = error
        }
        if let known = try operand.knownProvider({ $0.isResource(url) }) { return .provider(known) }
        if let provider = try operand.publishedProvider() { return .provider(provider) }
        evidence.found = try ResourceResolution(operand, evidence).ownServer(after: notProtected)
        guard evidence.found != nil else {
            var neither = notProtected
            neither.message += ", and no provider's metadata name the URL as their issuer"
            throw neither
        }
        return .resource(operand, evidence)
    }

    /// Returns the provider of the settings, or else of the first profile that `isMeant` accepts; nil if there
    /// is none. A profile that is named leaves the others out.
    private func knownProvider(
        _ isMeant: (ResourceOwnership) -> Bool
    ) throws(OIDCError) -> ProviderContext? {
        if isMeant(ResourceOwnership(entries: settings.layers.entries)) {
            return ProviderContext(settings, context, until: deadline)
        }
        guard namedProfile == nil else { return nil }
        let options = settings.layers.given.filter { $0.origin.layer == .options }
        for case .success(let profile) in try context.settingsLoader.profiles()
        where isMeant(ResourceOwnership(entries: profile.own)) {
            var loader = context.settingsLoader
            loader.profileName = profile.profile
            let settings = try loader.load(options)
            try refuseOverride(of: profile, by: settings)
            return ProviderContext(settings, context, until: deadline)
        }
        return nil
    }

    /// Throws if a variable names another provider than the profile: the URL is that of the profile's.
    private func refuseOverride(
        of profile: (profile: String, own: [SettingLayers.Entry]), by settings: Settings
    ) throws(OIDCError) {
        for setting in [Setting.issuer, .tokenEndpoint] {
            guard let own = profile.own.first(where: { $0.setting == setting })?.value.string,
                let entry = settings.layers.entry(setting), case .variable(let name) = entry.origin,
                !ExactText.isSame(entry.value.string ?? "", own)
            else { continue }
            throw .usage(
                "\(DisplayText.clean(url.text)) is the provider of profile \(DisplayText.clean(profile.profile)), "
                    + "and \(name) names another one",
                hint: .text("unset \(name)"))
        }
    }

    /// Returns the provider whose own metadata name the URL as their issuer, with a client; nil if the URL has
    /// no such metadata.
    private func publishedProvider() throws(OIDCError) -> ProviderContext? {
        let environment = try reach.environment()
        let documents = ProviderDocuments(
            environment: environment, allowsInsecureHTTP: settings.provider.allowsInsecureHTTP)
        let metadata: ProviderMetadata
        do throws(OIDCError) { metadata = try documents.metadata(ofTyped: url) } catch {
            guard error.kind != .refused, error.kind != .usage else { return nil }
            var error = error
            error.hint = error.hint?.usingIssuer { "oidc login \(ShellWord.quoted(DisplayText.clean($0)))" }
            throw error
        }
        guard let issuer = metadata.issuer else { return nil }
        context.console.trace("provider: \(DisplayText.clean(issuer)), by its own metadata")
        let operand = adding([
            SettingLayers.Entry(setting: .issuer, value: .string(issuer), origin: .option("--issuer"))
        ])
        guard operand.settings.client.id == nil else {
            return ProviderContext(operand.settings, context, until: deadline)
        }
        let client = try ResourceClient(
            operand: operand, environment: environment, resource: nil, server: metadata,
            scope: operand.settings.token.scope ?? Scope.forUsers(at: metadata)
        ).choiceOfProvider()
        context.console.trace("client: \(DisplayText.clean(client.clientID)) (\(client.reason))")
        let origin = SettingLayers.Origin.resource(url.text)
        var entries = [
            SettingLayers.Entry(
                setting: .clientID, value: .string(client.clientID), origin: .option("--client-id"))
        ]
        if let registered = client.registered {
            entries += registered.entries(origin: origin)
        } else {
            if operand.settings.provider.endpoint(.authorization) == nil {
                try metadata.checkAnswersAreItsOwn()
            }
            entries.append(ClientRegistration.documentPorts(origin: origin))
        }
        return ProviderContext(operand.adding(entries).settings, context, until: deadline)
    }
}

extension ResourceOwnership {
    /// Returns whether a URL is the issuer of the settings; a slash at the end makes no difference.
    fileprivate func isIssuer(_ url: WebURL) -> Bool {
        issuers.first.map { url.isSame(exceptLastSlash: $0) } ?? false
    }

    /// Returns whether a URL is the only resource of the settings.
    fileprivate func isResource(_ url: WebURL) -> Bool {
        let resources = entries.first { $0.setting == .resource }?.value.array ?? []
        guard resources.count == 1, let resource = resources.first?.string else { return false }
        return url.isSame(exceptLastSlash: resource)
    }
}

extension WebURL {
    /// The issuer whose metadata are at this URL (OpenID Connect Discovery §4, RFC 8414 §3); nil if the URL is not one
    /// of the well-known places.
    fileprivate var issuerOfMetadata: String? {
        if path.hasSuffix("/.well-known/openid-configuration") {
            return origin + path.dropLast("/.well-known/openid-configuration".utf8.count)
        }
        for name in ["oauth-authorization-server", "openid-configuration"] {
            let start = "/.well-known/\(name)"
            if path == start || path.hasPrefix("\(start)/") {
                return origin + path.dropFirst(start.utf8.count)
            }
        }
        return nil
    }

    fileprivate func isSame(exceptLastSlash other: String) -> Bool {
        func trimmed(_ text: String) -> String { text.hasSuffix("/") ? String(text.dropLast()) : text }
        return ExactText.isSame(trimmed(text), trimmed(other))
    }
}
