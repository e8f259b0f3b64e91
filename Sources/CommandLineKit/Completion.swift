/// The completion of the word at the cursor.
package enum Completion: Equatable, Sendable {
    case words([Candidate])
    case files
    case directories
    /// The command line of another program, starting at the word with this index.
    case command(at: Int)
}

/// A word that can be inserted, with its meaning.
package struct Candidate: Equatable, Sendable {
    package let word: String
    package let meaning: String

    package init(_ word: String, _ meaning: String = "") {
        self.word = word
        self.meaning = meaning
    }
}

/// A request for values that only the program can list (`CompletionHint.dynamic`).
package struct CompletionQuery: Equatable, Sendable {
    package let kind: String
    /// The part of the value before the cursor.
    package let typed: String
    /// All words up to the cursor, without the program's name.
    package let words: [String]
    /// The command's operands before the cursor; none for the value of an option.
    package let operands: [String]
}

extension Program {
    /// Completes the last of `words`, which do not include the program's name.
    package func complete(
        _ words: [String], dynamic: @escaping (CompletionQuery) -> [Candidate]
    ) -> Completion {
        var completer = Completer(words: words, dynamic: dynamic)
        var walk = CommandWalk(self, words.dropLast())
        let end = walk.walk()
        completer.leading = walk.leading
        switch end {
        case .incomplete(let scan):
            return completer.complete(
                scan, table: common.table, options: commonOptions, otherwise: .words(commands(at: walk)))
        case .unknown: return .words([])
        case .command(let type) where type == HelpCommand.self:
            return completer.narrowed(.words(topics(below: Scan(walk.rest, table: common.table).operands)))
        case .command(let type): return completer.complete(type, walk.rest)
        }
    }

    private func commands(at walk: CommandWalk) -> [Candidate] {
        walk.subcommands.map { Candidate($0.name, $0.summary) }
    }

    /// Returns the words that can follow `help` and these words.
    private func topics(below words: some Sequence<String>) -> [Candidate] {
        var walk = CommandWalk(self)
        for word in words {
            guard let type = walk.enter(word), !type.subcommands.isEmpty else { return [] }
        }
        return commands(at: walk) + (walk.type == nil ? topics.map { Candidate($0) } : [])
    }
}

/// The completion of one word, once the words before it have led to a command.
private struct Completer {
    let words: [String]
    let dynamic: (CompletionQuery) -> [Candidate]
    /// Options that were given before the command's name.
    var leading: [String] = []

    private var word: String { words.last ?? "" }

    /// Completes an option or operand of a command.
    func complete(_ type: any Command.Type, _ rest: ArraySlice<String>) -> Completion {
        let command = CommandDescription(type, path: [type.name])
        let table = type.table
        let scan = Scan(
            (leading + rest)[...], table: table, stopsAtFirstOperand: command.stopsAtFirstOperand)
        let index = scan.operands.count
        var hint = CompletionHint.none
        if command.stopsAtFirstOperand, index > 0 {
            hint = .command
        } else if index < command.operands.count {
            hint = command.operands[index].completion
        } else if let last = command.operands.last, case .rest = last.arity {
            hint = last.completion
        }
        return complete(
            scan, table: table, options: command.options,
            otherwise: values(hint, typed: word, commandAt: words.count - 1 - index, operands: scan.operands))
    }

    /// Completes the value of the preceding option, or else an option or an operand.
    func complete(
        _ scan: Scan, table: [OptionDescription], options: [OptionDescription],
        otherwise operand: @autoclosure () -> Completion
    ) -> Completion {
        if let waiting = scan.waiting { return values(table[waiting].completion, typed: word) }
        guard !scan.optionsEnded, word.utf8.first == UInt8(ascii: "-") else { return narrowed(operand()) }
        if let (option, typed) = attachedValue(table) {
            let prefix = String(word.dropLast(typed.count))
            guard case .words(let found) = values(option.completion, typed: typed) else {
                return values(option.completion, typed: typed)
            }
            return .words(found.map { Candidate(prefix + $0.word, $0.meaning) })
        }
        let given = scan.settings.map { table[$0.index].name }
        return narrowed(
            .words(
                options.filter { $0.isShownRepeatable || !given.contains($0.name) }
                    .map { Candidate($0.name, $0.help) }))
    }

    /// Returns the option and its unfinished value in `--speed=fa` and `-ofa`.
    private func attachedValue(_ table: [OptionDescription]) -> (OptionDescription, typed: String)? {
        if word.hasPrefix("--") {
            guard let equals = word.firstIndex(of: "="),
                let option = table.first(where: { $0.name == word[..<equals] && $0.valueName != nil })
            else { return nil }
            return (option, String(word[word.index(after: equals)...]))
        }
        for index in word.indices.dropFirst() {
            guard let option = table.first(where: { $0.short == word[index] }) else { return nil }
            if option.valueName != nil { return (option, String(word[word.index(after: index)...])) }
        }
        return nil
    }

    private func values(
        _ hint: CompletionHint, typed: String, commandAt start: Int? = nil, operands: [String] = []
    ) -> Completion {
        switch hint {
        case .none, .commandNames: .words([])
        case .values(let words): narrowed(.words(words.map { Candidate($0) }), typed)
        case .file: .files
        case .directory: .directories
        case .command: .command(at: start ?? words.count - 1)
        case .dynamic(let kind):
            narrowed(
                .words(
                    dynamic(CompletionQuery(kind: kind, typed: typed, words: words, operands: operands))),
                typed)
        }
    }

    /// Returns only the candidates that start with the typed text.
    func narrowed(_ completion: Completion, _ typed: String? = nil) -> Completion {
        guard case .words(let candidates) = completion else { return completion }
        let typed = typed ?? word
        return .words(candidates.filter { $0.word.utf8.starts(with: typed.utf8) })
    }
}

extension Command {
    /// All options, including hidden ones.
    static var table: [OptionDescription] { declaration.options.map(\.text) }
}
