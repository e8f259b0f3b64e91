import CommandLineKit
import OIDCCore
import Posix

struct SwitchCommand: RunnableCommand {
    static let name = "switch"
    static let summary = "Choose the profile that is used by default"
    static let declaration = Declaration<SwitchCommand>(
        discussion: """
            Sets the default profile: that of commands without -p. Without a name, it lists the profiles and who is \
            signed in, and asks at a terminal which one to use. Signing in never changes the default. Programs that \
            were set up with --setup keep the profile that they name.
            """,
        examples: [
            Example("oidc switch work", "work is the default from now on"),
            Example("oidc switch", "choose from a list"),
        ],
        exitCodes: [ExitCode("2", "no name is given, and there is no terminal to ask at")],
        operands: [.optional(\.profile, "NAME", "the profile", completion: .dynamic("profiles"))],
        options: [.group(\.common)])

    var profile: String?
    var common = CommonOptions()

    func validate() throws(UsageError) {
        if let profile { try common.refuseOther(profile) }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        context.traceConfiguration()
        let named = profile ?? common.profile
        let name: String
        if let named { name = named } else { name = try chosen(context) }
        let change = try DefaultProfile.change(to: name, context)
        if context.console.isJSON {
            try context.console.output([
                "profile": .string(change.profile), "previous": JSONValue(change.previous),
            ])
        }
        return 0
    }

    /// Lists the profiles, and asks at a terminal which one to use.
    private func chosen(_ context: CommandContext) throws(OIDCError) -> String {
        let sessions = ProfileSessions(try context.settingsLoader.file(), context)
        let profiles = sessions.profiles
        guard let first = profiles.first else {
            throw .usage("there is no profile to choose", hint: LoginCommand.firstSteps)
        }
        let rows = profiles.enumerated().map { index, profile in
            [
                "\(index + 1)", profile.isDefault ? "*" : "", profile.name, profile.providerName,
                sessions.state(profile),
            ].map { DisplayText.clean($0, limit: 200) }
        }
        let table = Table.text(
            ["#", "", "PROFILE", "PROVIDER", "SIGNED IN"], rows, width: Terminal.width(.standardError))
        guard TerminalQuestion.isPossible, !context.console.isJSON else {
            context.console.note(table)
            let other = profiles.first { !$0.isDefault } ?? first
            throw .usage(
                "no profile is named, and there is no terminal to ask at",
                hint: .run("switch", other.name))
        }
        StandardError.write(
            WrappedText(.standardError).text(Terminal.text(table + "\n", environment: context.environment)))
        while true {
            let answer = try TerminalQuestion.ask("Profile (number or name): ")
            guard let answer, !answer.isEmpty else {
                throw .usage("no profile was chosen; the default stays the same")
            }
            if let profile = profiles.first(where: { $0.name == answer }) { return profile.name }
            if let number = Int(answer), profiles.indices.contains(number - 1) {
                return profiles[number - 1].name
            }
            StandardError.write("  there is no such profile\n")
        }
    }
}

/// The profile of commands without -p.
enum DefaultProfile {
    /// Changes the default profile, and reports what the change does not affect.
    static func change(
        to name: String, _ context: CommandContext
    ) throws(OIDCError) -> (profile: String, previous: String?) {
        let file = try ProfilesFile(context.settingsLoader)
        let previous = (try? context.settingsLoader.file()?.profile(named: nil))?.name
        if let remaining = try file.use(name).remaining { context.console.warn(remaining) }
        context.console.note(
            "The default profile is \(DisplayText.clean(name)).\nPrograms that were set up with --setup keep the "
                + "profile that they name.")
        context.warnOfProfileVariable(unless: name)
        return (name, previous)
    }
}

extension CommandContext {
    /// Warns if OIDC_PROFILE names another profile than the default one.
    func warnOfProfileVariable(unless name: String) {
        guard let variable = environment["OIDC_PROFILE"], !variable.isEmpty, variable != name else { return }
        console.warn(
            "OIDC_PROFILE is set to \(DisplayText.quoted(variable)), which overrides the default profile")
    }
}
