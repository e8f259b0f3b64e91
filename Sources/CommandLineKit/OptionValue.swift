/// A type of the values of options and operands, read from one argument.
package protocol OptionValue: Sendable {
    init?(argument: String)
    /// The value as a user would type it; empty if the help should not show it as a default.
    var argument: String { get }
    /// The accepted values, as words that follow "takes": `a whole number`.
    static var expectation: String { get }
    /// The accepted words, if they can be listed.
    static var choices: [String] { get }
}

extension OptionValue {
    package static var choices: [String] { [] }

    static func read(_ text: String, for name: String) throws(UsageError) -> Self {
        guard let value = Self(argument: text) else {
            throw UsageError.unaccepted(text, for: name, expected: expectation, choices)
        }
        return value
    }
}

extension UsageError {
    /// Returns the error for a value that is not accepted, with the most similar accepted word.
    package static func unaccepted(
        _ argument: String, for name: String, expected: String, _ words: [String]
    ) -> UsageError {
        // An operand such as `bash|zsh|fish` already lists its words as its name.
        let beginning = name.utf8.contains(UInt8(ascii: "|")) ? "expected" : "\(name) takes"
        let nearest = Nearest.match(argument, among: words)
        return UsageError(
            "\(beginning) \(expected), not \(quoted(argument))"
                + (nearest.map { ", did you mean \($0)?" } ?? ""),
            misspelling: nearest.map { Misspelling(typed: argument, meant: $0) })
    }
}

extension String: OptionValue {
    package init?(argument: String) { self = argument }
    package var argument: String { self }
    package static var expectation: String { "text" }
}

extension Int: OptionValue {
    package init?(argument: String) { self.init(argument) }
    package var argument: String { String(self) }
    package static var expectation: String { "a whole number" }
}

/// A value that is nil unless it is given.
extension Optional: OptionValue where Wrapped: OptionValue {
    package init?(argument: String) {
        guard let value = Wrapped(argument: argument) else { return nil }
        self = value
    }

    package var argument: String { self?.argument ?? "" }
    package static var expectation: String { Wrapped.expectation }
    package static var choices: [String] { Wrapped.choices }
}

/// An enumeration of words only has to declare the conformance: `enum Flow: String, CaseIterable,
/// OptionValue`.
extension OptionValue where Self: CaseIterable & RawRepresentable, RawValue == String {
    package init?(argument: String) { self.init(rawValue: argument) }
    package var argument: String { rawValue }
    package static var expectation: String { TextLayout.list(choices) }
    package static var choices: [String] { allCases.map(\.rawValue) }
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
