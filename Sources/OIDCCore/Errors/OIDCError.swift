/// What went wrong, sorted by what the caller can do about it.
public struct OIDCError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A closed set: each kind is one exit code of the command line.
    public enum Kind: String, Sendable, CaseIterable {
        /// A fault of this program or machine.
        case failed
        /// The command line or the configuration has to be fixed.
        case usage
        /// There is no session, or the provider ended it: only the user can help.
        case loginRequired = "login_required"
        /// The provider or the user said no, or the answer broke the protocol.
        case refused
        /// Try later; nothing was decided.
        case unreachable
        case timedOut = "timed_out"
        /// An issuer, a token, a signature or a certificate does not hold.
        case untrusted
        /// A signal ended it.
        case interrupted
    }

    /// What the caller can do about it.
    public var kind: Kind
    /// One line: what is wrong, naming the wire field, what was expected and what was found.
    public var message: String
    /// At most one line: what to do next.
    public var hint: Hint?
    /// The step in which it happened; nil outside the protocol.
    public var stage: Stage?
    /// The provider's own error code, where it sent one (RFC 6749 §5.2).
    public var oauthError: String?
    /// Seconds that the provider asked us to wait (RFC 9110 §10.2.3).
    public var retryAfter: Int?
    /// The rule that was broken, where one of the protocol was.
    public var cause: Cause?

    /// Makes an error of its parts.
    public init(
        _ kind: Kind, _ message: String, hint: Hint? = nil, stage: Stage? = nil, oauthError: String? = nil,
        retryAfter: Int? = nil, cause: Cause? = nil
    ) {
        self.kind = kind
        self.message = message
        self.hint = hint
        self.stage = stage
        self.oauthError = oauthError
        self.retryAfter = retryAfter
        self.cause = cause
    }

    /// Message and hint in one line, which names no option, setting or command of any program.
    public var description: String { Warning(message, hint: hint).description }

    /// Only the provider's `invalid_grant` on a refresh ends a session; a network failure never does.
    public var endsSession: Bool { kind == .loginRequired && oauthError == "invalid_grant" }

    /// A provider's answer that breaks a rule: the member, what the rule expects, and what came.
    public static func protocolViolation(
        _ stage: Stage, _ member: String, expected: String, found: String, hint: Hint? = nil
    ) -> OIDCError {
        let sides = DisplayText.sides(expected: expected, found: found)
        return OIDCError(
            .refused, stage, .mismatch(member: member, expected: sides.expected, found: sides.found),
            hint: hint)
    }

    /// A token, an issuer or a callback that cannot be trusted: the member, what the rule expects, and what came.
    package static func untrusted(
        _ stage: Stage, _ member: String, expected: String, found: String, hint: Hint? = nil
    ) -> OIDCError {
        OIDCError(
            .untrusted, stage, .mismatch(member: member, expected: expected, found: found), hint: hint)
    }

    /// Makes an error about something that could not be verified.
    public static func untrusted(_ stage: Stage, _ message: String, hint: Hint? = nil) -> OIDCError {
        OIDCError(.untrusted, "\(stage.title): \(message)", hint: hint, stage: stage)
    }

    /// Makes an error about the caller's own input.
    public static func usage(_ message: String, hint: Hint? = nil) -> OIDCError {
        OIDCError(.usage, message, hint: hint, stage: nil)
    }
}

/// The step of the protocol in which something happened; an open set.
public struct Stage: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    /// The name in messages.
    public let rawValue: String

    /// Names a step.
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
    /// The revocation of a token (RFC 7009).
    public static let revocation = Stage(rawValue: "revocation")
    /// The introspection of a token (RFC 7662).
    public static let introspection = Stage(rawValue: "introspection")
    /// The sign-out at the provider.
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

    /// As it stands at the head of a message.
    public var title: String { rawValue }
    /// The name in messages.
    public var description: String { rawValue }
}

/// What a caller should know although the work went on.
public struct Warning: Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// One line: what happened.
    public var message: String
    /// What to do about it.
    public var hint: Hint?

    /// Makes a warning of one line.
    public init(_ message: String, hint: Hint? = nil) {
        self.message = message
        self.hint = hint
    }

    /// Makes a warning of one line.
    public init(stringLiteral message: String) {
        self.init(message)
    }

    /// Message and hint in one line.
    public var description: String { message + (hint.map { " (\($0))" } ?? "") }
}
