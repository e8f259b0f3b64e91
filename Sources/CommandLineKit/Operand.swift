/// An argument that is no option: its place in the table is its place on the command line.
public struct Operand<Root>: Sendable {
    let leaf: OperandLeaf

    public static func required<Value: OptionValue>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Value>, _ name: String, _ help: String,
        completion: CompletionHint = .none
    ) -> Operand {
        Operand(Value.self, .init(name, help, .required, completion)) { root, argument throws(UsageError) in
            root[keyPath: path()] = try Value.read(argument, for: name)
        }
    }

    /// The default is the property's own.
    public static func optional<Value: OptionValue>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Value>, _ name: String, _ help: String,
        completion: CompletionHint = .none
    ) -> Operand {
        Operand(Value.self, .init(name, help, .optional, completion)) { root, argument throws(UsageError) in
            root[keyPath: path()] = try Value.read(argument, for: name)
        }
    }

    /// Nil says that it was not given.
    public static func optional<Value: OptionValue>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Value?>, _ name: String, _ help: String,
        completion: CompletionHint = .none
    ) -> Operand {
        Operand(Value.self, .init(name, help, .optional, completion)) { root, argument throws(UsageError) in
            root[keyPath: path()] = try Value.read(argument, for: name)
        }
    }

    /// All operands from here on.
    public static func rest<Value: OptionValue>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, [Value]>, _ name: String,
        atLeast least: Int = 0, _ help: String, completion: CompletionHint = .none
    ) -> Operand {
        Operand(Value.self, .init(name, help, .rest(atLeast: least), completion)) {
            root, argument throws(UsageError) in
            root[keyPath: path()].append(try Value.read(argument, for: name))
        }
    }

    static func leaves(_ operands: [Operand]) -> [OperandLeaf] {
        var leaves: [OperandLeaf] = []
        for index in operands.indices { leaves.append(operands[index].leaf) }
        return leaves
    }

    private init<Value: OptionValue>(
        _ type: Value.Type, _ text: OperandDescription,
        store: @escaping @Sendable (inout Root, String) throws(UsageError) -> Void
    ) {
        leaf = OperandLeaf(text: text, store: Storing(store)) { Value.choices }
    }
}

/// One operand: its description, and how an argument is stored.
struct OperandLeaf: Sendable {
    /// Without the words that are accepted.
    let text: OperandDescription
    let store: Storing
    let choices: @Sendable () -> [String]

    var described: OperandDescription {
        var result = text
        result.choices = choices()
        if result.completion == .none, !result.choices.isEmpty { result.completion = .values(result.choices) }
        return result
    }
}

/// What can be said of an operand without knowing the command's type.
public struct OperandDescription: Sendable, Equatable {
    public let name: String
    public let help: String
    public let arity: Arity
    public var completion: CompletionHint
    public var choices: [String] = []

    public enum Arity: Sendable, Equatable {
        case required
        case optional
        case rest(atLeast: Int)
    }

    init(_ name: String, _ help: String, _ arity: Arity, _ completion: CompletionHint) {
        self.name = name
        self.help = help
        self.arity = arity
        self.completion = completion
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
