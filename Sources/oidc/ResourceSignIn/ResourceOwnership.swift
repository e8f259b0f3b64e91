import OIDCCore

/// The choice of the settings that apply to a resource's authorization server. Those of a profile or
/// variables for another provider do not.
struct ResourceOwnership {
    /// Every entry, strongest first.
    let entries: [SettingLayers.Entry]

    init(entries: [SettingLayers.Entry]) {
        self.entries = entries.stamped
    }

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
        let belonging = Belonging(of: layer, in: entries)
        return !belonging.namesServer || issuers.contains { belonging.isServer(Destination(found: $0)) }
    }

    /// Returns the entries that apply to a server, without the issuer. `isRegistered` is whether its client is not
    /// one of the settings.
    func entries(for issuer: String, isRegistered: Bool = false) -> [SettingLayers.Entry] {
        let destination = Destination(found: issuer, isRegistered: isRegistered)
        return entries.filter { entry in
            entry.setting != .issuer
                && (entry.mayReach(destination) || entry.origin.layer == .options && entry.setting == .scope)
        }
    }
}
