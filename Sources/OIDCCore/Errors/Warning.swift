/// What a caller should know although the work went on.
public struct Warning: Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    public var message: String
    public var hint: Hint?

    public init(_ message: String, hint: Hint? = nil) {
        self.message = message
        self.hint = hint
    }

    public init(stringLiteral message: String) {
        self.init(message)
    }

    public var description: String { message + (hint.map { " (\($0))" } ?? "") }
}
