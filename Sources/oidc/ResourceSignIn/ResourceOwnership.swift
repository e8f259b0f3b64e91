import OIDCCore

/// The choice of the settings that apply to a resource's authorization server. Those of a profile or
/// variables for another provider do not.
struct ResourceOwnership {
    /// The settings that apply to every server, even if the profile or the variables are for another
    /// provider.
    private static let ofMachine: Set<Setting> = [
        .browser, .flow, .timeout, .httpTimeout, .leeway, .caFile, .allowInsecureHTTP, .store, .uiLocales,
        .clientMetadataURL,
    ]

    /// Every entry, strongest first.
    let entries: [SettingLayers.Entry]

    /// The issuer that an option names.
    var optionIssuer: String? { text(.issuer, in: [.options]) }

    /// The issuers that the settings name, strongest first.
    var issuers: [String] { entries.filter { $0.setting == .issuer }.compactMap(\.value.string) }

    /// Returns whether the settings name an issuer.
    func names(issuer: String) -> Bool { issuers.contains { ExactText.isSame($0, issuer) } }

    func text(_ setting: Setting, in layers: Set<SettingLayers.Layer>) -> String? {
        entries.first { $0.setting == setting && layers.contains($0.origin.layer) }?.value.string
    }

    /// Returns whether the settings of a layer are for a server: they name its issuer, or no provider.
    func isOwned(_ layer: SettingLayers.Layer, by issuers: [String]) -> Bool {
        // Variables without an issuer belong to the profile's provider.
        let layers: [SettingLayers.Layer] =
            switch layer {
            case .resource: []
            // Options can name another issuer only for id_jag: that of the user's own provider.
            case .options: [.options]
            case .variables: [.variables, .profile]
            case .profile: [.profile]
            }
        for layer in layers {
            let own = entries.filter { $0.origin.layer == layer }
            if let issuer = own.first(where: { $0.setting == .issuer })?.value.string {
                return issuers.contains { ExactText.isSame($0, issuer) }
            }
            if layer != .options, own.contains(where: { ProviderEndpoint(rawValue: $0.setting.name) != nil })
            {
                return false
            }
        }
        return true
    }

    /// Returns the entries that apply to a server, without the issuer.
    func entries(for issuer: String) -> [SettingLayers.Entry] {
        let owned = Set(SettingLayers.Layer.allCases.filter { isOwned($0, by: [issuer]) })
        return entries.filter { entry in
            entry.setting != .issuer
                && (owned.contains(entry.origin.layer) || ResourceOwnership.ofMachine.contains(entry.setting)
                    || entry.origin.layer == .options && entry.setting == .scope)
        }
    }
}
