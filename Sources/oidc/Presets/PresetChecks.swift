import LoopbackHTTP
import OIDCCore
import OIDCSignIn

/// Checks of the settings against the preset of their provider, for `oidc doctor`.
struct PresetChecks {
    let match: PresetMatch
    let settings: Settings

    /// Returns a finding for each problem, or one that reports that there is none.
    func findings() -> [Finding] {
        let ofSignIn = settings.token.grant.needsUser ? [redirect, secret, refresh] : []
        let missing = ([issuer] + ofSignIn).compactMap { $0 }
        guard missing.isEmpty else { return missing }
        return [Finding("provider", .ok, "\(match.preset.title), as of \(match.preset.date)")]
    }

    /// The finding for an issuer URL that contains a special value by mistake.
    private var issuer: Finding? {
        guard let (word, issuer) = match.issuerOfSpecialValue else { return nil }
        let isInProfile = settings.layers.entries.contains {
            guard case .profile = $0.origin else { return false }
            return $0.setting == .issuer
        }
        let profile = isInProfile ? settings.profile.map { ["-p", $0, "--force"] } ?? [] : []
        let words = profile + [match.preset.name] + match.words + ["--client-id", settings.client.id ?? "ID"]
        return Finding(
            "provider", .problem, "the issuer of \(match.preset.title) with \(word) is \(issuer)",
            hint: .run("config init", words))
    }

    /// The finding for a redirect URL without a fixed port, if the provider compares ports.
    private var redirect: Finding? {
        guard match.preset.redirect == .exactPort,
            case .any? = (try? settings.signIn.redirect())?.loopback?.ports
        else { return nil }
        return Finding(
            "provider", .warning,
            "\(match.preset.title) compares the redirect URL with its port, and no port is fixed",
            hint: .words(
                settings.loginLine.adding("--port", "8484"),
                ", with the URL registered at \(match.registrationPage)"))
    }

    private var secret: Finding? {
        let client = settings.client
        let hasNone = client.secret == nil && client.privateKey == nil && client.assertionSource == nil
        guard match.preset.secret == .required, hasNone, settings.signIn.flow != .device else { return nil }
        return Finding(
            "provider", .warning, "\(match.preset.title) gives its clients a secret, and none is set",
            hint: "set client_secret_file; the secret is shown at \(match.registrationPage)")
    }

    private var refresh: Finding? {
        guard let fix = match.refreshFix(settings, scope: nil) else { return nil }
        return Finding(
            "provider", .warning, "\(match.preset.title) issues a refresh token only with \(fix.needed)",
            hint: settings.loginLine.adding(fix.options))
    }
}
