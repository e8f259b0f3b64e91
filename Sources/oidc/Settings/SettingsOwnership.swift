import OIDCCore

/// The choice of the settings that belong to the provider and client in use.
///
/// A layer's settings belong to the provider and client that the layer names. If it names none, the next weaker
/// layer that does decides, and without one a stronger layer.
struct SettingsOwnership {
    /// The provider and client that a layer's settings belong to, as the layer or a weaker one names them.
    private struct Owner {
        var issuer: String?
        /// The endpoints that the client authenticates at, and the URL of the metadata that names them.
        var endpoints: [SettingLayers.Entry] = []
        var clientID: String?

        /// Returns the owner of the next stronger layer.
        func overridden(by entries: [SettingLayers.Entry]) -> Owner {
            func text(_ setting: Setting) -> String? {
                entries.first { $0.setting == setting }?.value.string
            }
            var owner = self
            if let issuer = text(.issuer) {
                if !isProvider(issuer) { owner = Owner() }
                owner.issuer = issuer
            }
            for setting in Owner.authenticatedEndpoints {
                guard let endpoint = entries.first(where: { $0.setting == setting }) else { continue }
                owner.endpoints.removeAll { $0.setting == setting }
                owner.endpoints.append(endpoint)
            }
            owner.clientID = text(.clientID) ?? owner.clientID
            return owner
        }

        private static let authenticatedEndpoints: [Setting] = [
            .metadataURL, .tokenEndpoint, .refreshEndpoint, .deviceAuthorizationEndpoint,
            .pushedAuthorizationRequestEndpoint,
            .revocationEndpoint, .introspectionEndpoint,
        ]

        var namesNothing: Bool { issuer == nil && endpoints.isEmpty && clientID == nil }

        private var origins: [String] {
            ([issuer] + endpoints.map(\.value.string)).compactMap { $0.flatMap(WebURL.ofIssuer)?.origin }
        }

        /// Returns whether an issuer is this provider. If only the endpoints are known, their origins decide.
        private func isProvider(_ other: String) -> Bool {
            if let issuer { return ExactText.isSame(issuer, other) }
            return isKnown(other)
        }

        private func isKnown(_ url: String) -> Bool {
            let origins = origins
            return origins.isEmpty || WebURL(url).map { origins.contains($0.origin) } == true
        }

        func isProvider(of used: Owner) -> Bool {
            used.issuer.map { isProvider($0) } ?? true
        }

        /// Returns whether each endpoint that gets secrets belongs to this provider: it was set for the
        /// provider, or has the origin of its issuer or of one of its endpoints.
        func ownsEndpoints(of used: Owner) -> Bool {
            used.endpoints.allSatisfy { endpoint in
                guard let url = endpoint.value.string else { return true }
                let own = endpoints.first { $0.setting == endpoint.setting }?.value.string
                return own.map { ExactText.isSame($0, url) } == true || isKnown(url)
            }
        }

        func isClient(_ used: String?) -> Bool {
            guard let clientID, let used else { return true }
            return ExactText.isSame(clientID, used)
        }
    }

    private var owners: [Owner] = []
    /// Whether options name a provider.
    private var isProviderAnOption = false
    private var used = Owner()

    /// Creates the rules for all entries, strongest first.
    init(_ entries: [SettingLayers.Entry]) {
        // With a single layer, there is nothing to decide. This keeps reading a fresh token fast.
        guard let first = entries.first, entries.contains(where: { $0.origin.layer != first.origin.layer })
        else { return }
        for layer in SettingLayers.Layer.allCases {
            used = used.overridden(by: entries.filter { $0.origin.layer == layer })
            owners.append(used)
        }
        isProviderAnOption = entries.contains {
            $0.origin.layer == .options && [.issuer, .tokenEndpoint].contains($0.setting)
        }
        let clientID = entries.first { $0.setting == .clientID && allows($0) }
        used.clientID = clientID?.value.string
    }

    func allows(_ entry: SettingLayers.Entry) -> Bool {
        guard !owners.isEmpty, entry.origin.layer.rawValue < SettingLayers.Layer.options.rawValue else {
            return true
        }
        let owner = owners[entry.origin.layer.rawValue]
        switch entry.setting.owner {
        // A profile with a resource and no provider is that of a sign-in to the resource's URL.
        case .anyone where entry.setting == .resource && entry.origin.layer == .profile:
            return !(isProviderAnOption && owner.namesNothing)
        case .anyone: return true
        case .provider:
            // A client ID is not a secret: one in a variable is also used for an issuer in an option.
            if entry.setting == .clientID, entry.origin.layer == .variables { return true }
            return owner.isProvider(of: used)
        case .tokenRequest: return owner.isProvider(of: used) && owner.ownsEndpoints(of: used)
        case .client:
            return owner.isProvider(of: used) && owner.ownsEndpoints(of: used)
                && owner.isClient(used.clientID)
        }
    }
}
