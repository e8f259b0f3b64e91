import CommandLineKit
import OIDCCore
import OIDCSystem

/// The profiles of a configuration file; a flat object is one profile named `default`.
struct ConfigurationFile: Sendable {
    let path: String
    /// The option that names the file: empty, or ` --config FILE`.
    let option: String
    let defaultProfile: String?
    /// Whether the file is one object of settings, without a list of profiles.
    let isFlat: Bool
    let profiles: [(name: String, values: JSONObject)]

    /// Parses the file. `option` makes a command use the same file: empty, or ` --config FILE`.
    init(parsing bytes: [UInt8], path: String, option: String = "") throws(OIDCError) {
        self.path = path
        self.option = option
        let fix = "fix it, then: oidc config check\(option)"
        let json: JSONValue
        do { json = try JSONValue(parsing: bytes) } catch {
            throw ConfigurationFile.error(
                path, "is not valid JSON (\(error.inFile))", hint: fix)
        }
        guard let object = json.object else {
            throw ConfigurationFile.error(
                path, "must hold a JSON object, not \(json.typeName)",
                hint: fix)
        }
        isFlat = object["profiles"] == nil
        guard let listed = object["profiles"] else {
            defaultProfile = nil
            profiles = object.isEmpty ? [] : [("default", object)]
            return
        }
        let known = ["profiles", "default_profile"]
        if let stray = object.names.first(where: { !known.contains($0) }) {
            let nearest = Nearest.match(stray, among: known)
            let problem =
                "has an unknown member \"\(DisplayText.distinct(stray, from: known))\" beside \"profiles\""
            throw ConfigurationFile.error(
                path, problem + (nearest.map { ", did you mean \($0)?" } ?? ""),
                hint: nearest != nil || Setting.named(stray) == nil
                    ? "correct it, then: oidc config check\(option)"
                    : "move it into a profile, then: oidc config check\(option)")
        }
        guard let members = listed.object?.members else {
            throw ConfigurationFile.error(
                path, "profiles: expected an object, found \(listed.typeName)",
                hint: fix)
        }
        var profiles: [(String, JSONObject)] = []
        for member in members {
            guard let values = member.value.object else {
                throw ConfigurationFile.error(
                    path,
                    "profile \(DisplayText.quoted(member.name)): expected an object, found "
                        + member.value.typeName, hint: fix)
            }
            profiles.append((member.name, values))
        }
        self.profiles = profiles
        switch object["default_profile"] {
        case nil: defaultProfile = nil
        case .string(let name)? where profiles.contains { $0.0 == name }: defaultProfile = name
        case .string(let name)?:
            let nearest = Nearest.match(name, among: profiles.map(\.0)) ?? profiles.first?.0
            throw ConfigurationFile.error(
                path,
                "default_profile: there is no profile "
                    + "\"\(DisplayText.distinct(name, from: profiles.map(\.0)))\""
                    + ConfigurationFile.listed(profiles.map(\.0), beside: name),
                hint: nearest.map { "oidc config use \(ShellWord.quoted($0))\(option)" }
                    ?? "remove default_profile")
        case let other?:
            throw ConfigurationFile.error(
                path, "default_profile: expected the name of a profile, found \(other.typeName)",
                hint: profiles.first.map { "oidc config use \(ShellWord.quoted($0.0))\(option)" }
                    ?? "remove default_profile")
        }
    }

    /// Returns the profile that `profile(named:)` finds, without parsing the others. Returns nil if anything
    /// is unusual, or if a file that others can read may hold a secret: then the whole file must be parsed
    /// and checked.
    static func selected(_ name: String?, in file: UserFile) -> (name: String, values: JSONObject)? {
        let bytes = file.bytes
        let secrets = [Setting.clientSecret.name, Setting.store.name]
        guard let outline = try? JSONOutline(of: bytes, expanding: "profiles", seeking: secrets),
            let profiles = outline.inner, !outline.mayHoldName || file.permissions & 0o077 == 0
        else { return nil }
        func named(_ name: String) -> JSONOutline.Member? {
            let found = profiles.filter { $0.name == name }
            return found.count == 1 ? found[0] : nil
        }
        var defaultName: String?
        for member in outline.members where member.name != "profiles" {
            guard member.name == "default_profile", defaultName == nil,
                let name = (try? JSONValue(parsing: Array(bytes[member.value])))?.string, named(name) != nil
            else { return nil }
            defaultName = name
        }
        let name = name ?? defaultName ?? (profiles.count == 1 ? profiles[0].name : "default")
        guard outline.members.count == (defaultName == nil ? 1 : 2), let profile = named(name),
            let values = (try? JSONValue(parsing: Array(bytes[profile.value])))?.object
        else { return nil }
        return (name, values)
    }

    /// Returns the named profile; without a name, the default or the only one.
    func profile(named name: String?) throws(OIDCError) -> (name: String, values: JSONObject)? {
        if let name {
            if let found = profiles.first(where: { $0.name == name }) { return found }
            let nearest = Nearest.match(name, among: profiles.map(\.name))
            throw OIDCError.usage(
                "there is no profile \"\(DisplayText.distinct(name, from: profiles.map(\.name)))\" in "
                    + DisplayText.clean(path)
                    + (nearest.map { ", did you mean \(DisplayText.distinct($0, from: [name]))?" }
                        ?? ConfigurationFile.listed(profiles.map(\.name), beside: name)),
                hint: profiles.isEmpty ? "oidc config init" : "oidc config list\(option)")
        }
        if let name = defaultProfile ?? (profiles.count == 1 ? profiles[0].name : nil) {
            return profiles.first { $0.name == name }
        }
        return profiles.first { $0.name == "default" }
    }

    /// Checks the settings of a profile, without variables and without reading other files.
    func check(_ profile: String) throws(OIDCError) {
        try settings(of: profile, home: nil).check()
    }

    /// Returns the files with secrets that a profile names but that do not exist.
    func missingSecrets(of profile: String, home: String?) throws(OIDCError) -> [SettingFile] {
        let settings = try settings(of: profile, home: home)
        let files = settings.client.secretFiles + [settings.sharedStore.keyFile].compactMap { $0 }
        return files.filter { !UserFile.isThere($0.path) }
    }

    /// Returns the settings of a profile, without options and variables.
    func settings(of profile: String, home: String?) throws(OIDCError) -> Settings {
        var common = CommonOptions()
        common.profile = profile
        var environment: Variables = [:]
        environment["HOME"] = home
        return try SettingsLoader(environment: environment, common: common).load(from: self, in: path)
    }

    /// Lists the first profiles, for an error about an unknown name.
    private static func listed(_ names: [String], beside name: String) -> String {
        guard !names.isEmpty else { return "; it has no profiles" }
        let shown = names.prefix(5).map { DisplayText.distinct($0, from: [name]) }.joined(separator: ", ")
        return " (profiles: \(shown)\(names.count > 5 ? ", …" : ""))"
    }

    static func error(_ path: String, _ problem: String, hint: String? = nil) -> OIDCError {
        OIDCError(.usage, "configuration \(DisplayText.clean(path)) \(problem)", hint: hint, stage: .settings)
    }
}
