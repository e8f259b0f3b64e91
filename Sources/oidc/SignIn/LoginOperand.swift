import CommandLineKit
import OIDCCore

/// The meaning of the operand of `oidc login`, in this order: a profile, a provider known by name, a URL.
enum LoginOperand {
    case profile(String)
    case preset(Preset)
    case url(WebURL)

    init(_ text: String, profiles: [String], _ context: CommandContext) throws(OIDCError) {
        if profiles.contains(text) {
            self = .profile(text)
        } else if let preset = Preset.named(text) {
            self = .preset(preset)
        } else if text.includes("://") {
            self = .url(try ResourceOperand.url(text, command: "login", context))
        } else if let url = LoginOperand.url(withoutScheme: text) {
            self = .url(url)
        } else {
            throw LoginOperand.unknown(text, profiles)
        }
    }

    var url: WebURL? {
        guard case .url(let url) = self else { return nil }
        return url
    }

    /// Returns the URL that a word with a dot or a port stands for; nil for any other word.
    static func url(withoutScheme text: String) -> WebURL? {
        let host = text.prefix { !"/?#".contains($0) }
        // `./file` is a path.
        guard host.contains(".") || host.contains(":"), !host.hasPrefix("."), !text.contains("="),
            !text.contains("@"),
            let url = WebURL.completing(text), url.fragment == nil
        else { return nil }
        return url
    }

    /// Returns the error for a word that names nothing, with the nearest name or the commands that work.
    private static func unknown(_ text: String, _ profiles: [String]) -> OIDCError {
        if let equals = text.firstIndex(of: "="), equals != text.startIndex {
            return missingName(text, String(text[..<equals]))
        }
        let names = profiles + Preset.all.map(\.name)
        let shown = "\"\(DisplayText.distinct(text, from: names, limit: 80))\""
        let problem = "\(shown) is not a profile, a provider known by name, or a URL"
        if let nearest = Nearest.match(text, among: profiles)
            ?? Nearest.match(ASCII.lowercased(text), among: names) ?? Preset.meant(by: ASCII.lowercased(text))
        {
            return .usage(
                "\(problem), did you mean \(DisplayText.clean(nearest))?",
                hint: .run("login", nearest))
        }
        // As in `localhost` or `user@sso.example.com`.
        let meant =
            ResourceOperand.meantURL(text)
            ?? (text.contains("@") ? ResourceOperand.meantURL("https://\(text)") : nil)
        if let meant, !meant.host.hasPrefix(".") {
            return .usage(problem, hint: .run("login", meant.text))
        }
        return .usage(
            "\(problem) (oidc help providers lists the names)",
            hint: .run("login --issuer URL --client-id ID"))
    }

    /// Returns the error for a parameter without the provider that it belongs to.
    private static func missingName(_ word: String, _ key: String) -> OIDCError {
        let preset = Preset.all.first { preset in preset.parameters.contains { $0.name == key } }
        return .usage(
            "the provider's name is missing before \(DisplayText.quoted(word, limit: 80))",
            hint: preset.map { .run("login", $0.name, word, "--client-id", "ID") }
                ?? .run("help providers"))
    }
}

/// The profiles of a provider known by name.
struct PresetProfiles {
    let preset: Preset
    let context: CommandContext

    /// Returns the profile to sign in with; nil if none is for this provider with these parameters and options.
    func profile(_ words: [String], _ options: [SettingLayers.Entry]) throws(OIDCError) -> String? {
        guard let file = try context.settingsLoader.file() else { return nil }
        let words = preset.takingApart(words)
        let identity: [Setting] = [.issuer, .tokenEndpoint, .clientID, .account]
        let fitting = file.profiles.map(\.name).filter { name in
            guard let settings = try? file.settings(of: name, home: nil),
                let match = Preset.matching(settings), match.preset.name == preset.name,
                words.allSatisfy({ match.has($0) })
            else { return false }
            return options.allSatisfy { entry in
                !identity.contains(entry.setting) || settings.layers[entry.setting] == entry.value
            }
        }
        if fitting.count < 2 { return fitting.first }
        if let chosen = try file.profile(named: nil)?.name, fitting.contains(chosen) { return chosen }
        let lines = fitting.prefix(5).map { Hint.run("login", $0) }
        throw .usage(
            "several profiles are for \(preset.name): "
                + DisplayText.clean(fitting.joined(separator: ", "), limit: 200),
            hint: .alternatives(lines))
    }
}

extension PresetMatch {
    /// Returns whether a parameter has a value, given as `NAME=VALUE`.
    fileprivate func has(_ word: String) -> Bool {
        preset.parameters.contains { parameter in
            guard word.hasPrefix("\(parameter.name)="), let value = values[parameter.name] else {
                return false
            }
            return parameter.check.completed(String(word.dropFirst(parameter.name.count + 1))) == value
        }
    }
}
