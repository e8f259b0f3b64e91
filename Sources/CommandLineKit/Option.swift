/// A row of a command's table: an option and the property that it sets, or a group of them.
public struct Option<Root>: Sendable {
    let leaves: [OptionLeaf<Root>]

    private init(_ leaf: OptionLeaf<Root>) { leaves = [leaf] }

    /// Sets the property to true; given twice, it says the same thing twice.
    public static func flag(
        _ path: Property<Root, Bool>, _ name: String, _ help: String,
        short: Character? = nil, environment: String? = nil, isHidden: Bool = false
    ) -> Option {
        var text = OptionDescription(name, short: short, valueName: nil, help: help)
        text.environment = environment
        text.isHidden = isHidden
        return Option(OptionLeaf(text) { root, _ in root[keyPath: path] = true })
    }

    /// Takes one value; its default is the property's own, unless `defaultText` puts it in words.
    public static func value<Value: OptionValue>(
        _ path: Property<Root, Value>, _ name: String, _ valueName: String, _ help: String,
        short: Character? = nil, environment: String? = nil, defaultText: String? = nil,
        completion: CompletionHint = .none, isHidden: Bool = false
    ) -> Option {
        let text = OptionDescription.valued(
            name, short, valueName, help, Value.choices, environment, defaultText, completion, isHidden)
        let fallback: @Sendable (Root) -> String = { $0[keyPath: path].argument }
        return Option(
            OptionLeaf(text, fallback: fallback) { root, argument throws(UsageError) in
                root[keyPath: path] = try Value.read(argument, for: name)
            })
    }

    /// Takes one value; nil says that it was not given.
    public static func value<Value: OptionValue>(
        _ path: Property<Root, Value?>, _ name: String, _ valueName: String, _ help: String,
        short: Character? = nil, environment: String? = nil, defaultText: String? = nil,
        completion: CompletionHint = .none, isHidden: Bool = false
    ) -> Option {
        let text = OptionDescription.valued(
            name, short, valueName, help, Value.choices, environment, defaultText, completion, isHidden)
        return Option(
            OptionLeaf(text) { root, argument throws(UsageError) in
                root[keyPath: path] = try Value.read(argument, for: name)
            })
    }

    /// May be given several times; each value is appended.
    public static func repeated<Value: OptionValue>(
        _ path: Property<Root, [Value]>, _ name: String, _ valueName: String, _ help: String,
        short: Character? = nil, environment: String? = nil, defaultText: String? = nil,
        completion: CompletionHint = .none, isHidden: Bool = false
    ) -> Option {
        var text = OptionDescription.valued(
            name, short, valueName, help, Value.choices, environment, defaultText, completion, isHidden)
        text.isRepeatable = true
        return Option(
            OptionLeaf(text) { root, argument throws(UsageError) in
                root[keyPath: path].append(try Value.read(argument, for: name))
            })
    }
}

extension Option {
    /// A whole number within bounds.
    public static func number(
        _ path: Property<Root, Int>, _ name: String, _ valueName: String,
        in range: ClosedRange<Int>, _ help: String,
        short: Character? = nil, environment: String? = nil, defaultText: String? = nil
    ) -> Option {
        let text = OptionDescription.valued(
            name, short, valueName, help, [], environment, defaultText, .none, false)
        let fallback: @Sendable (Root) -> String = { String($0[keyPath: path]) }
        return Option(
            OptionLeaf(text, fallback: fallback) { root, argument throws(UsageError) in
                root[keyPath: path] = try range.read(argument, for: name)
            })
    }

    /// A whole number within bounds; nil says that it was not given.
    public static func number(
        _ path: Property<Root, Int?>, _ name: String, _ valueName: String,
        in range: ClosedRange<Int>, _ help: String,
        short: Character? = nil, environment: String? = nil, defaultText: String? = nil
    ) -> Option {
        let text = OptionDescription.valued(
            name, short, valueName, help, [], environment, defaultText, .none, false)
        return Option(
            OptionLeaf(text) { root, argument throws(UsageError) in
                root[keyPath: path] = try range.read(argument, for: name)
            })
    }

    /// The options of a group, set through the property that holds it.
    public static func group<Group: OptionGroup>(_ path: Property<Root, Group>) -> Option {
        Option(leaves: Group.options.flatMap(\.leaves).map { $0.nested(at: path, title: Group.title) })
    }

    /// `-h`, `--help`: answered by the parser, with the help of the command that it was given to.
    public static func help(_ help: String = "show this help") -> Option {
        var text = OptionDescription("--help", short: "h", valueName: nil, help: help)
        text.role = .help
        return Option(OptionLeaf(text) { _, _ in })
    }

    /// `--version`: answered by the parser.
    public static func version(_ help: String = "show the version") -> Option {
        var text = OptionDescription("--version", short: nil, valueName: nil, help: help)
        text.role = .version
        return Option(OptionLeaf(text) { _, _ in })
    }

    private init(leaves: [OptionLeaf<Root>]) { self.leaves = leaves }
}

/// One option: its description, the property's default in words, and how an argument is stored.
struct OptionLeaf<Root>: Sendable {
    var text: OptionDescription
    let fallback: (@Sendable (Root) -> String)?
    let set: @Sendable (inout Root, String) throws(UsageError) -> Void

    init(
        _ text: OptionDescription, fallback: (@Sendable (Root) -> String)? = nil,
        set: @escaping @Sendable (inout Root, String) throws(UsageError) -> Void
    ) {
        self.text = text
        self.fallback = fallback
        self.set = set
    }

    func nested<Parent>(
        at path: Property<Parent, Root>, title: String
    ) -> OptionLeaf<Parent> {
        var inner = text
        inner.group = text.group ?? title
        let set = self.set
        var outer: (@Sendable (Parent) -> String)?
        if let fallback { outer = { fallback($0[keyPath: path]) } }
        return OptionLeaf<Parent>(inner, fallback: outer) { root, argument throws(UsageError) in
            try set(&root[keyPath: path], argument)
        }
    }

    /// The description with the default that an untouched command has.
    func described(by defaults: Root) -> OptionDescription {
        var result = text
        if result.defaultText == nil, let word = fallback?(defaults), !word.isEmpty {
            result.defaultText = word
        }
        return result
    }
}

extension OptionDescription {
    static func valued(
        _ name: String, _ short: Character?, _ valueName: String, _ help: String, _ choices: [String],
        _ environment: String?, _ defaultText: String?, _ completion: CompletionHint, _ isHidden: Bool
    ) -> OptionDescription {
        var text = OptionDescription(name, short: short, valueName: valueName, help: help)
        text.choices = choices
        text.environment = environment
        text.defaultText = defaultText
        text.completion = completion == .none && !choices.isEmpty ? .values(choices) : completion
        text.isHidden = isHidden
        return text
    }
}

extension ClosedRange<Int> {
    func read(_ text: String, for name: String) throws(UsageError) -> Int {
        guard let number = Int(text), contains(number) else {
            throw UsageError(
                "\(name) takes a whole number from \(lowerBound) to \(upperBound), not \(UsageError.quoted(text))"
            )
        }
        return number
    }
}
