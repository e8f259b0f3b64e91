extension OIDCError {
    /// The meaning of an error, if its kind does not say enough; an open set.
    public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        /// The name, as it is stored.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The provider ended the session: its refresh token is useless now.
        public static let sessionEnded = Code(rawValue: "session_ended")
        /// The user must sign in again. The session is kept, as the answer does not say that it has ended.
        public static let signInAgain = Code(rawValue: "sign_in_again")
        /// The session has a token, and no refresh token to replace it with.
        public static let noRefreshToken = Code(rawValue: "no_refresh_token")
        /// The client was not accepted, and the answer does not say why.
        public static let clientNotAccepted = Code(rawValue: "client_not_accepted")
        /// The client was not accepted, and it sent no secret.
        public static let secretMissing = Code(rawValue: "secret_missing")
        /// A public client sent a secret.
        public static let secretOfPublicClient = Code(rawValue: "secret_of_public_client")
        /// The client authenticated by another method than it may.
        public static let otherClientMethod = Code(rawValue: "other_client_method")
        /// The provider has no key that verifies the client's assertion.
        public static let unknownKey = Code(rawValue: "unknown_key")
        /// The client's assertion has another `aud` than the provider wants.
        public static let assertionAudience = Code(rawValue: "assertion_audience")
        /// The client's assertion is signed with another algorithm than the provider wants.
        public static let signatureAlgorithm = Code(rawValue: "signature_algorithm")
        /// The clocks of this machine and of the provider differ.
        public static let clock = Code(rawValue: "clock")
        /// The provider no longer knows the client.
        public static let unknownClient = Code(rawValue: "unknown_client")
        /// A client is registered only with a token that the provider issues for that (RFC 7591 §3).
        public static let registrationNeedsToken = Code(rawValue: "registration_needs_token")
        /// The redirect URL is not registered for the client.
        public static let redirectRefused = Code(rawValue: "redirect_refused")
        /// The port to listen on, or each of several, is in use. It may become free.
        public static let portsInUse = Code(rawValue: "ports_in_use")
        /// The device code has expired.
        public static let deviceCodeExpired = Code(rawValue: "device_code_expired")
        /// The client may not use this grant.
        public static let grantNotAllowed = Code(rawValue: "grant_not_allowed")
        /// The authorization request must be pushed (RFC 9126).
        public static let needsPAR = Code(rawValue: "needs_par")
        /// Tokens must be bound to a key (RFC 9449).
        public static let needsDPoP = Code(rawValue: "needs_dpop")
        /// The token is not bound to a key, although that was requested (RFC 9449 §5).
        public static let tokenNotBound = Code(rawValue: "token_not_bound")
        /// The request must be made with the client's certificate (RFC 8705).
        public static let needsCertificate = Code(rawValue: "needs_certificate")
        /// The token to exchange is of another type than the provider takes.
        public static let subjectToken = Code(rawValue: "subject_token")
        /// The scope was refused.
        public static let scope = Code(rawValue: "scope")
        /// The parameter `resource` was refused, and the request would be taken without it.
        public static let resourceRefused = Code(rawValue: "resource_refused")
        /// The stored session cannot be read. A sign-in replaces it.
        public static let damagedSession = Code(rawValue: "damaged_session")
        /// The store has an older record than before. A sign-in replaces it.
        public static let oldRecord = Code(rawValue: "old_record")
        /// The store does not show a session that this machine has seen.
        public static let lostSession = Code(rawValue: "lost_session")
        /// The stored session was sealed with a key that this machine does not have.
        public static let unknownStoreKey = Code(rawValue: "unknown_store_key")
        /// The store's server gave no answer, so it may have done what it was asked.
        package static let noStoreAnswer = Code(rawValue: "no_store_answer")
        /// The lender of the session cannot be reached.
        package static let noLender = Code(rawValue: "no_lender")
        /// The store's file or directory is not writable.
        public static let notWritable = Code(rawValue: "not_writable")
        /// The failure is temporary.
        public static let tryLater = Code(rawValue: "try_later")

        /// The name, as it is stored.
        public var description: String { rawValue }
    }
}

extension OIDCError {
    /// Whether the store's server may have done what it was asked, as its answer is missing.
    package var mayHaveBeenCarriedOut: Bool { code == .noStoreAnswer || kind == .interrupted }

    /// Returns the error, marked by whether the server may have done what it was asked.
    package func unanswered(_ isUnanswered: Bool) -> OIDCError {
        var error = self
        if isUnanswered {
            if code == nil, kind != .interrupted { error.code = .noStoreAnswer }
        } else if code == .noStoreAnswer {
            error.code = nil
        }
        return error
    }
}
