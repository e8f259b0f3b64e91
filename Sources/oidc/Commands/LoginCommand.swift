import CommandLineKit
import OIDCCore
import OIDCSystem

struct LoginCommand: RunnableCommand {
    static let name = "login"
    static let summary = "Sign in through the browser, or by a code"
    static let declaration = Declaration<LoginCommand>(
        discussion: """
            Always signs in anew. `auto` opens a browser if this machine can show one; else it uses a device \
            code if the provider has them; else it prints the address and takes the one that the browser ends \
            on. The address is printed in any case.
            """,
        examples: [
            Example("oidc login --issuer https://login.example.com --client-id cli", "sign in, no profile"),
            Example("oidc login --flow device", "with a code, on another device"),
        ],
        options: [
            .value(
                \.flow, "--flow", "FLOW", oneOf: Setting.flow.kind.choices, "how to sign in",
                environment: "OIDC_FLOW"),
            .flag(\.isWithoutBrowser, "--no-browser", "print the address, open nothing"),
            .number(\.port, "--port", "N", in: 1...65_535, "the port that the browser comes back to"),
            .number(
                \.timeout, "--timeout", "SECONDS", in: 1...86_400, "for the whole sign-in",
                defaultText: "300"),
            .value(
                \.prompt, "--prompt", "P", "none, login, consent, select_account or create",
                completion: .values(["none", "login", "consent", "select_account", "create"])),
            .value(\.loginHint, "--login-hint", "H", "who is to sign in"),
            .group(\.provider), .group(\.common),
        ])

    var flow: String?
    var isWithoutBrowser = false
    var port: Int?
    var timeout: Int?
    var prompt: String?
    var loginHint: String?
    var provider = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        if isWithoutBrowser, let flow, flow == "device" || flow == "paste" {
            throw UsageError("--no-browser goes with --flow browser, not \(flow)")
        }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let setup = ProviderSetup(try context.settings(provider, and: try entries()), context).forLogin()
        let access = try SessionAccess(setup)
        var signIn = SignIn(setup: setup, access: access)
        signIn.opensBrowser = !isWithoutBrowser
        let session = try signIn.run()
        let report = SessionReport(
            session: session, profile: setup.settings.profile,
            location: access.store.location(of: access.key), now: context.now)
        context.console.note(report.signedInLine)
        if context.console.isJSON { try context.console.output(report.json) }
        return 0
    }

    private func entries() throws(OIDCError) -> [Settings.Entry] {
        var entries: [Settings.Entry] = []
        func add(_ setting: Setting, _ option: String, _ word: String?) throws(OIDCError) {
            guard let word else { return }
            entries.append(try SettingsLoader.entry(setting, word, .option(option), named: option))
        }
        try add(.flow, "--flow", isWithoutBrowser ? "browser" : flow)
        try add(.port, "--port", port.map { String($0) })
        try add(.timeout, "--timeout", timeout.map { String($0) })
        try add(.prompt, "--prompt", prompt)
        try add(.loginHint, "--login-hint", loginHint)
        return entries
    }
}
