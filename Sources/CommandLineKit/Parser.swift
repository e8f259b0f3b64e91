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
        var route = Route(program: name, rest: arguments[...])
        while true {
            let ahead = Scan(
                route.rest, table: common.table, stopsAtFirstOperand: true, context: " before the command")
            route.take(ahead)
            guard let word = ahead.operands.first else {
                let isAlone = route.rest.isEmpty && route.leading.isEmpty
                guard !isAlone || route.type != nil else { return .help(overview(), path: []) }
                return try isAlone ? help(at: route) : answer(route, or: missingCommand(route))
            }
            guard let type = find(word, below: route.type) else {
                let unknown = unknownCommand(ahead.operands, route)
                if route.fault == nil { route.fault = unknown }
                return try answer(route, or: unknown)
            }
            route.enter(type, rest: ahead.operands.dropFirst())
            if type == HelpCommand.self, route.request == nil {
                let scan = Scan(route.rest, table: common.table)
                route.take(scan)
                guard route.fault == nil || route.request != nil else {
                    return try answer(route, or: UsageError(""))
                }
                return try help(for: scan.operands)
            }
            guard type.subcommands.isEmpty else { continue }
            return try read(type, route)
        }
    }

    /// Reads a command's arguments. `--help` takes precedence over any error.
    private func read<Root: Command>(_ type: Root.Type, _ route: Route) throws(UsageError) -> Invocation {
        let declaration = type.declaration
        lazy var options = declaration.options
        let scan = Scan(
            (route.leading + route.rest)[...], table: options.map(\.text),
            stopsAtFirstOperand: declaration.stopsAtFirstOperand)
        var route = route
        route.take(scan)
        if route.request != nil || route.fault != nil {
            return try answer(route, or: UsageError(""))
        }
        var command = Root()
        do throws(UsageError) {
            for setting in scan.settings { try options[setting.index].store(&command, setting.argument) }
            try assign(scan.operands, to: declaration.operands, in: &command, route)
            try command.validate()
        } catch {
            guard let word = scan.operands.first(where: { $0.hasPrefix("–") || $0.hasPrefix("—") }) else {
                throw error.hinting(route.hint)
            }
            let option = "--" + word.drop { $0 == "–" || $0 == "—" }
            throw UsageError(
                "\(UsageError.quoted(word)) starts with a long dash, did you mean \(option)?",
                hint: route.hint, misspelling: UsageError.Misspelling(typed: word, meant: option))
        }
        return .run(command, path: Array(route.path.dropFirst()))
    }

    /// Assigns arguments to operands. Optional operands get what the required ones leave, from left to right.
    private func assign<Root>(
        _ arguments: [String], to operands: [Operand<Root>], in root: inout Root, _ route: Route
    ) throws(UsageError) {
        var rest = arguments[...]
        var spare = arguments.count
        for operand in operands { spare -= operand.text.least }
        guard spare >= 0 else {
            let missing = operands.filter { $0.text.least > 0 }.map(\.text.name)
            let given = min(arguments.count, max(0, missing.count - 1))
            throw UsageError("\(route.call) needs \(missing[given...].joined(separator: " "))")
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

    private func answer(_ route: Route, or fault: UsageError) throws(UsageError) -> Invocation {
        switch route.request {
        case .version where route.fault == nil: return .version
        case .help: return help(at: route)
        default:
            var fault = route.fault ?? fault
            if let option = route.unknownOption {
                let full = (route.path.dropFirst() + [option]).joined(separator: " ")
                let others = otherNames()
                fault.hint = others[full] ?? others[option]
                if let hint = fault.hint { fault.misspelling = misspelling(option, meant: hint, at: route) }
            }
            throw fault.hinting(route.hint)
        }
    }

    private func missingCommand(_ route: Route) -> UsageError {
        guard route.type != nil else { return UsageError("\(name) needs a command", hint: "\(name) --help") }
        return UsageError("\(route.call) needs \(TextLayout.list(names(below: route.type)))")
    }

    /// Returns the error for an unknown command. It suggests our command for a word that other programs use,
    /// or else a similar word.
    private func unknownCommand(
        _ words: [String], _ route: Route, topics: [String] = [], isHelp: Bool = false
    ) -> UsageError {
        let word = words.first ?? ""
        let message = "unknown command \(UsageError.quoted(word))"
        let path = Array(route.path.dropFirst())
        for count in [2, 1] {
            let name = (path + words.prefix(count)).joined(separator: " ")
            if let meant = otherNames()[name] {
                return UsageError(
                    message, hint: meant,
                    misspelling: isHelp
                        ? nil
                        : misspelling(words.prefix(count).joined(separator: " "), meant: meant, at: route))
            }
        }
        if let topic = Nearest.match(word, among: topics) {
            return UsageError(
                "unknown command or topic \(UsageError.quoted(word)), did you mean \(topic)?",
                hint: "\(name) help \(topic)")
        }
        if route.type == nil, self.topics.contains(word) {
            return UsageError(message, hint: "\(name) help \(word)")
        }
        if route.type == nil,
            let parent = sections.flatMap(\.commands).first(where: { find(word, below: $0) != nil })
        {
            let call = "\(parent.name) \(word)"
            return UsageError(
                "\(message), did you mean \(name) \(call)?", hint: "\(name) help \(call)")
        }
        guard let nearest = Nearest.match(word.lowercased(), among: names(below: route.type)) else {
            guard isHelp, route.type == nil, let meant = Nearest.match(word, among: glossaryWords()) else {
                return UsageError(message)
            }
            return UsageError("\(message), did you mean \(meant)?", hint: "\(name) help \(meant)")
        }
        var meant = route
        meant.path.append(nearest)
        return UsageError(
            "\(message), did you mean \(meant.call)?", hint: isHelp ? meant.hint : meant.call,
            misspelling: isHelp ? nil : UsageError.Misspelling(typed: word, meant: nearest))
    }

    /// Returns what was typed for the rest of a hint, which is a call of the command that was read so far; nil for
    /// another hint.
    private func misspelling(_ typed: String, meant hint: String, at route: Route) -> UsageError.Misspelling?
    {
        let call = route.call + " "
        guard hint.hasPrefix(call) else { return nil }
        return UsageError.Misspelling(typed: typed, meant: String(hint.dropFirst(call.count)))
    }

    /// Answers `oidc help COMMAND [SUBCOMMAND]`, `oidc help TOPIC` and `oidc help SETTING`.
    private func help(for words: [String]) throws(UsageError) -> Invocation {
        let joined = words.joined(separator: "-")
        if joined == Program.optionsTopic { return .help(optionsHelp(), path: [joined]) }
        if let section = topic(joined) { return .help(Help(self).text(section), path: [joined]) }
        if words.count > 1, topics.contains(words[0]) {
            throw UsageError(
                "unexpected argument \(UsageError.quoted(words[1]))", hint: "\(name) help \(words[0])")
        }
        var route = Route(program: name, rest: [])
        for word in words {
            guard let type = find(word, below: route.type) else {
                if words.count == 1, let section = glossary(word) {
                    return .help(Help(self).text(section), path: [word])
                }
                let topics = words.count == 1 ? topics : []
                throw unknownCommand([word], route, topics: topics, isHelp: true).hinting(route.hint)
            }
            route.enter(type, rest: [])
        }
        return help(at: route)
    }

    private func help(at route: Route) -> Invocation {
        .help(
            route.type.map { help(for: $0, path: route.path) } ?? help(), path: Array(route.path.dropFirst()))
    }
}

/// The command that the words read so far lead to.
private struct Route {
    var path: [String]
    var type: (any Command.Type)?
    /// Options that were given before the command's name.
    var leading: [String] = []
    var rest: ArraySlice<String>
    var request: OptionDescription.Role?
    var fault: UsageError?
    /// The option that caused the error, if it is not in the table.
    var unknownOption: String?

    init(program: String, rest: ArraySlice<String>) {
        path = [program]
        self.rest = rest
    }

    mutating func take(_ scan: Scan) {
        if request == nil { request = scan.request }
        if fault == nil { (fault, unknownOption) = (scan.fault, scan.unknownOption) }
        leading += scan.leading
    }

    mutating func enter(_ type: any Command.Type, rest: ArraySlice<String>) {
        path.append(type.name)
        self.type = type
        self.rest = rest
    }

    var call: String { path.joined(separator: " ") }

    /// The command line that prints the help of this command.
    var hint: String {
        path.count == 1 ? "\(call) --help" : ([path[0], "help"] + path.dropFirst()).joined(separator: " ")
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
