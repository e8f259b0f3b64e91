import CommandLineKit
import OIDCCore
import Posix

/// The options to add to the commands in hints, so they use the same profile, file, provider and session as
/// the command line.
struct HintCompletion: Sendable {
    private let common: CommonOptions
    /// The names of the settings that options and variables set.
    private let given: Set<String>
    private let environment: Variables
    private let session: CommandLineSession
    private let line: TypedLine

    init(_ common: CommonOptions, words: [String] = [], environment: Variables = [:]) {
        self.common = common
        self.environment = environment
        line = TypedLine(words: words)
        session = CommandLineSession(common, words: words, environment: environment)
        let options = (try? ProviderOptions.lenient(words).entries())?.map(\.setting) ?? []
        let variables = environment.names(startingWith: "OIDC_")
            .filter { environment[$0] != "" }.compactMap(Setting.ofVariable)
        given = Set((options + variables).map(\.name))
    }

    /// Whether options or variables name the provider or the client. A missing setting is then not the
    /// profile's, and there may be no profile.
    private var isProviderGiven: Bool {
        [Setting.issuer, .clientID, .tokenEndpoint].contains { given.contains($0.name) }
    }

    /// Whether the file has profiles but none is in use, so `oidc config set` would fail.
    private var isWithoutProfile: Bool {
        let loader = SettingsLoader(environment: environment, common: common)
        guard let file = try? loader.file(), !file.profiles.isEmpty else { return false }
        return (try? file.profile(named: loader.profileName)).flatMap { $0 } == nil
    }

    /// Adds the options of the command line to each command in the hint. A change of a profile that is not in
    /// effect becomes `--set`.
    ///
    /// A hint that is only an option becomes the command line with it, or else a sentence.
    func completed(_ hint: String) -> String {
        let hint = commandsCompleted(withOptions(hint))
        return hint.hasPrefix("-") ? line.adding(hint) ?? "give \(hint)" : hint
    }

    private static let change = "oidc config set"

    /// Replaces `oidc config set` by `--set` if a change of the profile would have no effect.
    private func withOptions(_ hint: String) -> String {
        let pieces = hint.pieces(between: HintCompletion.change)
        guard pieces.count > 1 else { return hint }
        let isForNone = isProviderGiven || isWithoutProfile
        return pieces.dropFirst().reduce(String(pieces.first ?? "")) { text, rest in
            let name = rest.drop { $0 == " " || $0 == "'" }.prefix { $0 != "=" }
            let isOption = !rest.hasPrefix(" -p ") && (isForNone || given.contains(String(name)))
            guard isOption else { return text + HintCompletion.change + rest }
            // Does not offer the same option twice.
            if text.hasSuffix(", or: "), text.includes("--set\(rest)") { return String(text.dropLast(6)) }
            return "\(text)--set\(rest)"
        }
    }

    private func commandsCompleted(_ hint: String) -> String {
        let start = "oidc "
        let pieces = hint.pieces(between: start)
        return pieces.dropFirst().reduce(String(pieces.first ?? "")) { text, rest in
            let isWord =
                text.utf8.last.map { !ASCII.isAlphanumeric($0) && $0 != .hyphen && $0 != .slash } ?? true
            guard isWord, let command = HintCommand(rest) else { return text + start + rest }
            let call = command.call
            let missing = session.missingWords(command)
            return "\(text)\(start)\(call)\(missing)\(rest.dropFirst(call.count))"
        }
    }
}

/// A command in a hint, with the words that belong to it.
struct HintCommand {
    let path: [String]
    /// The command's options: their names, or `--set KEY` for a setting.
    private(set) var options: [String] = []
    /// The word after the option `--config`, `--issuer` or `-p`.
    private(set) var file: String?
    private(set) var issuer: String?
    private(set) var profile: String?
    private(set) var operand: String?

    /// The command's path, without the program's name.
    var call: String { path.joined(separator: " ") }

    /// Parses the words after the program's name. Returns nil if they are not a command.
    init?(_ text: some StringProtocol) {
        var words = HintCommand.words(text)[...]
        var path: [String] = []
        while let word = words.first, Program.oidc.command(path + [word.text]) != nil {
            path.append(word.text)
            words.removeFirst()
            if word.isLast {
                words = []
            } else if Program.oidc.command(path)?.subcommands.isEmpty != false {
                break
            }
        }
        guard !path.isEmpty else { return nil }
        self.path = path
        var option: String?
        for word in words {
            if ["or", "and", "|", ">"].contains(word.text) || word.text.hasPrefix("(") { break }
            read(word.text, after: &option)
            if word.isLast { break }
        }
    }

    private mutating func read(_ word: String, after option: inout String?) {
        let unquoted = word.hasPrefix("'") ? word.dropFirst().prefix { $0 != "'" } : word[...]
        switch option {
        case "--set": options.append("--set \(unquoted.prefix { $0 != "=" })")
        case "--config": file = word
        case "--issuer": issuer = word
        case "-p": profile = word
        default: break
        }
        if word.hasPrefix("-"), word != "-" {
            let name = String(word.prefix { $0 != "=" })
            options.append(name)
            option = name
        } else {
            if option == nil, operand == nil { operand = String(unquoted) }
            option = nil
        }
    }

    /// Returns whether the command names a setting, by its option or by `--set`.
    func names(_ setting: String) -> Bool {
        let option = "--" + String(setting.map { $0 == "_" ? "-" : $0 })
        return options.contains(option) || options.contains("--set \(setting)")
    }

    /// Splits a string at spaces outside single quotes. A word that ends with a comma, semicolon, colon or
    /// parenthesis is the last one of a command.
    private static func words(_ text: some StringProtocol) -> [(text: String, isLast: Bool)] {
        var words: [(text: String, isLast: Bool)] = []
        var word = ""
        var isQuoted = false
        for character in text + " " {
            // A quote behind a backslash stands for itself, as in 'it'\''s'.
            if character == "'", isQuoted || word.last != "\\" { isQuoted.toggle() }
            guard character == " ", !isQuoted else {
                word.append(character)
                continue
            }
            let isLast = word.last.map { ",;:)".contains($0) } ?? false
            if isLast { word.removeLast() }
            if !word.isEmpty { words.append((word, isLast)) }
            word = ""
        }
        return words
    }
}
