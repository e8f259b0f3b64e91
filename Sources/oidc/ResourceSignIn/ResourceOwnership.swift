import OIDCCore

/// Which of the user's settings hold for a resource's authorization server. A profile, or variables, for another
/// provider say nothing about it: their client, scope and account stay where they belong.
struct ResourceOwnership {
    /// The settings that hold even if the profile or the variables are for another provider: those of this machine.
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

    /// Returns whether the settings of a layer are for a server: they name its issuer, or no provider at all.
    func isOwned(_ layer: SettingLayers.Layer, by issuers: [String]) -> Bool {
        // Variables without an issuer of their own belong to the profile's.
        let layers: [SettingLayers.Layer] =
            switch layer {
            case .resource: []
            // Only for id_jag can options name another issuer: that of the user's own provider.
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

    /// Returns the entries that hold for a server, without the issuer itself.
    func entries(for issuer: String) -> [SettingLayers.Entry] {
        let owned = Set(SettingLayers.Layer.allCases.filter { isOwned($0, by: [issuer]) })
        return entries.filter { entry in
            entry.setting != .issuer
                && (owned.contains(entry.origin.layer) || ResourceOwnership.ofMachine.contains(entry.setting)
                    || entry.origin.layer == .options && entry.setting == .scope)
        }
    }
}
