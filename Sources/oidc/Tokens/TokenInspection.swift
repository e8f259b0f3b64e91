import OIDCCore

/// The contents of a token, for users and for programs.
struct TokenInspection {
    let token: JWS
    let verdict: SignatureVerdict
    let clientID: String?
    let now: Instant
    let leeway: Int64

    var json: JSONValue {
        [
            "header": .object(token.header),
            "claims": token.claims.map { .object($0) } ?? .null,
            "signature": .string(verdict.word), "reason": JSONValue(verdict.reason),
        ]
    }

    private func time(_ name: String) -> Instant? {
        token.claims?[name]?.number?.wholePart.map { Instant(secondsSinceEpoch: $0) }
    }

    /// The reasons for a recipient to refuse the token, apart from the signature.
    var warnings: [String] {
        var warnings: [String] = []
        if let expiry = time("exp"), expiry.adding(leeway) <= now {
            warnings.append("the token expired \(TimeWords.relative(expiry, to: now))")
        }
        if let start = time("nbf"), start > now.adding(leeway) {
            warnings.append("the token is not valid yet, but \(TimeWords.relative(start, to: now))")
        }
        if let issued = time("iat"), issued > now.adding(leeway) {
            warnings.append("the token was issued \(TimeWords.relative(issued, to: now)): a clock is wrong")
        }
        if let clientID, token.claims?["nonce"] != nil || token.claims?["at_hash"] != nil,
            let audience = token.claims?["aud"]
        {
            let names = audience.string.map { [$0] } ?? audience.array?.compactMap(\.string) ?? []
            if !names.contains(clientID) {
                warnings.append("aud does not name this client, \(DisplayText.clean(clientID))")
            }
        }
        return warnings
    }

    func text(_ style: TextStyle) -> String {
        var parts = [style.title("Header"), Self.rows(token.header.members.map(row), style)]
        parts.append("")
        if let claims = token.claims {
            parts += [style.title("Claims"), Self.rows(claims.members.map(row), style)]
        } else {
            parts += [style.title("Payload"), "  \(token.payload.count) bytes, not a JSON object"]
        }
        let detail = verdict.reason.map { ": \(DisplayText.clean($0))" } ?? ""
        let word = verdict == .valid ? style.good("valid") : style.bad(verdict.word)
        parts += ["", "\(style.title("Signature")) \(word)\(detail)"]
        return parts.joined(separator: "\n")
    }

    /// Formats a member: times relative to now, one scope per line.
    private func row(_ member: JSONObject.Member) -> (String, [String]) {
        let name = DisplayText.clean(member.name, limit: 60)
        if ["exp", "nbf", "iat", "auth_time", "updated_at"].contains(member.name),
            let seconds = member.value.number?.wholePart
        {
            let instant = Instant(secondsSinceEpoch: seconds)
            let words = TimeWords.relative(instant, to: now)
            let verb = member.name == "exp" ? (instant > now ? "expires " : "expired ") : ""
            return (name, ["\(instant) (\(verb)\(words))"])
        }
        if member.name == "scope", let text = member.value.string, !text.isEmpty {
            return (name, Scope(text).tokens.map { DisplayText.clean($0) })
        }
        if let items = member.value.array, !items.isEmpty, items.allSatisfy({ $0.string != nil }) {
            return (name, items.map { DisplayText.clean($0.string ?? "") })
        }
        return (name, [DisplayText.clean(member.value.string ?? member.value.compact)])
    }

    private static func rows(_ rows: [(String, [String])], _ style: TextStyle) -> String {
        let width = rows.map(\.0.unicodeScalars.count).max() ?? 0
        return rows.flatMap { name, values in
            values.enumerated().map { index, value in
                let shown = index == 0 ? name : ""
                let padding = String(repeating: " ", count: width - shown.unicodeScalars.count + 2)
                return "  \(style.name(shown))\(padding)\(value)"
            }
        }.joined(separator: "\n")
    }
}
