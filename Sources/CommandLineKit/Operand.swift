/// An argument that is no option: its place in the table is its place on the command line.
public struct Operand<Root>: Sendable {
    let text: OperandDescription
    let set: @Sendable (inout Root, String) throws(UsageError) -> Void

    public static func required<Value: OptionValue>(
        _ path: Property<Root, Value>, _ name: String, _ help: String,
        completion: CompletionHint = .none
    ) -> Operand {
        Operand(.init(name, help, .required, Value.choices, completion)) {
            root, argument throws(UsageError) in
            root[keyPath: path] = try Value.read(argument, for: name)
        }
    }

    /// The default is the property's own.
    public static func optional<Value: OptionValue>(
        _ path: Property<Root, Value>, _ name: String, _ help: String,
        completion: CompletionHint = .none
    ) -> Operand {
        Operand(.init(name, help, .optional, Value.choices, completion)) {
            root, argument throws(UsageError) in
            root[keyPath: path] = try Value.read(argument, for: name)
        }
    }

    /// Nil says that it was not given.
    public static func optional<Value: OptionValue>(
        _ path: Property<Root, Value?>, _ name: String, _ help: String,
        completion: CompletionHint = .none
    ) -> Operand {
        Operand(.init(name, help, .optional, Value.choices, completion)) {
            root, argument throws(UsageError) in
            root[keyPath: path] = try Value.read(argument, for: name)
        }
    }

    /// All operands from here on.
    public static func rest<Value: OptionValue>(
        _ path: Property<Root, [Value]>, _ name: String, atLeast least: Int = 0, _ help: String,
        completion: CompletionHint = .none
    ) -> Operand {
        Operand(.init(name, help, .rest(atLeast: least), Value.choices, completion)) {
            root, argument throws(UsageError) in
            root[keyPath: path].append(try Value.read(argument, for: name))
        }
    }

    private init(
        _ text: OperandDescription, set: @escaping @Sendable (inout Root, String) throws(UsageError) -> Void
    ) {
        self.text = text
        self.set = set
    }
}

/// What can be said of an operand without knowing the command's type.
public struct OperandDescription: Sendable, Equatable {
    public let name: String
    public let help: String
    public let arity: Arity
    public let choices: [String]
    public let completion: CompletionHint

    public enum Arity: Sendable, Equatable {
        case required
        case optional
        case rest(atLeast: Int)
    }

    init(_ name: String, _ help: String, _ arity: Arity, _ choices: [String], _ completion: CompletionHint) {
        self.name = name
        self.help = help
        self.arity = arity
        self.choices = choices
        self.completion = completion == .none && !choices.isEmpty ? .values(choices) : completion
    }

    /// As it stands in the usage line: `URL`, `[METHOD]`, `WORD...`.
    var synopsis: String {
        switch arity {
        case .required: name
        case .optional: "[\(name)]"
        case .rest(let least): least > 0 ? "\(name)..." : "[\(name)...]"
        }
    }

    var least: Int {
        switch arity {
        case .required: 1
        case .optional: 0
        case .rest(let least): least
        }
    }
}
