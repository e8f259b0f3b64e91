import OIDCCore
import OIDCSessions
import OIDCAccount
import Posix
import Synchronization

/// The end of a session: removes it from its store, then the links that lead to it, and then revokes its tokens as its
/// own client.
struct SignOut {
    let provider: ProviderContext
    /// The key; nil for a session that cannot be read.
    var key: SessionKey?
    /// The profile that the session belongs to.
    var profile: String?
    /// A function that removes the session from its store.
    let take: (_ isLocal: Bool) throws(OIDCError) -> SessionRemoval

    private var console: Console { provider.context.console }

    /// The result, as printed with `-o json`.
    struct Outcome {
        var key: SessionKey?
        var profile: String?
        /// The provider's answer to the revocation; nil if none was requested.
        var answer: RevocationAnswer?
        var hadSession = false
        var failure: OIDCError?

        var json: JSONValue {
            [
                "provider": JSONValue(answer?.rawValue), "profile": JSONValue(profile),
                "issuer": JSONValue(key?.provider), "account": JSONValue(key?.account),
                "session": hadSession ? "forgotten" : "none",
            ]
        }
    }

    /// How sessions are ended.
    struct Options {
        /// The provider is not contacted.
        var isLocal = false
        /// The provider's own session is ended too, in the browser.
        var endsProviderSession = false
    }

    /// A sign-out whose session is removed, and whose tokens may still be being revoked.
    struct Revocation {
        fileprivate let signOut: SignOut
        fileprivate let removal: SessionRemoval
        /// A function that waits for the revocation; nil if there is none.
        fileprivate let revocation: (() -> SessionRevocation.Result)?

        func finish(_ options: Options) throws(OIDCError) -> Outcome { try signOut.finish(self, options) }
    }

    /// Removes the session. If `isOneOfSeveral`, its tokens are revoked while the others are removed, as a provider may
    /// not answer; else `finish` revokes them.
    func begin(_ options: Options, isOneOfSeveral: Bool) throws(OIDCError) -> Revocation {
        let removal = try take(options.isLocal)
        if let key, removal.failure?.kind != .unreachable {
            var isUnread = false
            if case .failure = removal.content { isUnread = true }
            // A session that could not be read is set aside, and the next sign-out finds it by its links.
            ResourceRecords(provider.context)?.forget(key, provider.context, keepsLinks: isUnread)
            WaitingSignIns.noteSignOut(of: key, provider.context)
        }
        guard !options.isLocal, let session = removal.session else {
            return Revocation(signOut: self, removal: removal, revocation: nil)
        }
        if let endpoint = session.endpoints.revocation { provider.warnOfOther(.revocation, than: endpoint) }
        // Made here, as the client's secret may be asked for.
        let revocation: SessionRevocation?
        do throws(OIDCError) { revocation = try provider.revocation(of: session) } catch {
            let result = SessionRevocation.Result(isOffered: true, failures: [error])
            return Revocation(signOut: self, removal: removal) { result }
        }
        // Nobody can revoke the tokens of a removed session later, so a signal does not end the requests at once.
        if isOneOfSeveral, let revocation,
            let running = try? BackgroundResult({ Interruption.postponed { revocation.run() } })
        {
            return Revocation(signOut: self, removal: removal) { SignOut.result(of: running) }
        }
        return Revocation(signOut: self, removal: removal) { revocation?.run() ?? SessionRevocation.Result() }
    }

    /// When requests that are still running after a signal are given up.
    private static let graceEnd = Mutex<MonotonicTime?>(nil)

    /// Waits for a revocation, after a signal at most two seconds for all of them.
    private static func result(
        of running: BackgroundResult<SessionRevocation.Result>
    ) -> SessionRevocation.Result {
        while true {
            if let result = running.value { return result }
            let now = MonotonicTime.now()
            if let signal = Interruption.recorded {
                let end = graceEnd.withLock { end in
                    end = end ?? now.adding(seconds: 2)
                    return end ?? now
                }
                if now >= end {
                    var result = SessionRevocation.Result(isOffered: true)
                    result.failures = [Interruption.error(signal: signal)]
                    return result
                }
            }
            Poll.pause(until: now.adding(milliseconds: 10))
        }
    }

    private func finish(_ begun: Revocation, _ options: Options) throws(OIDCError) -> Outcome {
        let (removal, isLocal) = (begun.removal, options.isLocal)
        var outcome = Outcome(key: key, profile: profile)
        var failures: [OIDCError] = []
        let store = try? provider.store()
        let isOfMachines = store?.reach == .machines
        switch removal.content {
        case .failure(let error): failures = unread(error, isLocal: isLocal)
        case .success(nil): return outcome
        case .success(let session?):
            if let revocation = begun.revocation?() {
                report(revocation, session)
                if revocation.isOffered {
                    failures = revocation.failures.map { removal.failure == nil ? notRevoked($0) : $0 }
                }
                outcome.answer = revocation.isOffered ? RevocationAnswer(failures.first) : .notOffered
                if options.endsProviderSession { failures += endProviderSession(of: session) }
            }
            if let failure = removal.failure {
                let all = failures + [failure]
                let worst = all.first { $0.kind == .interrupted } ?? failure
                for failure in all where failure != worst { console.warn(failure) }
                throw worst
            }
            let server = SignOut.server(session.key)
            console.note(
                failures.isEmpty && !isLocal
                    ? "Signed out of \(server); the session is forgotten."
                    : isOfMachines
                        ? "The session at \(server) is removed from the shared store, for all machines."
                        : "The session at \(server) is forgotten here.")
            if let error = removal.noteFailure {
                console.warn(
                    "this machine cannot remember the sign-out, so a server of the store that brings the session "
                        + "back would be believed: \(error.message)")
            }
        }
        outcome.hadSession = true
        guard let failure = failures.first(where: { $0.kind == .interrupted }) ?? failures.first else {
            return outcome
        }
        guard failure.kind != .interrupted else { throw failure }
        // A revocation that the provider did not confirm has one exit code, whatever the reason.
        var error = failure
        let isOwn = error.stage == .endSession && error.kind == .failed
        if error.kind != .unreachable, error.kind != .timedOut, !isOwn { error.kind = .refused }
        outcome.failure = error
        return outcome
    }

    /// Reports a session that was removed but could not be read, and returns the error.
    private func unread(_ error: OIDCError, isLocal: Bool) -> [OIDCError] {
        let isKept = error.kind == .loginRequired && error.code == .damagedSession
        console.warn(
            "\(error.message); it is "
                + (isKept ? "set aside, as a file that ends in .damaged, until the next logout" : "forgotten")
        )
        return isLocal ? [] : [SignOut.notAvailable]
    }

    /// The error for a session that cannot be read, or is missing.
    static let notAvailable = OIDCError(
        .refused, "the session is not available, so nothing was revoked",
        hint: "the tokens stay valid at the provider until they expire", stage: .revocation)

    /// Returns the error of a failed revocation, with a hint that the tokens stay valid: without the session,
    /// they cannot be revoked any more.
    private func notRevoked(_ failure: OIDCError) -> OIDCError {
        guard failure.kind != .refused else { return failure }
        var error = failure
        error.hint = "the session is forgotten here; the tokens stay valid at the provider until they expire"
        return error
    }

    private static func server(_ key: SessionKey) -> String {
        let issuer = DisplayText.clean(key.provider)
        let resources = key.resources.map { DisplayText.clean($0) }.joined(separator: ", ")
        let account = key.account.map { " (account \(DisplayText.clean($0)))" } ?? ""
        return (resources.isEmpty ? issuer : "\(issuer) for \(resources)") + account
    }

    private func report(_ result: SessionRevocation.Result, _ session: Session) {
        for step in result.steps {
            switch step {
            case .revoked(.refreshToken): console.note("Revoked the refresh token.")
            case .revoked(.accessToken): console.note("Revoked the access token.")
            case .accessTokensNotRevoked: console.note("The provider does not revoke access tokens.")
            case .accessTokenEnded: console.note("The access token ended with the refresh token.")
            }
        }
        if !result.isOffered { noteNotOffered(session) }
    }

    private func noteNotOffered(_ session: Session) {
        let (access, now) = (session.tokens.access, provider.context.now)
        let end = session.hasAccessToken ? access.expiresAt.flatMap { $0 > now ? $0 : nil } : nil
        console.note(
            "The provider offers no revocation to this client"
                + (end.map { "; the access token expires \(TimeWords.relative($0, to: now))." } ?? "."))
    }

    /// Ends the provider's session in the browser, which has its cookies (OpenID Connect RP-Initiated Logout
    /// §2).
    private func endProviderSession(of session: Session) -> [OIDCError] {
        guard let endpoint = session.endpoints.endSession else {
            console.note("The provider offers no end_session_endpoint.")
            return []
        }
        provider.warnOfOther(.endSession, than: endpoint)
        do throws(OIDCError) {
            try SignOutInBrowser(provider: provider, session: session, endpoint: endpoint).run()
            return []
        } catch {
            return [error]
        }
    }
}

extension Account {
    /// The end of the account's session, wherever it is stored.
    var signOut: SignOut {
        SignOut(provider: provider, key: key, profile: provider.settings.profile) {
            isLocal throws(OIDCError) in
            // A session whose key another store has is not damaged, and may be that of another profile.
            if (try? provider.settings.storeChoice())?.seals == true, otherKeeper != nil {
                return try earlier?.engine.taken(isLocal: isLocal) ?? SessionRemoval(content: .success(nil))
            }
            guard engine.isEmpty, let earlier else { return try engine.taken(isLocal: isLocal) }
            // The store may only be hiding the session that it has.
            let hidden = store.hides(key) ? try engine.taken(isLocal: isLocal) : nil
            if let hidden, hidden.session != nil { return hidden }
            var removal = try earlier.engine.taken(isLocal: isLocal)
            if case .failure(let error)? = hidden?.content, removal.failure == nil { removal.failure = error }
            return removal
        }
    }
}

/// The result of a revocation, as named by `-o json`.
enum RevocationAnswer: String {
    case revoked
    case refused
    case unreachable
    case notOffered = "not_offered"

    /// Creates the result; nil for an error that is not the provider's answer, such as an unreadable file.
    init?(_ failure: OIDCError?) {
        guard let failure else {
            self = .revoked
            return
        }
        switch failure.kind {
        case _ where failure.stage != .revocation: return nil
        case .unreachable: self = .unreachable
        case .refused: self = .refused
        default: return nil
        }
    }
}
