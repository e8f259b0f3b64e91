import OIDCCore
import OIDCSystem

/// A profile that `config init` is about to write.
struct NewProfile {
    let name: String
    let writer: ProfileWriter
    let entries: [SettingLayers.Entry]
    let settings: Settings
    let made: PresetProfile?
    let console: Console
    let common: CommonOptions

    var guide: PresetGuide? {
        made.map { PresetGuide(made: $0, settings: settings, profile: name, signIn: signIn) }
    }

    /// The command that signs in with the profile.
    private var signIn: String { common.completing(settings.loginLine(profile: name, of: writer)) }

    /// Whether the file of the client's secret exists, if one is named.
    var hasSecret: Bool {
        guard case .file(let file) = settings.client.secret else { return true }
        return UserFile.isThere(file.path)
    }

    /// Writes the profile, then the secret, which another profile must not use.
    func write(replacing: Bool, secret: InitDialog.TypedSecret? = nil) throws(OIDCError) {
        try writer.write(as: name, replacing: replacing) { profiles throws(OIDCError) in
            try secret?.place.check(among: profiles, replacing: replacing)
            return entries
        }
        guard let secret else { return }
        do throws(OIDCError) { try secret.place.write(secret.text) } catch {
            var error = error
            error.message += "; profile \(DisplayText.quoted(name)) is written without its secret"
            throw error
        }
    }

    /// Says what was written and what to do next.
    func report(withRegistration: Bool) throws(OIDCError) {
        let wrote = "Wrote profile \(DisplayText.clean(name)) to \(DisplayText.clean(writer.path))."
        if let guide {
            let lines = [wrote] + (withRegistration ? guide.registration : []) + guide.next
            console.note(lines.joined(separator: "\n"))
        } else {
            console.note("\(wrote) Now: \(signIn)")
        }
        guard console.isJSON else { return }
        let plain: JSONValue = ["path": .string(writer.path), "profile": .string(name)]
        try console.output(guide?.json(path: writer.path) ?? plain)
    }
}
