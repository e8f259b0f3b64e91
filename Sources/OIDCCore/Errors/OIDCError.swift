/// An error, classified by what the caller can do about it.
public struct OIDCError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The class of an error, a closed set: each kind has its exit code on the command line.
    public enum Kind: String, Sendable, CaseIterable {
        /// A problem of this program or machine.
        case failed
        /// A mistake in the command line or the configuration.
        case usage
        /// No session, or one that the provider ended: the user must sign in.
        case loginRequired = "login_required"
        /// A refusal by the provider or the user, or an answer that violates the protocol.
        case refused
        /// A temporary failure, to be tried again later.
        case unreachable
        case timedOut = "timed_out"
        /// An issuer, token, signature or certificate that could not be verified.
        case untrusted
        /// An interruption by a signal.
        case interrupted
    }

    /// The class of the error.
    public var kind: Kind
    /// One line that says what is wrong, with the wire field, the expected and the found value. It has no invisible
    /// characters, whatever it quotes.
    public var message: String {
        didSet { message = DisplayText.clean(message, limit: .max) }
    }
    /// The next step for the user; `nextStep` says it in plain English.
    package var hint: Hint?
    /// The step in which the error happened; nil outside the protocol.
    public var stage: OIDCError.Stage?
    /// The provider's error code, if it sent one (RFC 6749 §5.2).
    public var oauthError: String?
    /// The meaning of the error, if its kind does not say enough.
    public var code: Code?
    /// The provider's description of why it ended the session (RFC 6749 §5.2).
    public var oauthDescription: String?
    /// The seconds of `retryDelay`.
    package var retryAfter: Int?
    /// The broken rule, if the error is about the protocol.
    package var cause: Cause?

    /// Creates an error from its parts.
    public init(
        _ kind: Kind, _ message: String, stage: OIDCError.Stage? = nil, oauthError: String? = nil,
        code: Code? = nil
    ) {
        self.kind = kind
        self.message = DisplayText.clean(message, limit: .max)
        self.stage = stage
        self.oauthError = oauthError
        self.code = code
    }

    /// Creates an error with a hint for the user.
    package init(
        _ kind: Kind, _ message: String, hint: Hint? = nil, stage: Stage? = nil, oauthError: String? = nil,
        retryAfter: Int? = nil, cause: Cause? = nil, code: Code? = nil
    ) {
        self.init(kind, message, stage: stage, oauthError: oauthError, code: code)
        self.hint = hint
        self.cause = cause
        self.retryAfter = retryAfter
    }

    /// The next step for the user, in at most one line; nil if there is none.
    public var nextStep: String? { hint?.description }

    /// The wait before another attempt, if the provider named one (RFC 9110 §10.2.3), in whole seconds.
    public var retryDelay: Duration? {
        get { retryAfter.map { .seconds($0) } }
        set { retryAfter = newValue.map { Int(clamping: $0.components.seconds) } }
    }

    /// The message and the next step in one line, without the name of any option, setting or command.
    public var description: String { OIDCWarning(message, hint: hint).description }

    /// Whether the provider ended the session by refusing its refresh token. A network failure never ends it.
    public var endsSession: Bool { code == .sessionEnded }

    /// Returns the message for a session that the provider ended by this answer.
    package static func ended(_ answer: String) -> String {
        "token: the session has ended: the provider answered \(answer)"
    }

    /// Returns an error about a provider's answer that violates a rule.
    package static func protocolViolation(
        _ stage: Stage, _ member: String, expected: String, found: String, hint: Hint? = nil
    ) -> OIDCError {
        let sides = DisplayText.sides(expected: expected, found: found)
        return OIDCError(
            .refused, stage, .mismatch(member: member, expected: sides.expected, found: sides.found),
            hint: hint)
    }

    /// Returns an error about a token, issuer or callback that could not be verified.
    package static func untrusted(
        _ stage: Stage, _ member: String, expected: String, found: String, hint: Hint? = nil
    ) -> OIDCError {
        OIDCError(
            .untrusted, stage, .mismatch(member: member, expected: expected, found: found), hint: hint)
    }

    /// Returns an error about a value that could not be verified.
    package static func untrusted(_ stage: Stage, _ message: String, hint: Hint? = nil) -> OIDCError {
        OIDCError(.untrusted, "\(stage.title): \(message)", hint: hint, stage: stage)
    }

    /// Returns an error about the caller's own input.
    package static func usage(_ message: String, hint: Hint? = nil) -> OIDCError {
        OIDCError(.usage, message, hint: hint, stage: nil)
    }
}

extension OIDCError {
    /// A step of the protocol; an open set.
    public struct Stage: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        /// The name in messages.
        public let rawValue: String

        /// Creates a step from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Fetching the provider's metadata.
        public static let discovery = Stage(rawValue: "discovery")
        /// Fetching the provider's keys.
        public static let keys = Stage(rawValue: "jwks")
        /// The authorization request and its answer.
        public static let authorization = Stage(rawValue: "authorize")
        /// The pushed authorization request (RFC 9126).
        public static let pushedAuthorization = Stage(rawValue: "par")
        /// The token request.
        public static let token = Stage(rawValue: "token")
        /// The device authorization request (RFC 8628).
        public static let deviceAuthorization = Stage(rawValue: "device")
        /// The validation of an ID token.
        public static let idToken = Stage(rawValue: "id_token")
        /// The UserInfo request.
        public static let userInfo = Stage(rawValue: "userinfo")
        /// Verifying claims of other issuers (OpenID Connect Core §5.6).
        public static let claims = Stage(rawValue: "claims")
        /// The revocation of a token (RFC 7009).
        public static let revocation = Stage(rawValue: "revocation")
        /// The introspection of a token (RFC 7662).
        public static let introspection = Stage(rawValue: "introspection")
        /// The sign-out at the provider (OIDC RP-Initiated Logout).
        public static let endSession = Stage(rawValue: "end_session")
        /// The registration of a client (RFC 7591).
        public static let registration = Stage(rawValue: "registration")
        /// A request to an API.
        public static let resource = Stage(rawValue: "resource")
        /// Loading or saving a session.
        public static let store = Stage(rawValue: "store")
        /// Reading the configuration.
        public static let settings = Stage(rawValue: "settings")
        /// Obtaining the token to exchange.
        public static let subjectToken = Stage(rawValue: "subject_token")

        /// The name at the start of a message.
        public var title: String { rawValue }
        /// The name in messages.
        public var description: String { rawValue }
    }
}

/// A warning; the operation continues.
public struct OIDCWarning: Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The message, in one line without invisible characters, whatever it quotes.
    public var message: String {
        didSet { message = DisplayText.clean(message, limit: .max) }
    }
    package var hint: Hint?

    /// Creates a warning from one line.
    package init(_ message: String, hint: Hint? = nil) {
        self.message = DisplayText.clean(message, limit: .max)
        self.hint = hint
    }

    /// Creates a warning from one line.
    public init(stringLiteral message: String) {
        self.init(message)
    }

    /// The next step for the user; nil if there is none.
    public var nextStep: String? { hint?.description }
    /// The message and the next step in one line.
    public var description: String { message + (hint.map { " (\($0))" } ?? "") }
}
