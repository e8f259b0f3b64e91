import CommandLineKit
import OIDCCore
import Posix

/// An editor of settings in the text of the configuration file, under its lock. It refuses a change that
/// `oidc config check` would reject.
struct ProfileEditor {
    let loader: SettingsLoader
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

    /// Sets settings of the profile in use. Creates the profile if the file has none.
    func set(_ entries: [SettingLayers.Entry]) throws(OIDCError) -> Outcome {
        // Paths on the command line are relative to the working directory.
        let members = entries.map { entry in
            (entry.setting.name, entry.setting.kind.resolved(entry.value, in: UserFile.currentDirectory))
        }
        return try rewrite { own throws(OIDCError) in
            guard let own, case let file = try loader.parsed(own), let profile = try used(in: file) else {
                return try made(of: members)
            }
            var text = JSONText(own.bytes)
            var values = valid(profile)
            for (name, value) in members {
                text.set(name, to: value, in: objectPath(of: profile.name, in: file))
                values[name] = value
            }
            if let problem = problem(values, of: profile.name) { throw problem }
            return edited(text.bytes, profile.name)
        }
    }

    /// Removes settings of the profile in use, and members that are not settings.
    func unset(_ names: [String]) throws(OIDCError) -> Outcome {
        try rewrite { own throws(OIDCError) in
            guard let own, case let file = try loader.parsed(own), let profile = try used(in: file) else {
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
                _ = try loader.parsed(own).profile(named: name)
                return edited(own.bytes, name)
            }
            var text = JSONText(own.bytes)
            text.remove("default_profile", in: [])
            let file = try loader.parsed(text.bytes, permissions: own.permissions)
            guard let profile = try file.profile(named: name) else { throw noFile }
            text = JSONText(own.bytes)
            text.set("default_profile", to: .string(profile.name), in: [], first: true)
            return edited(text.bytes, profile.name)
        }
    }

    /// Removes a profile. If it was the default one, no profile is the default afterwards, unless only one is left.
    func remove(_ name: String) throws(OIDCError) -> Outcome {
        try rewrite { own throws(OIDCError) in
            guard let own, case let file = try loader.parsed(own),
                let profile = try file.profile(named: name)
            else { throw noFile }
            guard !file.isFlat else { return (Array("{}\n".utf8), Outcome(profile: name, remaining: nil)) }
            var text = JSONText(own.bytes)
            if file.defaultProfile == profile.name { text.remove("default_profile", in: []) }
            text.remove(profile.name, in: ["profiles"])
            return (text.bytes, Outcome(profile: name, remaining: nil))
        }
    }

    /// Renames a profile, also where another profile names it.
    func rename(_ name: String, to other: String) throws(OIDCError) -> Outcome {
        try ProfileWriter.checkName(other)
        return try rewrite { own throws(OIDCError) in
            guard let own, case let file = try loader.parsed(own),
                let profile = try file.profile(named: name)
            else { throw noFile }
            guard !file.profiles.contains(where: { $0.name == other }) else {
                throw .usage(
                    "profile \(DisplayText.quoted(other)) already exists in \(DisplayText.clean(path))",
                    hint: .words("choose another name, or: ", .run("config rm", other)))
            }
            guard !file.isFlat else {
                var profiles = JSONObject()
                profiles[other] = .object(profile.values)
                return edited(ProfileWriter.file(profiles, default: other), other)
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

    /// Returns a new file with one profile.
    private func made(
        of members: [(String, JSONValue)]
    ) throws(OIDCError) -> (bytes: [UInt8], outcome: Outcome) {
        let name = loader.profileName ?? "default"
        try ProfileWriter.checkName(name)
        var profile = JSONObject()
        for (name, value) in members { profile[name] = value }
        var profiles = JSONObject()
        profiles[name] = .object(profile)
        let bytes = ProfileWriter.file(profiles, default: name)
        if let problem = problem(bytes, profile: name) { throw problem }
        return (bytes, Outcome(profile: name, remaining: nil))
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

    /// Replaces the file under its lock.
    private func rewrite(
        _ content: (UserFile?) throws(OIDCError) -> (bytes: [UInt8], outcome: Outcome)
    ) throws(OIDCError) -> Outcome {
        // Checks the change first: a refused one creates nothing, not even a directory.
        var outcome = try content(try loader.ownFile(mayBeMissing: true)).outcome
        try ConfigurationFile.rewrite(path) { () throws(OIDCError) in
            let change = try content(try loader.ownFile(mayBeMissing: true))
            outcome = change.outcome
            return change.bytes
        }
        return outcome
    }
}

extension SettingsLoader {
    fileprivate func parsed(_ file: UserFile) throws(OIDCError) -> ConfigurationFile {
        try parsed(file.bytes, permissions: file.permissions)
    }
}
