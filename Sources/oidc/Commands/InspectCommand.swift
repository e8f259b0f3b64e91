import CommandLineKit
import OIDCCore
import OIDCAccount
import Posix

struct InspectCommand: RunnableCommand {
    static let name = "inspect"
    static let summary = "Show and verify a token"
    static let declaration = Declaration<InspectCommand>(
        discussion: """
            Shows the header and claims of the session's token, or of any signed token on stdin, and verifies its \
            signature with --jwks or the provider's keys. A token of another issuer than the configured one is \
            invalid; an expired token is a warning.
            """,
        examples: [
            Example("oidc inspect", "the session's ID token"),
            Example("oidc inspect --jwks keys.json - < token.txt", "any token, with your own keys"),
        ],
        exitCodes: [
            ExitCode("0", "the signature is valid, or neither keys nor a provider is named"),
            ExitCode("4", "there are no keys to verify it with"),
            ExitCode("5", "the keys cannot be fetched"),
            ExitCode("7", "the signature or the issuer is invalid"),
        ],
        operands: [.optional(\.source, "-", "read the token from stdin", completion: .values(["-"]))],
        options: [
            .value(\.type, "--type", "TYPE", "the session's token to show"),
            .value(\.jwks, "--jwks", "FILE|URL", "the keys to verify the signature with", completion: .file),
            .group(\.options), .group(\.common),
        ])

    var source: String?
    var type: TokenKind?
    var jwks: String?
    var options = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        try UsageError.refuseToken(source, hint: .command(["inspect", "-"], after: " < FILE"))
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let provider = try source == nil ? context.sessionProvider(options) : context.provider(options)
        let compact = try token(provider)
        let token: JWS
        do { token = try JWS(compact: compact) } catch {
            throw OIDCError(
                .untrusted, "this is not a signed token: \(error.reason)",
                hint: source == nil
                    ? .words("the token is opaque; ask the provider: ", .run("introspect"))
                    : provider.namesProvider
                        ? .words(
                            "a signed token has three parts separated by dots; ",
                            "for an opaque one, ask the provider: ", .run("introspect -"))
                        : "a signed token has three parts separated by dots; an opaque one only its provider can read",
                stage: .idToken)
        }
        // The token is printed even if there are no keys; the exit code reports that it was not verified.
        let verification = Result { () throws(OIDCError) in
            try TokenVerification(provider: provider, jwks: jwks).verdict(token)
        }
        let verdict: SignatureVerdict
        switch verification {
        case .success(let known): verdict = known
        case .failure(let error) where [.unreachable, .refused].contains(error.kind):
            verdict = .unchecked(error.message)
        case .failure(let error): throw error
        }
        let inspection = TokenInspection(
            token: token, verdict: verdict, clientID: provider.settings.client.id, now: context.now,
            leeway: provider.settings.network.leeway)
        if context.console.isJSON {
            try context.console.output(inspection.json)
        } else {
            let style = TextStyle(isOn: Terminal.usesColor(.standardOutput, environment: context.environment))
            try context.console.report(inspection.text(style))
        }
        for warning in inspection.warnings { context.console.warn(warning) }
        _ = try verification.get()
        switch verdict {
        case .valid: break
        case .unchecked(let reason): context.console.warn("the signature was not checked: \(reason)")
        case .invalid(let reason):
            throw OIDCError(.untrusted, "the token is invalid: \(reason)", stage: .idToken)
        }
        return 0
    }

    private func token(_ provider: ProviderContext) throws(OIDCError) -> String {
        if source != nil {
            return ASCII.trimmed(try InputText.read("-", limit: 2 << 20, named: "stdin"))
        }
        let account = try Account(provider)
        guard provider.lent == nil else {
            if type == .id { return try account.idToken(minimumValidity: 0).compact }
            return try account.token(account.demand()).access.token.revealed
        }
        let session = try account.session()
        let idToken = session.tokens.idToken?.revealed
        if type == nil, let idToken { return idToken }
        switch type {
        case .access, nil:
            guard session.hasAccessToken else { throw session.noAccessToken }
            return session.tokens.access.token.revealed
        case .id:
            if let idToken { return idToken }
            throw OIDCError(
                .loginRequired, "the session has no ID token", hint: .run("inspect --type access"),
                stage: .idToken)
        }
    }
}
