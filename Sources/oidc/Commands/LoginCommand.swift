import CommandLineKit
import OIDCCore
import OIDCSystem

struct LoginCommand: RunnableCommand {
    static let name = "login"
    static let summary = "Sign in with the browser or a device code"
    static let declaration = Declaration<LoginCommand>(
        discussion: """
            Always starts a new sign-in. With a URL, it signs in to that resource: the URL says which server issues \
            its tokens, and a client is registered there if none is configured. `auto` opens a browser if \
            this machine has a display. Without one, it \
            prints a device code if the provider offers them, and on a terminal also takes the URL that your \
            browser was redirected to: whatever is finished first signs you in. The URL is always printed.
            """,
        examples: [
            Example(
                "oidc login --issuer https://login.example.com --client-id cli", "sign in without a profile"),
            Example("oidc login https://mcp.example.com/mcp", "sign in to a resource by its URL"),
            Example("oidc login --flow device", "with a code on another device"),
        ],
        operands: [.optional(\.url, "URL", "the resource to sign in to")],
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
            .group(\.options), .group(\.common),
        ])

    var url: String?
    var flow: String?
    var isWithoutBrowser = false
    var port: Int?
    var timeout: Int?
    var prompt: String?
    var loginHint: String?
    var options = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        try Setting.checkPrompt(prompt)
        if isWithoutBrowser, let flow, flow == "device" || flow == "paste" {
            throw UsageError("--no-browser requires --flow browser, not \(flow)")
        }
        if port != nil, flow == "device" {
            throw UsageError("--port is for a redirect, and --flow device has none")
        }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        var (session, access) = try signIn(context)
        let provider = access.provider
        EarlierSession(provider, access.key)?.remove(provider)
        if access.store is MemorySessionStore {
            session.tokens.refreshToken = nil
            context.console.warn(
                "store is none, so the session is not kept (oidc token --login signs in and prints a token)")
        }
        let report = SessionReport(
            session: session, profile: provider.settings.profile,
            location: access.store.location(of: access.key), now: context.now)
        let isMarked =
            Terminal.isTerminal(.standardError) && Terminal.usesUnicode(environment: context.environment)
        context.console.note { style in SignInSummary(report: report, style: style, isMarked: isMarked).text }
        if context.console.isJSON { try context.console.output(report.json) }
        return 0
    }

    private func signIn(_ context: CommandContext) throws(OIDCError) -> (Session, SessionAccess) {
        guard let url else {
            return try signedIn(try context.provider(options, and: try entries()))
        }
        let operand = try ResourceOperand(
            try ResourceOperand.url(url, command: "login", context), options, context, and: try entries())
        switch try operand.signInTarget() {
        case .resource(let operand, let evidence): return try operand.signedIn(evidence) { prepare(&$0) }
        case .provider(let provider): return try signedIn(provider, asked: operand.url)
        }
    }

    private func signedIn(
        _ provider: ProviderContext, asked url: WebURL? = nil
    ) throws(OIDCError) -> (Session, SessionAccess) {
        let access = try SessionAccess(provider.forSignIn(until: provider.deadline))
        var signIn = SignIn(provider: access.provider, access: access)
        signIn.askedURL = url
        prepare(&signIn)
        return (try signIn.run(), access)
    }

    private func prepare(_ signIn: inout SignIn) {
        signIn.opensBrowser = !isWithoutBrowser
        // A script does not need the name, which takes another request; `oidc userinfo` prints it.
        signIn.showsName = Terminal.isTerminal(.standardError) && !common.isQuiet
    }

    private func entries() throws(OIDCError) -> [SettingLayers.Entry] {
        try SettingsLoader.entries([
            (.flow, "--flow", flow),
            (.port, "--port", port.map { String($0) }),
            (.timeout, "--timeout", timeout.map { String($0) }),
            (.prompt, "--prompt", prompt), (.loginHint, "--login-hint", loginHint),
        ])
    }
}
