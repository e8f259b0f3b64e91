import CommandLineKit
import OIDCCore
import OIDCSessions
import Posix

/// The reader of the settings' layers: options, `OIDC_…` variables, and one profile of the configuration
/// file.
struct SettingsLoader: Sendable {
    let environment: Variables
    /// The value of `--config` or OIDC_CONFIG.
    let configPath: String?
    var profileName: String?
    /// Whether a file that is named need not exist yet.
    var mayBeMissing = false
    /// Whether the profile of that name does not exist yet, so no profile is in use.
    var isProfileNew = false
    /// The command that runs, which is sent to a lender.
    var command: String?
    /// Whether `--config` names the file.
    private let isNamedByOption: Bool
    /// The profile in OIDC_PROFILE, if `-p` overrides it.
    private let overriddenProfile: String?

    init(environment: Variables, common: CommonOptions) {
        self.environment = environment
        isNamedByOption = common.config != nil
        let named = common.config ?? environment["OIDC_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        configPath = named.map { SettingFile.path($0, home: environment["HOME"]) }
        let variable = environment["OIDC_PROFILE"].flatMap { $0.isEmpty ? nil : $0 }
        profileName = common.profile ?? variable
        overriddenProfile = variable == common.profile || common.profile == nil ? nil : variable
    }

    /// The path of the file, which may not exist; nil if no directory is known.
    var path: String? {
        configPath ?? StateDirectories(environment: environment).configuration
    }

    func requiredPath() throws(OIDCError) -> String {
        if let path = try checkedPath() { return path }
        throw OIDCError.usage(
            "no configuration directory is available: neither HOME nor XDG_CONFIG_HOME is set",
            hint: "name one with --config FILE or OIDC_CONFIG")
    }

    /// Returns the path. Refuses one in the form of Windows.
    private func checkedPath() throws(OIDCError) -> String? {
        let name = isNamedByOption ? "--config" : "OIDC_CONFIG"
        let problem = configPath.flatMap {
            WindowsPath.problem($0, of: name, environment, isWSL: Platform.isWSL(environment))
        }
        if let problem { throw problem }
        return path
    }

    /// Loads the settings. If they name a session that is lent, they are the lender's.
    func load(_ options: [SettingLayers.Entry] = []) throws(OIDCError) -> Settings {
        if let socket = lentSocket(options) {
            return try lentSettings(at: socket, try givenHere(options), profile: profileName)
        }
        let settings = try ownSettings(options)
        guard let socket = LentSocket.path(inSetting: settings.store) else { return settings }
        let given = settings.layers.given.filter { $0.origin.layer != .profile }
        let own = settings.layers.given.filter { $0.origin.layer == .profile && $0.setting != .store }
        // The profile's name is a local one, so it is not sent to the lender.
        return try lentSettings(at: socket, given, profile: nil, own: own)
    }

    /// Returns the entries of options and variables.
    func givenHere(_ options: [SettingLayers.Entry]) throws(OIDCError) -> [SettingLayers.Entry] {
        options + (try ownVariables())
    }

    private func ownSettings(_ options: [SettingLayers.Entry]) throws(OIDCError) -> Settings {
        let path = path ?? ""
        if isProfileNew { return try settings(options, nil, in: path) }
        guard let contents = try ownFile() else { return try load(options, from: nil, in: path) }
        if let profile = ConfigurationFile.selected(profileName, in: contents) {
            return try settings(options, profile, in: path)
        }
        let file = try parsed(contents.bytes, permissions: contents.permissions)
        return try load(options, from: file, in: path)
    }

    func load(
        _ options: [SettingLayers.Entry] = [], from file: ConfigurationFile?, in path: String
    ) throws(OIDCError) -> Settings {
        let profile = try file?.profile(named: profileName)
        if file == nil, let profileName {
            throw OIDCError.usage(
                "there is no profile \(DisplayText.quoted(profileName)): no configuration file"
                    + (path.isEmpty ? ", as neither HOME nor OIDC_CONFIG is set" : " at \(path)"),
                hint: .words("write one with: ", .run("config init")))
        }
        return try settings(options, profile, in: path)
    }

    private func settings(
        _ options: [SettingLayers.Entry], _ profile: (name: String, values: JSONObject)?, in path: String
    ) throws(OIDCError) -> Settings {
        var entries = options + (try ownVariables())
        if let profile {
            var own = try SettingsLoader.entries(of: profile, in: path)
            if isOfSignIn(own, beside: entries),
                let index = own.firstIndex(where: { $0.setting == .resource })
            {
                own[index].isOfSignIn = true
            }
            entries += own
        }
        return Settings(
            SettingLayers(
                profile: profile?.name, isProfileNamed: profileName != nil, home: environment["HOME"],
                entries: entries))
    }

    /// Returns whether a sign-in to the URL of a profile's resource wrote the profile. Looks only if the profile names no
    /// server and variables name one.
    private func isOfSignIn(_ profile: [SettingLayers.Entry], beside given: [SettingLayers.Entry]) -> Bool {
        func names(_ entry: SettingLayers.Entry) -> Bool {
            [.issuer, .tokenEndpoint].contains(entry.setting)
        }
        guard let resources = profile.first(where: { $0.setting == .resource })?.value.array,
            resources.count == 1, let url = resources[0].string.flatMap({ WebURL($0) }),
            !profile.contains(where: names),
            given.contains(where: { names($0) && $0.origin.layer == .variables }),
            let state = StateDirectories(environment: environment).state
        else { return false }
        return (try? ResourceLinks(state: state).wereFor(url, exactly: true)) ?? true
    }

    /// Returns the settings of each profile of the file, without options and variables.
    func profiles() throws(OIDCError) -> [Result<(profile: String, own: [SettingLayers.Entry]), OIDCError>] {
        let file = try file()
        return file?.profiles.map { profile in
            Result { () throws(OIDCError) in
                (profile.name, try SettingsLoader.entries(of: profile, in: path ?? ""))
            }
        } ?? []
    }

    /// Returns whether the file has no profile of a name. False if the file cannot be read.
    func lacks(profile name: String) -> Bool {
        do throws(OIDCError) {
            guard let contents = try ownFile() else { return true }
            guard ConfigurationFile.selected(name, in: contents) == nil else { return false }
            return try !parsed(contents.bytes, permissions: contents.permissions).profiles.contains {
                $0.name == name
            }
        } catch {
            return false
        }
    }

    /// Reads and parses the file. Returns nil if there is none, and none was named or the named one may be missing.
    func file() throws(OIDCError) -> ConfigurationFile? { try contents()?.file }

    /// Reads and parses the file; also returns its bytes. A named file must exist, unless it `mayBeMissing`.
    func contents(
        mayBeMissing: Bool = false
    ) throws(OIDCError) -> (file: ConfigurationFile, bytes: [UInt8])? {
        guard let contents = try ownFile(mayBeMissing: mayBeMissing) else { return nil }
        return (try parsed(contents.bytes, permissions: contents.permissions), contents.bytes)
    }

    /// Reads the file. Refuses one that other users can write, or replace in its directory.
    func ownFile(mayBeMissing: Bool = false) throws(OIDCError) -> UserFile? {
        guard let path = try checkedPath() else { return nil }
        guard let contents = try UserFile.read(path, limit: 4 << 20, named: "configuration") else {
            guard configPath != nil, !mayBeMissing, !self.mayBeMissing else { return nil }
            throw OIDCError(
                .usage, "there is no configuration file at \(DisplayText.clean(path))",
                hint: .run("config init"), stage: .settings)
        }
        guard !contents.isUnderForeignControl else {
            throw ConfigurationFile.error(
                path, "belongs to another user or may be written by others, and it can name programs",
                hint: contents.ownershipHint(path))
        }
        if contents.isRegular, let directory = UserFile.openDirectory(of: path) {
            throw ConfigurationFile.error(
                path,
                "is in \(DisplayText.clean(directory)), in which others may replace it, and it can name programs",
                hint: "let only yourself write there: chmod go-w \(ShellWord.quoted(directory))")
        }
        return contents
    }

    /// Parses the file. Refuses one that holds a secret and that others can read.
    func parsed(_ bytes: [UInt8], permissions: UInt32) throws(OIDCError) -> ConfigurationFile {
        let path = path ?? ""
        let file = try ConfigurationFile(parsing: bytes, path: path)
        guard permissions & 0o077 != 0 else { return file }
        let values = file.profiles.map(\.values)
        let secret =
            values.contains { $0[Setting.clientSecret.name] != nil }
            ? "a client_secret"
            : values.contains { SessionStoreChoice.holdsPassword($0[Setting.store.name]?.string ?? "") }
                ? "the password of a store" : nil
        if let secret {
            throw ConfigurationFile.error(
                path, "contains \(secret) and may be read by others",
                hint: "chmod 600 \(ShellWord.quoted(path))")
        }
        return file
    }

    /// Reads the variables. Those for a server or client belong to the profile in OIDC_PROFILE, even if an option
    /// names another, unless they name a server or client themselves.
    private func ownVariables() throws(OIDCError) -> [SettingLayers.Entry] {
        let variables = try variables()
        let names: [Setting] = [.issuer, .tokenEndpoint, .clientID]
        guard let overriddenProfile, !variables.contains(where: { names.contains($0.setting) }),
            let unused = try file()?.profiles.first(where: { $0.name == overriddenProfile })?.values
        else { return variables }
        let belonging = Belonging(ofUnused: unused)
        return variables.map { entry in
            var entry = entry
            if entry.setting.isForOneServer { entry.belonging = belonging }
            return entry
        }
    }

    /// Reads the variables. Ignores unknown `OIDC_…` variables, which may belong to other programs.
    private func variables() throws(OIDCError) -> [SettingLayers.Entry] {
        var entries: [SettingLayers.Entry] = []
        for name in environment.names(startingWith: "OIDC_").sorted() {
            guard let word = environment[name], !word.isEmpty, let setting = Setting.ofVariable(name) else {
                continue
            }
            entries.append(try SettingsLoader.entry(setting, word, .variable(name), named: name))
        }
        return entries
    }

    private static func entries(
        of profile: (name: String, values: JSONObject), in path: String
    ) throws(OIDCError) -> [SettingLayers.Entry] {
        var entries: [SettingLayers.Entry] = []
        for member in profile.values.members {
            guard let setting = Setting.named(member.name) else {
                throw unknown(
                    member.name, in: "profile \(DisplayText.quoted(profile.name)) of \(path)",
                    besides: profile.name == "default" ? ["profiles", "default_profile"] : [])
            }
            guard let value = setting.kind.normalized(member.value) else {
                throw ConfigurationFile.error(
                    path,
                    "profile \(DisplayText.quoted(profile.name)): \(setting.name): "
                        + mismatch(member.value, of: setting),
                    hint: correction(of: member.value, setting, profile.name))
            }
            let resolved = setting.kind.resolved(value, in: FilePath.split(path).directory)
            entries.append(
                SettingLayers.Entry(setting: setting, value: resolved, origin: .profile(profile.name)))
        }
        return entries
    }
}
