/// The meaning of a request to the redirect URL for the sign-in that waits for it.
package enum CallbackJudgement: Sendable {
    case code(AuthorizationCode)
    /// The sign-in ends with this error.
    case end(OIDCError)
    /// The request is not the answer to this sign-in; the wait continues.
    case stray(CallbackMismatch)
}

/// The reason why a request to the redirect URL is not the answer to a sign-in.
package enum CallbackMismatch: Hashable, Sendable {
    case noState
    case otherState
    /// A parameter that may occur only once is repeated.
    case repeated(String)
    /// The answer is from another issuer (RFC 9207 §2.4).
    case otherIssuer(expected: String, found: String)
    /// The query or form is not percent-encoded UTF-8.
    case unreadable
    /// A signed answer is expected, and this is not one.
    case unsigned

    /// The error for a pasted answer, after which no other answer can arrive.
    var error: OIDCError {
        switch self {
        case .noState: state(found: "none")
        case .otherState: state(found: "another one")
        case .repeated("state"): state(found: "several")
        case .repeated(let name):
            .protocolViolation(.authorization, name, expected: "at most one", found: "several")
        case .otherIssuer(let expected, let found):
            issuer(DisplayText.sides(expected: expected, found: found))
        case .unreadable:
            .protocolViolation(
                .authorization, "callback", expected: "percent-encoded UTF-8", found: "something else")
        case .unsigned:
            .untrusted(.authorization, "response", expected: "a signed answer", found: "something else")
        }
    }

    private func issuer(_ sides: (expected: String, found: String)) -> OIDCError {
        .untrusted(.authorization, "iss", expected: sides.expected, found: sides.found)
    }

    private func state(found: String) -> OIDCError {
        .untrusted(
            .authorization, "state", expected: "the one of this sign-in", found: found,
            hint: "paste the URL of the sign-in that was started last")
    }
}
