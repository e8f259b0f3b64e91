/// What a caller should know although the work went on.
public struct Warning: Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// One line: what happened.
    public var message: String
    /// What to do about it.
    public var hint: Hint?

    /// Makes a warning of one line.
    public init(_ message: String, hint: Hint? = nil) {
        self.message = message
        self.hint = hint
    }

    /// Makes a warning of one line.
    public init(stringLiteral message: String) {
        self.init(message)
    }

    /// Message and hint in one line.
    public var description: String { message + (hint.map { " (\($0))" } ?? "") }
}
