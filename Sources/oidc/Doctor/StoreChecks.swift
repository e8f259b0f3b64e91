import OIDCCore
import OIDCSessions
import Posix

/// Doctor's checks of the store and of the session in it.
struct StoreChecks {
    let provider: ProviderContext
    let isOffline: Bool

    func findings() -> [Finding] {
        let choice: SessionStoreChoice
        let store: SessionStore
        do throws(OIDCError) {
            choice = try provider.settings.storeChoice()
            store = try provider.store()
        } catch {
            return [Finding("store", error)]
        }
        guard choice != .none else {
            return [Finding("store", .warning, "none: sessions are not kept"), keychain(choice)] + tokenSource
        }
        if let failure = store.unavailability {
            let needsUser = provider.settings.token.grant.needsUser
            return [
                Finding(
                    "store", needsUser ? .problem : .warning, failure.message,
                    hint: failure.hint)
            ] + tokenSource
        }
        let key: SessionKey? = try? provider.sessionKey()
        if store.reach == .machines {
            guard !isOffline else {
                return [Finding("store", .ok, "\(store.description); not asked (--offline)")] + tokenSource
            }
            let findings = shared(store, key)
            // The same problem is not reported twice.
            guard !findings.contains(where: { $0.result == .problem }) else { return findings }
            return findings + (key.map { [session(store, $0)] } ?? tokenSource)
        }
        let found = self.store(store, key)
        // The store's finding already reports a problem with the keychain.
        let keychain = choice == .keychain && found.result == .problem ? [] : [keychain(choice)]
        return [found] + keychain + (key.map { [session(store, $0)] } ?? tokenSource)
    }

    /// The user's session of `id_jag`, or the problem that keeps another grant without a user from getting a
    /// token; empty if the settings are incomplete, which other checks report.
    private var tokenSource: [Finding] {
        let settings = provider.settings
        if settings.token.grant == .idJAG {
            do throws(OIDCError) {
                let issuer = try OwnProvider.checkSession(of: provider)
                return [Finding("session", .ok, "id_jag: signed in at \(DisplayText.clean(issuer))")]
            } catch {
                return [Finding("session", error)]
            }
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
    private func store(_ store: SessionStore, _ key: SessionKey?) -> Finding {
        do throws(OIDCError) {
            if let key {
                try store.probe(key)
            } else {
                try StateDirectories(environment: provider.context.environment).checkState()
            }
            let entries = try store.all()
            let damaged = entries.compactMap { entry -> OIDCError? in
                if case .failure(let error) = entry.content { error } else { nil }
            }
            if let first = damaged.first {
                return Finding(
                    "store", .warning,
                    "\(damaged.count) of \(entries.count) cannot be read: \(first.message)",
                    hint: first.hint)
            }
            return Finding(
                "store", .ok, "\(store.description), \(entries.count) session\(entries.count == 1 ? "" : "s")"
            )
        } catch {
            return Finding("store", error)
        }
    }

    /// Checks the server of a shared store, and the key. Its sessions are not listed: they include those of
    /// other machines.
    private func shared(_ store: SessionStore, _ key: SessionKey?) -> [Finding] {
        do throws(OIDCError) {
            let start = MonotonicTime.now()
            let remarks = try store.health()
            if let key { try store.probe(key) }
            let milliseconds = MonotonicTime.now().milliseconds(from: start)
            return [Finding("store", .ok, "\(store.description) answers (\(milliseconds) ms for all checks)")]
                + remarks.map { remark in
                    Finding(
                        "store", remark.warning == nil ? .ok : .warning, remark.text,
                        hint: remark.warning.map { .text($0) })
                }
        } catch {
            return [Finding("store", error)]
        }
    }

    private static let helpers = ["secretservice", "pass", "osxkeychain"]

    private func keychain(_ choice: SessionStoreChoice) -> Finding {
        func isThere(_ name: String) -> Bool {
            (try? Executable.find("docker-credential-\(name)", in: provider.context.environment)) != nil
        }
        if choice == .keychain { return Finding("keychain", .ok, "the system's keychain") }
        guard case .helper(let name) = choice else {
            let hasKeychain = KeychainSeal.hasKeychain(provider.context.environment)
            let found =
                (hasKeychain ? ["keychain"] : []) + StoreChecks.helpers.filter(isThere).map { "helper:\($0)" }
            return Finding(
                "keychain", .ok,
                found.isEmpty ? "not used" : "not used; there is store=\(found.joined(separator: ", "))")
        }
        guard isThere(name) else {
            return Finding(
                "keychain", .problem, "docker-credential-\(name) is not found on PATH",
                hint: .advice(.installHelper))
        }
        return Finding("keychain", .ok, "docker-credential-\(name)")
    }

    private func session(_ store: SessionStore, _ key: SessionKey) -> Finding {
        do throws(OIDCError) {
            guard let session = try store.load(key) else {
                if key.grant.needsUser {
                    return Finding(
                        "session", .warning, "not signed in", hint: provider.settings.scopedLoginLine)
                }
                try SubjectToken(provider).checkOrigin()
                return Finding("session", .ok, "none yet; a token is requested on demand")
            }
            let now = provider.context.now
            let report = SessionReport(session: session, profile: nil, location: "", now: now)
            if session.tokens.access.obtainedAt > now.adding(60) {
                return Finding(
                    "session", .problem, "the token is from the future: this machine's clock was set back",
                    hint: .words("set the clock, then: ", .run("token --refresh")))
            }
            let settings = provider.settings
            if let warning = Preset.matching(settings)?.refreshWarning(for: session, settings) {
                return Finding("session", .warning, warning.message, hint: warning.hint)
            }
            guard report.isUsable else {
                return Finding(
                    "session", .warning,
                    report.standing == .signedOut
                        ? "\(report.standing.rawValue): the session \(report.validity)"
                        : "\(report.standing.rawValue), and cannot be refreshed",
                    hint: provider.settings.scopedLoginLine)
            }
            try Account(provider).checkAvailable(session)
            if !report.canRefresh, session.tokens.access.expiresAt != nil {
                return Finding(
                    "session", .warning,
                    "\(report.endedText ?? "no refresh token"): the token is valid \(report.validity)",
                    hint: provider.settings.scopedLoginLine)
            }
            return Finding("session", .ok, "the token is valid \(report.validity)")
        } catch {
            return Finding("session", error)
        }
    }
}
