import CommandLineKit
import OIDCCore

/// The profile made from a preset, its parameters and the options.
struct PresetProfile {
    let preset: Preset
    let registrationPage: String
    /// The preset's settings, then those of the command line, which replace the preset's.
    private(set) var entries: [SettingLayers.Entry]

    /// Creates the profile from `NAME=VALUE` words and the options of the command line.
    ///
    /// A secret that the client needs is read from `secretFile`, unless an option names another one or sets
    /// `client_auth=none`. `line` formats a command
    /// line from its arguments.
    init(
        _ preset: Preset, words: [String], options: [SettingLayers.Entry], secretFile: String,
        line: ([String]) -> Hint
    ) throws(OIDCError) {
        self.preset = preset
        if let other = options.first(where: { $0.setting == .preset && $0.value.string != preset.name }) {
            throw OIDCError.usage(
                "preset is \(other.value.string ?? ""), and the provider is \(preset.name)",
                hint: "leave preset out")
        }
        var values = try preset.values(preset.takingApart(words), line: line)
        registrationPage = preset.registrationPage(values)
        values["client_id"] = try preset.clientID(of: options, words)
        var templates = [(key: Setting.preset, value: preset.name)] + preset.settings(values)
        let isPublic = options.contains { $0.setting == .clientAuth && $0.value == "none" }
        if preset.secret == .required, !isPublic { templates.append((.clientSecretFile, secretFile)) }
        var entries: [SettingLayers.Entry] = []
        for (setting, template) in templates {
            guard !options.contains(where: { setting.isReplaced(by: $0.setting) }) else { continue }
            if let name = preset.missing(in: template, values) {
                throw OIDCError.usage(
                    "\(preset.name): \(name) is missing",
                    hint: line(preset.example(keeping: words)))
            }
            let value = preset.filled(template, values)
            entries.append(
                try SettingsLoader.entry(setting, value, .option(preset.name), named: preset.name))
        }
        // With client_id, a profile has at most ten lines; such a preset is recognized by its URLs, too.
        if entries.count >= 10 { entries.removeAll { $0.setting == .preset } }
        self.entries = entries + options
    }

    /// Leaves out the secret's file unless an option names it. Returns whether it did.
    mutating func leaveOutSecretFile() -> Bool {
        let others = entries.filter { $0.setting != .clientSecretFile || $0.origin != .option(preset.name) }
        defer { entries = others }
        return others.count < entries.count
    }
}

extension Setting {
    /// Returns whether setting `other` removes the preset's value of this setting. `port` belongs to the
    /// redirect URL.
    fileprivate func isReplaced(by other: Setting) -> Bool {
        self == other || (self == .port && [.redirectURI, .redirectPorts].contains(other))
            || (Setting.clientSecrets.contains(self) && Setting.clientSecrets.contains(other))
    }
}

extension Preset {
    /// Parses `NAME=VALUE` words, and adds the default values of the other parameters.
    fileprivate func values(
        _ words: [String], line: ([String]) -> Hint
    ) throws(OIDCError) -> [String: String] {
        var values: [String: String] = [:]
        for word in words {
            guard let equals = word.firstIndex(of: "=") else {
                throw OIDCError.usage(
                    "\(name) takes NAME=VALUE, not \(DisplayText.quoted(word, limit: 80))",
                    hint: line(example(keeping: words)))
            }
            let key = String(word[..<equals])
            guard let parameter = parameters.first(where: { $0.name == key }) else {
                let names = parameters.map(\.name)
                throw OIDCError.usage(
                    "\(name) has no parameter \"\(DisplayText.distinct(key, from: names, limit: 80))\""
                        + (names.isEmpty ? "" : " (it has \(names.joined(separator: ", ")))"),
                    hint: line(example(keeping: words)))
            }
            guard values[key] == nil else {
                throw OIDCError.usage("\(key) is given twice", hint: line(example(keeping: words)))
            }
            let value = String(word[word.index(after: equals)...])
            if let problem = parameter.problem(value) {
                throw OIDCError.usage("\(key): \(problem)", hint: line(example(keeping: words)))
            }
            values[key] = parameter.check.completed(value)
        }
        for parameter in parameters where values[parameter.name] == nil {
            values[parameter.name] = parameter.standard
        }
        return values
    }

    /// Returns the client ID. Checks it if it is part of the issuer's URL.
    fileprivate func clientID(
        of options: [SettingLayers.Entry], _ words: [String]
    ) throws(OIDCError) -> String? {
        guard let id = options.first(where: { $0.setting == .clientID })?.value.string,
            settings.contains(where: { $0.value.includes("{client_id}") })
        else { return "ID" }
        guard PresetParameter.Check.segment.accepts(id) else {
            throw OIDCError.usage(
                "client_id is part of the issuer's URL: expected \(PresetParameter.Check.segment.expectation), "
                    + "found \(DisplayText.quoted(id, limit: 80))",
                hint: .run("config init", example(keeping: words) + ["--client-id", "ID"]))
        }
        return id
    }

    /// Returns the settings for these values of the parameters.
    fileprivate func settings(_ values: [String: String]) -> Templates {
        for parameter in parameters {
            if let special = parameter.special.first(where: { $0.key == values[parameter.name] }) {
                return special.value
            }
        }
        return settings
    }

    /// Returns the first parameter of a template that has no value.
    fileprivate func missing(in template: String, _ values: [String: String]) -> String? {
        parameters.map(\.name).first { template.includes("{\($0)}") && values[$0] == nil }
    }

    /// Fills in a template. `{tenantid}` is not a parameter and is kept.
    func filled(_ template: String, _ values: [String: String]) -> String {
        (parameters.map(\.name) + ["client_id"]).reduce(template) { text, name in
            values[name].map { text.pieces(between: "{\(name)}").joined(separator: $0) } ?? text
        }
    }

    /// Returns the URL or path to register at, with examples for parameters without a value.
    func registrationPage(_ values: [String: String]) -> String {
        let examples = Dictionary(uniqueKeysWithValues: parameters.map { ($0.name, $0.example) })
        return filled(registrationPage, values.merging(examples) { value, _ in value })
    }

    /// Returns example arguments: the preset and its parameters, with corrected names, and with examples in
    /// place of invalid or missing values. Optional parameters that were not given are left out.
    fileprivate func example(keeping words: [String]) -> [String] {
        var given: [String: String] = [:]
        for word in words {
            guard let equals = word.firstIndex(of: "="),
                let key = Nearest.match(String(word[..<equals]), among: parameters.map(\.name)),
                let parameter = parameters.first(where: { $0.name == key })
            else { continue }
            let value = String(word[word.index(after: equals)...])
            given[key] = given[key] ?? "\(key)=\(parameter.meant(by: value) ?? parameter.example)"
        }
        let arguments = parameters.compactMap { parameter in
            given[parameter.name]
                ?? (parameter.standard == nil ? "\(parameter.name)=\(parameter.example)" : nil)
        }
        return [name] + arguments
    }
}
