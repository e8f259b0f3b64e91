import OIDCCore
import OIDCSignIn
import Posix

/// The steps after a preset's profile is written: what to register, the secret, the next command.
struct PresetGuide {
    let made: PresetProfile
    let settings: Settings
    /// The profile's name.
    let profile: String
    /// The command that signs in with it.
    let signIn: String
    /// The command that changes it, without the settings.
    let change: String

    private var preset: Preset { made.preset }

    /// The redirect URL to register; without a port if any port is accepted.
    var redirectURI: String {
        guard let redirect = try? settings.signIn.redirect() else { return settings.signIn.redirectURI ?? "" }
        return settings.signIn.port.map { redirect.text(port: $0) } ?? redirect.text
    }

    private var redirect: String {
        switch preset.redirect {
        case .unregistered: "\(redirectURI) on any port; it need not be registered"
        case .anyPort: "\(redirectURI), without a port: the port does not matter"
        case .exactPort: "\(redirectURI), to the letter: the port matters"
        case .pasted: "\(redirectURI), to the letter; paste the URL your browser was redirected to"
        }
    }

    private var secret: [String] {
        if case .file(let file) = settings.client.secret, !UserFile.isThere(file.path) {
            return [
                "Secret:       paste it here, then press Enter and Ctrl-D:",
                "  \(ProfileSecret.writingLine(file.path))",
            ]
        }
        guard settings.client.secret == nil else { return [] }
        return switch preset.secret {
        case .none: ["Secret:       none"]
        case .optional:
            ["Secret:       none for a public client; otherwise: \(change) client_secret_file=FILE"]
        case .required where settings.client.method == "none": ["Secret:       none"]
        case .required: ["Secret:       set client_secret_file, client_secret_command or OIDC_CLIENT_SECRET"]
        }
    }

    /// The type of application to register: for a grant without a user, a client that can prove who it is.
    private var application: String {
        let grant = settings.token.grant
        guard !grant.needsUser else { return preset.application }
        return preset.machineApplication ?? "a confidential client with the grant \(grant.rawValue)"
    }

    var registration: [String] {
        ["Register:     \(application)", "Where:        \(made.registrationPage)"]
            + (settings.token.grant.needsUser ? ["Redirect URL: \(redirect)"] : [])
    }

    /// The steps after the registration.
    var next: [String] {
        secret + (preset.note.map { ["Note:         \($0)"] } ?? []) + [
            "Next:         \(signIn)"
        ]
    }

    func json(path: String) -> JSONValue {
        var written = JSONObject()
        for entry in made.entries { written[entry.setting.name] = entry.value }
        return [
            "path": .string(path), "profile": .string(profile), "provider": .string(preset.name),
            "redirect_uri": settings.token.grant.needsUser ? .string(redirectURI) : .null,
            "register": .string(application),
            "register_at": .string(made.registrationPage), "secret": .string(preset.secret.rawValue),
            "settings": .object(written),
            "next": .string(signIn),
        ]
    }
}
