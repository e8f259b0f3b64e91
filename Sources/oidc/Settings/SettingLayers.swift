import OIDCCore

/// The entries of options, variables and the profile, with their origins.
final class SettingLayers: Sendable {
    enum Origin: Hashable, Sendable {
        case option(String)
        case variable(String)
        case profile(String)
        /// A value found for the resource whose URL was given as an operand.
        case resource(String)

        /// The option that adds parameters to those of weaker layers, instead of replacing them.
        static let parameter = Origin.option("--param")
        /// A value of a stored session, if the settings name no provider. It is used like an option, but the
        /// user did not give it.
        static let session = Origin.option("the session")
        /// The issuer to which a URL led. It is used like an option, but the user did not give it.
        static let found = Origin.option("the URL")
        /// A value from the file of a pending sign-in. It is used like an option, but the user did not give it.
        static let pending = Origin.option("--pending")
        /// What a resource asks for, in a sign-in of the settings' own session.
        static let challenge = Origin.option("the resource's challenge")

        var text: String {
            switch self {
            case .option(let name): name
            case .variable(let name): name
            case .profile(let name): "profile \(DisplayText.clean(name))"
            case .resource(let url): "resource \(DisplayText.clean(url))"
            }
        }

        /// The layer. Options override variables, variables override the profile, and the values found for a
        /// resource override all.
        var layer: Layer {
            switch self {
            case .securityProfile: .profile
            case .option: .options
            case .variable: .variables
            case .profile: .profile
            case .resource: .resource
            }
        }
    }

    enum Layer: Int, CaseIterable, Sendable {
        case profile, variables, options, resource
    }

    struct Entry: Sendable {
        let setting: Setting
        private(set) var value: JSONValue
        let origin: Origin
        /// The server and client of the value; nil for one that was found for the command, and until the
        /// layers are known.
        var belonging: Belonging?
        /// Whether the value is the resource of a profile that a sign-in to its URL wrote, and variables name a server.
        var isOfSignIn = false

        /// Adds the members of a weaker entry that this one does not set.
        fileprivate mutating func adopt(_ weaker: Entry) {
            guard var members = value.object, let others = weaker.value.object else { return }
            for member in others.members where members[member.name] == nil {
                members[member.name] = member.value
            }
            value = .object(members)
        }

        /// Returns the entry without members of its object; nil if none is left.
        func without(members names: [String]) -> Entry? {
            guard var object = value.object else { return self }
            for name in names { object[name] = nil }
            var entry = self
            entry.value = .object(object)
            return object.isEmpty ? nil : entry
        }

        /// Returns whether this stronger entry overrides another one. A setting for the client secret
        /// overrides the other two of a weaker layer.
        fileprivate func hides(_ other: Entry) -> Bool {
            if setting == other.setting { return true }
            return setting.reach == .client && origin.layer != other.origin.layer
                && Setting.clientSecrets.contains(setting) && Setting.clientSecrets.contains(other.setting)
        }
    }

    /// The profile's name, if one is in use.
    let profile: String?
    /// Whether an option or a variable names the profile.
    let isProfileNamed: Bool
    /// The home directory, for files that settings name.
    let home: String?
    /// The effective entries: the strongest of each setting.
    let entries: [Entry]
    /// All entries that were given, strongest first.
    let given: [Entry]
    /// The entries that belong to another provider or client than the one in use.
    let withheld: [Entry]

    /// Creates the layers from all entries, strongest first. Leaves out the settings of a provider or client
    /// if a stronger layer names another one: a secret is sent only to the provider it was configured for.
    convenience init(
        profile: String?, isProfileNamed: Bool = false, home: String? = nil, entries given: [Entry]
    ) {
        self.init(
            profile: profile, isProfileNamed: isProfileNamed, home: home, entries: given, implied: [])
    }

    /// Creates the layers with values for settings that are not set; these may be used with every server.
    init(
        profile: String?, isProfileNamed: Bool, home: String?, entries given: [Entry], implied: [Entry]
    ) {
        self.profile = profile
        self.isProfileNamed = isProfileNamed
        self.home = home
        let given = given.stamped
        self.given = given
        let destination = Destination(of: given)
        var (entries, withheld): ([Entry], [Entry]) = ([], [])
        for entry in given + implied {
            if let destination, !entry.mayReach(destination) {
                withheld.append(entry)
            } else if let index = entries.firstIndex(where: { $0.hides(entry) }) {
                let isFirstBelow = !given.contains {
                    $0.setting == entry.setting && $0.origin != .parameter
                        && $0.origin.layer.rawValue > entry.origin.layer.rawValue
                }
                if entries[index].origin == .parameter, isFirstBelow { entries[index].adopt(entry) }
            } else {
                entries.append(entry)
            }
        }
        self.entries = entries
        self.withheld = withheld
    }

    /// Creates the layers of another process, which has chosen the effective entries.
    init(chosen entries: [Entry], profile: String?, isProfileNamed: Bool, home: String?) {
        self.profile = profile
        self.isProfileNamed = isProfileNamed
        self.home = home
        self.entries = entries
        given = entries
        withheld = []
    }

    /// Returns the effective entry of a setting.
    func entry(_ setting: Setting) -> Entry? { entries.first { $0.setting == setting } }

    subscript(setting: Setting) -> JSONValue? { entry(setting)?.value }
    func text(_ setting: Setting) -> String? { self[setting]?.string }
    func integer(_ setting: Setting) -> Int64? { self[setting]?.integer }
    func flag(_ setting: Setting) -> Bool { self[setting]?.bool ?? false }
    func texts(_ setting: Setting) -> [String] { self[setting]?.array?.compactMap(\.string) ?? [] }
    func records(_ setting: Setting) -> [JSONValue] { self[setting]?.array ?? [] }

    /// Returns why a setting has no value: it is not set, or is for another provider than the one in use.
    func absence(of setting: Setting) -> String {
        let entry = withheld.first { $0.setting == setting }
        return "\(setting.name) "
            + (entry.map { "(\($0.origin.text)) is for another provider than the one in use" } ?? "is not set")
    }

    /// Returns the value of a setting as an enum.
    func choice<Choice: RawRepresentable<String>>(_ setting: Setting) -> Choice? {
        text(setting).flatMap { Choice(rawValue: $0) }
    }

    func parameters(_ setting: Setting) -> [FormEncoding.Pair] {
        self[setting]?.object?.members.map { FormEncoding.Pair($0.name, $0.value.string ?? "") } ?? []
    }

    /// Returns the file that a setting names; `~/` is the home directory.
    func file(_ setting: Setting) -> SettingFile? {
        text(setting).map { SettingFile(setting: setting, path: SettingFile.path($0, home: home)) }
    }
}

/// A file that a setting names, read on demand.
struct SettingFile: Sendable {
    let setting: Setting
    let path: String

    var name: String { setting.name }

    /// Expands `~/` at the start of a path.
    static func path(_ path: String, home: String?) -> String {
        guard path.hasPrefix("~/"), let home, !home.isEmpty else { return path }
        return home + path.dropFirst()
    }
}
