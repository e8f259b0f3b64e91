/// The members of an answer that the protocol does not define, without possible secrets. API calls need some
/// of them: Salesforce's `instance_url`, QuickBooks' `realmId`, Slack's `team` (their documentation,
/// 2026-11).
enum ExtraMembers {
    /// The most bytes that the members may have together as JSON, far below the limit for reading a session.
    static let byteLimit = 16_384
    private static let depthLimit = 4

    /// The parameters of a token answer (RFC 6749 §5.1, OpenID Connect Core §3.1.3.3, RFC 8693 §2.2.1).
    static let ofTokenAnswer = [
        "access_token", "token_type", "expires_in", "refresh_token", "id_token", "scope", "issued_token_type",
    ]
    /// The parameters of a redirect (RFC 6749 §4.1.2, RFC 9207, OpenID Connect Session Management §2), and
    /// those that Google adds to it.
    private static let ofRedirect = [
        "code", "state", "iss", "error", "error_description", "error_uri", "session_state", "scope",
        "authuser", "prompt", "hd",
    ]

    /// Returns the other members of a token answer, without its tokens and the secrets of its request.
    static func tokenAnswer(
        _ members: JSONObject, withholding secrets: () -> WithheldSecrets
    ) -> JSONObject {
        let others = members.members.filter { !ofTokenAnswer.contains($0.name) }
        guard !others.isEmpty else { return JSONObject() }
        let tokens = ["access_token", "refresh_token", "id_token"].compactMap { members[$0]?.string }
        let nested = members.members.flatMap { ExtraMembers.tokens(in: $0.value, named: $0.name) }
        return bounded(others, withholding: tokens, secrets().adding(tokens + nested))
    }

    /// Returns the long strings, at any depth, that have the name of a secret.
    private static func tokens(in value: JSONValue, named name: String) -> [String] {
        switch value {
        case .string(let text):
            text.utf8.count >= 16 && SecretForm.isName(name) ? [text] : []
        case .array(let items): items.flatMap { tokens(in: $0, named: name) }
        case .object(let object): object.members.flatMap { tokens(in: $0.value, named: $0.name) }
        case .null, .bool, .number: []
        }
    }

    /// Returns the other parameters of a redirect, without repeated ones.
    static func redirect(_ pairs: [FormEncoding.Pair]) -> JSONObject {
        var counts: [String: Int] = [:]
        for pair in pairs { counts[pair.name, default: 0] += 1 }
        return bounded(
            pairs.filter { counts[$0.name] == 1 && !ofRedirect.contains($0.name) }
                .map { JSONObject.Member(name: $0.name, value: .string($0.value)) },
            WithheldSecrets(pairs.filter { $0.name == "code" || $0.name == "state" }.map(\.value)))
    }

    /// Returns the members of both. Those of `newer` replace others with the same name, and are kept first if
    /// there are too many.
    static func merged(_ older: JSONObject, _ newer: JSONObject) -> JSONObject {
        guard !older.isEmpty, !newer.isEmpty else { return older.isEmpty ? newer : older }
        return bounded(newer.members + older.members.filter { newer[$0.name] == nil })
    }

    private static func bounded(
        _ members: [JSONObject.Member], withholding tokens: [String] = [],
        _ secrets: WithheldSecrets = WithheldSecrets()
    ) -> JSONObject {
        var object = JSONObject()
        var left = byteLimit
        for member in members where !member.name.isEmpty {
            // Searching a string for secrets takes longer than counting its bytes.
            if let text = member.value.string, member.name.utf8.count + text.utf8.count > left { continue }
            guard let value = shown(member.value, named: member.name, tokens, secrets, depth: 1) else {
                continue
            }
            let count = member.name.utf8.count + value.compact.utf8.count + 6
            guard count <= left else { continue }
            left -= count
            object[member.name] = value
        }
        return object
    }

    /// Returns the value without possible secrets; nil if nothing is left.
    private static func shown(
        _ value: JSONValue, named name: String, _ tokens: [String], _ secrets: WithheldSecrets, depth: Int
    ) -> JSONValue? {
        if case .bool = value { return secrets.removed(from: name) == name ? value : nil }
        guard !SecretForm.isName(name), secrets.removed(from: name) == name else { return nil }
        switch value {
        case .null: return nil
        case .bool, .number: return value
        case .string(let text):
            let isSecret =
                SecretForm.isValue(text) || tokens.contains(text) || secrets.removed(from: text) != text
            return isSecret ? nil : value
        case .array(let items):
            guard depth < depthLimit else { return nil }
            return .array(items.compactMap { shown($0, named: name, tokens, secrets, depth: depth + 1) })
        case .object(let object):
            guard depth < depthLimit else { return nil }
            var rest = JSONObject()
            for member in object.members {
                rest[member.name] = shown(
                    member.value, named: member.name, tokens, secrets, depth: depth + 1)
            }
            return rest.isEmpty ? nil : .object(rest)
        }
    }
}

/// The signs of a secret: a member's name (`access_token`, `apiKey`) or its text (a JWT).
private enum SecretForm {
    private static let names = [
        "token", "secret", "password", "passwd", "passphrase", "assertion", "credential", "cookie", "key",
        "authorization", "webhook", "sessionid", "bearer", "jwt", "ticket", "authcode", "devicecode",
        "verifier",
    ]
    /// Endings of names that describe a secret without containing it, such as `refresh_token_expires_in`.
    private static let harmlessEnds = ["type", "expiresin", "expiresat", "lifetime"]
    private static let texts = ["bearer ", "access_token", "refresh_token", "id_token", "client_secret"]

    static func isName(_ name: String) -> Bool {
        let words = words(name)
        let plain = words.joined()
        if harmlessEnds.contains(where: { plain.hasSuffix($0) }) { return false }
        return plain == "code" || names.contains { plain.includes($0) }
            || words.contains { $0 == "pin" || $0.includes("otp") }
    }

    static func isValue(_ text: String) -> Bool {
        let lowercased = ASCII.lowercased(text)
        return text.hasPrefix("eyJ") || texts.contains { lowercased.includes($0) } || containsJWT(text)
    }

    /// Returns whether a string contains a JWT: base64url characters with `eyJ`, the start of each JSON object,
    /// up to a dot.
    private static func containsJWT(_ text: String) -> Bool {
        text.utf8.split(separator: 0x2E, omittingEmptySubsequences: false).dropLast().contains { part in
            let run = part.reversed().prefix { ASCII.isAlphanumeric($0) || $0 == 0x2D || $0 == 0x5F }
            return String(decoding: run.reversed(), as: UTF8.self).includes("eyJ")
        }
    }

    /// Returns the words of a name in lower case: `x-api-key`, `userPin`.
    private static func words(_ name: String) -> [String] {
        var words = [""]
        var follows = false
        for byte in name.utf8 {
            let isCapital = (0x41...0x5A).contains(byte)
            if !ASCII.isAlphanumeric(byte) || isCapital && follows { words.append("") }
            if ASCII.isAlphanumeric(byte) {
                words[words.count - 1] += ASCII.lowercased(String(UnicodeScalar(byte)))
            }
            follows = ASCII.isAlphanumeric(byte) && !isCapital
        }
        return words
    }
}
