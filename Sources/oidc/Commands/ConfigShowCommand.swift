import CommandLineKit
import OIDCCore

struct ConfigShowCommand: RunnableCommand {
    static let name = "show"
    static let summary = "Show the effective settings and their origin"
    static let declaration = Declaration<ConfigShowCommand>(
        discussion: """
            Options override variables, and variables override the profile. Secrets, keys and endpoints of one \
            provider or client are left out if an option or a variable names another. Secrets are not shown. \
            Relative paths in the file are relative to its directory, other paths to the working directory.
            """,
        examples: [
            Example("oidc config show", "the settings of the default profile"),
            Example("oidc config show -p work -o json", "another profile, as JSON"),
        ],
        options: [.group(\.options), .group(\.common)])

    var options = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let settings = try context.settings(options)
        if context.console.isJSON {
            var object = JSONObject()
            for entry in settings.layers.entries {
                object[entry.setting.name] = [
                    "value": Self.redacted(entry), "origin": .string(entry.origin.text),
                ]
            }
            try context.console.output(
                ["profile": JSONValue(settings.profile), "settings": .object(object)])
            return 0
        }
        guard !settings.layers.entries.isEmpty else {
            let path = DisplayText.clean(context.settingsLoader.path ?? "nowhere")
            let choice = ProviderContext(settings, context).profileChoice
            context.console.note(
                choice.map { "no profile of \(path) is in use; \($0)" }
                    ?? "nothing is set; the file would be \(path)")
            return 0
        }
        let width = settings.layers.entries.map(\.setting.name.utf8.count).max() ?? 0
        for entry in settings.layers.entries {
            let padding = String(repeating: " ", count: width - entry.setting.name.utf8.count)
            let value = Self.redacted(entry)
            let shown = DisplayText.clean(value.string ?? value.compact)
            try context.console.report("\(entry.setting.name)\(padding)  \(shown)  (\(entry.origin.text))")
        }
        return 0
    }

    /// Returns the value to print. Hides secrets and what may contain them: extra parameters, and the
    /// arguments of programs that print a secret or key.
    static func redacted(_ entry: SettingLayers.Entry) -> JSONValue {
        switch entry.setting.kind {
        case .secret: return "(secret)"
        case .text where entry.setting == .store:
            return .string(SessionStoreChoice.redacted(entry.value.string ?? "") ?? "(not shown)")
        case .command where entry.setting == .clientSecretCommand || entry.setting == .storeKeyCommand:
            let words = entry.value.array ?? []
            return .array(words.prefix(1) + words.dropFirst().prefix(1).map { _ in "(not shown)" })
        case .parameters:
            var object = JSONObject()
            for name in entry.value.object?.names ?? [] { object[name] = "(not shown)" }
            return .object(object)
        default: return entry.value
        }
    }
}
