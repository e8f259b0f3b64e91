/// The reading of a token endpoint's answer (RFC 6749 §5, RFC 9449 §5, RFC 8693 §2.2).
enum TokenResponse {
    private static let maximumByteCount = 65_536

    static func tokens(
        _ response: HTTPResponse, for request: TokenRequest, isBound: Bool, now: Instant
    ) throws(OIDCError) -> TokenSet {
        let answer = try members(response)
        let token = try answer.requiredString("access_token")
        try check("access_token", token)
        let access = AccessToken(
            token: Redacted(token), type: try type(answer, request: request, isBound: isBound),
            obtainedAt: now, expiresAt: answer.seconds("expires_in").map { now.adding($0) },
            scope: try scope(answer) ?? request.scope)
        return TokenSet(
            access: access, refreshToken: try optionalToken(answer, "refresh_token"),
            idToken: try optionalToken(answer, "id_token"),
            issuedTokenType: try answer.string("issued_token_type").map { DisplayText.clean($0) })
    }

    /// The refresh token alone, from an answer in which anything else may be wrong: its status, its other members,
    /// its end. The one that was presented may be spent, so its successor is kept whatever the rest is like (RFC 9700
    /// §4.14.2).
    static func refreshToken(in response: HTTPResponse) -> Redacted<String>? {
        let token: String?
        if let json = try? JSONValue(parsing: response.body) {
            token = json["refresh_token"]?.string
        } else if let found = refreshTokenMember(of: response.body) {
            token = found
        } else {
            let pairs = response.looksFormEncoded ? FormEncoding.decode(response.text) : nil
            token = pairs?.last { $0.name == "refresh_token" }?.value
        }
        guard let token, !token.isEmpty, (try? check("refresh_token", token)) != nil else { return nil }
        return Redacted(token)
    }

    /// Finds the last member of that name in bytes that are not valid JSON. Within a string its quotes would be
    /// escaped, so nothing else looks like it.
    private static func refreshTokenMember(of bytes: [UInt8]) -> String? {
        let name = Array("\"refresh_token\"".utf8)
        guard bytes.count > name.count else { return nil }
        let starts = (0...bytes.count - name.count).reversed().lazy.filter { start in
            bytes[start] == 0x22 && bytes[start..<start + name.count].elementsEqual(name)
        }
        for start in starts {
            var rest = bytes[(start + name.count)...].drop(while: ASCII.isBlank)
            guard rest.popFirst() == 0x3A else { continue }
            rest = rest.drop(while: ASCII.isBlank)
            guard rest.popFirst() == 0x22, let end = rest.firstIndex(of: 0x22) else { continue }
            // A token holds no quotes, so an escape in it can only be of a slash or a code point.
            return (try? JSONValue(parsing: [0x22] + rest[..<end] + [0x22]))?.string
        }
        return nil
    }

    /// JSON, or the form encoding in which some providers answer.
    private static func members(_ response: HTTPResponse) throws(OIDCError) -> JSONAnswer {
        let isForm = response.looksFormEncoded && (try? JSONValue(parsing: response.body)) == nil
        guard isForm, let pairs = FormEncoding.decode(response.text),
            pairs.contains(where: { $0.name == "access_token" })
        else { return try JSONAnswer(response, stage: .token) }
        var seen: Set<String> = []
        for pair in pairs where !seen.insert(pair.name).inserted {
            throw .protocolViolation(.token, pair.name, expected: "at most one", found: "several")
        }
        let members = pairs.map { JSONObject.Member(name: $0.name, value: .string($0.value)) }
        return JSONAnswer(JSONObject(unique: members), stage: .token)
    }

    /// A token that was to be bound to a key is not taken unbound (RFC 9449 §5), nor one of a kind that
    /// we could not present.
    private static func type(
        _ answer: JSONAnswer, request: TokenRequest, isBound: Bool
    ) throws(OIDCError) -> TokenType {
        let type = TokenType(try answer.requiredString("token_type"))
        if type == (isBound ? .dpop : .bearer) { return type }
        if request.grantType == .tokenExchange,
            ASCII.isSameIgnoringCase(type.name, TokenType.notApplicable.name)
        {
            return .notApplicable
        }
        let hint: Hint? =
            switch type {
            case .bearer: .advice(.allowUnboundTokens)
            case .dpop: .set(.dpop, to: "true")
            default: nil
            }
        throw .protocolViolation(
            .token, "token_type", expected: isBound ? "DPoP" : "Bearer", found: type.name, hint: hint)
    }

    /// An array in the place of the string is what some providers send.
    private static func scope(_ answer: JSONAnswer) throws(OIDCError) -> Scope? {
        let scope: Scope?
        if answer["scope"]?.array != nil {
            scope = try answer.strings("scope").map { Scope($0.joined(separator: " ")) }
        } else {
            scope = try answer.string("scope").map { Scope($0) }
        }
        guard scope?.isWellFormed != false else {
            throw .protocolViolation(
                .token, "scope", expected: "ASCII words without \" and \\", found: scope?.text ?? "")
        }
        return scope
    }

    /// An empty string counts as absent: several providers write absence so.
    private static func optionalToken(
        _ answer: JSONAnswer, _ name: String
    ) throws(OIDCError) -> Redacted<String>? {
        guard let text = try answer.string(name), !text.isEmpty else { return nil }
        try check(name, text)
        return Redacted(text)
    }

    /// Visible ASCII only (RFC 6749 appendix A.12): nothing else may come near a header or a terminal.
    private static func check(_ name: String, _ token: String) throws(OIDCError) {
        guard token.utf8.count <= maximumByteCount else {
            throw .protocolViolation(
                .token, name, expected: "at most \(maximumByteCount) characters",
                found: "\(token.utf8.count)")
        }
        guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .protocolViolation(
                .token, name, expected: "visible ASCII characters", found: "something else among them")
        }
    }
}
