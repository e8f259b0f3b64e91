import CommandLineKit
import OIDCCore

/// The profile that a preset makes of its parameters and of what the command line sets.
struct PresetProfile {
    let preset: Preset
    /// The preset's settings, then those of the command line. What the command line sets replaces the preset's.
    let entries: [SettingLayers.Entry]

    /// `words` are `NAME=VALUE`; `options` come from the command line. `line` shows a command with arguments.
    init(
        _ preset: Preset, words: [String], options: [SettingLayers.Entry], line: (String) -> String
    ) throws(OIDCError) {
        self.preset = preset
        var values = try preset.values(words, line: line)
        if let id = options.first(where: { $0.setting == .clientID })?.value.string {
            values["client_id"] = id
        }
        var entries: [SettingLayers.Entry] = []
        for (setting, template) in preset.settings(values) {
            guard !options.contains(where: { setting.isReplaced(by: $0.setting) }) else { continue }
            let value = try preset.filled(template, values, line: line)
            entries.append(
                try SettingsLoader.entry(setting, value, .option(preset.name), named: preset.name))
        }
        self.entries = entries + options
    }
}

extension Setting {
    /// Whether a preset's value of this setting goes when another one is set: `port` belongs to its redirect URL.
    fileprivate func isReplaced(by other: Setting) -> Bool {
        self == other || (self == .port && [.redirectURI, .redirectPorts].contains(other))
    }
}

extension Preset {
    /// Reads `NAME=VALUE` words and adds the values that are used if none is given.
    fileprivate func values(
        _ words: [String], line: (String) -> String
    ) throws(OIDCError) -> [String: String] {
        var values: [String: String] = [:]
        for word in words {
            guard let equals = word.firstIndex(of: "=") else {
                throw OIDCError.usage(
                    "\(name) takes NAME=VALUE, not \(DisplayText.quoted(word, limit: 80))",
                    hint: line(example()))
            }
            let key = String(word[..<equals])
            guard let parameter = parameters.first(where: { $0.name == key }) else {
                let names = parameters.map(\.name)
                throw OIDCError.usage(
                    "\(name) has no parameter “\(DisplayText.distinct(key, from: names, limit: 80))”"
                        + (names.isEmpty ? "" : " (it has \(names.joined(separator: ", ")))"),
                    hint: line(example()))
            }
            guard values[key] == nil else {
                throw OIDCError.usage("\(key) is given twice", hint: line(example()))
            }
            values[key] = try checked(String(word[word.index(after: equals)...]), parameter, line)
        }
        for parameter in parameters where values[parameter.name] == nil {
            values[parameter.name] = parameter.standard
        }
        return values
    }

    private func checked(
        _ value: String, _ parameter: PresetParameter, _ line: (String) -> String
    ) throws(OIDCError) -> String {
        guard !parameter.special.contains(where: { ExactText.isSame($0.key, value) }),
            !parameter.check.accepts(value)
        else { return value }
        let special = parameter.special.map { ", or \($0.key)" }.joined()
        throw OIDCError.usage(
            "\(parameter.name): expected \(parameter.check.expectation)\(special), found "
                + DisplayText.quoted(DisplayText.address(value), limit: 80),
            hint: line(example()))
    }

    /// The settings for these values of the parameters.
    fileprivate func settings(_ values: [String: String]) -> Settings {
        for parameter in parameters {
            if let special = parameter.special.first(where: { $0.key == values[parameter.name] }) {
                return special.value
            }
        }
        return settings
    }

    /// Fills a template in. `{tenantid}` is no parameter, and stays.
    fileprivate func filled(
        _ template: String, _ values: [String: String], line: (String) -> String
    ) throws(OIDCError) -> String {
        var text = template
        for name in parameters.map(\.name) + ["client_id"] where text.includes("{\(name)}") {
            guard let value = values[name] else {
                throw OIDCError.usage("config init \(self.name): \(name) is missing", hint: line(example()))
            }
            guard name != "client_id" || PresetParameter.Check.segment.accepts(value) else {
                throw OIDCError.usage(
                    "client_id is part of the issuer's URL: expected letters, digits, -, _ and ., found "
                        + DisplayText.quoted(value, limit: 80), hint: "oidc config init --issuer URL")
            }
            text = text.pieces(between: "{\(name)}").joined(separator: value)
        }
        return text
    }

    /// The arguments that name the preset and every parameter it needs.
    func example() -> String {
        ([name] + parameters.filter { $0.standard == nil }.map { "\($0.name)=\($0.example)" })
            .joined(separator: " ")
    }
}
