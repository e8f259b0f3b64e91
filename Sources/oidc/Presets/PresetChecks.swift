import OIDCCore
import OIDCSystem

/// Checks of settings against what is known of their provider by name, for `doctor`.
struct PresetChecks {
    let match: PresetMatch
    let settings: Settings

    func finding() -> Finding {
        let preset = match.preset
        if settings.token.grant.needsUser, let warning = redirect ?? secret ?? refresh { return warning }
        return Finding("provider", .ok, "\(preset.title), as of \(preset.date)")
    }

    /// Checks that the port is fixed if the provider compares it.
    private var redirect: Finding? {
        guard match.preset.redirect == .exactPort,
            case .any? = (try? settings.signIn.redirect())?.loopback?.ports
        else { return nil }
        return Finding(
            "provider", .warning,
            "\(match.preset.title) compares the redirect URL with its port, and no port is fixed",
            hint: "\(settings.loginLine) --port 8484, with the URL registered at \(match.registrationPlace)")
    }

    private var secret: Finding? {
        let client = settings.client
        let hasNone = client.secret == nil && client.privateKey == nil && client.assertionSource == nil
        guard match.preset.secret == .required, hasNone, settings.signIn.flow != .device else { return nil }
        return Finding(
            "provider", .warning, "\(match.preset.title) gives its clients a secret, and none is set",
            hint: "set client_secret_file; the secret is shown at \(match.registrationPlace)")
    }

    private var refresh: Finding? {
        guard let fix = match.refreshFix(settings, scope: nil) else { return nil }
        return Finding(
            "provider", .warning, "\(match.preset.title) issues a refresh token only with \(fix.needed)",
            hint: "\(settings.loginLine) \(fix.options)")
    }
}
