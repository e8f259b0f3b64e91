import CommandLineKit
import OIDCCore
import Posix

/// Checks of the configuration file, the variables, and overridden settings.
struct SettingsChecks {
    let context: CommandContext
    let options: ProviderOptions

    /// Checks every profile, not only the one in use.
    func configuration(_ settings: Settings) throws(OIDCError) -> Finding.Outcome {
        let path = context.settingsLoader.path
        let file = try context.settingsLoader.file()
        for profile in file?.profiles ?? [] { try file?.check(profile.name) }
        guard let profile = settings.profile else {
            return .ok("no profile (\(path ?? "no file")); options and variables alone")
        }
        return .ok("profile \(DisplayText.clean(profile)) of \(DisplayText.clean(path ?? ""))")
    }

    private static let directories = [
        "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
    ]

    /// Reports ignored variables: unknown ones, empty secrets, and directories that are not absolute paths.
    func variables() -> Finding.Outcome {
        let relative = SettingsChecks.directories.filter { name in
            context.environment[name].map { !$0.isEmpty && !$0.hasPrefix("/") } ?? false
        }
        guard relative.isEmpty else {
            return .warning(
                "not an absolute path, and ignored: \(relative.joined(separator: ", "))",
                hint: "use absolute paths")
        }
        // A CI job that may not read a secret gets an empty variable.
        let empty = Setting.clientSecrets.map(\.variable).filter { context.environment[$0]?.isEmpty == true }
        guard empty.isEmpty else {
            return .warning(
                "empty, and ignored: \(empty.joined(separator: ", "))",
                hint: "check that this job or shell may read the secret, or unset the variable")
        }
        let ours = context.environment.names(startingWith: "OIDC_").sorted()
        let stray = StrayVariables(context.environment)
        guard !stray.names.isEmpty else {
            return .ok(ours.isEmpty ? "none" : ours.joined(separator: ", "))
        }
        return .warning(
            "unknown, and ignored: \(stray.names.joined(separator: ", "))",
            hint: stray.meant.first.map { "did you mean \($0.nearest)?" } ?? .run("help settings"))
    }

    /// Reports unused settings: overridden by a stronger layer, or belonging to another provider or client.
    func precedence(_ settings: Settings) -> Finding.Outcome {
        var hidden = settings.layers.withheld.compactMap { entry -> String? in
            guard case .variable(let name) = entry.origin else { return nil }
            return "\(name) (of another provider or client)"
        }
        var values = JSONObject()
        if let profile = settings.profile, let file = try? context.settingsLoader.file(),
            let own = try? file.profile(named: profile)?.values
        {
            values = own
        }
        for name in values.names {
            guard let entry = settings.layers.entries.first(where: { $0.setting.name == name }) else {
                hidden.append("\(name) (\(reason(name, settings)))")
                continue
            }
            if case .profile = entry.origin { continue }
            hidden.append("\(name) (by \(entry.origin.text))")
        }
        guard !hidden.isEmpty else { return .ok("no setting is overridden") }
        return .warning(
            "settings are not used: \(hidden.joined(separator: ", "))",
            hint: .words("unset what overrides them, or see: ", .run("config show")))
    }

    /// Returns why a setting of the profile is not used if no setting of the same name overrides it.
    private func reason(_ name: String, _ settings: Settings) -> String {
        let isWithheld = settings.layers.withheld.contains {
            $0.setting.name == name && $0.origin.layer == .profile
        }
        guard !isWithheld,
            let other = settings.layers.entries.first(where: { Setting.clientSecrets.contains($0.setting) })
        else {
            return "of another provider or client"
        }
        return "by \(other.origin.text)"
    }
}
