import CommandLineKit
import OIDCCore
import Posix

struct CompletionsCommand: RunnableCommand {
    static let name = "completions"
    static let summary = "Print a completion script for a shell"
    static let declaration = Declaration<CompletionsCommand>(
        usage: ["[options] [bash|zsh|fish]"],
        examples: [
            Example("source <(oidc completions bash)", "in ~/.bashrc; for zsh in ~/.zshrc, after compinit"),
            Example("oidc completions fish | source", "in ~/.config/fish/config.fish"),
        ],
        operands: [
            .optional(\.shell, "bash|zsh|fish", "the shell"),
            .rest(\.words, "WORD", ""),
        ],
        options: [
            .flag(\.isCompleting, "--complete", "answer the script: complete the words", isHidden: true),
            .group(\.common),
        ])

    var shell: Shell?
    /// The words that the completion script passes; see `Program.answer`.
    var words: [String] = []
    var isCompleting = false
    var common = CommonOptions()
    var hasJSONForm: Bool { false }

    func validate() throws(UsageError) {
        if !isCompleting, let word = words.first {
            throw UsageError("unexpected argument \(UsageError.quoted(word))")
        }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        guard let shell else {
            throw OIDCError.usage("missing shell: bash, zsh or fish", hint: .run("help completions"))
        }
        guard isCompleting else {
            try StandardOutput.write(Completion.script(shell, Program.oidc))
            return 0
        }
        try StandardOutput.write(
            Program.oidc.answer(shell, words) { query in
                CompletionValues(environment: context.environment, query: query).candidates
                    .filter { DisplayText.clean($0.word) == $0.word }
            })
        return 0
    }
}

/// Completions from the configuration; none, and no error, if it cannot be read.
struct CompletionValues {
    let environment: Variables
    let query: CompletionQuery

    private var loader: SettingsLoader {
        SettingsLoader(environment: environment, common: CommonOptions.lenient(query.words))
    }

    var candidates: [Candidate] {
        switch query.kind {
        case "profiles": profiles
        case "settings": settings
        case "set-settings":
            (try? (try? loader.file())??.profile(named: loader.profileName))??.values.names
                .map { Candidate($0, Setting.named($0)?.summary ?? "") } ?? []
        case "resources":
            (try? loader.load())?.tools.resources.map { Candidate($0.title, $0.url.text) } ?? []
        case "login": profiles + Preset.all.map { Candidate($0.name, $0.title) }
        case "providers": Preset.all.map { Candidate($0.name, $0.title) }
        case "parameters": parameters
        default: []
        }
    }

    private var profiles: [Candidate] {
        (try? loader.file())??.profiles.map { Candidate($0.name, $0.values["issuer"]?.string ?? "") } ?? []
    }

    /// Completions of the provider's parameters: `NAME=`, then `NAME=VALUE` if the values can be listed.
    private var parameters: [Candidate] {
        let given = query.operands
        guard let preset = given.first.flatMap({ Preset.named($0) }) else { return [] }
        guard let equals = query.typed.firstIndex(of: "=") else {
            return preset.parameters.filter { parameter in
                !given.contains { $0.hasPrefix("\(parameter.name)=") }
            }.map { Candidate("\($0.name)=", $0.meaning) }
        }
        let name = String(query.typed[..<equals])
        let values = preset.parameters.first { $0.name == name }?.knownValues ?? []
        return values.map { Candidate("\(name)=\($0)") }
    }

    /// Completions of settings: `KEY=`, then `KEY=VALUE` if the values can be listed.
    private var settings: [Candidate] {
        guard let equals = query.typed.firstIndex(of: "=") else {
            return Setting.all.filter { !$0.kind.isSecret }.map { Candidate("\($0.name)=", $0.summary) }
        }
        let name = String(query.typed[..<equals])
        let choices =
            name == Setting.prompt.name
            ? Setting.prompts
            : Setting.named(name)?.kind.choices ?? []
        return choices.map { Candidate("\(name)=\($0)") }
    }
}
