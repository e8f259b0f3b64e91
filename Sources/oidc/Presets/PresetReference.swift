import CommandLineKit
import OIDCCore

/// The presets as documentation: `oidc help providers`, as text and as JSON.
enum PresetReference {
    static let topic = "providers"

    static var section: ManSection {
        ManSection(
            "PROVIDERS", topic: topic,
            """
            Providers known by name, for: oidc config init PROVIDER [NAME=VALUE...] --client-id ID. Parameters in \
            brackets are optional. The facts are from the providers' documentation of the month shown; \
            any other provider works with --issuer URL.
            """,
            entries: Preset.all.map { (term: term($0), meaning: meaning($0)) })
    }

    /// Describes one provider, for `oidc help NAME`.
    static func section(_ preset: Preset) -> ManSection {
        var entries = preset.parameters.map { parameter in
            let others = parameter.special.map { ", or \($0.key)" }.joined()
            let value = parameter.standard.map { " (\($0) if not given)" } ?? ", as in \(parameter.example)"
            return (term: "\(parameter.name)=", meaning: "\(parameter.meaning)\(others)\(value)")
        }
        entries.append(("register", "\(preset.application): \(preset.registrationPage([:]))"))
        entries.append(("flows", preset.flows.map(\.rawValue).joined(separator: ", ")))
        entries.append(("secret", preset.secret.rawValue))
        if let note = preset.note { entries.append(("note", note)) }
        entries.append(("source", "\(preset.source) (\(preset.date))"))
        let words = preset.parameters.filter { $0.standard == nil }.map { "\($0.name)=\($0.example)" }
        let line = (["oidc config init", preset.name] + words.map(ShellWord.quoted)).joined(separator: " ")
        return ManSection(
            "PROVIDER", topic: preset.name, "\(preset.title): \(line) --client-id ID", entries: entries)
    }

    /// Returns the preset's name and parameters, as in `okta domain= [server=]`.
    private static func term(_ preset: Preset) -> String {
        ([preset.name] + preset.parameters.map { $0.standard == nil ? "\($0.name)=" : "[\($0.name)=]" })
            .joined(separator: " ")
    }

    private static func meaning(_ preset: Preset) -> String {
        let parameters = preset.parameters.map { parameter in
            let others = parameter.special.map { ", or \($0.key)" }.joined()
            let value = parameter.standard.map { " (\($0) if not given)" } ?? ", as in \(parameter.example)"
            return "\(parameter.name): \(parameter.meaning)\(others)\(value)"
        }
        let flows = preset.flows.map(\.rawValue).joined(separator: ", ")
        return
            (["\(preset.title): \(flows); secret: \(preset.secret.rawValue) (\(preset.date))"] + parameters)
            .joined(separator: ". ")
    }

    static var json: JSONValue { .array(Preset.all.map(json)) }

    private static func json(_ preset: Preset) -> JSONValue {
        [
            "name": .string(preset.name), "title": .string(preset.title),
            "parameters": .array(preset.parameters.map(json)),
            "flows": .array(preset.flows.map { .string($0.rawValue) }),
            "secret": .string(preset.secret.rawValue), "register": .string(preset.application),
            "register_at": .string(preset.registrationPage), "redirect": .string(preset.redirect.rawValue),
            "note": JSONValue(preset.note), "source": .string(preset.source), "date": .string(preset.date),
        ]
    }

    private static func json(_ parameter: PresetParameter) -> JSONValue {
        [
            "name": .string(parameter.name), "meaning": .string(parameter.meaning),
            "example": .string(parameter.example), "default": JSONValue(parameter.standard),
            "special": .array(parameter.special.map { .string($0.key) }),
        ]
    }
}
