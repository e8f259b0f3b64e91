/// A secret that cannot be printed by accident: only `revealed` returns it.
public struct Redacted<Value: Sendable>: Sendable {
    /// The secret itself.
    public let revealed: Value

    /// Creates a wrapper that hides a value from descriptions and dumps.
    public init(_ value: Value) {
        revealed = value
    }
}

extension Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A placeholder for the secret.
    public var description: String { "(secret)" }
    /// A placeholder for the secret.
    public var debugDescription: String { "(secret)" }
    /// A mirror without members, so `dump` shows nothing secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Redacted: Equatable where Value: Equatable {}
extension Redacted: Hashable where Value: Hashable {}
