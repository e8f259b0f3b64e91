import CommandLineKit
import OIDCCore
import Posix

/// The configuration file as commands change it: read and written under its lock, so no change of another process is
/// lost, with the text around a change kept. What `oidc config check` would reject is refused.
struct ProfilesFile {
    private let loader: SettingsLoader
    let path: String

    /// The result of a change to a profile.
    struct Outcome {
        let profile: String
        /// The error of a profile that was already invalid and still is.
        let remaining: OIDCError?
    }

    init(_ loader: SettingsLoader) throws(OIDCError) {
        self.loader = loader
        path = try loader.requiredPath()
    }

    /// Returns the profiles of the file. The settings of a flat file are those of the profile `default`.
    func profiles() throws(OIDCError) -> JSONObject { ProfilesFile.profiles(of: try parsed(try own())) }

    /// Whether the file has a default profile of another name than `default`.
    var hasOtherDefault: Bool {
        let chosen = try? parsed(own())?.profile(named: nil)?.name
        return chosen != nil && chosen != "default"
    }

    /// Writes a new profile. `entries` gets the existing profiles and returns the new one's settings, under the
    /// file's lock.
    ///
    /// Their paths are relative to the working directory, and are made absolute.
    func write(
        as name: String, replacing: Bool, _ entries: (JSONObject) throws(OIDCError) -> [SettingLayers.Entry]
    ) throws(OIDCError) {
        try locked { () throws(OIDCError) in
            let own = try own()
            let profiles = ProfilesFile.profiles(of: try parsed(own))
            try checkName(name, replacing: replacing, among: profiles)
            return try text(of: own, adding: try entries(profiles), as: name, asDefault: true)
        }
    }

    /// Adds a profile for which `make` chooses the name and the settings, under the file's lock. Returns the
    /// name; nil if `make` returns nil, and then the file is not changed.
    ///
    /// The profile becomes the default one only if there is no other.
    func add(
        _ make: (JSONObject) throws(OIDCError) -> (name: String, entries: [SettingLayers.Entry])?
    ) throws(OIDCError) -> String? {
        guard try make(try profiles()) != nil else { return nil }
        var added: String?
        try locked { () throws(OIDCError) in
            let own = try own()
            let profiles = ProfilesFile.profiles(of: try parsed(own))
            // Another process may have added it meanwhile.
            guard let made = try make(profiles) else { return own?.bytes ?? [] }
            added = made.name
            return try text(of: own, adding: made.entries, as: made.name, asDefault: profiles.isEmpty)
        }
        return added
    }

    /// Sets settings of the profile in use. Creates the profile if the file has none.
    func set(_ entries: [SettingLayers.Entry]) throws(OIDCError) -> Outcome {
        try rewrite { own throws(OIDCError) in
            guard let own, let file = try parsed(own), let profile = try used(in: file) else {
                let name = loader.profileName ?? "default"
                try ProfilesFile.checkName(name)
                let made = edited(try text(of: own, adding: entries, as: name, asDefault: true), name)
                if let problem = made.outcome.remaining { throw problem }
                return made
            }
            var text = JSONText(own.bytes)
            var values = valid(profile)
            for member in ProfilesFile.members(entries).members {
                text.set(member.name, to: member.value, in: objectPath(of: profile.name, in: file))
                values[member.name] = member.value
            }
            if let problem = problem(values, of: profile.name) { throw problem }
            return edited(text.bytes, profile.name)
        }
    }

    /// Removes settings of the profile in use, and members that are not settings.
    func unset(_ names: [String]) throws(OIDCError) -> Outcome {
        try rewrite { own throws(OIDCError) in
            guard let own, let file = try parsed(own), let profile = try used(in: file) else {
                throw noFile
            }
            var text = JSONText(own.bytes)
            var values = valid(profile)
            for name in names {
                guard profile.values[name] != nil else { throw notSet(name, in: profile) }
                text.remove(name, in: objectPath(of: profile.name, in: file))
                values[name] = nil
            }
            if let problem = problem(values, of: profile.name) { throw problem }
            return edited(text.bytes, profile.name)
        }
    }

    /// Makes a profile the default one. Repairs a file whose default profile does not exist.
    func use(_ name: String) throws(OIDCError) -> Outcome {
        try rewrite { own throws(OIDCError) in
            guard let own else { throw noFile }
            guard (try? JSONValue(parsing: own.bytes))?.object?["profiles"] != nil else {
                _ = try parsed(own)?.profile(named: name)
                return edited(own.bytes, name)
            }
            var text = JSONText(own.bytes)
            text.remove("default_profile", in: [])
            guard
                let profile = try loader.parsed(text.bytes, permissions: own.permissions).profile(named: name)
            else { throw noFile }
            text = JSONText(own.bytes)
            text.set("default_profile", to: .string(profile.name), in: [], first: true)
            return edited(text.bytes, profile.name)
        }
    }

    /// Removes a profile. If it was the default one, no profile is the default afterwards, unless only one is left.
    /// Repairs a file whose default profile is of that name and does not exist.
    func remove(_ name: String) throws(OIDCError) -> Outcome {
        try rewrite { own throws(OIDCError) in
            if let own, let bytes = ProfilesFile.withoutDefault(name, in: own.bytes) {
                _ = try loader.parsed(bytes, permissions: own.permissions)
                return (bytes, Outcome(profile: name, remaining: nil))
            }
            guard let own, let file = try parsed(own), let profile = try file.profile(named: name) else {
                throw noFile
            }
            guard !file.isFlat else { return (Array("{}\n".utf8), Outcome(profile: name, remaining: nil)) }
            var text = JSONText(own.bytes)
            if file.defaultProfile == profile.name { text.remove("default_profile", in: []) }
            text.remove(profile.name, in: ["profiles"])
            return (text.bytes, Outcome(profile: name, remaining: nil))
        }
    }

    /// Returns the text of a file without a default profile that does not exist; nil if the file has another
    /// fault.
    private static func withoutDefault(_ name: String, in bytes: [UInt8]) -> [UInt8]? {
        guard let object = (try? JSONValue(parsing: bytes))?.object,
            object["default_profile"]?.string == name, let profiles = object["profiles"]?.object,
            profiles[name] == nil
        else { return nil }
        var text = JSONText(bytes)
        text.remove("default_profile", in: [])
        return text.bytes
    }

    /// Renames a profile, also where another profile names it.
    func rename(_ name: String, to other: String) throws(OIDCError) -> Outcome {
        try ProfilesFile.checkName(other)
        return try rewrite { own throws(OIDCError) in
            guard let own, let file = try parsed(own), let profile = try file.profile(named: name) else {
                throw noFile
            }
            guard !file.profiles.contains(where: { $0.name == other }) else {
                throw .usage(
                    "profile \(DisplayText.quoted(other)) already exists in \(DisplayText.clean(path))",
                    hint: .words("choose another name, or: ", .run("config rm", other)))
            }
            guard !file.isFlat else {
                var profiles = JSONObject()
                profiles[other] = .object(profile.values)
                return edited(ProfilesFile.text(profiles, default: other), other)
            }
            var text = JSONText(own.bytes)
            // The profile used without -p stays the same.
            if try file.profile(named: nil)?.name == profile.name, file.profiles.count > 1 {
                text.set("default_profile", to: .string(other), in: [], first: true)
            } else if file.defaultProfile == profile.name {
                text.set("default_profile", to: .string(other), in: [])
            }
            text.set(other, to: .object(profile.values), in: ["profiles"])
            text.remove(profile.name, in: ["profiles"])
            let setting = Setting.userProfile.name
            for user in file.profiles where user.values[setting]?.string == profile.name {
                let user = user.name == profile.name ? other : user.name
                text.set(setting, to: .string(other), in: ["profiles", user])
            }
            return edited(text.bytes, other)
        }
    }

    private func edited(_ bytes: [UInt8], _ profile: String) -> (bytes: [UInt8], outcome: Outcome) {
        (bytes, Outcome(profile: profile, remaining: problem(bytes, profile: profile)))
    }

    /// Returns the profile to change; nil if the file has none.
    private func used(
        in file: ConfigurationFile
    ) throws(OIDCError) -> (name: String, values: JSONObject)? {
        guard !file.profiles.isEmpty else { return nil }
        if let profile = try file.profile(named: loader.profileName) { return profile }
        let names = file.profiles.prefix(5).map { DisplayText.clean($0.name, limit: 60) }
        throw .usage(
            "no profile is chosen, and \(DisplayText.clean(path)) has several: \(names.joined(separator: ", "))",
            hint: .run("config use", file.profiles[0].name))
    }

    /// Returns the path of the profile's object in the file.
    private func objectPath(of profile: String, in file: ConfigurationFile) -> [String] {
        file.isFlat ? [] : ["profiles", profile]
    }

    /// Returns the new text of a file with a profile added or replaced; a missing or flat one becomes a list of
    /// profiles. `asDefault` makes it the default one if the file has none.
    private func text(
        of own: UserFile?, adding entries: [SettingLayers.Entry], as name: String, asDefault: Bool
    ) throws(OIDCError) -> [UInt8] {
        let profile = JSONValue.object(ProfilesFile.members(entries))
        guard let own, let file = try parsed(own), !file.isFlat else {
            var profiles = ProfilesFile.profiles(of: try parsed(own))
            let chosen = profiles.names.first ?? name
            profiles[name] = profile
            return ProfilesFile.text(profiles, default: chosen)
        }
        var text = JSONText(own.bytes)
        // The profile used without -p stays the same, even if it was only used because there was no other.
        let chosen = try file.profile(named: nil)?.name ?? (asDefault ? name : nil)
        text.set(name, to: profile, in: ["profiles"])
        let now = try ConfigurationFile(parsing: text.bytes, path: path).profile(named: nil)?.name
        if let chosen, now != chosen {
            text.set("default_profile", to: .string(chosen), in: [], first: true)
        }
        return text.bytes
    }

    /// Returns the text of a new file with these profiles.
    static func text(_ profiles: JSONObject, default name: String) -> [UInt8] {
        let document: JSONValue = ["default_profile": .string(name), "profiles": .object(profiles)]
        return Array((document.configuration(within: 0) + "\n").utf8)
    }

    /// Returns the members of a profile. Paths on the command line are relative to the working directory.
    private static func members(_ entries: [SettingLayers.Entry]) -> JSONObject {
        var members = JSONObject()
        for entry in entries {
            members[entry.setting.name] = entry.setting.kind.resolved(
                entry.value, in: UserFile.currentDirectory)
        }
        return members
    }

    private static func profiles(of file: ConfigurationFile?) -> JSONObject {
        var profiles = JSONObject()
        for profile in file?.profiles ?? [] { profiles[profile.name] = .object(profile.values) }
        return profiles
    }

    /// Returns the members of a profile that are valid together. A change is checked against these, so existing
    /// mistakes can be fixed one by one and none can be added.
    private func valid(_ profile: (name: String, values: JSONObject)) -> JSONObject {
        guard problem(profile.values, of: profile.name) != nil else { return profile.values }
        var (kept, rest) = (JSONObject(), profile.values.members)
        while let index = rest.firstIndex(where: { member in
            var tried = kept
            tried[member.name] = member.value
            return problem(tried, of: profile.name) == nil
        }) {
            kept[rest[index].name] = rest[index].value
            rest.remove(at: index)
        }
        return kept
    }

    /// Returns the error of `oidc config check` for a profile with these members.
    private func problem(_ values: JSONObject, of profile: String) -> OIDCError? {
        var profiles = JSONObject()
        profiles[profile] = .object(values)
        return problem(Array((["profiles": .object(profiles)] as JSONValue).compact.utf8), profile: profile)
    }

    /// Returns the error of `oidc config check` for a profile of a file.
    private func problem(_ bytes: [UInt8], profile: String) -> OIDCError? {
        do {
            try loader.parsed(bytes, permissions: 0o600).check(profile)
            return nil
        } catch {
            return error
        }
    }

    private var noFile: OIDCError {
        .usage(
            UserFile.isThere(path)
                ? "\(DisplayText.clean(path)) contains no profile"
                : "there is no configuration file at \(DisplayText.clean(path))",
            hint: .words("write one with: ", .run("config init")))
    }

    private func notSet(_ name: String, in profile: (name: String, values: JSONObject)) -> OIDCError {
        let nearest = Nearest.match(name, among: profile.values.names)
        return .usage(
            "\(DisplayText.quoted(name, limit: 80)) is not set in profile \(DisplayText.quoted(profile.name))"
                + (nearest.map { ", did you mean \(DisplayText.clean($0))?" } ?? ""),
            hint: .run("config show", "-p", profile.name))
    }

    /// Checks a new profile's name, before anything is registered or fetched.
    func checkName(_ name: String, replacing: Bool) throws(OIDCError) {
        try checkName(name, replacing: replacing, among: try profiles())
    }

    private func checkName(_ name: String, replacing: Bool, among profiles: JSONObject) throws(OIDCError) {
        try ProfilesFile.checkName(name)
        guard !replacing, profiles[name] != nil else { return }
        throw OIDCError.usage(
            "profile \(DisplayText.quoted(name)) already exists in \(path)",
            hint: "choose another name with -p, or replace it with --force")
    }

    static func checkName(_ name: String) throws(OIDCError) {
        guard !name.isEmpty else {
            throw OIDCError.usage("a profile needs a name", hint: .options(["-p", "NAME"]))
        }
        guard DisplayText.clean(name).utf8.elementsEqual(name.utf8) else {
            throw OIDCError.usage(
                "a profile name may have at most 300 characters, and no invisible ones",
                hint: .options(["-p", "NAME"]))
        }
    }

    /// Reads the file; nil if there is none.
    private func own() throws(OIDCError) -> UserFile? { try loader.ownFile(mayBeMissing: true) }

    private func parsed(_ file: UserFile?) throws(OIDCError) -> ConfigurationFile? {
        try file.map { file throws(OIDCError) in
            try loader.parsed(file.bytes, permissions: file.permissions)
        }
    }

    /// Replaces the file under its lock.
    private func rewrite(
        _ content: (UserFile?) throws(OIDCError) -> (bytes: [UInt8], outcome: Outcome)
    ) throws(OIDCError) -> Outcome {
        // Checks the change first: a refused one creates nothing, not even a directory.
        var outcome = try content(try own()).outcome
        try locked { () throws(OIDCError) in
            let change = try content(try own())
            outcome = change.outcome
            return change.bytes
        }
        return outcome
    }

    /// Replaces the file by what `content` returns under its lock.
    private func locked(_ content: () throws(OIDCError) -> [UInt8]) throws(OIDCError) {
        do throws(OIDCError) {
            try UserFile.rewrite(path, named: "configuration", with: content)
        } catch {
            guard error.kind == .failed else { throw error }
            var error = error
            error.hint = error.hint ?? "name a file that you can write, by --config FILE or OIDC_CONFIG"
            throw error
        }
    }
}
