/// A set of scope tokens in their original order (RFC 6749 §3.3).
public struct Scope: Sendable {
    /// The scope tokens in their order, each once.
    public let tokens: [String]

    /// Splits a string at spaces; a repeated token counts once.
    public init(_ text: String) {
        self.init(tokens: text.utf8.split(separator: .space).map { String(Substring($0)) })
    }

    /// Makes a scope from its tokens.
    public init(tokens: [String]) {
        guard tokens.count < 16 else {
            var seen: Set<String> = []
            self.tokens = tokens.filter { seen.insert($0).inserted }
            return
        }
        var distinct: [String] = []
        for token in tokens where !distinct.contains(token) { distinct.append(token) }
        self.tokens = distinct
    }

    /// Whether the scope has no tokens.
    public var isEmpty: Bool { tokens.isEmpty }
    /// The tokens, separated by spaces.
    public var text: String { Scope.text(of: tokens) }

    static func text(of tokens: [String]) -> String {
        var text = ""
        for token in tokens {
            if !text.isEmpty { text += " " }
            text += token
        }
        return text
    }

    /// Returns whether a token is in the scope.
    public func contains(_ token: String) -> Bool {
        tokens.contains(token)
    }

    /// Returns whether every token is in the other scope.
    public func isSubset(of other: Scope) -> Bool {
        Set(tokens).isSubset(of: other.tokens)
    }

    /// Returns the tokens of both scopes.
    public func union(_ other: Scope) -> Scope {
        Scope(tokens: tokens + other.tokens)
    }

    /// Whether every token is printable ASCII without `"` and `\` (RFC 6749 §3.3).
    public var isWellFormed: Bool {
        tokens.allSatisfy { token in
            token.utf8.allSatisfy { ASCII.isVisible($0) && $0 != .quote && $0 != .backslash }
        }
    }
}

extension Scope: Hashable {
    /// Returns whether both scopes have the same tokens, in any order (RFC 6749 §3.3).
    public static func == (left: Scope, right: Scope) -> Bool {
        Set(left.tokens) == Set(right.tokens)
    }

    /// Hashes the tokens without their order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(Set(tokens))
    }
}

extension Scope: CustomStringConvertible {
    /// The tokens, separated by spaces.
    public var description: String { text }
}
