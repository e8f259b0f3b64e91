import OIDCCore

/// The preset that fits the issuer or token endpoint in the settings.
struct PresetMatch {
    let preset: Preset
    /// The parameters' values, read from the issuer or token endpoint.
    let values: [String: String]

    var registrationPlace: String { preset.registrationPlace(values) }

    /// The values as `config init` takes them.
    var words: [String] {
        preset.parameters.compactMap { parameter in
            values[parameter.name].map { ShellWord.quoted("\(parameter.name)=\($0)") }
        }
    }

    /// The `NAME=VALUE` of a value that is in the issuer's place only by mistake, and the issuer that belongs to it.
    var issuerOfSpecialValue: (word: String, issuer: String)? {
        for parameter in preset.parameters {
            guard let value = values[parameter.name], !parameter.check.accepts(value),
                let special = parameter.special.first(where: { $0.key == value })?.value,
                let issuer = special.first(where: { $0.key == .issuer })?.value
            else { continue }
            return ("\(parameter.name)=\(value)", preset.filled(issuer, values))
        }
        return nil
    }
}

extension Preset {
    /// Returns the preset of the provider that the settings name. If several fit, the one whose row the settings
    /// follow most closely. Self-hosted servers are recognized only by a distinctive path.
    static func matching(_ settings: Settings) -> PresetMatch? {
        let fits = all.flatMap { preset in
            preset.variants.compactMap { variant -> (match: PresetMatch, difference: Int)? in
                guard let values = preset.values(of: settings, by: variant) else { return nil }
                let difference = variant.filter { setting, template in
                    let expected = setting.kind.parsed(preset.filled(template, values))
                    return settings.layers[setting]?.compact != expected?.compact
                }
                return (PresetMatch(preset: preset, values: values), difference.count)
            }
        }
        return fits.min { $0.difference < $1.difference }?.match
    }

    /// The preset's settings, also those for special values of a parameter.
    private var variants: [Templates] { [settings] + parameters.flatMap { $0.special.map(\.value) } }

    /// Reads the parameters' values from the settings; nil if the settings name another provider.
    private func values(of settings: Settings, by variant: Templates) -> [String: String]? {
        let identifier =
            variant.first { $0.key == .issuer }.map { ($0.value, settings.provider.issuer) }
            ?? variant.first { $0.key == .tokenEndpoint }.map {
                ($0.value, settings.provider.endpoints[.token])
            }
        guard let (template, named) = identifier, let named, let values = values(in: named, by: template),
            values["client_id"] == nil || values["client_id"] == settings.client.id
        else { return nil }
        return isTelling(template, values) ? values : nil
    }

    /// Reads the values that fill a template up to a text.
    private func values(in text: String, by template: String) -> [String: String]? {
        var values: [String: String] = [:]
        var (rest, pattern) = (Substring(text), Substring(template))
        while let open = pattern.firstIndex(of: "{"), let close = pattern[open...].firstIndex(of: "}") {
            let literal = pattern[..<open]
            let name = String(pattern[pattern.index(after: open)..<close])
            pattern = pattern[pattern.index(after: close)...]
            guard rest.hasPrefix(literal) else { return nil }
            rest = rest.dropFirst(literal.count)
            let following = String(pattern.prefix { $0 != "{" })
            let value: Substring
            if following.isEmpty {
                value = rest
            } else {
                guard let parts = rest.parts(around: following) else { return nil }
                value = parts.before
            }
            guard accepts(String(value), for: name, values) else { return nil }
            values[name] = String(value)
            rest = rest.dropFirst(value.count)
        }
        return ExactText.isSame(String(rest), String(pattern)) ? values : nil
    }

    private func accepts(_ value: String, for name: String, _ values: [String: String]) -> Bool {
        if let known = values[name] { return ExactText.isSame(known, value) }
        guard let parameter = parameters.first(where: { $0.name == name }) else {
            return name == "client_id" ? true : ExactText.isSame(value, "{\(name)}")
        }
        return parameter.check.accepts(value) || parameter.special.contains { $0.key == value }
    }

    /// Whether a URL that fits the template is this provider's: it names the provider's host, or a telling path.
    private func isTelling(_ template: String, _ values: [String: String]) -> Bool {
        guard let first = parameters.first(where: { template.includes("{\($0.name)}") }) else { return true }
        let value = values[first.name] ?? ""
        switch first.check {
        case .host: return value == first.standard || PresetMatch.isSibling(value, first.example)
        case .server, .issuer:
            let path = template.pieces(between: "/").filter { !$0.includes("{") }.joined()
            return path.utf8.count >= 6
                || PresetMatch.isSibling(WebURL(value)?.host ?? "", WebURL(first.example)?.host ?? "")
        default: return true
        }
    }
}

extension PresetMatch {
    /// Whether two hosts end with the same two labels, unless those are only an example's.
    fileprivate static func isSibling(_ host: String, _ example: String) -> Bool {
        let end = example.split(separator: ".").suffix(2)
        return end != ["example", "com"]
            && host.split(separator: ".").suffix(2).elementsEqual(end) { ASCII.isSameIgnoringCase($0, $1) }
    }
}
