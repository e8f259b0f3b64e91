import OIDCCore
import OIDCSystem

/// The printable facts of a session, never its tokens.
struct SessionReport {
    let session: Session
    let profile: String?
    let location: String
    let now: Instant

    /// Whether a token is available without signing in again.
    var canRefresh: Bool { session.tokens.refreshToken != nil || !session.key.grant.needsPerson }

    var isUsable: Bool { canRefresh || session.tokens.access.isFresh(at: now, minimum: 0) }

    var json: JSONValue {
        [
            "profile": JSONValue(profile), "issuer": .string(session.key.provider),
            "client_id": .string(session.key.clientID), "subject": JSONValue(session.subject),
            "scope": JSONValue(session.grantedScope?.text),
            "expires_at": session.tokens.access.expiresAt.map { JSONValue($0.secondsSinceEpoch) } ?? .null,
            "can_refresh": .bool(canRefresh), "store": .string(location),
        ]
    }

    var who: String {
        DisplayText.clean(session.displayName ?? session.subject ?? session.key.clientID, limit: 120)
    }

    var validity: String {
        guard let expiresAt = session.tokens.access.expiresAt else { return "until it is refused" }
        let end = "until \(expiresAt) (\(TimeWords.relative(expiresAt, to: now)))"
        return canRefresh ? "\(end) and is refreshed automatically" : end
    }

    /// The rows of `status`, as names and values.
    var lines: [(String, String)] {
        let access = session.tokens.access
        var lines: [(String, String)] = []
        if let profile { lines.append(("profile", profile)) }
        lines.append(("provider", session.key.provider))
        lines.append(("client", session.key.clientID))
        if !session.key.grant.needsPerson { lines.append(("grant", session.key.grant.rawValue)) }
        if let audience = session.key.audience { lines.append(("audience", audience)) }
        if let account = session.key.account { lines.append(("account", account)) }
        if session.subject != nil { lines.append(("signed in as", subjectText)) }
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
        let bound = access.type == .dpop ? ", bound to a key (DPoP)" : ""
        guard let expiresAt = access.expiresAt else { return "valid until it is refused" + bound }
        if access.obtainedAt > now.adding(60) {
            return "from the future (\(access.obtainedAt)): this machine's clock was set back" + bound
        }
        let relative = TimeWords.relative(expiresAt, to: now)
        return (expiresAt > now ? "expires \(relative)" : "expired \(relative)") + bound
    }

    private var refreshText: String {
        if !session.key.grant.needsPerson { return "requested again automatically" }
        return session.tokens.refreshToken != nil
            ? "automatic, by refresh token" : "no refresh token: sign in again"
    }
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
