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

    var guide: PresetGuide? { made.map { PresetGuide(made: $0, settings: settings, profile: name) } }

    /// Whether the file of the client's secret exists, if one is named.
    var hasSecret: Bool {
        guard case .file(let file) = settings.client.secret else { return true }
        return UserFile.isThere(file.path)
    }

    func write(replacing: Bool) throws(OIDCError) {
        try writer.write(as: name, replacing: replacing) { _ in entries }
    }

    /// Says what was written and what to do next.
    func report(withRegistration: Bool) throws(OIDCError) {
        let wrote = "Wrote profile \(DisplayText.clean(name)) to \(DisplayText.clean(writer.path))."
        if let guide {
            let lines = [wrote] + (withRegistration ? guide.registration : []) + guide.next
            console.note(lines.joined(separator: "\n"))
        } else {
            console.note("\(wrote) Now: \(settings.loginLine(profile: name))")
        }
        guard console.isJSON else { return }
        let plain: JSONValue = ["path": .string(writer.path), "profile": .string(name)]
        try console.output(guide?.json(path: writer.path) ?? plain)
    }
}

extension InitDialog.TypedSecret {
    /// Writes the secret to its file, with mode 0600.
    func keep(replacing: Bool) throws(OIDCError) {
        guard replacing || !UserFile.isThere(file) else {
            throw OIDCError.usage(
                "there is a secret at \(DisplayText.clean(file)) already",
                hint: "move it away, or replace it with --force")
        }
        try UserFile.rewrite(file, followingLinks: false, named: Setting.clientSecretFile.name) {
            Array((text.revealed + "\n").utf8)
        }
    }
}
