/// A secret that cannot be printed by accident: it is reached by `revealed` alone.
public struct Redacted<Value: Sendable>: Sendable {
    /// The secret itself.
    public let revealed: Value

    /// Hides a value from descriptions and dumps.
    public init(_ value: Value) {
        revealed = value
    }
}

extension Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A word in place of the secret.
    public var description: String { "(secret)" }
    /// A word in place of the secret.
    public var debugDescription: String { "(secret)" }
    /// No member, so nothing secret is dumped.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Redacted: Equatable where Value: Equatable {}
extension Redacted: Hashable where Value: Hashable {}
