/// A type that an option or operand can have: read from one argument, and written as one for the help.
public protocol OptionValue: Sendable {
    init?(argument: String)
    /// The value as one would type it; empty when there is nothing to show as a default.
    var argument: String { get }
    /// What is accepted, as it stands after "takes": `a whole number`.
    static var expectation: String { get }
    /// All accepted words, where they can be listed.
    static var choices: [String] { get }
}

extension OptionValue {
    public static var choices: [String] { [] }
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

/// An enumeration of words needs to write no more than `enum Flow: String, CaseIterable, OptionValue`.
extension OptionValue where Self: CaseIterable & RawRepresentable, RawValue == String {
    public init?(argument: String) { self.init(rawValue: argument) }
    public var argument: String { rawValue }
    public static var expectation: String { TextLayout.list(choices) }
    public static var choices: [String] { allCases.map(\.rawValue) }
}

extension OptionValue {
    static func read(_ text: String, for name: String) throws(UsageError) -> Self {
        guard let value = Self(argument: text) else {
            // An operand that is named by its words has said already what it takes.
            let beginning = name.utf8.contains(0x7C) ? "expected" : "\(name) takes"
            throw UsageError("\(beginning) \(expectation), not \(UsageError.quoted(text))")
        }
        return value
    }
}
