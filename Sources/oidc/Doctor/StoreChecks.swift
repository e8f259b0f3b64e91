import OIDCCore
import OIDCSessions
import Posix

/// Doctor's checks of the store and of the session in it.
struct StoreChecks {
    let provider: ProviderContext
    let isOffline: Bool
    /// The provider of the profile's session: for a resource's profile, that of the last sign-in to it.
    private let owner: ProviderContext

    init(provider: ProviderContext, isOffline: Bool) {
        self.provider = provider
        self.isOffline = isOffline
        owner = ProfileSessions.provider(provider.settings, provider.context)
    }

    func findings() -> [Finding] {
        do { return try checked() } catch { return [Finding("store", error)] }
    }

    private func checked() throws(OIDCError) -> [Finding] {
        let choice = try provider.settings.storeChoice()
        let store = try provider.store()
        if let lent = provider.lent {
            let terms = try lent.terms()
            let left = TimeWords.duration(terms.secondsLeft)
            return [Finding("store", .ok, "\(terms.location), for \(left) more")]
        }
        func keychain() -> Finding { Finding("keychain") { self.keychain(choice) } }
        guard choice != .none else {
            return [Finding("store", .warning, "none: sessions are not kept"), keychain()] + tokenSource
        }
        if let failure = store.unavailability {
            let needsUser = provider.settings.token.grant.needsUser
            return [
                Finding(
                    "store", needsUser ? .problem : .warning, failure.message,
                    hint: failure.hint)
            ] + tokenSource
        }
        let key: SessionKey? = try? owner.sessionKey()
        func session() -> [Finding] {
            guard let key else { return tokenSource }
            return [Finding("session") { () throws(OIDCError) in try self.session(store, key) }]
        }
        if store.reach == .machines {
            guard !isOffline else {
                return [Finding("store", .ok, "\(store.description); not asked (--offline)")] + tokenSource
            }
            // An error ends the checks here: the session's would be the same.
            return try shared(store, key) + session()
        }
        let found = Finding("store") { () throws(OIDCError) in try self.store(store, key) }
        // The store's finding already reports a problem with the keychain.
        let isReported = choice == .keychain && found.result == .problem
        return [found] + (isReported ? [] : [keychain()]) + session()
    }

    /// The user's session of `id_jag`, or the problem that keeps another grant without a user from getting a
    /// token; empty if the settings are incomplete, which other checks report.
    private var tokenSource: [Finding] {
        let settings = provider.settings
        if settings.token.grant == .idJAG {
            return [
                Finding("session") { () throws(OIDCError) in
                    let issuer = try OwnProvider.checkSession(of: provider)
                    return .ok("id_jag: signed in at \(DisplayText.clean(issuer))")
                }
            ]
        }
        guard !settings.token.grant.needsUser, provider.namesProvider, settings.client.id != nil else {
            return []
        }
        do throws(OIDCError) { try SubjectToken(provider).checkOrigin() } catch {
            return [Finding("session", error)]
        }
        return []
    }

    /// Checks that only this user can write the store, and that every session can be read.
    private func store(_ store: SessionStore, _ key: SessionKey?) throws(OIDCError) -> Finding.Outcome {
        if let key {
            try store.probe(key)
            try store.checkWaiting(key)
        } else {
            try StateDirectories(environment: provider.context.environment).checkState()
        }
        let entries = try store.all()
        let damaged = entries.compactMap { entry -> OIDCError? in
            if case .failure(let error) = entry.content { error } else { nil }
        }
        if let first = damaged.first {
            return .warning(
                "\(damaged.count) of \(entries.count) cannot be read: \(first.message)",
                hint: first.hint)
        }
        return .ok(
            "\(store.description), \(entries.count) session\(entries.count == 1 ? "" : "s")"
        )
    }

    /// Checks the server of a shared store, and the key. Its sessions are not listed: they include those of
    /// other machines.
    private func shared(_ store: SessionStore, _ key: SessionKey?) throws(OIDCError) -> [Finding] {
        let start = MonotonicTime.now()
        let remarks = try store.health()
        if let key {
            try store.probe(key)
            try store.checkWaiting(key)
        }
        let milliseconds = MonotonicTime.now().milliseconds(from: start)
        return [Finding("store", .ok, "\(store.description) answers (\(milliseconds) ms for all checks)")]
            + remarks.map { remark in
                Finding(
                    "store", remark.warning == nil ? .ok : .warning, remark.text,
                    hint: remark.warning.map { .text($0) })
            }
    }

    private static let helpers = ["secretservice", "pass", "osxkeychain"]

    private func keychain(_ choice: SessionStoreChoice) -> Finding.Outcome {
        func isThere(_ name: String) -> Bool {
            (try? Executable.find("docker-credential-\(name)", in: provider.context.environment)) != nil
        }
        if choice == .keychain { return .ok("the system's keychain") }
        guard case .helper(let name) = choice else {
            let hasKeychain = KeychainSeal.hasKeychain(provider.context.environment)
            let found =
                (hasKeychain ? ["keychain"] : []) + StoreChecks.helpers.filter(isThere).map { "helper:\($0)" }
            return .ok(
                found.isEmpty ? "not used" : "not used; there is store=\(found.joined(separator: ", "))")
        }
        guard isThere(name) else {
            return .problem(
                "docker-credential-\(name) is not found on PATH",
                hint: .advice(.installHelper))
        }
        return .ok("docker-credential-\(name)")
    }

    private func session(_ store: SessionStore, _ key: SessionKey) throws(OIDCError) -> Finding.Outcome {
        guard let session = try store.load(key) else {
            if key.grant.needsUser {
                return .warning("not signed in", hint: owner.settings.scopedLoginLine)
            }
            try SubjectToken(owner).checkOrigin()
            return .ok("none yet; a token is requested on demand")
        }
        let now = provider.context.now
        let report = SessionReport(session: session, profile: nil, location: "", now: now)
        if session.tokens.access.obtainedAt > now.adding(60) {
            return .problem(
                "the token is from the future: this machine's clock was set back",
                hint: .words("set the clock, then: ", .run("token --refresh")))
        }
        let settings = owner.settings
        if let warning = Preset.matching(settings)?.refreshWarning(for: session, settings) {
            return .warning(warning.message, hint: warning.hint)
        }
        guard report.isUsable else {
            return .warning(
                report.standing == .signedOut
                    ? "\(report.standing.rawValue): the session \(report.validity)"
                    : "\(report.standing.rawValue), and cannot be refreshed",
                hint: owner.settings.scopedLoginLine)
        }
        try Account(owner).checkAvailable(session)
        if !report.canRefresh, session.tokens.access.expiresAt != nil {
            return .warning(
                "\(report.endedText ?? "no refresh token"): the token is valid \(report.validity)",
                hint: owner.settings.scopedLoginLine)
        }
        return .ok("the token is valid \(report.validity)")
    }
}
