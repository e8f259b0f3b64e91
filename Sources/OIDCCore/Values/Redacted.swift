/// A secret that cannot be printed by accident: it is reached by `revealed` alone.
public struct Redacted<Value: Sendable>: Sendable {
    public let revealed: Value

    public init(_ value: Value) {
        revealed = value
    }
}

extension Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "(secret)" }
    public var debugDescription: String { "(secret)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Redacted: Equatable where Value: Equatable {}
extension Redacted: Hashable where Value: Hashable {}
