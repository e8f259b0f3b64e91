import CommandLineKit
import OIDCCore
import OIDCSystem

struct ConfigInitCommand: RunnableCommand {
    static let name = "init"
    static let summary = "Write a profile, after checking the provider"
    static let declaration = Declaration<ConfigInitCommand>(
        discussion: """
            Writes the options into a profile of the configuration file, after fetching the provider's metadata. \
            The profile is named by -p, or `default`. Other profiles are not changed.
            """,
        examples: [
            Example(
                "oidc config init --issuer https://login.example.com --client-id cli", "the first profile"),
            Example("oidc config init -p work --issuer URL --client-id ID", "another profile"),
        ],
        options: [
            .flag(\.isForced, "--force", "replace a profile of that name"),
            .group(\.provider), .group(\.common),
        ])

    var isForced = false
    var provider = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        var loader = context.settingsLoader
        guard let path = loader.path else {
            throw OIDCError.usage(
                "there is no place for a configuration file: neither HOME nor XDG_CONFIG_HOME is set",
                hint: "name one with --config FILE or OIDC_CONFIG")
        }
        let entries = try provider.entries()
        let name = loader.profileName ?? "default"
        // What is written must do by itself; variables say how the provider is reached, as with a `ca_file`.
        let written = Settings(profile: nil, entries: entries)
        loader.profileName = nil
        let around = try loader.load(from: nil, in: path).entries.filter {
            $0.setting.owner == .anyone && $0.setting != .issuer
        }
        let writer = ProfileWriter(path: path)
        try writer.checkName(name, replacing: isForced)
        let setup = ProviderSetup(Settings(profile: nil, entries: written.entries + around), context)
        for setting in [Setting.issuer, .clientID] where written[setting] == nil {
            if setting == .issuer, written[.tokenEndpoint] != nil { continue }
            throw OIDCError.usage(
                "config init: \(setting.name) is not given",
                hint: "oidc config init --issuer URL --client-id ID (a variable does not go into a profile)")
        }
        _ = try setup.metadata(try setup.environment(), for: [.authorization, .token])
        try writer.write(as: name, replacing: isForced) { _ in entries }
        context.console.note(
            "Wrote profile \(DisplayText.clean(name)) to \(DisplayText.clean(path)). Now: oidc login"
                + (name == "default" ? "" : " -p \(ShellWord.quoted(name))"))
        if context.console.isJSON {
            try context.console.output(["path": .string(path), "profile": .string(name)])
        }
        return 0
    }
}

/// Adds a profile to the configuration file and leaves the rest of it alone.
struct ProfileWriter {
    let path: String

    /// `entries` gives them, with the profiles that are there, while no other process writes; its files are
    /// named as seen from here, and written so that they are found from the file.
    func write(
        as name: String, replacing: Bool, _ entries: (JSONObject) throws(OIDCError) -> [Settings.Entry]
    ) throws(OIDCError) {
        try UserFile.rewrite(path, named: "configuration") { () throws(OIDCError) in
            try checkName(name, replacing: replacing)
            var (document, profiles) = try existing()
            var profile = JSONObject()
            for entry in try entries(profiles) {
                profile[entry.setting.name] = entry.setting.kind.resolved(
                    entry.value, in: UserFile.currentDirectory)
            }
            profiles[name] = .object(profile)
            document["profiles"] = .object(profiles)
            if document["default_profile"] == nil { document["default_profile"] = .string(name) }
            return Array((JSONValue.object(document).indented + "\n").utf8)
        }
    }

    /// Asked for before anything is registered or checked.
    func checkName(_ name: String, replacing: Bool) throws(OIDCError) {
        guard !name.isEmpty else { throw OIDCError.usage("a profile needs a name", hint: "-p NAME") }
        guard DisplayText.clean(name).utf8.elementsEqual(name.utf8) else {
            throw OIDCError.usage(
                "a profile's name has no control or invisible characters, and 300 at most", hint: "-p NAME")
        }
        guard !replacing, try existing().profiles[name] != nil else { return }
        throw OIDCError.usage(
            "there is a profile \(DisplayText.quoted(name)) in \(path) already",
            hint: "choose another name with -p, or replace it with --force")
    }

    /// A flat file becomes the profile `default` of one with profiles.
    func existing() throws(OIDCError) -> (document: JSONObject, profiles: JSONObject) {
        guard let file = try UserFile.read(path, limit: 4 << 20, named: "configuration") else {
            return (JSONObject(), JSONObject())
        }
        _ = try ConfigurationFile(parsing: file.bytes, path: path)
        guard let object = (try? JSONValue(parsing: file.bytes))?.object else {
            return (JSONObject(), JSONObject())
        }
        if let profiles = object["profiles"]?.object { return (object, profiles) }
        guard !object.isEmpty else { return (JSONObject(), JSONObject()) }
        var profiles = JSONObject()
        profiles["default"] = .object(object)
        return (JSONObject(), profiles)
    }
}
