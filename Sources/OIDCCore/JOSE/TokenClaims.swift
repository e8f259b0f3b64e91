/// A token's claims, read by type; errors name the claim, the expected and the found value.
struct TokenClaims {
    let reader: JSONReader<OIDCError>
    let stage: Stage

    var members: JSONObject { reader.members }

    init(members: JSONObject, stage: Stage) {
        self.stage = stage
        reader = JSONReader(members) { name, expected, flaw in
            let found = if case .type(let value) = flaw { TokenClaims.text(value) } else { flaw.found }
            return .untrusted(stage, name, expected: expected, found: found)
        }
    }

    func refusal(_ name: String, expected: String, found: String, hint: Hint? = nil) -> OIDCError {
        .untrusted(stage, name, expected: expected, found: found, hint: hint)
    }

    /// Returns an error about a claim with an unexpected value; `note` follows the expected value.
    func mismatch(_ name: String, expected: String, note: String = "") -> OIDCError {
        if let text = members[name]?.string {
            let sides = DisplayText.sides(expected: expected, found: text, limit: 120)
            return refusal(name, expected: "\"\(sides.expected)\"\(note)", found: "\"\(sides.found)\"")
        }
        let texts = members[name]?.array?.compactMap(\.string) ?? []
        guard texts.contains(where: { DisplayText.looksAlike($0, expected) }) else {
            return refusal(name, expected: DisplayText.quoted(expected) + note, found: found(name))
        }
        return refusal(
            name, expected: "\"\(DisplayText.escaped(expected))\"\(note)",
            found: found(name, as: DisplayText.escaped))
    }

    /// Describes a claim's value in a few words.
    func found(_ name: String, as format: (String) -> String = { $0 }) -> String {
        members[name].map { TokenClaims.text($0, as: format) } ?? "none"
    }

    private static func text(_ value: JSONValue, as format: (String) -> String = { $0 }) -> String {
        switch value {
        case .string(let text): DisplayText.quoted(format(text), limit: 120)
        case .number(let number): DisplayText.clean(number.text, limit: 40)
        case .array(let items):
            DisplayText.clean(
                "[" + items.map { $0.string.map(format) ?? $0.typeName }.joined(separator: ", ") + "]")
        default: value.typeName
        }
    }

    func string(_ name: String) throws(OIDCError) -> String? { try reader.string(name) }

    /// Reads a NumericDate (RFC 7519 §2), rounded down to whole seconds.
    func time(_ name: String) throws(OIDCError) -> Instant? {
        try reader.value(name, "seconds since 1970") { $0.number?.wholePart }
            .map(Instant.init(secondsSinceEpoch:))
    }

    /// Reads a string or an array of strings, as `aud` is (RFC 7519 §4.1.3).
    func texts(_ name: String) throws(OIDCError) -> [String]? {
        try reader.value(name, "a string or an array of strings") { $0.string.map { [$0] } ?? $0.strings }
    }

    /// Checks `iss`. If the expected issuer is a template, the token's own `tid` completes it.
    func checkIssuer(_ issuer: String) throws(OIDCError) {
        let issuer = try IssuerTemplate(issuer).map(filled) ?? issuer
        guard let found = try string("iss"), ExactText.isSame(found, issuer) else {
            throw mismatch("iss", expected: issuer)
        }
    }

    private func filled(_ template: IssuerTemplate) throws(OIDCError) -> String {
        guard let tenant = try string("tid"), let issuer = template.issuer(of: tenant) else {
            throw refusal(
                "tid", expected: "the tenant of \(DisplayText.clean(template.text))", found: found("tid"))
        }
        return issuer
    }

    func checkAudience(_ clientID: String) throws(OIDCError) -> [String] {
        guard let audience = try texts("aud"), audience.contains(where: { ExactText.isSame($0, clientID) })
        else { throw mismatch("aud", expected: clientID) }
        return audience
    }

    /// Checks `exp`, `iat` and `nbf` if they are present; clocks may differ by `leeway`.
    func checkTimes(now: Instant, leeway: Int64) throws(OIDCError) {
        if let expiry = try time("exp"), expiry.adding(leeway) <= now {
            throw refusal(
                "exp", expected: "a time after \(now)", found: "\(expiry)", hint: .advice(.checkClock))
        }
        for name in ["iat", "nbf"] {
            if let time = try time(name), time > now.adding(leeway) {
                throw .untrusted(
                    stage, name, expected: "a time no later than \(now)", found: "\(time)",
                    hint: .advice(.checkClock))
            }
        }
    }
}
