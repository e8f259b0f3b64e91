import LoopbackHTTP
import OIDCCore
import OIDCSignIn
import Posix

/// A profile that `config init` is about to write.
struct NewProfile {
    let name: String
    let file: ProfilesFile
    let entries: [SettingLayers.Entry]
    let settings: Settings
    let made: PresetProfile?
    let console: Console
    let common: CommonOptions
    /// The errors that a sign-in with the profile will fail with.
    var obstacles: [OIDCError] = []

    var guide: PresetGuide? {
        made.map { made in
            let change = common.completing(settings.line("config set", profile: name, of: file))
            return PresetGuide(made: made, settings: settings, profile: name, signIn: signIn, change: change)
        }
    }

    /// The command to run next: a sign-in, a token request, or, if there are obstacles, `oidc doctor`.
    private var signIn: String {
        let command =
            obstacles.isEmpty ? settings.token.grant.needsUser ? "login" : "token" : "doctor"
        return common.completing(settings.line(command, profile: name, of: file))
    }

    /// Whether the client's secret file exists, or no file is set.
    var hasSecret: Bool {
        guard case .file(let file) = settings.client.secret else { return true }
        return UserFile.isThere(file.path)
    }

    /// Writes the profile, and then the secret to a file that no other profile uses.
    func write(replacing: Bool, secret: InitDialog.SecretInput? = nil) throws(OIDCError) {
        try file.write(as: name, replacing: replacing) { profiles throws(OIDCError) in
            try secret?.destination.check(among: profiles, replacing: replacing)
            return entries
        }
        guard let secret else { return }
        do throws(OIDCError) { try secret.destination.write(secret.text) } catch {
            var error = error
            error.message += "; profile \(DisplayText.quoted(name)) is written without its secret"
            throw error
        }
    }

    /// Reports the written profile and the next steps.
    func report(withRegistration: Bool) throws(OIDCError) {
        let wrote = "Wrote profile \(DisplayText.clean(name)) to \(DisplayText.clean(file.path))."
        let lines = [wrote] + (withRegistration ? registration : [])
        console.note((lines + next).joined(separator: "\n"))
        for obstacle in obstacles {
            console.warn(
                obstacle.orReported, "no \(settings.token.grant.needsUser ? "sign-in" : "token") is possible")
        }
        // The guide says how to write the preset's own file.
        let own = entries.filter { $0.setting == .clientSecretFile && $0.origin == .option("--set") }
        for file in settings.client.secretFiles where file.setting != .clientSecretFile || !own.isEmpty {
            guard !UserFile.isThere(file.path) else { continue }
            console.warn("\(file.name): there is no file \(DisplayText.clean(file.path))")
        }
        if console.isJSON { try console.output(json) }
    }

    /// The steps after the registration.
    var next: [String] { guide?.next ?? ["Next:         \(signIn)"] }

    var json: JSONValue {
        guide?.json(path: file.path) ?? [
            "path": .string(file.path), "profile": .string(name),
            "redirect_uri": JSONValue(redirect?.uris.joined(separator: " ")), "next": .string(signIn),
        ]
    }

    /// The lines that describe what to register at the provider.
    var registration: [String] {
        guide?.registration ?? redirect.map { redirect in
            ["Redirect URL: \(redirect.uris.joined(separator: ", "))\(redirect.note)"]
        } ?? []
    }

    /// The redirect URLs that may be sent; nil for a grant without a user.
    private var redirect: (uris: [String], note: String)? {
        guard settings.token.grant.needsUser, let redirect = try? settings.signIn.redirect() else {
            return nil
        }
        switch redirect.loopback?.ports {
        case .any?: return ([redirect.text], " on any port; for one that you choose: --set port=N")
        case .fixed(let port)?: return ([redirect.text(port: port)], "")
        case .firstFree(let ports)?: return (ports.map { redirect.text(port: $0) }, "")
        case nil: return ([redirect.text], "; paste the URL your browser was redirected to")
        }
    }
}
