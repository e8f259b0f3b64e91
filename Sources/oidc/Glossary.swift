import CommandLineKit
import OIDCCore

/// The explanations of single words for `oidc help WORD`: settings, variables, and providers known by name.
enum Glossary {
    static func section(_ word: String) -> ManSection? {
        let name = ASCII.lowercased(word)
        let variable = "oidc_"
        let bare = name.hasPrefix(variable) ? String(name.dropFirst(variable.utf8.count)) : underscored(name)
        if let setting = Setting.named(bare) { return section(setting) }
        if let entry = Manual.environment.first(where: { $0.term.pieces(between: ", ").contains(word[...]) })
        {
            return ManSection("VARIABLE", topic: word, entries: [(term: word, meaning: entry.meaning)])
        }
        return Preset.named(name).map(PresetReference.section)
    }

    private static func underscored(_ name: String) -> String {
        String(name.drop { $0 == "-" }.map { $0 == "-" ? "_" : $0 })
    }

    private static func section(_ setting: Setting) -> ManSection {
        let option = Program.oidc.descriptions.lazy.flatMap(\.options)
            .first { $0.environment == setting.variable || $0.name == "--\(dashed(setting.name))" }
        var entries = [(term: "value", meaning: setting.kind.expectation)]
        entries.append(("variable", setting.variable))
        if !setting.kind.isSecret {
            let own = option.map { $0.valueName.map { "\(option?.name ?? "") \($0), or " } ?? "" } ?? ""
            entries.append(("option", "\(own)--set \(setting.name)=VALUE"))
            entries.append(("in a profile", "oidc config set \(setting.name)=VALUE"))
        }
        return ManSection(
            "SETTING", topic: setting.name, "\(setting.name): \(setting.summary)", entries: entries)
    }

    private static func dashed(_ name: String) -> String { String(name.map { $0 == "_" ? "-" : $0 }) }
}
