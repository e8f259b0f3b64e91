/// The action that a command line requests.
package enum Invocation: Sendable {
    /// A command with its options set, and its path without the program's name.
    case run(any Command, path: [String])
    /// The help of a command or topic, or of the program if the path is empty.
    case help(String, path: [String])
    case version
}

extension Program {
    /// Returns the action that the arguments request; they do not include the program's name.
    package func parse(_ arguments: [String]) throws(UsageError) -> Invocation {
        var walk = CommandWalk(self, arguments[...])
        switch walk.walk() {
        case .incomplete:
            let isAlone = walk.rest.isEmpty && walk.leading.isEmpty
            guard !isAlone || walk.type != nil else { return .help(overview(), path: []) }
            return try isAlone ? help(at: walk) : answer(walk, or: missingCommand(walk))
        case .unknown(let words):
            let unknown = unknownCommand(words, walk)
            if walk.fault == nil { walk.fault = unknown }
            return try answer(walk, or: unknown)
        case .command(let type) where type == HelpCommand.self && walk.request == nil:
            let scan = Scan(walk.rest, table: common.table)
            walk.take(scan)
            guard walk.fault == nil || walk.request != nil else {
                return try answer(walk, or: UsageError(""))
            }
            return try help(for: scan.operands)
        case .command(let type): return try read(type, walk)
        }
    }

    /// Reads a command's arguments. `--help` takes precedence over any error.
    private func read<Root: Command>(_ type: Root.Type, _ walk: CommandWalk) throws(UsageError) -> Invocation
    {
        let declaration = type.declaration
        lazy var options = declaration.options
        let scan = Scan(
            (walk.leading + walk.rest)[...], table: options.map(\.text),
            stopsAtFirstOperand: declaration.stopsAtFirstOperand)
        var walk = walk
        walk.take(scan)
        if walk.request != nil || walk.fault != nil {
            return try answer(walk, or: UsageError(""))
        }
        var command = Root()
        do throws(UsageError) {
            for setting in scan.settings { try options[setting.index].store(&command, setting.argument) }
            try assign(scan.operands, to: declaration.operands, in: &command, walk)
            try command.validate()
        } catch {
            guard let word = scan.operands.first(where: { $0.hasPrefix("–") || $0.hasPrefix("—") }) else {
                throw error.hinting(walk.hint)
            }
            let option = "--" + word.drop { $0 == "–" || $0 == "—" }
            throw UsageError(
                "\(UsageError.quoted(word)) starts with a long dash, did you mean \(option)?",
                hint: walk.hint, misspelling: UsageError.Misspelling(typed: word, meant: option))
        }
        return .run(command, path: walk.words)
    }

    /// Assigns arguments to operands. Optional operands get what the required ones leave, from left to right.
    private func assign<Root>(
        _ arguments: [String], to operands: [Operand<Root>], in root: inout Root, _ walk: CommandWalk
    ) throws(UsageError) {
        var rest = arguments[...]
        var spare = arguments.count
        for operand in operands { spare -= operand.text.least }
        guard spare >= 0 else {
            let missing = operands.filter { $0.text.least > 0 }.map(\.text.name)
            let given = min(arguments.count, max(0, missing.count - 1))
            throw UsageError("\(walk.call) needs \(missing[given...].joined(separator: " "))")
        }
        for operand in operands {
            var count = operand.text.least
            switch operand.text.arity {
            case .required: break
            case .optional: count = min(1, spare)
            case .rest: count += spare
            }
            spare -= count - operand.text.least
            for argument in rest.prefix(count) { try operand.store(&root, argument) }
            rest = rest.dropFirst(count)
        }
        if let extra = rest.first {
            throw UsageError("unexpected argument \(UsageError.quoted(extra))")
        }
    }

    private func answer(_ walk: CommandWalk, or fault: UsageError) throws(UsageError) -> Invocation {
        switch walk.request {
        case .version where walk.fault == nil: return .version
        case .help: return help(at: walk)
        default:
            var fault = walk.fault ?? fault
            if let option = walk.unknownOption {
                let full = (walk.words + [option]).joined(separator: " ")
                let others = otherNames()
                fault.hint = others[full] ?? others[option]
                if let hint = fault.hint { fault.misspelling = misspelling(option, meant: hint, at: walk) }
            }
            throw fault.hinting(walk.hint)
        }
    }

    private func missingCommand(_ walk: CommandWalk) -> UsageError {
        guard walk.type != nil else { return UsageError("\(name) needs a command", hint: walk.hint) }
        return UsageError("\(walk.call) needs \(TextLayout.list(walk.subcommands.map { $0.name }))")
    }

    /// Returns the error for an unknown command. It suggests our command for a word that other programs use,
    /// or else a similar word.
    private func unknownCommand(
        _ words: [String], _ walk: CommandWalk, topics: [String] = [], isHelp: Bool = false
    ) -> UsageError {
        let word = words.first ?? ""
        let message = "unknown command \(UsageError.quoted(word))"
        let path = walk.words
        for count in [2, 1] {
            let name = (path + words.prefix(count)).joined(separator: " ")
            if let meant = otherNames()[name] {
                return UsageError(
                    message, hint: meant,
                    misspelling: isHelp
                        ? nil
                        : misspelling(words.prefix(count).joined(separator: " "), meant: meant, at: walk))
            }
        }
        if let topic = Nearest.match(word, among: topics) {
            return UsageError(
                "unknown command or topic \(UsageError.quoted(word)), did you mean \(topic)?",
                hint: .command(["help", topic]))
        }
        if walk.type == nil, self.topics.contains(word) {
            return UsageError(message, hint: .command(["help", word]))
        }
        if walk.type == nil,
            let parent = walk.subcommands.first(where: { $0.subcommands.contains { $0.name == word } })
        {
            return UsageError(
                "\(message), did you mean \(name) \(parent.name) \(word)?",
                hint: .command(["help", parent.name, word]))
        }
        guard let nearest = Nearest.match(word.lowercased(), among: walk.subcommands.map { $0.name }) else {
            guard isHelp, walk.type == nil, let meant = Nearest.match(word, among: glossaryWords()) else {
                return UsageError(message)
            }
            return UsageError("\(message), did you mean \(meant)?", hint: .command(["help", meant]))
        }
        var meant = walk
        meant.enter(nearest)
        return UsageError(
            "\(message), did you mean \(meant.call)?", hint: isHelp ? meant.hint : .command(meant.words),
            misspelling: isHelp ? nil : UsageError.Misspelling(typed: word, meant: nearest))
    }

    /// Returns the misspelling that a hint corrects: `typed`, for the words that follow the current command
    /// in the hint. Returns nil if the hint is not a call of a subcommand.
    private func misspelling(
        _ typed: String, meant hint: UsageError.Hint, at walk: CommandWalk
    ) -> UsageError.Misspelling? {
        guard case .command(let words, before: "", after: "") = hint, words.starts(with: walk.words),
            words.count > walk.words.count
        else { return nil }
        return UsageError.Misspelling(
            typed: typed, meant: words.dropFirst(walk.words.count).joined(separator: " "))
    }

    /// Answers `oidc help COMMAND [SUBCOMMAND]`, `oidc help TOPIC` and `oidc help SETTING`.
    private func help(for words: [String]) throws(UsageError) -> Invocation {
        let joined = words.joined(separator: "-")
        if joined == Program.optionsTopic { return .help(optionsHelp(), path: [joined]) }
        if let section = topic(joined) { return .help(Help(self).text(section), path: [joined]) }
        if words.count > 1, topics.contains(words[0]) {
            throw UsageError(
                "unexpected argument \(UsageError.quoted(words[1]))", hint: .command(["help", words[0]]))
        }
        var walk = CommandWalk(self)
        for word in words {
            guard walk.enter(word) == nil else { continue }
            if words.count == 1, let section = glossary(word) {
                return .help(Help(self).text(section), path: [word])
            }
            let topics = words.count == 1 ? topics : []
            throw unknownCommand([word], walk, topics: topics, isHelp: true).hinting(walk.hint)
        }
        return help(at: walk)
    }

    private func help(at walk: CommandWalk) -> Invocation {
        .help(walk.description.map(Help(self).text) ?? help(), path: walk.words)
    }
}

extension OptionGroup {
    /// Reads only this group's options and ignores everything else, to honor `-o json` on a command line that
    /// cannot be parsed.
    package static func lenient(_ arguments: [String]) -> Self { read(arguments).group }

    /// Reads only this group's options, and throws if one has an invalid value.
    package static func checked(_ arguments: [String]) throws(UsageError) -> Self {
        let (group, fault) = read(arguments)
        if let fault { throw fault }
        return group
    }

    private static func read(_ arguments: [String]) -> (group: Self, fault: UsageError?) {
        let entries = entries
        var group = Self()
        var fault: UsageError?
        for setting in Scan(arguments[...], table: table).settings {
            do throws(UsageError) { try entries[setting.index].store(&group, setting.argument) } catch {
                if fault == nil { fault = error }
            }
        }
        return (group, fault)
    }
}
