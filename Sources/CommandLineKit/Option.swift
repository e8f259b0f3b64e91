/// A row of a command's option table: one option, or all options of a group.
package struct Option<Root>: Sendable {
    let entries: [Entry]

    /// One option, with its documentation and the way its argument is stored.
    struct Entry: Sendable {
        var text: OptionDescription
        let store: @Sendable (inout Root, String) throws(UsageError) -> Void
        /// The default for the help, read from a command with its initial values.
        let fallback: @Sendable (Root) -> String

        func described(by defaults: Root) -> OptionDescription {
            var result = text
            let fallback = fallback(defaults)
            if result.defaultText == nil, !fallback.isEmpty { result.defaultText = fallback }
            return result
        }
    }

    private init(
        _ text: OptionDescription, fallback: @escaping @Sendable (Root) -> String = { _ in "" },
        store: @escaping @Sendable (inout Root, String) throws(UsageError) -> Void
    ) {
        entries = [Entry(text: text, store: store, fallback: fallback)]
    }

    /// Makes a flag that sets the property to true. Repeating the flag changes nothing.
    package static func flag(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Bool>, _ name: String, _ help: String,
        short: Character? = nil,
        isHidden: Bool = false
    ) -> Option {
        let text = OptionDescription(name, help, short: short, isHidden: isHidden)
        return Option(text) { root, _ in root[keyPath: path()] = true }
    }

    /// Makes a flag that sets the property to a value, as `--json` does for `--output json`.
    package static func flag<Value: Sendable>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Value>, to value: Value, _ name: String,
        _ help: String
    ) -> Option {
        Option(OptionDescription(name, help)) { root, _ in root[keyPath: path()] = value }
    }

    /// Makes an option that takes one of these words; the property is nil if it is not given.
    package static func value(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, String?>, _ name: String,
        _ valueName: String, oneOf words: [String],
        _ help: String, environment: String? = nil
    ) -> Option {
        let text = OptionDescription(
            name, help, valueName: valueName, choices: words, environment: environment)
        return Option(text) { root, argument throws(UsageError) in
            guard words.contains(argument) else {
                throw UsageError.unaccepted(argument, for: name, expected: TextLayout.list(words), words)
            }
            root[keyPath: path()] = argument
        }
    }

    /// Makes an option that takes one value. The help shows `defaultText` or the property's initial value as
    /// the default, unless it is nil.
    package static func value<Value: OptionValue>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Value>, _ name: String,
        _ valueName: String, _ help: String,
        short: Character? = nil, environment: String? = nil, defaultText: String? = nil,
        completion: CompletionHint = .none, isHidden: Bool = false
    ) -> Option {
        let text = OptionDescription(
            name, help, short: short, valueName: valueName, choices: Value.choices, completion: completion,
            environment: environment, defaultText: defaultText, isHidden: isHidden)
        return Option(text, fallback: { $0[keyPath: path()].argument }) { root, argument throws(UsageError) in
            root[keyPath: path()] = try Value.read(argument, for: name)
        }
    }

    /// Makes an option that can be repeated; each value is appended.
    package static func repeated<Value: OptionValue>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, [Value]>, _ name: String,
        _ valueName: String, _ help: String,
        short: Character? = nil, environment: String? = nil, completion: CompletionHint = .none,
        isShownRepeatable: Bool = true
    ) -> Option {
        let text = OptionDescription(
            name, help, short: short, valueName: valueName, choices: Value.choices, completion: completion,
            environment: environment, isRepeatable: true, isShownRepeatable: isShownRepeatable)
        return Option(text) { root, argument throws(UsageError) in
            root[keyPath: path()].append(try Value.read(argument, for: name))
        }
    }

    /// Makes an option that takes a whole number within bounds.
    package static func number(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Int>, _ name: String,
        _ valueName: String, in range: ClosedRange<Int>,
        _ help: String, short: Character? = nil, defaultText: String? = nil
    ) -> Option {
        let text = OptionDescription(
            name, help, short: short, valueName: valueName, defaultText: defaultText)
        return Option(text, fallback: { String($0[keyPath: path()]) }) { root, argument throws(UsageError) in
            root[keyPath: path()] = try range.read(argument, for: name)
        }
    }

    /// Makes an option that takes a whole number within bounds; the property is nil if it is not given.
    package static func number(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Int?>, _ name: String,
        _ valueName: String, in range: ClosedRange<Int>,
        _ help: String, short: Character? = nil, defaultText: String? = nil
    ) -> Option {
        let text = OptionDescription(
            name, help, short: short, valueName: valueName, defaultText: defaultText)
        return Option(text) { root, argument throws(UsageError) in
            root[keyPath: path()] = try range.read(argument, for: name)
        }
    }

    /// Makes the option that prints the command's help (`-h`, `--help`). The parser handles it.
    package static func help(_ help: String = "show this help") -> Option {
        Option(OptionDescription("--help", help, short: "h", role: .help)) { _, _ in }
    }

    /// Makes the option that prints the program's version (`--version`). The parser handles it.
    package static func version(_ help: String = "show the version") -> Option {
        Option(OptionDescription("--version", help, role: .version)) { _, _ in }
    }
}

extension Option {
    /// Makes a row with the options of a group, which are stored in the property for the group.
    package static func group<Group: OptionGroup>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Group>
    ) -> Option {
        Option(
            entries: Group.entries.map { inner in
                var text = inner.text
                text.group = text.group ?? Group.title
                return Entry(
                    text: text,
                    store: { root, argument throws(UsageError) in
                        try inner.store(&root[keyPath: path()], argument)
                    },
                    fallback: { inner.fallback($0[keyPath: path()]) })
            })
    }

    private init(entries: [Entry]) { self.entries = entries }
}

extension OptionGroup {
    static var entries: [Option<Self>.Entry] { options.flatMap(\.entries) }
    static var table: [OptionDescription] { entries.map(\.text) }

    static func descriptions() -> [OptionDescription] {
        let defaults = Self()
        return entries.map { $0.described(by: defaults) }
    }
}
