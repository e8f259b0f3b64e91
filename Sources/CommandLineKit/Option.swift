/// A row of a command's table: an option and the property that it sets, or a group of them.
///
/// A key path is made when the option is first used: most of a table's never are.
public struct Option<Root>: Sendable {
    let leaves: [OptionLeaf]

    private init(_ leaf: OptionLeaf) { leaves = [leaf] }

    /// Sets the property to true; given twice, it says the same thing twice.
    public static func flag(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Bool>, _ name: String, _ help: String,
        short: Character? = nil, environment: String? = nil, isHidden: Bool = false
    ) -> Option {
        var text = OptionDescription(name, short: short, valueName: nil, help: help)
        text.environment = environment
        text.isHidden = isHidden
        return Option(OptionLeaf(text, Storing { (root: inout Root, _) in root[keyPath: path()] = true }))
    }

    /// Takes one value; its default is the property's own, unless `defaultText` puts it in words.
    public static func value<Value: OptionValue>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Value>,
        _ name: String, _ valueName: String, _ help: String,
        short: Character? = nil, environment: String? = nil, defaultText: String? = nil,
        completion: CompletionHint = .none, isHidden: Bool = false
    ) -> Option {
        let text = OptionDescription(
            name, short, valueName, help, environment, defaultText, completion, isHidden)
        let store = Storing { (root: inout Root, argument) throws(UsageError) in
            root[keyPath: path()] = try Value.read(argument, for: name)
        }
        let detail = Detailing { (root: Root) in
            Detail(choices: Value.choices, fallback: root[keyPath: path()].argument)
        }
        return Option(OptionLeaf(text, store, detail))
    }

    /// Takes one value; nil says that it was not given.
    public static func value<Value: OptionValue>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Value?>,
        _ name: String, _ valueName: String, _ help: String,
        short: Character? = nil, environment: String? = nil, defaultText: String? = nil,
        completion: CompletionHint = .none, isHidden: Bool = false
    ) -> Option {
        let text = OptionDescription(
            name, short, valueName, help, environment, defaultText, completion, isHidden)
        let store = Storing { (root: inout Root, argument) throws(UsageError) in
            root[keyPath: path()] = try Value.read(argument, for: name)
        }
        return Option(OptionLeaf(text, store, Detailing { (_: Root) in Detail(choices: Value.choices) }))
    }

    /// May be given several times; each value is appended.
    public static func repeated<Value: OptionValue>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, [Value]>,
        _ name: String, _ valueName: String, _ help: String,
        short: Character? = nil, environment: String? = nil, defaultText: String? = nil,
        completion: CompletionHint = .none, isHidden: Bool = false
    ) -> Option {
        var text = OptionDescription(
            name, short, valueName, help, environment, defaultText, completion, isHidden)
        text.isRepeatable = true
        let store = Storing { (root: inout Root, argument) throws(UsageError) in
            root[keyPath: path()].append(try Value.read(argument, for: name))
        }
        return Option(OptionLeaf(text, store, Detailing { (_: Root) in Detail(choices: Value.choices) }))
    }
}

extension Option {
    /// A whole number within bounds.
    public static func number(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Int>,
        _ name: String, _ valueName: String, in range: ClosedRange<Int>, _ help: String,
        short: Character? = nil, environment: String? = nil, defaultText: String? = nil
    ) -> Option {
        let text = OptionDescription(name, short, valueName, help, environment, defaultText)
        let store = Storing { (root: inout Root, argument) throws(UsageError) in
            root[keyPath: path()] = try range.read(argument, for: name)
        }
        let detail = Detailing { (root: Root) in Detail(fallback: String(root[keyPath: path()])) }
        return Option(OptionLeaf(text, store, detail))
    }

    /// A whole number within bounds; nil says that it was not given.
    public static func number(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Int?>,
        _ name: String, _ valueName: String, in range: ClosedRange<Int>, _ help: String,
        short: Character? = nil, environment: String? = nil, defaultText: String? = nil
    ) -> Option {
        let text = OptionDescription(name, short, valueName, help, environment, defaultText)
        let store = Storing { (root: inout Root, argument) throws(UsageError) in
            root[keyPath: path()] = try range.read(argument, for: name)
        }
        return Option(OptionLeaf(text, store))
    }

    /// The options of a group, set through the property that holds it.
    public static func group<Group: OptionGroup>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Group>
    ) -> Option {
        var leaves = Group.leaves
        for index in leaves.indices {
            let inner = leaves[index]
            leaves[index].text.group = inner.text.group ?? Group.title
            leaves[index].store = Storing { (root: inout Root, argument) throws(UsageError) in
                try inner.store(&root[keyPath: path()], argument)
            }
            leaves[index].detail = inner.detail.map { detail in
                Detailing { (root: Root) in detail(root[keyPath: path()]) }
            }
        }
        return Option(leaves: leaves)
    }

    /// `-h`, `--help`: answered by the parser, with the help of the command that it was given to.
    public static func help(_ help: String = "show this help") -> Option {
        var text = OptionDescription("--help", short: "h", valueName: nil, help: help)
        text.role = .help
        return Option(OptionLeaf(text, Storing { (_: inout Root, _) in }))
    }

    /// `--version`: answered by the parser.
    public static func version(_ help: String = "show the version") -> Option {
        var text = OptionDescription("--version", short: nil, valueName: nil, help: help)
        text.role = .version
        return Option(OptionLeaf(text, Storing { (_: inout Root, _) in }))
    }

    private init(leaves: [OptionLeaf]) { self.leaves = leaves }

    static func leaves(_ options: [Option]) -> [OptionLeaf] {
        var leaves: [OptionLeaf] = []
        for index in options.indices { leaves += options[index].leaves }
        return leaves
    }
}

/// One option: its description, and how an argument is stored.
struct OptionLeaf: Sendable {
    /// Without the details that need the command itself.
    var text: OptionDescription
    var store: Storing
    var detail: Detailing?

    init(_ text: OptionDescription, _ store: Storing, _ detail: Detailing? = nil) {
        self.text = text
        self.store = store
        self.detail = detail
    }

    /// The description with the accepted words, and with the default that an untouched command has.
    func described<Root>(by defaults: Root) -> OptionDescription {
        guard let detail = detail?(defaults) else { return text }
        var result = text
        result.choices = detail.choices
        if result.completion == .none, !detail.choices.isEmpty { result.completion = .values(detail.choices) }
        if result.defaultText == nil, !detail.fallback.isEmpty { result.defaultText = detail.fallback }
        return result
    }
}

extension ClosedRange<Int> {
    func read(_ text: String, for name: String) throws(UsageError) -> Int {
        guard let number = Int(text), contains(number) else {
            let shown = UsageError.quoted(text)
            throw UsageError("\(name) takes a whole number from \(lowerBound) to \(upperBound), not \(shown)")
        }
        return number
    }
}
