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
    /// one of the settings, and `elsewhere` is the resource that the token is for, if it is outside their origins.
    func entries(
        for issuer: String, isRegistered: Bool = false, elsewhere resource: String? = nil
    ) -> [SettingLayers.Entry] {
        let destination = Destination(
            found: issuer, isRegistered: isRegistered,
            foreignLayers: resource.map { foreignLayers(to: $0) } ?? [],
            foreignOrigin: resource.flatMap { WebURL($0)?.origin })
        return entries.compactMap { entry in
            guard entry.setting != .issuer else { return nil }
            let isOption = entry.origin.layer == .options && entry.setting == .scope
            return isOption ? entry : entry.reaching(destination)
        }
    }

    /// Returns the layers that do not say what the token of a resource elsewhere is for. A profile that names it says that:
    /// one that a sign-in to the resource wrote has what its options gave.
    private func foreignLayers(to resource: String) -> Set<SettingLayers.Layer> {
        let origin = WebURL(resource)?.origin
        let isNamed = entries.contains { entry in
            entry.setting == .resource && entry.origin.layer == .profile
                && (entry.value.array ?? []).contains { $0.string.flatMap(WebURL.init)?.origin == origin }
        }
        return isNamed ? [.variables] : [.variables, .profile]
    }
}
