import CommandLineKit

/// A command line that a hint suggests: the words after the program's name.
struct SuggestedCommand {
    let path: [String]
    /// The words after the command.
    let arguments: [String]
    /// The names of the options, or `--set KEY` for a setting.
    private(set) var options: Set<String> = []
    private(set) var file: String?
    private(set) var issuer: String?
    private(set) var profile: String?
    private(set) var operand: String?

    init(_ words: [String]) {
        var path: [String] = []
        while path.count < words.count, Program.oidc.command(path + [words[path.count]]) != nil {
            path.append(words[path.count])
        }
        self.path = path
        arguments = Array(words.dropFirst(path.count))
        let flags = Program.oidc.command(path)?.options.filter { $0.valueName == nil }.flatMap(\.spellings)
        var option: String?
        for word in arguments { read(word, after: &option, flags ?? []) }
    }

    /// Returns the words after the command, with a value that starts with a dash in one word with its option: the scope or
    /// the client ID of a server may.
    func attachingValues(in arguments: [String]) -> [String] {
        let options = Program.oidc.command(path)?.options.filter { $0.valueName != nil } ?? []
        var words: [String] = []
        var isValue = false
        for word in arguments {
            let option = options.first { $0.spellings.contains(words.last ?? "") }
            if isValue, let option, word.hasPrefix("-") {
                words[words.count - 1] = "\(option.name)=\(word)"
            } else {
                words.append(word)
            }
            isValue = !isValue && options.contains { $0.spellings.contains(word) }
        }
        return words
    }

    /// Reads a word. `option` is the option before it that takes a value, if there is one.
    private mutating func read(_ word: String, after option: inout String?, _ flags: [String]) {
        switch option {
        case "--set": options.insert("--set \(word.prefix { $0 != "=" })")
        case "--config": file = word
        case "--issuer": issuer = word
        case "-p": profile = word
        default: break
        }
        if option == nil, word.hasPrefix("-"), word != "-" {
            let name = String(word.prefix { $0 != "=" })
            options.insert(name)
            option = name == word && !flags.contains(name) ? name : nil
        } else {
            if option == nil, operand == nil { operand = word }
            option = nil
        }
    }

    /// The command's words without the arguments.
    var call: String { path.joined(separator: " ") }

    /// Whether the command writes or reads profiles.
    var isAboutFile: Bool { ["config", "register", "switch"].contains(path.first) }

    /// Whether the command is about a profile of the file that it names itself.
    var namesProfile: Bool {
        switch path.last {
        case "set", "show": profile != nil
        case "use", "rm", "rename", "switch": true
        default: false
        }
    }

    /// Returns whether the command names a setting, by its option or by `--set`.
    func names(_ setting: String) -> Bool {
        let option = "--" + String(setting.map { $0 == "_" ? "-" : $0 })
        return options.contains(option) || options.contains("--set \(setting)")
    }

    /// The assignment, if the command changes a setting of the profile in use.
    var change: String? {
        path == ["config", "set"] && profile == nil && arguments.count == 1 ? arguments[0] : nil
    }
}
