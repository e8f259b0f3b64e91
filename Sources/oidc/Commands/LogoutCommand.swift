import CommandLineKit
import OIDCCore
import OIDCSystem

struct LogoutCommand: RunnableCommand {
    static let name = "logout"
    static let summary = "Revoke the tokens and forget the session"
    static let declaration = Declaration<LogoutCommand>(
        discussion: """
            Revokes the refresh token and the access token at the provider, and always removes the local session, \
            even if the provider is unreachable.
            """,
        examples: [
            Example("oidc logout", "log out of the default profile"),
            Example("oidc logout --all --local", "forget every session without contacting a provider"),
        ],
        exitCodes: [
            ExitCode("0", "the provider accepted, does not offer revocation, or there was no session"),
            ExitCode("4, 5", "the provider refused or was unreachable; the local session is removed"),
        ],
        options: [
            .flag(\.isAll, "--all", "every session, also those of other profiles"),
            .flag(\.isLocal, "--local", "remove the local session without contacting the provider"),
            .flag(\.endsProviderSession, "--browser", "end the provider's own session too, in the browser"),
            .number(
                \.timeout, "--timeout", "SECONDS", in: 1...86_400, "how long to wait for the browser",
                defaultText: "300"),
            .group(\.provider), .group(\.common),
        ])

    var isAll = false
    var isLocal = false
    var endsProviderSession = false
    var timeout: Int?
    var provider = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        if isLocal, endsProviderSession { throw UsageError("--local and --browser exclude each other") }
        if isAll, endsProviderSession { throw UsageError("--all and --browser exclude each other") }
        if timeout != nil, !endsProviderSession { throw UsageError("--timeout goes with --browser") }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let bound = try timeout.map { seconds throws(OIDCError) in
            try SettingsLoader.entry(.timeout, "\(seconds)", .option("--timeout"), named: "--timeout")
        }
        let setup = ProviderSetup(try context.settings(provider, and: bound.map { [$0] } ?? []), context)
        guard isAll else {
            let taken = try take(try SessionAccess(setup).key, from: try setup.store(), setup)
            return try forget(taken, setup, context)
        }
        let known = try KnownSetups(setup)
        var worst: Int32 = 0
        for store in try known.stores() {
            for stored in try store.all() {
                do {
                    let taken = try take(stored, from: store, setup)
                    let own = taken.session.map { known.setup(of: $0.key) } ?? setup
                    worst = max(worst, try forget(taken, own, context))
                } catch {
                    guard error.kind != .interrupted else { throw error }
                    context.console.warn(error.commandLine)
                    worst = max(worst, Diagnostics.exitCode(error))
                }
            }
        }
        return worst
    }

    /// What was in the store, and why a part of it may still be there.
    private struct Taken {
        var content: Result<Session?, OIDCError>
        var failure: OIDCError?

        var session: Session? { (try? content.get()) ?? nil }
    }

    private func take(
        _ stored: StoredSession, from store: any SessionStoring, _ setup: ProviderSetup
    ) throws(OIDCError) -> Taken {
        if let key = stored.session?.key { return try take(key, from: store, setup) }
        try store.remove(stored)
        return Taken(content: stored.content.map { $0 })
    }

    /// Removed first: whatever the provider does or however long it takes, this much is done. Under the lock, as
    /// a refresh that is under way would bring the session back; without it where it cannot be had.
    private func take(
        _ key: SessionKey, from store: any SessionStoring, _ setup: ProviderSetup
    ) throws(OIDCError) -> Taken {
        var taken: Taken?
        do {
            try store.withLock(key, setup.renewalWait) { () throws(OIDCError) in
                taken = remove(key, from: store)
            }
        } catch {
            guard error.kind != .interrupted else { throw error }
        }
        let result = taken ?? remove(key, from: store)
        guard result.session == nil, let failure = result.failure else { return result }
        throw failure
    }

    private func remove(_ key: SessionKey, from store: any SessionStoring) -> Taken {
        var taken = Taken(content: Result { () throws(OIDCError) in try store.load(key) })
        do { try store.remove(key) } catch { taken.failure = error }
        return taken
    }

    /// A session that could not be read is forgotten too.
    private func forget(
        _ taken: Taken, _ setup: ProviderSetup, _ context: CommandContext
    ) throws(OIDCError) -> Int32 {
        var failures: [OIDCError] = []
        switch taken.content {
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
            if !isLocal {
                let signOut = SignOut(setup: setup, session: session)
                failures = signOut.revoke()
                if endsProviderSession { failures += signOut.endProviderSession() }
            }
            if let failure = taken.failure { throw failure }
            let provider = DisplayText.clean(session.key.provider)
            context.console.note(
                failures.isEmpty && !isLocal
                    ? "Signed out of \(provider); the session is forgotten."
                    : "The session at \(provider) is forgotten here.")
        }
        guard let failure = failures.first(where: { $0.kind == .interrupted }) ?? failures.first else {
            return 0
        }
        let code: Int32 = failure.kind == .unreachable ? 5 : 4
        var told = failure
        if failure.kind != .unreachable, failure.kind != .interrupted { told.kind = .refused }
        if failure.kind == .unreachable || failure.kind == .usage {
            told.hint =
                "the session is forgotten here; the tokens stay valid at the provider until they expire"
        }
        guard !isAll else {
            context.console.warn(told.commandLine)
            return code
        }
        throw told
    }
}
