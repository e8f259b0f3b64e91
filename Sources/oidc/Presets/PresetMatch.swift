import OIDCCore

/// The preset that matches the issuer or token endpoint in the settings.
struct PresetMatch {
    let preset: Preset
    /// The parameters' values, read from the issuer or token endpoint.
    let values: [String: String]

    var registrationPage: String { preset.registrationPage(values) }

    /// The values in the syntax of `oidc config init`.
    var words: [String] {
        preset.parameters.compactMap { parameter in
            values[parameter.name].map { "\(parameter.name)=\($0)" }
        }
    }

    /// A special value that the issuer URL contains by mistake, as `NAME=VALUE`, with the issuer to use
    /// instead.
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
    /// Returns the preset that the profile was made from, unless its issuer or token endpoint is plainly that of
    /// another one.
    ///
    /// Without a recorded name, self-hosted servers are recognized only by a distinctive path.
    static func matching(_ settings: Settings) -> PresetMatch? {
        let recorded = settings.provider.preset.flatMap(named)
        return recorded.flatMap { matching(settings, among: [$0], isRecorded: false) }
            ?? matching(settings, among: all, isRecorded: false)
            ?? recorded.flatMap { matching(settings, among: [$0], isRecorded: true) }
            ?? recorded.map { PresetMatch(preset: $0, values: [:]) }
    }

    /// Returns the preset of the issuer or token endpoint. If several match, returns the one that differs in the fewest
    /// settings.
    private static func matching(
        _ settings: Settings, among presets: [Preset], isRecorded: Bool
    ) -> PresetMatch? {
        let fits = presets.flatMap { preset in
            preset.variants.compactMap { variant -> (match: PresetMatch, difference: Int)? in
                guard let (template, values) = preset.values(of: settings, by: variant),
                    isRecorded || preset.isDistinctive(template, values)
                else { return nil }
                let difference = variant.filter { setting, template in
                    let expected = setting.kind.parsed(preset.filled(template, values))
                    return settings.layers[setting]?.compact != expected?.compact
                }
                return (PresetMatch(preset: preset, values: values), difference.count)
            }
        }
        return fits.min { $0.difference < $1.difference }?.match
    }

    /// Returns the preset of the provider with this issuer.
    static func matching(issuer: String) -> PresetMatch? {
        let entry = SettingLayers.Entry(
            setting: .issuer, value: .string(issuer), origin: .option(Setting.issuer.name))
        return matching(Settings(SettingLayers(profile: nil, entries: [entry])))
    }

    /// The preset's settings, and those for special values of its parameters.
    private var variants: [Templates] { [settings] + parameters.flatMap { $0.special.map(\.value) } }

    /// Returns the template of the issuer or token endpoint and the parameters' values in the settings; nil if the
    /// settings name another provider.
    private func values(
        of settings: Settings, by variant: Templates
    ) -> (template: String, values: [String: String])? {
        let identifier =
            variant.first { $0.key == .issuer }.map { ($0.value, settings.provider.issuer) }
            ?? variant.first { $0.key == .tokenEndpoint }.map {
                ($0.value, settings.provider.endpoint(.token))
            }
        guard let (template, named) = identifier, let named, let values = values(in: named, by: template),
            values["client_id"] == nil || values["client_id"] == settings.client.id
        else { return nil }
        return (template, values)
    }

    /// Returns the values that turn a template into a string; nil if the string does not match.
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

    /// Returns the words with a copied URL taken apart: the issuer in place of the server's URL gives the other
    /// parameters too, as `https://sso.example.com/realms/main` does, and a final slash makes no difference.
    func takingApart(_ words: [String]) -> [String] {
        guard let server = parameters.first(where: { if case .server = $0.check { true } else { false } }),
            let template = settings.first(where: { $0.key == .issuer })?.value
        else { return words }
        let prefix = "\(server.name)="
        func value(_ word: String) -> String {
            word.hasPrefix(prefix) ? String(word.dropFirst(prefix.utf8.count)) : word
        }
        guard let index = words.firstIndex(where: { WebURL(value($0)) != nil }) else { return words }
        let word = value(words[index])
        let text = word.hasSuffix("/") ? String(word.dropLast()) : word
        let ends = template.hasSuffix("/") ? "\(text)/" : text
        var words = words
        guard let found = values(in: ends, by: template), found.count > 1 else {
            words[index] = prefix + text
            return words
        }
        let others = parameters.compactMap { parameter in
            found[parameter.name].map { (name: parameter.name, word: "\(parameter.name)=\($0)") }
        }
        words.remove(at: index)
        return others.map(\.word) + words.filter { word in !others.contains { $0.word == word } }
    }

    private func accepts(_ value: String, for name: String, _ values: [String: String]) -> Bool {
        if let known = values[name] { return ExactText.isSame(known, value) }
        guard let parameter = parameters.first(where: { $0.name == name }) else {
            return name == "client_id" ? true : ExactText.isSame(value, "{\(name)}")
        }
        return parameter.check.accepts(value) || parameter.special.contains { $0.key == value }
    }

    /// Returns whether a URL that matches the template belongs to this provider, by its host or a distinctive
    /// path.
    private func isDistinctive(_ template: String, _ values: [String: String]) -> Bool {
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
    /// Returns whether two hosts end with the same two labels. `example.com` does not count.
    fileprivate static func isSibling(_ host: String, _ example: String) -> Bool {
        let end = example.split(separator: ".").suffix(2)
        return end != ["example", "com"]
            && host.split(separator: ".").suffix(2).elementsEqual(end) { ASCII.isSameIgnoringCase($0, $1) }
    }
}
