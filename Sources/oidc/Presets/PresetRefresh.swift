import OIDCCore

/// Checks of the settings that a refresh token requires.
extension PresetMatch {
    /// Whether the provider issues a refresh token only with the scope `offline_access`.
    var needsOfflineScope: Bool {
        preset.refreshNeeds.contains { setting, value in
            setting == .scope && Scope(value).contains("offline_access")
        }
    }

    /// Returns the option that makes a session last longer without use; nil if there is none, or if it was
    /// used.
    func longerSession(than session: Session) -> String? {
        guard let days = preset.offlineDays, let scope = session.requestedScope,
            !scope.contains("offline_access")
        else { return nil }
        let wanted = scope.union(Scope("offline_access")).text
        return "--scope \(ShellWord.quoted(wanted)) keeps it \(days) days"
    }

    /// Returns a warning if a session cannot be refreshed although the provider issues refresh tokens. The
    /// hint is a sign-in that returns one, or the option to switch on.
    func refreshWarning(for session: Session, _ settings: Settings) -> Warning? {
        guard session.tokens.refreshToken == nil, session.key.grant.needsUser else { return nil }
        if let fix = refreshFix(settings, scope: session.requestedScope) {
            return Warning(
                "no refresh token: \(preset.title) issues one only with \(fix.needed)",
                hint: settings.loginLine.adding(fix.options))
        }
        // A token that does not expire needs no refresh token.
        guard let option = preset.refreshSwitch, session.tokens.access.expiresAt != nil else { return nil }
        return Warning(
            "no refresh token: \(preset.title) issues one if \(option) is switched on",
            hint: .words("switch it on at \(registrationPage), then: ", settings.loginLine))
    }

    /// Returns the missing settings that a refresh token requires, for a message and as options of `oidc
    /// login`. `scope` is the requested one, if it is known.
    func refreshFix(_ settings: Settings, scope: Scope?) -> (needed: String, options: [String])? {
        var needed: [String] = []
        var options: [String] = []
        for (setting, value) in preset.refreshNeeds {
            guard let change = change(of: setting, to: value, settings, scope) else { continue }
            needed.append(change.needed)
            options += change.option
        }
        return needed.isEmpty ? nil : (needed.joined(separator: " and "), options)
    }

    /// Returns the missing part of one setting, and the option that adds it.
    private func change(
        of setting: Setting, to value: String, _ settings: Settings, _ requested: Scope?
    ) -> (needed: String, option: [String])? {
        guard let wanted = setting.kind.parsed(value) else { return nil }
        switch setting.kind {
        case .scope:
            guard let scope = requested ?? settings.token.scope, !Scope(value).isSubset(of: scope) else {
                return nil
            }
            let all = scope.union(Scope(value)).text
            return ("the scope \(value)", ["--scope", all])
        case .parameters:
            var all = settings.layers[setting]?.object ?? JSONObject()
            let missing = wanted.object?.members.filter { all[$0.name] != $0.value } ?? []
            guard !missing.isEmpty else { return nil }
            for member in missing { all[member.name] = member.value }
            let words = missing.map { "\($0.name)=\($0.value.string ?? "")" }.joined(separator: " and ")
            let json = JSONValue.object(all).compact
            return (words, ["--set", "\(setting.name)=\(json)"])
        default:
            let isSent = settings.signIn.extraParameters.contains(.init(setting.name, value))
            guard settings.layers[setting] != wanted, !isSent else { return nil }
            let assignment = "\(setting.name)=\(value)"
            return (assignment, ["--set", assignment])
        }
    }
}
