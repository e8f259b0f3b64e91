extension Session {
    /// The refusal that ended a session, so every later command can say why.
    public struct End: Hashable, Sendable {
        /// The provider's error code; nil if it did not refuse anything, but its new refresh token cannot be used.
        public var error: String?
        /// The provider's description, or else ours.
        public var description: String?
        /// The time of the refusal.
        public var at: Instant

        /// Creates the end from its parts.
        public init(error: String? = nil, description: String? = nil, at: Instant) {
            self.error = error
            self.description = description
            self.at = at
        }

        /// The reason in a few words: the provider's, or else its code.
        package var reason: String { description ?? error ?? "" }

        var json: JSONValue {
            [
                "error": JSONValue(error), "description": JSONValue(description),
                "at": JSONValue(at.secondsSinceEpoch),
            ]
        }

        init?(json: JSONValue) {
            guard let at = json["at"]?.integer else { return nil }
            self.init(
                error: json["error"]?.string, description: json["description"]?.string,
                at: Instant(secondsSinceEpoch: at))
        }
    }

    /// The error of a session that has ended, in the words of the refusal that ended it.
    package var endedError: OIDCError? {
        guard let ended else { return nil }
        let message =
            ended.error.map {
                OIDCError.ended(OAuthErrorResponse(code: $0, description: ended.description).text)
            } ?? "token: the session cannot be refreshed: \(DisplayText.clean(ended.reason))"
        var error = OIDCError(
            .loginRequired, message, hint: .signIn, stage: .token, oauthError: ended.error,
            code: .sessionEnded)
        error.oauthDescription = ended.description
        return error
    }

    /// Returns the session as it is once it cannot be refreshed any more.
    package func ended(_ end: End) -> Session {
        var session = self
        session.tokens.refreshToken = nil
        session.kept = []
        session.ended = end
        return session
    }

    /// Returns the session as it is after its refresh token was refused. One that may be of use again is kept.
    package func refused(by error: OIDCError, at now: Instant) -> Session {
        let end = End(error: error.oauthError, description: error.oauthDescription, at: now)
        guard !error.endsSession else { return ended(end) }
        var session = self
        session.ended = end
        return session
    }

    /// The session without an access token that a server has refused.
    package func without(_ refused: AccessToken) -> Session {
        var session = self
        session.expire(refused.token)
        if tokens.access.token == refused.token { session.tokens.access.token = Redacted("") }
        return session
    }

    /// Returns whether the session is what is left of another after its refresh token was refused.
    package func isRest(of other: Session) -> Bool {
        // What the user revoked is no rest.
        guard ended != nil, tokens.refreshToken == nil || tokens.refreshToken == other.tokens.refreshToken
        else {
            return false
        }
        var rest = other
        rest.tokens.refreshToken = tokens.refreshToken
        rest.tokens.access = tokens.access
        rest.derived = derived
        rest.kept = kept
        rest.ended = ended
        return rest == self
    }
}
