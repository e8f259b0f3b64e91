import CommandLineKit
import OIDCCore
import OIDCSessions

struct ConfigRemoveCommand: RunnableCommand {
    static let name = "rm"
    static let summary = "Remove a profile"
    static let declaration = Declaration<ConfigRemoveCommand>(
        discussion: """
            Removes a profile from the configuration file, and keeps the rest of the file as it is. Its session and \
            its secret's file stay: log out first to end the session. If there is no such profile but \
            `default_profile` names it, that setting is removed.
            """,
        examples: [
            Example("oidc config rm work", "remove the profile work"),
            Example("oidc logout -p work && oidc config rm work", "and end its session first"),
        ],
        operands: [.required(\.profile, "NAME", "the profile", completion: .dynamic("profiles"))],
        options: [.group(\.common)])

    var profile = ""
    var common = CommonOptions()

    func validate() throws(UsageError) { try common.refuseOther(profile) }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        context.traceConfiguration()
        let file = try ProfilesFile(context.settingsLoader)
        // A file that cannot be used is refused below, unless the removal repairs it.
        let sessions = ProfileSessions((try? context.settingsLoader.file()) ?? nil, context)
        let removed = sessions.profiles.first { $0.name == profile }
        let server = ConfigSetCommand.sharedStores(context)[profile]
        _ = try file.remove(profile)
        ResourceRecords(context)?.rename(profile: profile, to: nil)
        let console = context.console
        let path = DisplayText.clean(file.path)
        console.note(
            removed == nil
                ? "Removed default_profile from \(path): there is no profile \(DisplayText.clean(profile))."
                : "Removed profile \(DisplayText.clean(profile)) from \(path).")
        if let removed, let key = removed.key, sessions.sharing(with: removed).isEmpty {
            var line = signOut(key).commandLine
            // Without the profile, nothing says where it is.
            if let server, !ConfigSetCommand.sharedStores(context).values.contains(server) {
                let own = Hint.run("logout", ["-p", profile]).commandLine
                line = "put the profile back, for its store \(server), and run \(own)"
            }
            switch sessions.report(removed) {
            case .success(.some): console.note("Its session stays; to end it: \(line)")
            case .success(nil): break
            case .failure(let error):
                console.note("Its session, if there is one, stays (\(error.message)); to end it: \(line)")
            }
        }
        let names = (try? context.settingsLoader.file())?.profiles.map(\.name) ?? []
        if removed?.isDefault == true, names.count > 1, !names.contains("default") {
            let line = context.common.completing(.run("switch NAME"))
            console.note("No profile is the default one now; to choose one: \(line)")
        }
        if console.isJSON {
            try console.output(["path": .string(file.path), "removed": .string(profile)])
        }
        return 0
    }

    /// Returns the command that ends a session without its profile: that of a resource is found by its URL.
    private func signOut(_ key: SessionKey) -> Hint {
        let url = key.grant.needsUser ? key.resources.first : nil
        return .run("logout", url.map(key.arguments) ?? key.options)
    }
}

extension CommonOptions {
    /// Refuses `-p` with another profile than the operand's.
    func refuseOther(_ operand: String) throws(UsageError) {
        if let other = profile, other != operand {
            throw UsageError("the profile is named twice: \(UsageError.quoted(operand)) and -p")
        }
    }
}
