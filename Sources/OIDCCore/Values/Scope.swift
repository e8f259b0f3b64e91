/// A set of scope tokens in their original order (RFC 6749 §3.3).
public struct OAuthScope: Sendable {
    /// The scope tokens in their order, each once.
    public let tokens: [String]

    /// Parses tokens that are separated by spaces; a repeated token counts once.
    public init(_ text: String) {
        self.init(tokens: text.utf8.split(separator: .space).map(Scope.word))
    }

    /// Creates a scope from its tokens.
    public init(tokens: [String]) {
        guard tokens.count < Scope.large else {
            var known: Set<String> = []
            self.tokens = tokens.filter { known.insert($0).inserted }
            return
        }
        var distinct: [String] = []
        for token in tokens where !distinct.contains(token) { distinct.append(token) }
        self.tokens = distinct
    }

    /// The number of tokens from which a set is faster than a linear search.
    private static let large = 16

    /// Whether the scope has no tokens.
    public var isEmpty: Bool { tokens.isEmpty }
    /// The tokens, separated by spaces.
    public var text: String { OAuthScope.text(of: tokens) }

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
    public func isSubset(of other: OAuthScope) -> Bool {
        guard other.tokens.count < Scope.large else { return Set(other.tokens).isSuperset(of: tokens) }
        return tokens.allSatisfy(other.contains)
    }

    /// Returns the tokens of both scopes.
    public func union(_ other: OAuthScope) -> OAuthScope {
        Scope(tokens: tokens + other.tokens)
    }

    /// Whether every token is printable ASCII without `"` and `\` (RFC 6749 §3.3).
    public var isWellFormed: Bool {
        tokens.allSatisfy { token in
            token.utf8.allSatisfy { ASCII.isVisible($0) && $0 != .quote && $0 != .backslash }
        }
    }
}

extension Scope {
    /// Returns the scope with its tokens split at commas or plus signs, if the result has more tokens of
    /// `wanted`. Otherwise nothing is split, as both characters are valid in a token (RFC 6749 §3.3).
    ///
    /// GitHub, Slack, Linear and Strava separate scopes by commas, two other providers in Nango's catalog by
    /// plus signs (2026-08).
    package func separated(as wanted: Scope) -> Scope {
        func matches(_ scope: Scope) -> Int {
            wanted.tokens.reduce(0) { $0 + (scope.contains($1) ? 1 : 0) }
        }
        var best = self
        for separator in [UInt8.comma, .plus] where tokens.contains(where: { $0.utf8.contains(separator) }) {
            let split = Scope(tokens: tokens.flatMap { $0.utf8.split(separator: separator) }.map(Scope.word))
            if matches(split) > matches(best) { best = split }
        }
        return best.shortened(as: wanted)
    }

    /// The start of the names under which Google grants `email` and `profile` (google-api-python-client
    /// #1088, read 2026-11).
    private static let longName = "https://www.googleapis.com/auth/userinfo."

    /// Returns the scope with Google's longer names replaced by the short ones in `wanted`.
    private func shortened(as wanted: Scope) -> Scope {
        guard tokens.contains(where: { $0.hasPrefix(Scope.longName) }) else { return self }
        return Scope(
            tokens: tokens.map { token in
                let short = String(token.dropFirst(Scope.longName.count))
                return token.hasPrefix(Scope.longName) && wanted.contains(short) ? short : token
            })
    }

    /// Returns the tokens of `wanted` that are not in the scope, whichever separators the two use.
    package func missing(from wanted: Scope) -> [String] {
        let granted = separated(as: wanted)
        return wanted.separated(as: granted).tokens.filter { !granted.contains($0) }
    }

    private static func word(_ bytes: Substring.UTF8View) -> String { String(Substring(bytes)) }
}

extension Scope: Hashable {
    /// Returns whether both scopes have the same tokens, in any order (RFC 6749 §3.3).
    public static func == (left: OAuthScope, right: OAuthScope) -> Bool {
        left.tokens.count == right.tokens.count && left.isSubset(of: right)
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
