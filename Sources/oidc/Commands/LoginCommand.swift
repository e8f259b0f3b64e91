import CommandLineKit
import OIDCCore
import OIDCSessions
import Posix

struct LoginCommand: RunnableCommand {
    static let name = "login"
    static let summary = "Sign in with the browser or a device code"
    static let declaration = Declaration<LoginCommand>(
        discussion: """
            Always starts a new sign-in. It takes the name of a profile, the name of a provider (oidc help providers), \
            or a URL: that of a provider, or that of a resource, which says which server issues its tokens. \
            Without one, it signs in with the default profile, or asks at a terminal what to set up. A sign-in that \
            no profile describes is saved as one, so the next commands need no options. `auto` opens a browser if \
            this machine has a display. Without one, it \
            prints a device code if the provider offers them, and on a terminal also takes the URL that your \
            browser was redirected to: whatever is finished first signs you in. The URL is always printed.

            A caller that cannot wait for a user signs in by two commands. `--start` returns at once and prints the \
            URL, the device code if the provider offers them, and an id; a process of its own then waits for the \
            answer, for 15 minutes or until `--timeout`. `--finish ID` waits for that process, or redeems the URL that \
            the browser was redirected to, which `-` reads from stdin. Another `--start` for the same account replaces \
            the URL. A secret that was given as a value is needed again by a pasted URL.

            Some providers demand an https redirect. `--make-certificate` makes a certificate for this machine alone \
            (localhost, 127.0.0.1 and ::1; it issues no others), prints the settings that use it, and how browsers \
            learn to trust it. It signs in to nothing, and installs nothing.
            """,
        examples: [
            Example("oidc login github --client-id ID", "a provider known by name"),
            Example("oidc login https://login.example.com --client-id cli", "any other provider"),
            Example("oidc login https://mcp.example.com/mcp", "sign in to a resource by its URL"),
            Example("oidc login --flow device", "with a code on another device"),
            Example("oidc login --start -o json", "the first of two steps: returns at once"),
            Example("oidc login --finish -o json", "the second step: waits for the user's answer"),
        ],
        operands: [
            .optional(\.operand, "URL|NAME", "what to sign in to", completion: .dynamic("login")),
            .rest(
                \.words, "NAME=VALUE", "parameters of a provider known by name",
                completion: .dynamic("parameters")),
        ],
        options: [
            .value(
                \.flow, "--flow", "FLOW", oneOf: Setting.flow.kind.choices, "how to sign in",
                environment: "OIDC_FLOW"),
            .flag(\.isWithoutBrowser, "--no-browser", "print the URL and do not open a browser"),
            .number(\.port, "--port", "N", in: 1...65_535, "port of the redirect URL"),
            .number(
                \.timeout, "--timeout", "SECONDS", in: 1...86_400, "time limit for the whole sign-in",
                defaultText: "300"),
            .value(
                \.prompt, "--prompt", "P",
                "\(Setting.promptList), or off to send none",
                completion: .values(Setting.prompts + ["off"])),
            .value(\.loginHint, "--login-hint", "H", "account to suggest"),
            .number(
                \.maxAge, "--max-age", "SECONDS", in: 0...315_360_000,
                "sign in again if the last time is longer ago"),
            .value(\.acrValues, "--acr-values", "ACR", "authentication strength to request"),
            .value(
                \.par, "--par", "P", oneOf: Setting.par.kind.choices, "pushed requests (RFC 9126)"),
            .flag(\.bindsTokens, "--dpop", "bind the tokens to a key (RFC 9449)"),
            .value(
                \.requestObjectOut, "--request-object-out", "FILE",
                "write the signed request, for the URL in `request_uri`", completion: .file),
            .repeated(\.parameters, "--param", "KEY=VALUE", "another parameter of the authorization URL"),
            .flag(\.isWithoutProfile, "--no-profile", "do not save the sign-in as a profile"),
            .flag(\.isFirstStep, "--start", "print the URL and return; finish later"),
            .flag(\.isWithoutWait, "--no-wait", "leave no process to wait for the answer"),
            .flag(\.isSecondStep, "--finish", "finish a started sign-in: [ID] [REDIRECTED-URL]"),
            .flag(\.isCanceling, "--cancel", "end a started sign-in: [ID]"),
            .flag(
                \.isMakingCertificate, "--make-certificate",
                "make a certificate for an https redirect, and exit"),
            .group(\.options), .group(\.common),
        ])

    var operand: String?
    var words: [String] = []
    var isWithoutProfile = false
    var isFirstStep = false
    var isWithoutWait = false
    var isSecondStep = false
    var isCanceling = false
    var isMakingCertificate = false
    var flow: String?
    var isWithoutBrowser = false
    var port: Int?
    var timeout: Int?
    var prompt: String?
    var loginHint: String?
    var maxAge: Int?
    var acrValues: String?
    var par: String?
    var bindsTokens = false
    var requestObjectOut: String?
    var parameters: [String] = []
    var options = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        try validateSteps()
        try Setting.checkPrompt(prompt)
        if let operand, operand.hasPrefix("–") || operand.hasPrefix("—") {
            throw UsageError("unexpected argument \(UsageError.quoted(operand))")
        }
        for word in parameters where word.first == "=" || !word.includes("=") {
            throw UsageError("--param: expected KEY=VALUE, found \(DisplayText.quoted(word, limit: 60))")
        }
        if isWithoutBrowser, let flow, flow == "device" || flow == "paste" {
            throw UsageError("--no-browser requires --flow browser, not \(flow)")
        }
        if port != nil, flow == "device" {
            throw UsageError("--port is for a redirect, and --flow device has none")
        }
    }

    /// Two commands that work if nothing is configured.
    static let firstSteps = Hint.words(
        .run("login gitlab --client-id ID"), ", or: ", .run("login https://login.example.com --client-id ID"))

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        if isMakingCertificate {
            try CallbackCertificate(context).run()
            return 0
        }
        if isSecondStep { return try finishStarted(context) }
        if isCanceling { return try cancel(context) }
        var context = context.keepingProfile(!isWithoutProfile)
        context.loginOptions = ownOptions
        try context.refuseIfLent(Self.name, options)
        context.makesConfiguration = try namesProvider(context)
        let profiles = try context.settingsLoader.file()?.profiles.map(\.name) ?? []
        guard let operand else {
            context.makesProfile = try isProfileNew(context, beside: profiles)
            if try isUnconfigured(context) { return try setUp(context) }
            return try run(context, at: nil)
        }
        let meaning = try LoginOperand(operand, profiles: profiles, context)
        if case .preset(let preset) = meaning {
            let own = try PresetProfiles(preset: preset, context: context)
                .profile(words, try options.entries())
            if let own, common.profile == nil || common.profile == own {
                return try run(context.using(profile: own), at: nil)
            }
            return try setUp(context, preset, beside: profiles)
        }
        if let word = words.first {
            throw .usage(
                "unexpected argument \(DisplayText.quoted(word, limit: 80)) after "
                    + "\(DisplayText.quoted(DisplayText.address(operand), limit: 80))",
                hint: .words("parameters are for a provider known by name: ", .run("help providers")))
        }
        guard case .profile(let name) = meaning else {
            context.makesProfile = try isProfileNew(context, beside: profiles)
            return try run(context, at: meaning.url)
        }
        if let other = common.profile, other != name {
            throw .usage(
                "the profile is named twice: \(DisplayText.quoted(name)) and -p",
                hint: "leave -p out")
        }
        return try run(context.using(profile: name), at: nil)
    }

    /// The given options that name no session.
    private var ownOptions: [String] {
        let flags = [
            ("--start", isFirstStep), ("--no-wait", isWithoutWait), ("--no-browser", isWithoutBrowser),
            ("--no-profile", isWithoutProfile), ("--dpop", bindsTokens),
        ]
        let values = [
            ("--flow", flow), ("--port", port.map(String.init)), ("--timeout", timeout.map(String.init)),
            ("--prompt", prompt), ("--login-hint", loginHint), ("--max-age", maxAge.map(String.init)),
            ("--acr-values", acrValues), ("--par", par), ("--request-object-out", requestObjectOut),
        ]
        return flags.flatMap { $1 ? [$0] : [] }
            + values.flatMap { name, value in value.map { [name, $0] } ?? [] }
            + parameters.flatMap { ["--param", $0] }
    }

    /// Returns whether the command line names the provider, without the configuration file.
    private func namesProvider(_ context: CommandContext) throws(OIDCError) -> Bool {
        if let operand { return (try? LoginOperand(operand, profiles: [], context)) != nil }
        let given = try options.entries().map(\.setting)
        return [.issuer, .tokenEndpoint, .resource].contains(where: given.contains)
    }

    /// Returns whether the named profile does not exist and the command line names its provider. The sign-in
    /// then creates the profile.
    private func isProfileNew(_ context: CommandContext, beside profiles: [String]) throws(OIDCError) -> Bool
    {
        guard !isWithoutProfile, let name = context.settingsLoader.profileName, !profiles.contains(name),
            try namesProvider(context)
        else { return false }
        try ProfilesFile.checkName(name)
        return true
    }

    /// Returns whether neither options, variables nor profiles name a provider.
    private func isUnconfigured(_ context: CommandContext) throws(OIDCError) -> Bool {
        guard context.settingsLoader.profileName == nil else { return false }
        let provider = try context.provider(options, and: try entries())
        guard !provider.namesProvider else { return false }
        return try context.settingsLoader.file()?.profiles.isEmpty ?? true
    }

    /// Sets up a provider that no profile is for, and signs in. Prompts for missing values at a terminal.
    private func setUp(
        _ context: CommandContext, _ preset: Preset? = nil, beside profiles: [String] = []
    ) throws(OIDCError) -> Int32 {
        let mayAsk = TerminalQuestion.isPossible && !context.console.isJSON
        guard preset != nil || mayAsk else {
            throw .usage(
                "there is no profile, and no provider is named", hint: LoginCommand.firstSteps)
        }
        if let preset, let name = common.profile, profiles.contains(name) {
            throw .usage(
                "profile \(DisplayText.quoted(name)) is not for \(preset.name) with these parameters",
                hint: "choose another name with -p, or leave -p out")
        }
        let path = try context.settingsLoader.requiredPath()
        var draft = Draft(
            context,
            profiles.isEmpty ? "default" : SignInProfile.free(preset?.name ?? "default", beside: profiles))
        draft.call = Self.name
        draft.provider = preset?.name
        draft.words = words
        draft.options = options
        draft.more = try entries()
        if options.clientID == nil, context.environment[Setting.issuer.variable] == nil {
            let variable = context.environment[Setting.clientID.variable] ?? ""
            draft.options.clientID = variable.isEmpty ? nil : variable
        }
        let isIncomplete = try draft.isIncomplete
        let lacksSecret = try draft.lacksSecret(context)
        if mayAsk, isIncomplete || lacksSecret {
            var login = self
            (login.operand, login.words) = (nil, [])
            login.options = ProviderOptions()
            switch try draft.asking(context) {
            case .profile(let profile):
                if let obstacle = profile.obstacles.first { throw obstacle.orReported }
                return try login.run(context.using(profile: profile.name), at: nil)
            case .url(let url, let clientID):
                login.options = options
                login.options.clientID = clientID
                return try login.run(context, at: url)
            }
        }
        if let preset, lacksSecret, !isIncomplete {
            _ = try draft.made(context, isChecked: false)
            throw draft.secretMissing(preset, beside: path)
        }
        let profile = try draft.made(context)
        if let obstacle = profile.obstacles.first { throw obstacle.orReported }
        let target = Target.settings(ProviderContext(profile.settings, context))
        return try signIn(target, as: profile.name)
    }

    private func run(_ context: CommandContext, at url: WebURL?) throws(OIDCError) -> Int32 {
        guard let url else {
            return try signIn(try context.target(options, and: try entries()))
        }
        let operand = try ResourceOperand(url, options, context, and: try entries())
        let (target, evidence) = try operand.signInTarget()
        return try signIn(target, evidence, asked: url)
    }

    /// Signs in, or does the first step. `name` is that of a new profile.
    private func signIn(
        _ target: Target, _ evidence: ResourceOperand.Evidence = ResourceOperand.Evidence(),
        asked url: WebURL? = nil, as name: String? = nil
    ) throws(OIDCError) -> Int32 {
        guard !isFirstStep else { return try start(target, evidence, asked: url, as: name) }
        let signedIn = try target.signedIn(evidence, asked: url) { (signIn) throws(OIDCError) in
            var signIn = signIn
            prepare(&signIn)
            return try signIn.run()
        }
        try LoginCommand.report(signedIn, as: name)
        return 0
    }

    /// Reports the session, and saves its profile. `name` is that of a new profile.
    static func report(_ signedIn: (Session, Account), as name: String?) throws(OIDCError) {
        var (session, account) = signedIn
        let context = account.provider.context
        let provider = account.provider
        if account.store.reach != .process {
            account.earlier?.removeLeftover()
        } else {
            session.tokens.refreshToken = nil
            context.console.warn(
                Warning(
                    "store is none, so the session is not kept",
                    hint: .words(.run("token --login"), " signs in and prints a token")))
        }
        let saved = SignInProfile.saved(account, as: name)
        let report = SessionReport(
            session: session, profile: saved?.name ?? provider.settings.profile,
            location: account.store.location(of: account.key), now: context.now)
        let isMarked =
            Terminal.isTerminal(.standardError) && Terminal.usesUnicode(environment: context.environment)
        let longer = Preset.matching(provider.settings)?.longerSession(than: session)
        context.console.note { style in
            SignInSummary(report: report, style: style, longerSession: longer, isMarked: isMarked).text
        }
        if let saved { context.console.note(saved.note) }
        if context.console.isJSON { try context.console.output(report.json) }
    }

    private func prepare(_ signIn: inout SignIn) {
        signIn.opensBrowser = !isWithoutBrowser
        // A script does not need the name, which takes another request; `oidc userinfo` prints it.
        signIn.showsName = Terminal.isTerminal(.standardError) && !common.isQuiet
    }

    private func entries() throws(OIDCError) -> [SettingLayers.Entry] {
        var entries = try SettingsLoader.entries([
            (.flow, "--flow", flow),
            (.port, "--port", port.map { String($0) }),
            (.timeout, "--timeout", timeout.map { String($0) }),
            (.prompt, "--prompt", prompt), (.loginHint, "--login-hint", loginHint),
            (.maxAge, "--max-age", maxAge.map { String($0) }), (.acrValues, "--acr-values", acrValues),
            (.par, "--par", par), (.dpop, "--dpop", bindsTokens ? "true" : nil),
            (.requestObjectOut, "--request-object-out", requestObjectOut),
        ])
        guard !parameters.isEmpty else { return entries }
        var members = JSONObject()
        for word in parameters {
            let name = word.prefix { $0 != "=" }
            members[String(name)] = .string(String(word.dropFirst(name.count + 1)))
        }
        entries.append(
            SettingLayers.Entry(
                setting: .extraAuthorizeParams, value: .object(members),
                origin: SettingLayers.Origin.parameter))
        return entries
    }
}
