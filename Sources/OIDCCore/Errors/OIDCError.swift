/// What went wrong, sorted by what the caller can do about it.
public struct OIDCError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A closed set: each kind is one exit code of the command line.
    public enum Kind: String, Sendable, CaseIterable {
        /// A fault of ours or of this machine.
        case failed
        /// The command line or the configuration is to be mended.
        case usage
        /// There is no session, or the provider ended it: only a person can help.
        case loginRequired = "login_required"
        /// The provider or the person said no, or the answer broke the protocol.
        case refused
        /// Try later; nothing was decided.
        case unreachable
        case timedOut = "timed_out"
        /// An issuer, a token, a signature or a certificate does not hold.
        case untrusted
        /// A signal ended it.
        case interrupted
    }

    public var kind: Kind
    /// One line: what is wrong, naming the wire field, what was expected and what was found.
    public var message: String
    /// At most one line: what to do next.
    public var hint: Hint?
    public var stage: Stage?
    /// The provider's own error code, where it sent one (RFC 6749 §5.2).
    public var oauthError: String?
    /// Seconds that the provider asked us to wait (RFC 9110 §10.2.3).
    public var retryAfter: Int?
    /// The rule that was broken, where one of the protocol was.
    public var cause: Cause?

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

    public static func untrusted(_ stage: Stage, _ message: String, hint: Hint? = nil) -> OIDCError {
        OIDCError(.untrusted, "\(stage.title): \(message)", hint: hint, stage: stage)
    }

    public static func usage(_ message: String, hint: Hint? = nil) -> OIDCError {
        OIDCError(.usage, message, hint: hint, stage: nil)
    }
}

/// The step of the protocol in which something happened; an open set.
public struct Stage: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public static let discovery = Stage(rawValue: "discovery")
    public static let keys = Stage(rawValue: "jwks")
    public static let authorization = Stage(rawValue: "authorize")
    public static let pushedAuthorization = Stage(rawValue: "par")
    public static let token = Stage(rawValue: "token")
    public static let deviceAuthorization = Stage(rawValue: "device")
    public static let idToken = Stage(rawValue: "id_token")
    public static let userInfo = Stage(rawValue: "userinfo")
    public static let revocation = Stage(rawValue: "revocation")
    public static let introspection = Stage(rawValue: "introspection")
    public static let endSession = Stage(rawValue: "end_session")
    public static let registration = Stage(rawValue: "registration")
    public static let resource = Stage(rawValue: "resource")
    public static let store = Stage(rawValue: "store")
    public static let settings = Stage(rawValue: "settings")
    public static let subjectToken = Stage(rawValue: "subject_token")

    /// As it stands at the head of a message.
    public var title: String { rawValue }
    public var description: String { rawValue }
}
