/// Access to a resource through the session at the user's own provider, which the resource's authorization
/// server trusts (draft-ietf-oauth-identity-assertion-authz-grant-04, 2026-05).
///
/// The user's provider exchanges a token of the session for an assertion about the user (ID-JAG), and that
/// server exchanges the assertion for an access token. The assertion is never stored.
package struct IdentityAssertion: Sendable {
    /// The issuer of the resource's authorization server.
    package let audience: String
    /// The resource's identifier, spelled as in its metadata.
    package let resources: [String]
    package let scope: Scope?
    /// The issuer of the user's own provider; nil if it is not known.
    package let issuer: String?

    package init(issuer: String?, audience: String, resources: [String], scope: Scope? = nil) {
        self.issuer = issuer
        self.audience = audience
        self.resources = resources
        self.scope = scope
    }

    /// A token of the user's session at their own provider.
    package struct Subject: Sendable {
        package let token: Redacted<String>
        package let type: TokenTypeIdentifier

        /// Creates a subject from the session's ID token.
        package static func idToken(_ token: Redacted<String>) -> Subject {
            Subject(token: token, type: .idToken)
        }

        /// Creates a subject from the session's refresh token, which stays valid.
        package static func refreshToken(_ token: Redacted<String>) -> Subject {
            Subject(token: token, type: .refreshToken)
        }
    }

    /// Requests an assertion from `provider`, the token endpoint of the user's own provider, and exchanges it
    /// for an access token at `server`, that of the resource's authorization server. `own` is the context
    /// for `provider`, if it differs.
    package func issue(
        for subject: Subject, from provider: TokenEndpoint, at server: TokenEndpoint,
        _ context: OIDCContext, own: OIDCContext? = nil
    ) throws(OIDCError) -> TokenEndpoint.Issued {
        let assertion = try assertion(
            for: subject, from: provider, client: server.client.id, own ?? context)
        return try server.issue(
            .jwtBearer(assertion: assertion, scope: scope, resources: resources), in: context)
    }

    /// Requests an assertion from the user's own provider, and checks that it is for this server, client and
    /// resource.
    package func assertion(
        for subject: Subject, from provider: TokenEndpoint, client clientID: String,
        _ context: OIDCContext
    ) throws(OIDCError) -> Redacted<String> {
        var exchange = TokenExchange(subjectToken: subject.token, subjectTokenType: subject.type)
        exchange.requestedTokenType = .idJAG
        exchange.audiences = [audience]
        exchange.resources = resources
        exchange.scope = scope
        let tokens: TokenSet
        do throws(OIDCError) {
            tokens = try provider.send(
                .tokenExchange(exchange), in: context)
        } catch {
            var error = error
            error.message += ", at the user's own provider \(provider.url.hostAndPort)"
            throw error
        }
        do throws(OIDCError) {
            guard tokens.issuedTokenType == TokenTypeIdentifier.idJAG.urn else {
                throw .protocolViolation(
                    .token, "issued_token_type", expected: TokenTypeIdentifier.idJAG.urn,
                    found: tokens.issuedTokenType ?? "none")
            }
            guard tokens.access.type == .notApplicable else {
                throw .protocolViolation(
                    .token, "token_type", expected: TokenType.notApplicable.name,
                    found: tokens.access.type.name)
            }
            try check(tokens.access.token, client: clientID, now: context.now())
        } catch {
            throw error.withholding(
                WithheldSecrets([tokens.access.token.revealed, subject.token.revealed]))
        }
        return tokens.access.token
    }

    /// Checks the assertion's type and claims; the server verifies its signature. Any other token, such as
    /// the user's ID token, must not be sent to that server. An unsigned or expired one, or one of another
    /// issuer, would only be refused there with an error that misleads.
    private func check(
        _ assertion: Redacted<String>, client clientID: String, now: Instant
    ) throws(OIDCError) {
        guard let parsed = try? JWS(compact: assertion.revealed), let claims = parsed.claims else {
            throw .protocolViolation(
                .token, "access_token", expected: "an assertion (JWT)", found: "something else")
        }
        let type = parsed.header["typ"]?.string
        guard let type, ASCII.isSameIgnoringCase(type, IdentityAssertion.type) else {
            throw .protocolViolation(
                .token, "typ", expected: IdentityAssertion.type, found: type ?? "none")
        }
        guard let algorithm = parsed.header["alg"]?.string, !ASCII.isSameIgnoringCase(algorithm, "none")
        else {
            throw .untrusted(.token, "alg", expected: "a signed assertion", found: "none")
        }
        if let issuer { try match("iss", claims["iss"], [issuer], isRequired: true) }
        let times = TokenClaims(members: claims, stage: .token)
        let expiry = try times.reader.required("exp", expected: "a time (RFC 7523 §3)", times.time)
        guard now < expiry.adding(IdentityAssertion.leeway) else {
            throw times.refusal("exp", expected: "a time after \(now)", found: "\(expiry)")
        }
        try match("aud", claims["aud"], [audience], isRequired: true)
        try match("client_id", claims["client_id"], [clientID], isRequired: false)
        try match("resource", claims["resource"], resources, isRequired: false)
    }

    private static let type = "oauth-id-jag+jwt"
    /// The accepted difference between clocks, in seconds.
    private static let leeway: Int64 = 60

    /// Checks that a claim, a string or an array of strings, names only what was requested.
    private func match(
        _ name: String, _ value: JSONValue?, _ expected: [String], isRequired: Bool
    ) throws(OIDCError) {
        guard let value, value != .null else {
            guard isRequired else { return }
            throw .untrusted(.token, name, expected: expected.joined(separator: ", "), found: "none")
        }
        let found = value.string.map { [$0] } ?? value.strings ?? []
        let isOurs = found.allSatisfy { one in expected.contains { ExactText.isSame($0, one) } }
        guard isOurs, !found.isEmpty else {
            let sides = DisplayText.sides(
                expected: expected.joined(separator: ", "),
                found: found.isEmpty ? value.typeName : found.joined(separator: ", "))
            throw .untrusted(
                .token, name, expected: sides.expected, found: sides.found,
                hint: name == "client_id"
                    ? "register this client at the user's own provider too" : nil)
        }
    }
}
