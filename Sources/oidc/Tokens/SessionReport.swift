import OIDCCore

/// The printable facts of a session, never its tokens.
struct SessionReport {
    let session: Session
    let profile: String?
    let location: String
    let now: Instant
    /// The lender's terms, if the session is lent.
    var lent: LentTerms?
    /// Whether only a URL led to the provider, and the user has never named it.
    var isFound = false

    /// Whether the session can be refreshed, as far as is known.
    var canRefresh: Bool { lent?.isUsable ?? (session.canRefresh && session.ended == nil) }

    /// The time at which the refresh token expires unless it is used, if the provider sent it.
    private var refreshExpiresAt: Instant? {
        session.tokens.refreshToken == nil || session.ended != nil
            ? nil : session.refreshEnd(at: session.tokens.access.obtainedAt)
    }

    /// The binding of the access token, as named by `-o json`.
    private var binding: String? { session.bond(of: session.tokens.access)?.rawValue }

    /// The issuer of the tokens; for a multi-tenant provider, the tenant's.
    var issuer: String { session.endpoints.issuer ?? session.key.provider }

    /// The resources that the tokens are for, each once.
    var resources: [String] {
        session.requestedResources
            + session.key.resources.filter { !session.requestedResources.contains($0) }
    }

    /// Whether a token is available without signing in again.
    var isUsable: Bool {
        canRefresh || session.hasAccessToken && session.tokens.access.isFresh(at: now, minimum: 0)
    }

    /// The state of a session.
    enum Standing: String {
        case signedIn = "signed in"
        /// The token has expired, and cannot be refreshed.
        case expired
        /// The provider has refused the session.
        case signedOut = "signed out"
    }

    var standing: Standing { isUsable ? .signedIn : session.ended == nil ? .expired : .signedOut }

    /// The command that signs in again.
    var loginLine: Hint {
        if let profile { return .run("login", "-p", profile) }
        guard session.key.grant.needsUser else { return .run("token", session.key.options) }
        if let url = session.key.resources.first { return .run("login", session.key.arguments(url)) }
        let options = session.key.options
        // The options that name provider and client would do so for the user.
        return .run("login", isFound ? [session.key.provider] + options.dropFirst(4) : options)
    }

    var json: JSONValue {
        var object = facts.object ?? JSONObject()
        object["extra"] = session.tokens.extra.shown
        return .object(object)
    }

    private var facts: JSONValue {
        let claims = session.tokens.idToken.flatMap { IDToken.stored($0.revealed) }?.claims
        return [
            "profile": JSONValue(profile), "issuer": .string(issuer),
            "client_id": .string(session.key.clientID), "account": JSONValue(session.key.account),
            "subject": JSONValue(session.subject),
            "name": JSONValue(claims?["name"]?.string ?? claims?["preferred_username"]?.string),
            "email": JSONValue(claims?["email"]?.string),
            "scope": JSONValue(session.grantedScope?.text),
            "resource": .array(resources.map { .string($0) }),
            "expires_at": session.tokens.access.expiresAt.map { JSONValue($0.secondsSinceEpoch) } ?? .null,
            "refresh_expires_at": refreshExpiresAt.map { JSONValue($0.secondsSinceEpoch) } ?? .null,
            "can_refresh": .bool(canRefresh), "ended": ended, "bound": JSONValue(binding),
            "store": .string(location),
        ]
    }

    /// Returns the report of a session that does not exist yet, because its grant gets a token on demand.
    static func json(_ key: SessionKey, profile: String?, location: String) -> JSONValue {
        [
            "profile": JSONValue(profile),
            "issuer": key.provider.isEmpty ? .null : .string(key.provider),
            "client_id": key.clientID.isEmpty ? .null : .string(key.clientID),
            "account": JSONValue(key.account), "subject": .null, "name": .null, "email": .null,
            "scope": JSONValue(key.scope?.text), "resource": .array(key.resources.map { .string($0) }),
            "expires_at": .null, "refresh_expires_at": .null, "can_refresh": true, "ended": .null,
            "bound": .null,
            "store": .string(location),
        ]
    }

    private var ended: JSONValue {
        guard let end = session.ended else { return .null }
        return [
            "error": JSONValue(end.error), "description": JSONValue(end.description),
            "at": JSONValue(end.at.secondsSinceEpoch),
        ]
    }

    /// The time and reason of the session's end, as in `ended 02:51: Session not active`, or since when its
    /// token is not refreshed; nil if it can be.
    var endedText: String? {
        guard let end = session.ended else { return nil }
        let time = TimeWords.clock(end.at, now: now) ?? TimeWords.relative(end.at, to: now)
        return "\(isUsable ? "not refreshed since" : "ended") \(time): \(DisplayText.clean(end.reason))"
    }

    var who: String {
        DisplayText.clean(session.displayName ?? session.subject ?? session.key.clientID, limit: 120)
    }

    var validity: String {
        if let endedText, !isUsable { return endedText }
        guard session.hasAccessToken else { return "whose access token was revoked" }
        guard let expiresAt = session.tokens.access.expiresAt else { return "until it is refused" }
        let relative = TimeWords.relative(expiresAt, to: now)
        let end =
            TimeWords.clock(expiresAt, now: now).map { "until \($0) (\(relative))" } ?? "until \(relative)"
        return canRefresh ? "\(end) and is refreshed automatically" : end
    }

    /// The rows of `status`, as names and values.
    var lines: [(String, String)] {
        let access = session.tokens.access
        var lines: [(String, String)] = []
        if let profile { lines.append(("profile", profile)) }
        for resource in resources { lines.append(("resource", resource)) }
        lines.append(("provider", issuer))
        lines.append(("client", session.key.clientID))
        if !session.key.grant.needsUser { lines.append(("grant", session.key.grant.rawValue)) }
        if let audience = session.key.audience { lines.append(("audience", audience)) }
        if let account = session.key.account { lines.append(("account", account)) }
        if session.subject != nil {
            lines.append((standing == .signedOut ? standing.rawValue : "signed in as", subjectText))
        }
        if let scope = session.grantedScope, !scope.isEmpty { lines.append(("scope", scope.text)) }
        lines.append(("access token", accessText(access)))
        lines.append(("refresh", refreshText))
        lines.append(("stored in", location))
        return lines.map { ($0, DisplayText.clean($1)) }
    }

    private var subjectText: String {
        guard let subject = session.subject else { return who }
        return session.displayName.map { "\($0) (\(subject))" } ?? subject
    }

    private func accessText(_ access: AccessToken) -> String {
        if lent != nil, access.expiresAt == nil { return "by its lender, for each command" }
        guard session.hasAccessToken || lent != nil else {
            return session.ended == nil ? "revoked" : "refused"
        }
        let bound =
            switch session.bond(of: access) {
            case .key: ", bound to a key (DPoP)"
            case .certificate: ", bound to the client certificate"
            case nil: ""
            }
        guard let expiresAt = access.expiresAt else { return "valid until it is refused" + bound }
        if access.obtainedAt > now.adding(60) {
            let start = TimeWords.clock(access.obtainedAt, now: now).map { " (\($0))" } ?? ""
            return "from the future\(start): this machine's clock was set back" + bound
        }
        let relative = TimeWords.relative(expiresAt, to: now)
        return (expiresAt > now ? "expires \(relative)" : "expired \(relative)") + bound
    }

    private var refreshText: String {
        if let lent {
            let end = now.adding(lent.secondsLeft)
            let clock = TimeWords.clock(end, now: now).map { "\($0) (\(TimeWords.relative(end, to: now)))" }
            return "by its lender, until \(clock ?? "\(end)")"
        }
        if !session.key.grant.needsUser { return "requested again automatically" }
        if let endedText { return endedText }
        guard session.tokens.refreshToken != nil else {
            let endless = session.hasAccessToken && session.tokens.access.expiresAt == nil
            return "no refresh token: sign in again" + (endless ? " if the token is refused" : "")
        }
        guard let end = refreshExpiresAt else { return "automatic, by refresh token" }
        let relative = TimeWords.relative(end, to: now)
        guard end > now else { return "by refresh token, which may have expired \(relative)" }
        return "automatic, by refresh token; it expires \(relative) unless it is used"
    }

    /// Returns the warning for the last week of a refresh token; nil for one that lasts a week at most, as
    /// each use replaces it. `line` completes the hint.
    func refreshWarning(_ line: InvokedLine) -> String? {
        guard let end = refreshExpiresAt else { return nil }
        let week: Int64 = 7 * 86_400
        let isShort = end.seconds(since: session.tokens.access.obtainedAt) <= week
        guard !isShort, end > now, end.seconds(since: now) <= week else { return nil }
        let relative = TimeWords.relative(end, to: now)
        return "the refresh token expires \(relative) unless the provider extends it: "
            + "\(line.text(loginLine)) before that"
    }
}

extension Session {
    /// The binding of a token: to a key (RFC 9449) or to the client certificate (RFC 8705).
    enum Bond: String {
        case key = "dpop"
        case certificate
    }

    /// Returns the binding of a token; nil for a token that anyone can use.
    func bond(of access: AccessToken) -> Bond? {
        if access.type == .dpop { return .key }
        return isBoundToCertificate(access) ? .certificate : nil
    }
}

extension JSONObject {
    /// The other members of a token response, as printed with `-o json`; nil if there are none.
    var shown: JSONValue? { isEmpty ? nil : .object(self) }
}

extension AccessToken {
    /// The token as printed with `-o json`.
    var json: JSONValue {
        [
            "access_token": .string(token.revealed), "token_type": .string(type.name),
            "expires_at": expiresAt.map { JSONValue($0.secondsSinceEpoch) } ?? .null,
            "scope": JSONValue(scope?.text),
        ]
    }
}
