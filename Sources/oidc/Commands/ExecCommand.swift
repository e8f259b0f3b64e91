import CommandLineKit
import OIDCCore
import OIDCProxy
import OIDCSessions
import Posix

struct ExecCommand: RunnableCommand {
    static let name = "exec"
    static let summary = "Run a command with a token in its environment"
    static let declaration = Declaration<ExecCommand>(
        discussion: """
            The command replaces this process, so it receives signals, and its exit status is the result. The \
            token is passed in an environment variable, never as an argument. The client secret and the identity \
            tokens of CI jobs are removed from the environment. With --proxy, the command gets a URL in \
            OIDC_PROXY_URL instead of a token, and this process stays to serve it; see oidc proxy. The command and other \
            programs of this user can still read the sessions and run oidc token: --isolate keeps the command from it. \
            With --login, a sign-in while the command runs leaves it the terminal: the URL is printed, and the browser opens, \
            but not with --isolate. One server can cause at most five sign-ins in ten minutes.
            """,
        usage: ["[options] [--] CMD [ARGUMENT...]"],
        examples: [
            Example("oidc exec -- ./deploy.sh", "the script reads OIDC_ACCESS_TOKEN"),
            Example("oidc exec --env VAULT_TOKEN --min-valid 3600 -- make", "another variable, a long job"),
            Example("oidc exec --proxy https://api.example.com -- agent", "the token stays here"),
        ],
        exitCodes: [
            ExitCode("126", "the command cannot be run"), ExitCode("127", "there is no such command"),
        ],
        operands: [
            .rest(\.command, "CMD", atLeast: 1, "the command and its arguments", completion: .command)
        ],
        stopsAtFirstOperand: true,
        options: [
            .value(\.variable, "--env", "NAME", "the variable for the token"),
            .flag(\.isIDToken, "--id-token", "pass the ID token instead of the access token"),
            .repeated(
                \.proxies, "--proxy", "URL",
                "serve this URL on loopback instead of passing a token; a further one is OIDC_PROXY_URL_2"),
            .flag(
                \.isIsolated, "--isolate",
                "with --proxy: hide the sessions and settings from the command (needs bubblewrap)"),
            .flag(
                \.mayLogIn, "--login",
                "sign in if there is no session, or, with --proxy, if a server asks for more"),
            .flag(\.isWithoutProfile, "--no-profile", "with --login: do not save the sign-in as a profile"),
            .number(
                \.minimumValidity, "--min-valid", "SECONDS", in: 0...604_800,
                "how long the job takes; warns if the token may expire earlier"),
            .group(\.options), .group(\.common),
        ])

    var command: [String] = []
    var variable = Self.standardVariable
    var isIDToken = false
    var proxies: [String] = []
    var isIsolated = false
    var mayLogIn = false
    var isWithoutProfile = false
    var minimumValidity = 60
    var options = ProviderOptions()
    var common = CommonOptions()
    var hasJSONForm: Bool { false }

    func validate() throws(UsageError) {
        try UsageError.refuseWithoutLogin(isWithoutProfile, mayLogIn)
        guard let first = variable.utf8.first, !ASCII.isDigit(first),
            variable.utf8.allSatisfy({ ASCII.isAlphanumeric($0) || $0 == .underscore })
        else { throw UsageError("--env takes a variable's name: letters, digits and _") }
        guard proxies.isEmpty || (variable == Self.standardVariable && !isIDToken) else {
            throw UsageError("--proxy passes no token, so it excludes --env and --id-token")
        }
        guard !isIsolated || !proxies.isEmpty else {
            throw UsageError("--isolate is for --proxy: without it, the command has the token")
        }
    }

    private static let standardVariable = "OIDC_ACCESS_TOKEN"

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        var context = context.keepingProfile(!isWithoutProfile)
        context.executesAnother = proxies.isEmpty
        if let failure = Executable.problem(command.first ?? "", in: context.environment) {
            return report(failure, context)
        }
        let settings = try context.settings(options)
        guard proxies.isEmpty else { return try serve(ProviderContext(settings, context)) }
        let token = try context.target(options).with(mayLogIn: mayLogIn) { account throws(OIDCError) in
            try CredentialToken(isIDToken ? .id : .access, account, minimumValidity: Int64(minimumValidity))
        }
        warn(token, context)
        try Interruption.throwIfPending()
        Interruption.uninstall()
        var variables = context.environment.filter { $0 == ProcessEnvironment.keyLog }
        variables[variable] = token.text.revealed
        let failure = Executable.replaceThisProcess(
            RawArgument.last(command.count), setting: variables,
            removing: ProcessEnvironment.secretVariables(in: context.environment) + settings.secretVariables)
        return report(failure, context)
    }

    /// Runs the command with a proxy, which stops when the command ends.
    private func serve(_ provider: ProviderContext) throws(OIDCError) -> Int32 {
        let context = provider.context
        let isolation = isIsolated ? try Isolation(provider) : nil
        if isIsolated { Isolation.keepAnswers() }
        let routes = try ProxyRoutes.routes(proxies, provider, for: "exec --proxy")
        let (sessions, indices) = try ProxySession.sessions(
            of: routes, provider, mayLogIn: mayLogIn, minimumValidity: Int64(minimumValidity))
        let first = try sessions.map { session throws(OIDCError) in
            try session.firstToken(toleratesOutage: false)
        }
        var start: [RawArgument] = []
        if let isolation {
            for session in sessions {
                do throws(OIDCError) { try session.keepSecrets() } catch {
                    guard error.kind != .interrupted else { throw error }
                    context.console.warn(error, "the token cannot be refreshed")
                }
            }
            start = isolation.launchWords(for: command.first ?? "")
            isolation.runOnlyKeptPrograms()
        }
        var configuration = try sessions[0].configuration(timeout: 300)
        configuration.interrupt = Interruption.begin
        let server = try ProxyServer(
            .port(nil), routes: Array(zip(routes, indices)),
            sources: try sessions.map { session throws(OIDCError) in
                try session.source(ownsTerminal: false, mayOpenBrowser: !isIsolated)
            }, first: first, configuration)
        var variables = context.environment.filter { $0 == ProcessEnvironment.keyLog }
        for index in routes.indices {
            variables["OIDC_PROXY_URL" + (index == 0 ? "" : "_\(index + 1)")] = server.url(of: index)
        }
        let exceptions = ProxyVariables.exceptions(in: context.environment)
        for name in exceptions.names() { variables[name] = exceptions[name] }
        var removed =
            ProcessEnvironment.secretVariables(in: context.environment) + ProcessEnvironment.jobVariables
            + provider.settings.secretVariables + [Self.standardVariable]
            + context.environment.names(startingWith: "OIDC_PROXY_URL")
        if let isolation { removed += Isolation.variables + isolation.secretVariables }
        try Interruption.throwIfPending()
        isolation?.ignoreStops()
        let child: ForegroundChild
        do throws(Errno) {
            child = try Executable.start(
                start + RawArgument.last(command.count),
                named: isolation == nil ? command.first ?? "" : Isolation.shell, in: context.environment,
                setting: variables, removing: removed, signalingGrandchild: isolation != nil)
        } catch {
            return report((error, Executable.status(error)), context)
        }
        StandardError.startBacklog()
        _ = server.run(also: [child.endDescriptor])
        return child.finish()
    }

    /// Warns if the token expires before the job ends. A token with half of its lifetime left is not
    /// refreshed, even if that is less than the job takes.
    private func warn(_ token: CredentialToken, _ context: CommandContext) {
        guard let left = token.expiresAt?.seconds(since: context.now), left < Int64(minimumValidity) else {
            return
        }
        context.console.warn(
            "the token expires in \(TimeWords.duration(left)), before the "
                + "\(TimeWords.duration(Int64(minimumValidity))) of --min-valid are over")
    }

    /// Reports a command that cannot be run, with a shell's exit code.
    private func report(_ failure: (reason: Errno, status: Int32), _ context: CommandContext) -> Int32 {
        let error = OIDCError(
            .failed, "\(DisplayText.quoted(command.first ?? "")) cannot be run: \(failure.reason)",
            hint: failure.reason.startHint
                ?? (failure.status == 127
                    ? "check its name and PATH, or give its path" : "check that the file may be executed"))
        Diagnostics.write(error, asJSON: context.console.isJSON, exitCode: failure.status)
        return failure.status
    }
}
