import CommandLineKit
import OIDCCore

/// Parses settings of the command line and of variables, and describes errors in their values.
extension SettingsLoader {
    /// Returns the hint for a value that is not accepted: a command that writes a string as the number or
    /// boolean it spells, or else the help.
    static func correction(of value: JSONValue, _ setting: Setting, _ profile: String) -> Hint {
        let isWord =
            switch setting.kind {
            case .integer, .flag: true
            default: false
            }
        guard isWord, let text = value.string, setting.kind.parsed(text) != nil else {
            return .run("help settings")
        }
        return .run("config set", "-p", profile, "\(setting.name)=\(text)")
    }

    /// Parses `KEY=VALUE`, the argument of `--set` or of another option or command.
    static func assignment(_ text: String, of option: String = "--set") throws(OIDCError)
        -> SettingLayers.Entry
    {
        guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
            throw OIDCError.usage(
                "\(option) takes KEY=VALUE, not \(DisplayText.quoted(text, limit: 80))",
                hint: Setting.named(text).map {
                    option == "--set"
                        ? .options([option, "\($0.name)=VALUE"]) : .run("config set", "\($0.name)=VALUE")
                } ?? .run("help settings"))
        }
        let name = String(text[..<equals])
        guard let setting = Setting.named(name) else {
            var error = unknown(name, in: option)
            if let nearest = Nearest.match(name, among: Setting.all.map(\.name)).flatMap(Setting.named),
                let line = line(nearest, text[text.index(after: equals)...], option)
            {
                error.hint = line
            }
            throw error
        }
        if setting.kind.isSecret {
            throw OIDCError.usage(
                "\(name) is not taken from the command line, where every process can read it",
                hint: "use client_secret_file, client_secret_command or \(setting.variable)")
        }
        let word = String(text[text.index(after: equals)...])
        if setting == .store, SessionStoreChoice.holdsPassword(word) {
            throw OIDCError.usage(
                "store: a password is not taken from the command line, where every process can read it",
                hint: "put the URL into the configuration file, or into \(setting.variable)")
        }
        return try entry(setting, word, .option(option), named: "\(option) \(name)")
    }

    /// Returns the hint to give a setting by `--set` or `config set`; nil for a value that may be secret, or by
    /// anything else.
    private static func line(_ setting: Setting, _ value: Substring, _ option: String) -> Hint? {
        guard !setting.kind.mayBeSecret, value.utf8.count <= 80 else { return nil }
        switch option {
        case "--set": return .options([option, "\(setting.name)=\(value)"])
        case "config set": return .run(option, "\(setting.name)=\(value)")
        default: return nil
        }
    }

    /// Refuses a setting that the command line sets twice, by `--set` or an option. Options may repeat the
    /// settings of a pending sign-in.
    static func checkRepeated(_ entries: [SettingLayers.Entry]) throws(OIDCError) {
        let given = entries.filter { $0.origin != .option("--pending") }
        for (index, entry) in given.enumerated() {
            guard let first = given[..<index].first(where: { $0.setting == entry.setting }) else { continue }
            let (name, option) = (entry.setting.name, entry.origin.text)
            throw .usage(
                first.origin == entry.origin
                    ? "\(option) \(name) is given twice"
                    : "\(name) is given twice, by \(first.origin.text) and \(option)", hint: "give it once")
        }
    }

    /// Returns the settings of the options that were given.
    static func entries(
        _ options: [(Setting, option: String, word: String?)]
    ) throws(OIDCError) -> [SettingLayers.Entry] {
        var entries: [SettingLayers.Entry] = []
        for (setting, option, word) in options {
            guard let word else { continue }
            entries.append(try entry(setting, word, .option(option), named: option))
        }
        return entries
    }

    static func entry(
        _ setting: Setting, _ word: String, _ origin: SettingLayers.Origin, named source: String
    ) throws(OIDCError) -> SettingLayers.Entry {
        guard let value = setting.kind.parsed(word) else {
            if let mistake = setting.kind.mistake(in: word) {
                throw OIDCError.usage("\(source) is not valid JSON (\(mistake))", hint: .run("help settings"))
            }
            var hint: Hint?
            if case .option(let option) = origin,
                let nearest = Nearest.match(word, among: setting.kind.choices)
            {
                hint = line(setting, nearest[...], option)
            }
            throw OIDCError.usage(
                "\(source): \(mismatch(.string(word), of: setting))", hint: hint ?? .run("help settings"))
        }
        // The names are not the setting's choices, as a fresh token need not know them.
        if setting == .preset { try Preset.check(word) }
        return SettingLayers.Entry(setting: setting, value: value, origin: origin)
    }

    static func mismatch(_ value: JSONValue, of setting: Setting) -> String {
        let isUnclean = value.string.map { !DisplayText.isClean($0) } ?? false
        let condition = isUnclean ? " without invisible characters and unusual spaces" : ""
        let expected = "expected \(setting.kind.expectation)\(condition)"
        guard let stray = setting.kind.strayMember(of: value) else {
            let nearest = value.string.flatMap { Nearest.match($0, among: setting.kind.choices) }
            return "\(expected), found \(shown(value, of: setting))"
                + (nearest.map { ", did you mean \($0)?" } ?? "")
        }
        return "unknown member \(DisplayText.quoted(stray, limit: 80)), \(expected)"
    }

    private static func shown(_ value: JSONValue, of setting: Setting) -> String {
        if setting.kind.isSecret { return "something else" }
        if case .choice(let words) = setting.kind, let text = value.string {
            return "\"\(DisplayText.distinct(text, from: words, limit: 80))\""
        }
        guard let text = value.string else { return DisplayText.address(value.compact, limit: 80) }
        let shown = DisplayText.isClean(text) ? text : DisplayText.escaped(text)
        return DisplayText.address("\"\(shown)\"", limit: 80)
    }

    /// Returns the error for an unknown setting. `besides` are other names that may have been meant.
    static func unknown(_ name: String, in source: String, besides: [String] = []) -> OIDCError {
        let names = Setting.all.map(\.name) + besides
        let nearest = Nearest.match(name, among: names)
        return OIDCError(
            .usage,
            "unknown setting \"\(DisplayText.distinct(name, from: names))\" in \(source)"
                + (nearest.map { ", did you mean \($0)?" } ?? ""),
            hint: .run("help settings"), stage: .settings)
    }
}

extension SettingLayers.Entry {
    /// The option that set this entry: `--issuer`, or `--set issuer`.
    var given: String { origin == .option("--set") ? "\(origin.text) \(setting.name)" : origin.text }
}
