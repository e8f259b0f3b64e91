import CommandLineKit
import OIDCCore
import Posix

/// The profiles of a configuration file; a flat object is one profile named `default`.
struct ConfigurationFile: Sendable {
    let path: String
    let defaultProfile: String?
    /// Whether the file is one object of settings, without a list of profiles.
    let isFlat: Bool
    let profiles: [(name: String, values: JSONObject)]

    init(parsing bytes: [UInt8], path: String) throws(OIDCError) {
        self.path = path
        let structure = FileStructure(path: path)
        let object = try structure.document(bytes)
        isFlat = object["profiles"] == nil
        guard let listed = object["profiles"] else {
            defaultProfile = nil
            profiles = object.isEmpty ? [] : [("default", object)]
            return
        }
        try structure.checkMembers(object)
        profiles = try structure.profiles(listed)
        defaultProfile = try structure.defaultProfile(object["default_profile"], among: profiles.map(\.name))
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
                hint: .run(profiles.isEmpty ? "config init" : "config list"))
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
    fileprivate static func listed(_ names: [String], beside name: String) -> String {
        guard !names.isEmpty else { return "; it has no profiles" }
        let shown = names.prefix(5).map { DisplayText.distinct($0, from: [name]) }.joined(separator: ", ")
        return " (profiles: \(shown)\(names.count > 5 ? ", …" : ""))"
    }

    static func error(_ path: String, _ problem: String, hint: Hint? = nil) -> OIDCError {
        OIDCError(.usage, "configuration \(DisplayText.clean(path)) \(problem)", hint: hint, stage: .settings)
    }
}

/// The checks of a file's structure: its members, profiles and default profile.
private struct FileStructure {
    let path: String

    /// Parses the file. An empty file, as `touch` makes it, has no settings.
    func document(_ bytes: [UInt8]) throws(OIDCError) -> JSONObject {
        guard bytes.contains(where: { !" \t\r\n".utf8.contains($0) }) else { return JSONObject() }
        let json: JSONValue
        do { json = try JSONValue(parsing: bytes) } catch {
            throw fault("is not valid JSON (\(error.inFile))")
        }
        guard let object = json.object else { throw fault("must hold a JSON object, not \(json.typeName)") }
        return object
    }

    /// Refuses members beside `profiles` and `default_profile`.
    func checkMembers(_ object: JSONObject) throws(OIDCError) {
        let known = ["profiles", "default_profile"]
        guard let stray = object.names.first(where: { !known.contains($0) }) else { return }
        let nearest = Nearest.match(stray, among: known)
        let fix =
            nearest != nil || Setting.named(stray) == nil ? "correct it" : "move it into a profile"
        throw fault(
            "has an unknown member \"\(DisplayText.distinct(stray, from: known))\" beside \"profiles\""
                + (nearest.map { ", did you mean \($0)?" } ?? ""), fix: fix)
    }

    func profiles(_ listed: JSONValue) throws(OIDCError) -> [(name: String, values: JSONObject)] {
        guard let members = listed.object?.members else {
            throw fault("profiles: expected an object, found \(listed.typeName)")
        }
        return try members.map { member throws(OIDCError) in
            guard let values = member.value.object else {
                throw fault(
                    "profile \(DisplayText.quoted(member.name)): expected an object, found "
                        + member.value.typeName)
            }
            return (member.name, values)
        }
    }

    func defaultProfile(_ value: JSONValue?, among names: [String]) throws(OIDCError) -> String? {
        guard let value else { return nil }
        guard let name = value.string else {
            throw fault(
                "default_profile: expected the name of a profile, found \(value.typeName)", using: names.first
            )
        }
        guard !names.contains(name) else { return name }
        throw fault(
            "default_profile: there is no profile \"\(DisplayText.distinct(name, from: names))\""
                + ConfigurationFile.listed(names, beside: name),
            using: Nearest.match(name, among: names) ?? names.first, insteadOf: name)
    }

    private func fault(_ problem: String, fix: String = "fix it") -> OIDCError {
        ConfigurationFile.error(path, problem, hint: .words("\(fix), then: ", .run("config check")))
    }

    /// Returns an error about the default profile; the hint chooses another one, or removes one that does not exist.
    private func fault(
        _ problem: String, using profile: String?, insteadOf missing: String? = nil
    ) -> OIDCError {
        ConfigurationFile.error(
            path, problem,
            hint: profile.map { .run("config use", $0) } ?? missing.map { .run("config rm", $0) }
                ?? "remove default_profile")
    }
}
