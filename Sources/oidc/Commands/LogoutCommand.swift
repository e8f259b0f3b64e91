import CommandLineKit
import OIDCCore

struct LogoutCommand: RunnableCommand {
    static let name = "logout"
    static let summary = "Revoke the tokens and forget the session"
    static let declaration = Declaration<LogoutCommand>(
        discussion: """
            Revokes the refresh token and the access token at the provider, and always removes the local session, \
            even if the provider is unreachable. With a URL, it ends the session of exactly that resource: one for \
            a URL above it stays. With -o json, "provider" is revoked, refused, unreachable, not_offered, or null if it \
            was not asked; --all prints an array.
            """,
        examples: [
            Example("oidc logout", "log out of the default profile"),
            Example("oidc logout https://mcp.example.com/mcp", "log out of a resource"),
            Example("oidc logout --all --local", "forget every session without contacting a provider"),
        ],
        exitCodes: [
            ExitCode("0", "the provider accepted, does not offer revocation, or there was no session"),
            ExitCode("1", "--browser, and no browser could be opened; the local session is removed"),
            ExitCode("4, 5", "the provider did not confirm or was unreachable; the local session is removed"),
            ExitCode("6", "the browser did not come back in time; the local session is removed"),
        ],
        operands: [.optional(\.url, "URL", "the resource to log out of")],
        options: [
            .flag(\.isAll, "--all", "every session, also those of other profiles"),
            .flag(\.isLocal, "--local", "remove the local session without contacting the provider"),
            .flag(\.endsProviderSession, "--browser", "end the provider's own session too, in the browser"),
            .number(
                \.timeout, "--timeout", "SECONDS", in: 1...86_400, "how long to wait for the browser",
                defaultText: "300"),
            .group(\.options), .group(\.common),
        ])

    var url: String?
    var isAll = false
    var isLocal = false
    var endsProviderSession = false
    var timeout: Int?
    var options = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        if isLocal, endsProviderSession { throw UsageError("--local and --browser cannot be used together") }
        if isAll, url != nil { throw UsageError("--all and a URL cannot be used together") }
        if isAll, endsProviderSession { throw UsageError("--all and --browser cannot be used together") }
        if timeout != nil, !endsProviderSession { throw UsageError("--timeout requires --browser") }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let bound = try SettingsLoader.entries([(.timeout, "--timeout", timeout.map { String($0) })])
        guard !isAll else { return try runAll(try context.provider(options, and: bound), context) }
        switch try context.target(url, command: "logout", options, and: bound) {
        case .resource(let operand): return try run(operand, context)
        case .provider(let provider):
            if !provider.namesProvider, let error = ResourceRecords(context)?.choice { throw error }
            let key = try SessionAccess(provider).key
            let outcome = try end(key, provider, context)
            if context.console.isJSON {
                try context.console.output(outcome.json(of: key, provider.settings.profile))
            }
            if let failure = outcome.failure { throw failure }
            return 0
        }
    }

    /// Ends the session of the settings, wherever it is stored.
    func end(
        _ key: SessionKey, _ provider: ProviderContext, _ context: CommandContext
    ) throws(OIDCError) -> Outcome {
        var store = try provider.store()
        if let earlier = EarlierSession(provider, key), isEmpty(store, key) { store = earlier.store }
        let removal = try take(key, from: store, provider)
        provider.target?.forget(context)
        return try forget(removal, provider, context)
    }

    /// The result of a logout.
    struct Outcome {
        /// The provider's answer to the revocation; nil if none was requested.
        let answer: RevocationAnswer?
        let hadSession: Bool
        let failure: OIDCError?

        static let none = Outcome(answer: nil, hadSession: false, failure: nil)

        func json(of key: SessionKey?, _ profile: String?) -> JSONValue {
            [
                "provider": JSONValue(answer?.rawValue), "profile": JSONValue(profile),
                "issuer": JSONValue(key?.provider), "account": JSONValue(key?.account),
                "session": hadSession ? "forgotten" : "none",
            ]
        }
    }

    /// Revokes the tokens of a session that was removed, and reports one that could not be read.
    func forget(
        _ removal: Removal, _ provider: ProviderContext, _ context: CommandContext
    ) throws(OIDCError) -> Outcome {
        var failures: [OIDCError] = []
        var answer: RevocationAnswer?
        var hadSession = true
        switch removal.content {
        case .failure(let error):
            let isKept = error.kind == .loginRequired && error.code == .damagedSession
            context.console.warn(
                "\(error.message); it is "
                    + (isKept
                        ? "set aside, as a file that ends in .damaged, until the next logout" : "forgotten"))
            if !isLocal {
                failures.append(
                    OIDCError(
                        .failed, "the session could not be read, so nothing was revoked",
                        hint: "the tokens stay valid at the provider until they expire", stage: .revocation))
            }
        case .success(nil):
            hadSession = false
            context.console.note("there was no session")
        case .success(let session?):
            if !isLocal {
                let signOut = SignOut(provider: provider, session: session)
                let revocation = signOut.revoke()
                failures = revocation.failures.map(notRevoked)
                answer = revocation.isOffered ? RevocationAnswer(failures.first) : .notOffered
                if endsProviderSession { failures += signOut.endProviderSession() }
            }
            if let failure = removal.failure { throw failure }
            let issuer = DisplayText.clean(session.key.provider)
            let resources = session.key.resources.map { DisplayText.clean($0) }.joined(separator: ", ")
            let account = session.key.account.map { " (account \(DisplayText.clean($0)))" } ?? ""
            let server = (resources.isEmpty ? issuer : "\(issuer) for \(resources)") + account
            context.console.note(
                failures.isEmpty && !isLocal
                    ? "Signed out of \(server); the session is forgotten."
                    : "The session at \(server) is forgotten here.")
        }
        guard let failure = failures.first(where: { $0.kind == .interrupted }) ?? failures.first else {
            return Outcome(answer: answer, hadSession: hadSession, failure: nil)
        }
        guard failure.kind != .interrupted else { throw failure }
        // A revocation that the provider did not confirm has one exit code, whatever the reason.
        var error = failure
        let isOwn = error.stage == .endSession && error.kind == .failed
        if error.kind != .unreachable, error.kind != .timedOut, !isOwn { error.kind = .refused }
        return Outcome(answer: answer, hadSession: hadSession, failure: error)
    }

    /// Returns the error of a failed revocation, with a hint that the tokens stay valid: without the session,
    /// they cannot be revoked any more.
    private func notRevoked(_ failure: OIDCError) -> OIDCError {
        guard failure.kind != .refused, failure.kind != .interrupted else { return failure }
        var error = failure
        error.hint = "the session is forgotten here; the tokens stay valid at the provider until they expire"
        return error
    }
}
