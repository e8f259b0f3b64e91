import CommandLineKit
import OIDCCore

/// Which token of a session is meant.
enum TokenKind: String, CaseIterable, OptionValue, Sendable {
    case access
    case id
}

extension AccessToken {
    /// How the token is printed with `-o json`.
    var json: JSONValue {
        [
            "access_token": .string(token.revealed), "token_type": .string(type.name),
            "expires_at": expiresAt.map { JSONValue($0.secondsSinceEpoch) } ?? .null,
            "scope": JSONValue(scope?.text),
        ]
    }
}
