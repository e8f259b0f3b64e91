/// The reading of a token endpoint's answer (RFC 6749 §5, RFC 9449 §5, RFC 8693 §2.2).
enum TokenResponse {
    private static let maximumByteCount = 65_536

    static func tokens(
        _ response: HTTPResponse, for request: TokenRequest, isBound: Bool, assuming assumed: TokenType?,
        now: Instant, withholding secrets: () -> WithheldSecrets = { WithheldSecrets() }
    ) throws(OIDCError) -> TokenSet {
        let answer = try members(response)
        let token = try answer.requiredString("access_token")
        try check("access_token", token)
        let issued = try answer.string("issued_token_type")
        var type = try type(answer, request: request, isBound: isBound, assuming: assumed)
        if try !isAccessToken(issued, request) { type = .notApplicable }
        let access = AccessToken(
            token: Redacted(token), type: type,
            obtainedAt: now, expiresAt: lifetime(answer).map { now.adding($0) },
            scope: try scope(answer, request) ?? request.scope)
        var refreshToken: String?
        var flaw: OIDCError.Cause?
        do throws(OIDCError) {
            refreshToken = try answer.string("refresh_token").flatMap { $0.isEmpty ? nil : $0 }
            flaw = refreshToken.flatMap { TokenResponse.flaw(of: "refresh_token", $0) }
        } catch {
            flaw = error.cause
        }
        var tokens = TokenSet(
            access: access, refreshToken: flaw == nil ? refreshToken.map { Redacted($0) } : nil,
            idToken: try optionalToken(answer, "id_token"),
            issuedTokenType: issued.map { DisplayText.clean($0) },
            extra: ExtraMembers.tokenAnswer(answer.members, withholding: secrets))
        tokens.refreshTokenFlaw = flaw
        return tokens
    }

    /// Returns one token of an answer whose status, other members or end may be invalid. The refresh token
    /// that was sent may be used up, so a new one is kept in any case (RFC 9700 §4.14.2).
    static func token(_ name: String, in response: HTTPResponse) -> Redacted<String>? {
        let token: String?
        if let json = try? JSONValue(parsing: response.body) {
            token = (json[name] ?? json.object.flatMap(nested)?[name])?.string
        } else if let found = member(name, of: response.body) {
            token = found
        } else {
            let pairs = response.looksFormEncoded ? FormEncoding.decode(response.text) : nil
            token = pairs?.last { $0.name == name }?.value
        }
        guard let token, !token.isEmpty, flaw(of: name, token) == nil else { return nil }
        return Redacted(token)
    }

    /// Returns the last member with this name in bytes that are not valid JSON. Quotes inside a string would
    /// be escaped, so only a member matches.
    private static func member(_ name: String, of bytes: [UInt8]) -> String? {
        let name = Array("\"\(name)\"".utf8)
        var start = bytes.count - name.count
        while start > 0 {
            start -= 1
            guard bytes[start] == 0x22, bytes[start..<start + name.count].elementsEqual(name) else {
                continue
            }
            var rest = bytes[(start + name.count)...].drop(while: ASCII.isBlank)
            guard rest.popFirst() == 0x3A else { continue }
            rest = rest.drop(while: ASCII.isBlank)
            guard rest.popFirst() == 0x22, let end = rest.firstIndex(of: 0x22) else { continue }
            // A token contains no quotes, so an escape in it can only be that of a slash or a code point.
            return (try? JSONValue(parsing: [0x22] + rest[..<end] + [0x22]))?.string
        }
        return nil
    }

    /// Returns the members of the answer. If it has no access token but exactly one of its objects has, that
    /// object's members are used: Slack nests the tokens of a user who installs no bot in `authed_user`
    /// (2026-11).
    private static func members(_ response: HTTPResponse) throws(OIDCError) -> JSONAnswer {
        var answer = try JSONAnswer(formOrJSON: response, having: "access_token", stage: .token)
        guard answer["access_token"] == nil, let nested = nested(in: answer.members) else { return answer }
        for name in ExtraMembers.ofTokenAnswer { answer.members[name] = nested[name] ?? answer.members[name] }
        return answer
    }

    private static func nested(in members: JSONObject) -> JSONObject? {
        let objects = members.members.compactMap(\.value.object)
        let withTokens = objects.filter { $0["access_token"]?.string != nil }
        return withTokens.count == 1 ? withTokens.first : nil
    }

    /// Returns the token's type. Refuses a bearer token if a bound one was requested (RFC 9449 §5), and a
    /// type that cannot be presented, unless the configuration says which type to assume.
    private static func type(
        _ answer: JSONAnswer, request: TokenRequest, isBound: Bool, assuming assumed: TokenType?
    ) throws(OIDCError) -> TokenType {
        let member = Result { () throws(OIDCError) in TokenType(try answer.requiredString("token_type")) }
        let named = try? member.get()
        if !isBound, let assumed, named != .dpop, named != .bearer, !isNotApplicable(named, request) {
            return assumed
        }
        let type: TokenType
        do throws(OIDCError) { type = try member.get() } catch {
            var error = error
            if !isBound { error.hint = .set(.tokenType, to: TokenType.bearer.name) }
            throw error
        }
        if type == (isBound ? .dpop : .bearer) { return type }
        if isNotApplicable(type, request) { return .notApplicable }
        let hint: Hint? =
            switch type {
            case .bearer: .advice(.allowUnboundTokens)
            case .dpop: .set(.dpop, to: "true")
            // A type of its own meaning must not be taken for another (RFC 6749 §7.1).
            default: isBound || type.hasOtherMeaning ? nil : .set(.tokenType, to: TokenType.bearer.name)
            }
        var error = OIDCError.protocolViolation(
            .token, "token_type", expected: isBound ? "DPoP" : "Bearer", found: type.name, hint: hint)
        if type == .bearer { error.code = .tokenNotBound }
        throw error
    }

    /// Returns whether a token exchange issued an access token, as far as `issued_token_type` says (RFC 8693
    /// §2.2.1). Refuses a type other than the requested one: a refresh token or an assertion must not be sent
    /// to an API. An access token in the form of a JWT may be called either (§3).
    private static func isAccessToken(_ issued: String?, _ request: TokenRequest) throws(OIDCError) -> Bool {
        guard request.grantType == .tokenExchange, let issued else { return true }
        let accessTokens = [TokenTypeIdentifier.accessToken.urn, TokenTypeIdentifier.jwt.urn]
        guard let requested = request.requestedTokenType else { return accessTokens.contains(issued) }
        let isAccessToken = requested == TokenTypeIdentifier.accessToken.urn
        guard ExactText.isSame(issued, requested) || isAccessToken && accessTokens.contains(issued) else {
            throw .protocolViolation(.token, "issued_token_type", expected: requested, found: issued)
        }
        return true
    }

    /// Returns whether a token exchange issued something other than an access token (RFC 8693 §2.2.1).
    private static func isNotApplicable(_ type: TokenType?, _ request: TokenRequest) -> Bool {
        guard request.grantType == .tokenExchange, let type else { return false }
        return ASCII.isSameIgnoringCase(type.name, TokenType.notApplicable.name)
    }

    /// Returns the lifetime in seconds; nil if it is not positive, as Mailchimp answers `expires_in: 0` for
    /// tokens that do not expire.
    private static func lifetime(_ answer: JSONAnswer) -> Int64? {
        answer.seconds("expires_in").flatMap { $0 > 0 ? $0 : nil }
    }

    /// Returns the scope, which Twitch sends as an array, and others separated by commas.
    private static func scope(_ answer: JSONAnswer, _ request: TokenRequest) throws(OIDCError) -> Scope? {
        let scope: Scope?
        if answer["scope"]?.array != nil {
            scope = try answer.strings("scope").map { Scope($0.joined(separator: " ")) }
        } else {
            scope = try answer.string("scope").map { Scope($0) }
        }
        guard scope?.isWellFormed != false else {
            throw .protocolViolation(
                .token, "scope", expected: "ASCII words without \" and \\",
                found: DisplayText.escaped(scope?.text ?? ""))
        }
        return request.scope.map { scope?.separated(as: $0) } ?? scope
    }

    /// Returns a token; nil if it is missing or empty, as several providers send an empty string for a
    /// missing one.
    private static func optionalToken(
        _ answer: JSONAnswer, _ name: String
    ) throws(OIDCError) -> Redacted<String>? {
        guard let text = try answer.string(name), !text.isEmpty else { return nil }
        try check(name, text)
        return Redacted(text)
    }

    private static func check(_ name: String, _ token: String) throws(OIDCError) {
        if let flaw = TokenResponse.flaw(of: name, token) { throw OIDCError(.refused, .token, flaw) }
    }

    /// Returns the fault of a token's length or characters; nil if it can be used. The token must be visible
    /// ASCII (RFC 6749 appendix A.12), as it may be sent in a header or printed. A refresh token may contain
    /// spaces (A.17), as it is sent in forms only.
    private static func flaw(of name: String, _ token: String) -> OIDCError.Cause? {
        let mayHaveSpaces = name == "refresh_token"
        guard token.utf8.count <= maximumByteCount else {
            return .mismatch(
                member: name, expected: "at most \(maximumByteCount) characters", found: "\(token.utf8.count)"
            )
        }
        guard token.utf8.allSatisfy(mayHaveSpaces ? ASCII.isPrintable : ASCII.isVisible) else {
            return .mismatch(
                member: name, expected: "visible ASCII characters", found: "something else among them")
        }
        return nil
    }
}
