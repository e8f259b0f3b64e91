/// The members of an answer that the protocol does not define, as far as they may be kept and shown: Salesforce's
/// `instance_url`, QuickBooks' `realmId`, Slack's `team` (their documentation, 2026-11). API calls need them.
enum ExtraMembers {
    /// How many bytes they may have together as JSON, far less than what is read of a session.
    static let byteLimit = 16_384
    private static let depthLimit = 4

    /// The parameters of a token answer (RFC 6749 §5.1, OpenID Connect Core §3.1.3.3, RFC 8693 §2.2.1).
    static let ofTokenAnswer: Set<String> = [
        "access_token", "token_type", "expires_in", "refresh_token", "id_token", "scope", "issued_token_type",
    ]
    /// The parameters of a redirect (RFC 6749 §4.1.2, RFC 9207, OpenID Connect Session Management §2), and those
    /// that Google adds to it.
    private static let ofRedirect: Set<String> = [
        "code", "state", "iss", "error", "error_description", "error_uri", "session_state", "scope",
        "authuser",
        "prompt", "hd",
    ]

    /// Returns the other members of a token answer.
    static func tokenAnswer(_ members: JSONObject) -> JSONObject {
        let tokens = ["access_token", "refresh_token", "id_token"].compactMap { members[$0]?.string }
        return bounded(members.members.filter { !ofTokenAnswer.contains($0.name) }, withholding: tokens)
    }

    /// Returns the other parameters of a redirect, each of which stands there once.
    static func redirect(_ pairs: [FormEncoding.Pair]) -> JSONObject {
        var counts: [String: Int] = [:]
        for pair in pairs { counts[pair.name, default: 0] += 1 }
        return bounded(
            pairs.filter { counts[$0.name] == 1 && !ofRedirect.contains($0.name) }
                .map { JSONObject.Member(name: $0.name, value: .string($0.value)) })
    }

    /// Returns the members of both; those of `newer` replace others of their name, and are the ones to stay if there
    /// are too many.
    static func merged(_ older: JSONObject, _ newer: JSONObject) -> JSONObject {
        guard !older.isEmpty, !newer.isEmpty else { return older.isEmpty ? newer : older }
        return bounded(newer.members + older.members.filter { newer[$0.name] == nil })
    }

    private static func bounded(
        _ members: [JSONObject.Member], withholding tokens: [String] = []
    ) -> JSONObject {
        var object = JSONObject()
        var left = byteLimit
        for member in members where !member.name.isEmpty {
            guard let value = shown(member.value, named: member.name, tokens, depth: 1) else { continue }
            let count = member.name.utf8.count + value.compact.utf8.count + 6
            guard count <= left else { continue }
            left -= count
            object[member.name] = value
        }
        return object
    }

    /// Returns the value without what could be a secret; nil if nothing is left.
    private static func shown(
        _ value: JSONValue, named name: String, _ tokens: [String], depth: Int
    ) -> JSONValue? {
        switch value {
        case .null: return nil
        case .bool, .number: return value
        case .string(let text): return isSecret(text, named: name) || tokens.contains(text) ? nil : value
        case .array(let items):
            guard depth < depthLimit else { return nil }
            return .array(items.compactMap { shown($0, named: name, tokens, depth: depth + 1) })
        case .object(let object):
            guard depth < depthLimit else { return nil }
            var rest = JSONObject()
            for member in object.members {
                rest[member.name] = shown(member.value, named: member.name, tokens, depth: depth + 1)
            }
            return rest.isEmpty ? nil : .object(rest)
        }
    }

    private static let secretNames = [
        "token", "secret", "password", "passphrase", "assertion", "credential", "cookie", "apikey",
        "privatekey",
        "sessionkey", "sessionid", "bearer", "jwt", "ticket", "authcode", "devicecode", "verifier",
    ]

    /// Whether a string could open something, judged by its name (`access_token`, `apiKey`) or its form (a JWT).
    /// Digits alone, as of `refresh_token_expires_in`, and types are harmless.
    private static func isSecret(_ text: String, named name: String) -> Bool {
        if text.hasPrefix("eyJ") { return true }
        if text.utf8.count <= 12, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return false }
        let plain = ASCII.lowercased(name).utf8.filter(ASCII.isAlphanumeric)
        let word = String(decoding: plain, as: UTF8.self)
        return !word.hasSuffix("type") && (word == "code" || secretNames.contains { word.includes($0) })
    }
}
