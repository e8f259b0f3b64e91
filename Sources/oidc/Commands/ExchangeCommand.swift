import CommandLineKit
import OIDCCore
import Posix

struct ExchangeCommand: RunnableCommand {
    static let name = "exchange"
    static let summary = "Exchange a redirected URL for tokens"
    static let declaration = Declaration<ExchangeCommand>(
        discussion: """
            Reads from stdin the URL that your browser was redirected to (or only its query), checks it against \
            the output of `oidc authorize-url`, and prints the tokens as JSON. Nothing is stored.
            """,
        examples: [
            Example("(umask 077; oidc authorize-url > pending.json)", "start a manual sign-in"),
            Example("oidc exchange --pending pending.json < url.txt", "finish it"),
            Example("pbpaste | oidc exchange --pending pending.json", "from the clipboard"),
        ],
        options: [
            .value(
                \.pending, "--pending", "FILE", "what authorize-url printed", completion: .file),
            .group(\.options), .group(\.common),
        ])

    var pending: String?
    var options = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        guard let path = pending, path != "-" else {
            throw OIDCError.usage(
                "--pending FILE is needed; stdin is for the redirected URL",
                hint: Self.start(.run("authorize-url"), "pending.json"))
        }
        let pending = try Self.read(context.path(path))
        let started = Self.entries(pending)
        try Self.check(try options.entries(), against: started, of: pending)
        let provider = try context.provider(options, and: started)
        if let issuer = pending.issuer {
            let configured = provider.settings.provider.issuer ?? ""
            guard pending.isStarted(at: configured) else {
                throw OIDCError.usage(
                    "the sign-in was started at \(DisplayText.clean(issuer)), which the settings do not name",
                    hint: "use the settings that it was started with")
            }
        }
        let signIn = SignIn(try Account(provider))
        let outcome: SignInFlow.Outcome
        do throws(OIDCError) {
            outcome = try signIn.finish(pending) { () throws(OIDCError) in
                let bytes = try UserFile.readStandardInput(limit: 65_536)
                return String(decoding: bytes, as: UTF8.self)
            }
        } catch {
            // The hint repeats `oidc authorize-url`: `oidc login` needs a browser, which may be missing here.
            let line = provider.settings.line("authorize-url", and: [("--scope", .scope)])
            throw error.signingInAgain(by: Self.start(line, path))
        }
        for warning in outcome.warnings { context.console.warn(warning) }
        let endpoints = outcome.session.endpoints
        signIn.noteUse(issuer: endpoints.issuer, tokenEndpoint: endpoints.token)
        try context.console.output(Self.json(outcome.session.tokens))
        return 0
    }

    /// Refuses options that differ from the pending sign-in, which overrides them.
    private static func check(
        _ options: [SettingLayers.Entry], against started: [SettingLayers.Entry],
        of pending: PendingAuthorization
    ) throws(OIDCError) {
        for entry in options {
            let own = started.first { $0.setting == entry.setting }?.value ?? entry.value
            let isIssuer = entry.setting == .issuer
            guard !(isIssuer ? pending.isStarted(at: entry.value.string ?? "") : own == entry.value) else {
                continue
            }
            throw .usage(
                "\(entry.given) is not the one that the sign-in was started with",
                hint: "leave \(entry.given) out")
        }
    }

    /// Returns the command that starts a sign-in, with its output in a file that only the user may read.
    private static func start(_ command: Hint, _ file: String) -> Hint {
        .words("(umask 077; ", command, " > \(ShellWord.quoted(file)))")
    }

    private static func read(_ path: String) throws(OIDCError) -> PendingAuthorization {
        let file = try UserFile.require(path, limit: 1 << 20, named: "--pending")
        guard !file.isUnderForeignControl, file.permissions & 0o077 == 0 else {
            throw OIDCError.usage(
                "--pending \(DisplayText.clean(path)) contains secrets, and others may read or write it",
                hint: "chmod 600 \(ShellWord.quoted(path))")
        }
        let json: JSONValue
        do { json = try JSONValue(parsing: file.bytes) } catch {
            throw OIDCError.usage(
                "--pending \(DisplayText.clean(path)) is not valid JSON (\(error.inFile))",
                hint: .words("make it with: ", start(.run("authorize-url"), "pending.json")))
        }
        return try PendingAuthorization(json: json)
    }

    /// Returns the settings of the pending sign-in, which override the profile.
    private static func entries(_ pending: PendingAuthorization) -> [SettingLayers.Entry] {
        var entries: [SettingLayers.Entry] = []
        func add(_ setting: Setting, _ text: String?) {
            guard let text else { return }
            entries.append(
                SettingLayers.Entry(setting: setting, value: .string(text), origin: .pending))
        }
        // An issuer template is left out: the settings name the URL of its metadata.
        add(.issuer, pending.issuer.flatMap { IssuerTemplate($0) == nil ? $0 : nil })
        add(.clientID, pending.clientID)
        add(.tokenEndpoint, pending.tokenEndpoint?.text)
        add(.jwksURI, pending.jwksURI?.text)
        add(.scope, pending.scope.isEmpty ? nil : pending.scope.text)
        if !pending.resources.isEmpty {
            let resources = JSONValue.array(pending.resources.map { .string($0) })
            entries.append(
                SettingLayers.Entry(setting: .resource, value: resources, origin: .pending))
        }
        return entries
    }

    private static func json(_ tokens: TokenSet) -> JSONValue {
        var object = tokens.access.json.object ?? JSONObject()
        object["refresh_token"] = tokens.refreshToken.map { .string($0.revealed) }
        object["id_token"] = tokens.idToken.map { .string($0.revealed) }
        object["extra"] = tokens.extra.shown
        return .object(object)
    }
}

extension PendingAuthorization {
    /// Returns whether the sign-in was started at this issuer, or at a template that may stand for it.
    fileprivate func isStarted(at configured: String) -> Bool {
        guard let issuer else { return false }
        return ExactText.isSame(configured, issuer)
            || IssuerTemplate(issuer)?.mayStand(for: configured) == true
    }
}
