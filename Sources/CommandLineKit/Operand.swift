/// An argument without dashes. Operands are filled in table order.
package struct Operand<Root>: Sendable {
    let text: OperandDescription
    let store: @Sendable (inout Root, String) throws(UsageError) -> Void

    package static func required<Value: OptionValue>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Value>, _ name: String, _ help: String,
        completion: CompletionHint = .none
    ) -> Operand {
        Operand(text: OperandDescription(name, help, .required, Value.choices, completion)) {
            root, argument throws(UsageError) in
            root[keyPath: path()] = try Value.read(argument, for: name)
        }
    }

    /// Makes an optional operand whose default is the property's initial value, such as nil.
    package static func optional<Value: OptionValue>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, Value>, _ name: String, _ help: String,
        completion: CompletionHint = .none
    ) -> Operand {
        Operand(text: OperandDescription(name, help, .optional, Value.choices, completion)) {
            root, argument throws(UsageError) in
            root[keyPath: path()] = try Value.read(argument, for: name)
        }
    }

    /// Makes an operand that takes all remaining arguments.
    package static func rest<Value: OptionValue>(
        _ path: @autoclosure @escaping @Sendable () -> Property<Root, [Value]>, _ name: String,
        atLeast least: Int = 0, _ help: String,
        completion: CompletionHint = .none
    ) -> Operand {
        Operand(text: OperandDescription(name, help, .rest(atLeast: least), Value.choices, completion)) {
            root, argument throws(UsageError) in
            root[keyPath: path()].append(try Value.read(argument, for: name))
        }
    }
}

/// An operand's documentation, as the help, the manual page and the completer use it.
package struct OperandDescription: Sendable, Equatable {
    package let name: String
    package let help: String
    package let arity: Arity
    /// The accepted values, if they can be listed.
    package let choices: [String]
    package let completion: CompletionHint

    package enum Arity: Sendable, Equatable {
        case required
        case optional
        case rest(atLeast: Int)
    }

    init(
        _ name: String, _ help: String, _ arity: Arity, _ choices: [String], _ completion: CompletionHint
    ) {
        self.name = name
        self.help = help
        self.arity = arity
        self.choices = choices
        self.completion = completion == .none && !choices.isEmpty ? .values(choices) : completion
    }

    /// The operand in the usage line: `URL`, `[METHOD]`, `WORD...`.
    var synopsis: String {
        switch arity {
        case .required: name
        case .optional: "[\(name)]"
        case .rest(let least): least > 0 ? "\(name)..." : "[\(name)...]"
        }
    }

    /// The minimum number of arguments.
    var least: Int {
        switch arity {
        case .required: 1
        case .optional: 0
        case .rest(let least): least
        }
    }
}
