/// A type that options and operands can have, read from one argument.
public protocol OptionValue: Sendable {
    init?(argument: String)
    /// The value as a user would type it; empty if the help is to show no default.
    var argument: String { get }
    /// The accepted values, as words that follow "takes": `a whole number`.
    static var expectation: String { get }
    /// The accepted words, if they can be listed.
    static var choices: [String] { get }
}

extension OptionValue {
    public static var choices: [String] { [] }

    static func read(_ text: String, for name: String) throws(UsageError) -> Self {
        guard let value = Self(argument: text) else {
            throw UsageError.unaccepted(text, for: name, expected: expectation, choices)
        }
        return value
    }
}

extension UsageError {
    /// Returns the error for a value that is not accepted, with the most similar accepted word.
    static func unaccepted(
        _ argument: String, for name: String, expected: String, _ words: [String]
    ) -> UsageError {
        // An operand such as `bash|zsh|fish` already lists its words as its name.
        let beginning = name.utf8.contains(UInt8(ascii: "|")) ? "expected" : "\(name) takes"
        let nearest = Nearest.match(argument, among: words).map { ", did you mean \($0)?" } ?? ""
        return UsageError("\(beginning) \(expected), not \(quoted(argument))" + nearest)
    }
}

extension String: OptionValue {
    public init?(argument: String) { self = argument }
    public var argument: String { self }
    public static var expectation: String { "text" }
}

extension Int: OptionValue {
    public init?(argument: String) { self.init(argument) }
    public var argument: String { String(self) }
    public static var expectation: String { "a whole number" }
}

/// An enumeration of words only has to declare the conformance: `enum Flow: String, CaseIterable, OptionValue`.
extension OptionValue where Self: CaseIterable & RawRepresentable, RawValue == String {
    public init?(argument: String) { self.init(rawValue: argument) }
    public var argument: String { rawValue }
    public static var expectation: String { TextLayout.list(choices) }
    public static var choices: [String] { allCases.map(\.rawValue) }
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
