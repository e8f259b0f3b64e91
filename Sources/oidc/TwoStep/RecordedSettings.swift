import OIDCCore
import OIDCSessions
import Posix

/// The settings of a sign-in as its first step found them, for the process that finishes it.
///
/// A secret that was given as a value is not among them, only the name of its setting: the waiting process
/// gets it through a pipe, and a second step without that process asks for it again. A value that may hold one, as an
/// extra parameter does, is kept with the secrets of the sign-in.
struct RecordedSettings {
    let profile: String?
    let isProfileNamed: Bool
    let entries: [SettingLayers.Entry]
    /// The names of the secrets that are left out.
    let secrets: [String]

    /// Creates the record of settings, with the paths in it resolved, as the second step may run elsewhere.
    init(_ settings: Settings) {
        let layers = settings.layers
        (profile, isProfileNamed) = (layers.profile, layers.isProfileNamed)
        entries = layers.entries.filter { !$0.mayHoldSecret }.map(\.resolved)
        secrets = RecordedSettings.secrets(of: settings).map(\.setting.name)
    }

    /// Returns the secrets that were given as values, or that the profile contains.
    static func secrets(of settings: Settings) -> [SettingLayers.Entry] {
        settings.layers.entries.filter { $0.holdsSecret && $0.origin.layer != .resource }
    }

    /// Returns the secrets of a client that was registered automatically, which nobody can be asked for, and what else
    /// may hold a secret.
    static func kept(of settings: Settings) -> [SettingLayers.Entry] {
        settings.layers.entries.filter {
            $0.mayHoldSecret && (!$0.holdsSecret || $0.origin.layer == .resource)
        }.map(\.resolved)
    }

    /// Returns the words of a command line without those that give a value which may hold a secret.
    static func words(_ words: [String]) -> [String] {
        var kept: [String] = []
        for word in words {
            let (option, value): (String, String)
            if let last = kept.last, ["--set", "--param"].contains(last) {
                (option, value) = (last, word)
            } else if let equals = word.firstIndex(of: "="), word.hasPrefix("--") {
                (option, value) = (String(word[..<equals]), String(word[equals...].dropFirst()))
            } else {
                (option, value) = ("", word)
            }
            let name = String(value.prefix { $0 != "=" })
            let isSecret =
                option == "--param" || option == "--set" && Setting.named(name)?.kind.mayBeSecret != false
            if !isSecret { kept.append(word) } else if kept.last == option { kept.removeLast() }
        }
        return kept
    }

    init?(_ json: JSONValue) {
        guard let list = json["entries"]?.array else { return nil }
        entries = list.compactMap { SettingLayers.Entry(recorded: $0) }
        guard entries.count == list.count else { return nil }
        profile = json["profile"]?.string
        isProfileNamed = json["profile_named"]?.bool ?? false
        secrets = (json["secrets"]?.array ?? []).compactMap(\.string)
    }

    var json: JSONValue {
        [
            "profile": JSONValue(profile), "profile_named": .bool(isProfileNamed),
            "entries": .array(entries.map(\.recorded)), "secrets": .array(secrets.map { .string($0) }),
        ]
    }

    /// Returns the settings with the secrets that were left out.
    func settings(with secrets: [SettingLayers.Entry], home: String?) -> Settings {
        Settings(
            SettingLayers(
                chosen: entries + secrets, profile: profile, isProfileNamed: isProfileNamed, home: home))
    }
}

extension SettingLayers.Entry {
    fileprivate var mayHoldSecret: Bool { holdsSecret || setting.kind.mayBeSecret }

    /// The form of an entry in a record.
    var recorded: JSONValue {
        let kind: String
        let name: String
        switch origin {
        case .option(let option): (kind, name) = ("option", option)
        case .variable(let variable): (kind, name) = ("variable", variable)
        case .profile(let profile): (kind, name) = ("profile", profile)
        case .resource(let url): (kind, name) = ("resource", url)
        }
        return [
            "setting": .string(setting.name), "value": value, "from": .string(kind), "name": .string(name),
        ]
    }

    init?(recorded json: JSONValue) {
        guard let setting = json["setting"]?.string.flatMap({ Setting.named($0) }),
            let value = json["value"].flatMap({ setting.kind.normalized($0) }),
            let name = json["name"]?.string
        else { return nil }
        let origin: SettingLayers.Origin
        switch json["from"]?.string {
        case "option": origin = .option(name)
        case "variable": origin = .variable(name)
        case "profile": origin = .profile(name)
        case "resource": origin = .resource(name)
        default: return nil
        }
        self.init(setting: setting, value: value, origin: origin)
    }

    /// The entry with paths that do not depend on the working directory.
    fileprivate var resolved: SettingLayers.Entry {
        SettingLayers.Entry(
            setting: setting, value: setting.kind.resolved(value, in: UserFile.currentDirectory),
            origin: origin)
    }
}

/// The form of a URL operand in a record.
extension ResourceOperand {
    var recorded: JSONObject {
        var object = JSONObject()
        object["url"] = .string(url.text)
        object["settings"] = RecordedSettings(settings).json
        return object
    }

    init?(recorded json: JSONValue, _ context: CommandContext) {
        guard let url = json["url"]?.string.flatMap({ WebURL($0) }),
            let settings = json["settings"].flatMap({ RecordedSettings($0) })
        else { return nil }
        self.init(url, settings.settings(with: [], home: context.environment["HOME"]), context)
    }
}

/// The form of a resource's target in a record.
extension ResourceTarget {
    var recorded: JSONValue {
        var object = operand.recorded
        object["link"] = link.json
        object["earlier_link"] = earlierLink?.json
        object["newly_registered"] = .bool(isNewlyRegistered)
        object["scope_remembered"] = .bool(isScopeRemembered)
        object["issuer_named"] = .bool(isIssuerNamed)
        return .object(object)
    }

    init?(recorded json: JSONValue, _ context: CommandContext) {
        guard let operand = ResourceOperand(recorded: json, context),
            let link = json["link"].flatMap({ ResourceLink($0) })
        else { return nil }
        self.init(
            operand: operand, link: link, earlierLink: json["earlier_link"].flatMap { ResourceLink($0) },
            isNewlyRegistered: json["newly_registered"]?.bool ?? false,
            isScopeRemembered: json["scope_remembered"]?.bool ?? false,
            isIssuerNamed: json["issuer_named"]?.bool ?? false)
    }
}
