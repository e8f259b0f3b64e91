import OIDCCore
import Posix

/// A writer that adds a profile to the configuration file and keeps the others.
struct ProfileWriter {
    let path: String

    /// Writes the profile. `entries` gets the existing profiles and returns the new one's settings, under the
    /// file's lock.
    ///
    /// Their paths are relative to the working directory, and are made absolute.
    func write(
        as name: String, replacing: Bool, _ entries: (JSONObject) throws(OIDCError) -> [SettingLayers.Entry]
    ) throws(OIDCError) {
        try ConfigurationFile.rewrite(path) { () throws(OIDCError) in
            try checkName(name, replacing: replacing)
            return try written(ProfileWriter.profile(try entries(try profiles())), as: name)
        }
    }

    /// Adds a profile for which `make` chooses the name and the settings, under the file's lock. Returns the name;
    /// nil if `make` returns nil, and then the file stays as it is.
    ///
    /// The profile becomes the default one only if there is no other.
    func add(
        _ make: (JSONObject) throws(OIDCError) -> (name: String, entries: [SettingLayers.Entry])?
    ) throws(OIDCError) -> String? {
        guard try make(try profiles()) != nil else { return nil }
        var added: String?
        try ConfigurationFile.rewrite(path) { () throws(OIDCError) in
            let profiles = try profiles()
            // Another process may have added it meanwhile.
            guard let made = try make(profiles) else { return try file()?.bytes ?? [] }
            added = made.name
            return try written(
                ProfileWriter.profile(made.entries), as: made.name, keepingDefault: !profiles.isEmpty)
        }
        return added
    }

    private static func profile(_ entries: [SettingLayers.Entry]) -> JSONValue {
        var profile = JSONObject()
        for entry in entries {
            profile[entry.setting.name] = entry.setting.kind.resolved(
                entry.value, in: UserFile.currentDirectory)
        }
        return .object(profile)
    }

    /// Returns the new file. If the old one has a list of profiles, the text around the profile is kept.
    /// `keepingDefault` leaves a file without a default profile without one.
    private func written(
        _ profile: JSONValue, as name: String, keepingDefault: Bool = false
    ) throws(OIDCError) -> [UInt8] {
        if let old = try file(), !(try ConfigurationFile(parsing: old.bytes, path: path).isFlat) {
            var text = JSONText(old.bytes)
            // The profile used without -p stays the same, even if it was only used because there was no
            // other.
            let chosen = try chosen(in: text.bytes) ?? (keepingDefault ? nil : name)
            text.set(name, to: profile, in: ["profiles"])
            if let chosen, try self.chosen(in: text.bytes) != chosen {
                text.set("default_profile", to: .string(chosen), in: [], first: true)
            }
            return text.bytes
        }
        var profiles = try profiles()
        let chosen = profiles.names.first ?? name
        profiles[name] = profile
        return ProfileWriter.file(profiles, default: chosen)
    }

    /// Returns a new file with these profiles.
    static func file(_ profiles: JSONObject, default name: String) -> [UInt8] {
        let document: JSONValue = ["default_profile": .string(name), "profiles": .object(profiles)]
        return Array((document.configuration(within: 0) + "\n").utf8)
    }

    private func file() throws(OIDCError) -> UserFile? {
        try UserFile.read(path, limit: 4 << 20, named: "configuration")
    }

    /// Returns the name of the profile used without -p.
    private func chosen(in bytes: [UInt8]) throws(OIDCError) -> String? {
        try ConfigurationFile(parsing: bytes, path: path).profile(named: nil)?.name
    }

    /// Whether the file has a default profile of another name than `default`.
    var hasOtherDefault: Bool {
        guard let file = try? file(), let chosen = try? chosen(in: file.bytes)
        else { return false }
        return chosen != "default"
    }

    /// Checks the profile's name, before anything is registered or fetched.
    func checkName(_ name: String, replacing: Bool) throws(OIDCError) {
        try ProfileWriter.checkName(name)
        guard !replacing, try profiles()[name] != nil else { return }
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

    /// Returns the profiles of the file. The settings of a flat file are those of the profile `default`.
    func profiles() throws(OIDCError) -> JSONObject {
        var profiles = JSONObject()
        guard let file = try file() else { return profiles }
        for profile in try ConfigurationFile(parsing: file.bytes, path: path).profiles {
            profiles[profile.name] = .object(profile.values)
        }
        return profiles
    }
}
