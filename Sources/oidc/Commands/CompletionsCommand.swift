import CommandLineKit
import OIDCCore
import OIDCSystem

struct CompletionsCommand: RunnableCommand {
    static let name = "completions"
    static let summary = "Print a completion script for a shell"
    static let declaration = Declaration<CompletionsCommand>(
        examples: [
            Example("source <(oidc completions bash)", "in ~/.bashrc; zsh alike, after compinit"),
            Example("oidc completions fish | source", "in ~/.config/fish/config.fish"),
        ],
        operands: [.optional(\.shell, "bash|zsh|fish", "the shell")],
        options: [
            .value(\.list, "--list", "KIND", "print candidates for a script", isHidden: true),
            .group(\.common),
        ])

    var shell: Shell?
    var list: String?
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        if let list {
            for word in candidates(list, context) where DisplayText.clean(word) == word {
                try context.console.output(word)
            }
            return 0
        }
        guard let shell else {
            throw OIDCError.usage("which shell: bash, zsh or fish?", hint: "oidc help completions")
        }
        try StandardOutput.write(Completion.script(shell, Program.oidc))
        return 0
    }

    /// While somebody types nothing is complained about.
    private func candidates(_ kind: String, _ context: CommandContext) -> [String] {
        switch kind {
        case "profiles": (try? context.settingsLoader.file())??.profiles.map(\.name) ?? []
        case "settings": Setting.all.map { "\($0.name)=" }
        case "resources":
            (try? context.settingsLoader.load())?[.resources]?.array?.compactMap { $0["title"]?.string } ?? []
        default: []
        }
    }
}
