import OIDCCore
import Posix

/// The answer to Google's libraries (external account, executable source): success or failure, both with exit
/// 0.
enum GoogleCredential {
    static let idTokenType = "urn:ietf:params:oauth:token-type:id_token"
    static let jwtType = "urn:ietf:params:oauth:token-type:jwt"

    /// Returns the token type from the caller's configuration or from the setting, or the default. Throws if the two
    /// differ.
    static func tokenType(
        _ environment: Variables, setting: String?, default standard: String
    ) throws(OIDCError) -> String {
        let requested = environment["GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE"].flatMap { $0.isEmpty ? nil : $0 }
        if let requested, let setting, requested != setting {
            throw .usage(
                "gcp_token_type is \(DisplayText.quoted(setting, limit: 100)), and the caller's "
                    + "subject_token_type is \(DisplayText.quoted(requested, limit: 100))",
                hint: "set gcp_token_type to the caller's value, or remove it")
        }
        let type = requested ?? setting ?? standard
        guard [idTokenType, jwtType].contains(type) else {
            throw .usage(
                "subject_token_type: expected \(idTokenType) or \(jwtType), found "
                    + "\"\(DisplayText.distinct(type, from: [idTokenType, jwtType], limit: 100))\"")
        }
        return type
    }

    static func success(_ token: CredentialToken, type: String) -> JSONValue {
        var answer = JSONObject()
        answer["version"] = 1
        answer["success"] = true
        answer["token_type"] = .string(type)
        answer["id_token"] = .string(token.text.revealed)
        answer["expiration_time"] = token.expiresAt.map { JSONValue($0.secondsSinceEpoch) }
        return .object(answer)
    }

    static func failure(_ error: OIDCError) -> JSONValue {
        let hint = error.hint.map { "; try: \(DisplayText.clean($0.commandLine))" } ?? ""
        return [
            "version": 1, "success": false, "code": .string(error.kind.rawValue),
            "message": .string(DisplayText.clean(error.message, limit: 900) + hint),
        ]
    }
}
