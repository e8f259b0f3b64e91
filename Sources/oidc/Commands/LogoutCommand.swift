import CommandLineKit
import OIDCCore
import OIDCSystem

struct LogoutCommand: RunnableCommand {
    static let name = "logout"
    static let summary = "Revoke the tokens and forget the session"
    static let declaration = Declaration<LogoutCommand>(
        discussion: """
            Revokes the refresh token and the access token at the provider, and forgets the session here in \
            every case, also when the provider is out of reach.
            """,
        examples: [
            Example("oidc logout", "sign out of the default profile"),
            Example("oidc logout --all --local", "forget every session, tell no provider"),
        ],
        exitCodes: [
            ExitCode("0", "the provider accepted, offers nothing, or there was no session"),
            ExitCode("4, 5", "it refused, or was out of reach; the session is forgotten here"),
        ],
        options: [
            .flag(\.isAll, "--all", "every session in the store"),
            .flag(\.isLocal, "--local", "forget it here, and tell the provider nothing"),
            .flag(\.endsProviderSession, "--browser", "end the provider's own session too, in the browser"),
            .group(\.provider), .group(\.common),
        ])

    var isAll = false
    var isLocal = false
    var endsProviderSession = false
    var provider = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        if isLocal, endsProviderSession { throw UsageError("--local and --browser exclude each other") }
        if isAll, endsProviderSession { throw UsageError("--all and --browser exclude each other") }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let setup = ProviderSetup(try context.settings(provider), context)
        let store = try setup.store()
        guard isAll else {
            let access = try SessionAccess(setup)
            return try forget(Result { () throws(OIDCError) in try access.load() }, setup, context) {
                () throws(OIDCError) in try store.remove(access.key)
            }
        }
        var worst: Int32 = 0
        for stored in try store.all() {
            let code = try forget(stored.content.map { $0 }, setup, context) { () throws(OIDCError) in
                try store.remove(stored)
            }
            worst = max(worst, code)
        }
        return worst
    }

    /// A session that cannot be read is forgotten too.
    private func forget(
        _ content: Result<Session?, OIDCError>, _ setup: ProviderSetup, _ context: CommandContext,
        _ remove: () throws(OIDCError) -> Void
    ) throws(OIDCError) -> Int32 {
        var failures: [OIDCError] = []
        switch content {
        case .failure(let error):
            context.console.warn("\(error.message); it is forgotten")
            if !isLocal {
                failures.append(
                    OIDCError(
                        .refused, "the session could not be read, so that nothing was revoked",
                        hint: "the tokens stay valid at the provider until they expire", stage: .revocation))
            }
        case .success(nil):
            context.console.note("there was no session")
        case .success(let session?):
            // Forgotten first: whatever the provider does or however long it takes, this much is done.
            try remove()
            if !isLocal {
                let signOut = SignOut(setup: setup, session: session)
                failures = signOut.revoke()
                if endsProviderSession { failures += signOut.endProviderSession() }
            }
            let provider = DisplayText.clean(session.key.provider)
            context.console.note(
                failures.isEmpty && !isLocal
                    ? "Signed out of \(provider); the session is forgotten."
                    : "The session at \(provider) is forgotten here.")
        }
        try remove()
        guard let failure = failures.first(where: { $0.kind == .interrupted }) ?? failures.first else {
            return 0
        }
        let code: Int32 = failure.kind == .unreachable ? 5 : 4
        guard !isAll else {
            context.console.warn(failure.message)
            return code
        }
        var told = failure
        if failure.kind != .unreachable, failure.kind != .interrupted { told.kind = .refused }
        told.hint =
            failure.kind == .unreachable
            ? "the session is forgotten here; the tokens stay valid at the provider until they expire"
            : failure.hint
        throw told
    }
}
