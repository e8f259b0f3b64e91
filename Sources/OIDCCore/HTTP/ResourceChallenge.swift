/// The challenge of a resource in a 401 or 403 (RFC 6750 §3, RFC 9728 §5.1, RFC 9470 §3).
public struct ResourceChallenge: Hashable, Sendable {
    /// The URL of the resource's metadata, as the challenge spells it.
    public let metadataURL: String?
    /// The required scope, with well-formed tokens only.
    public let scope: OAuthScope?
    /// The error code.
    public let error: String?
    /// The demand for a stronger or more recent sign-in.
    package let stepUp: StepUp?
    /// Whether the resource accepts only tokens that are bound to a key (RFC 9449 §7.1), as all its
    /// challenges are DPoP.
    public let requiresDPoP: Bool

    /// The longest scope that a challenge may request, in bytes, as it becomes part of a URL.
    package static let maximumScopeByteCount = 4_096
    /// The largest number of scopes that a resource may request: people have to read them.
    package static let maximumScopeCount = 256

    package init(
        metadataURL: String? = nil, scope: Scope? = nil, error: String? = nil, stepUp: StepUp? = nil,
        requiresDPoP: Bool = false
    ) {
        self.requiresDPoP = requiresDPoP
        self.metadataURL = metadataURL
        self.scope = scope
        self.error = error
        self.stepUp = stepUp
    }

    /// Parses the Bearer and DPoP challenges of an answer. If there are none, the result is empty.
    public init(_ response: HTTPResponse) throws(OIDCError) {
        let challenges = response.challenges.filter { $0.isScheme("Bearer") || $0.isScheme("DPoP") }
        for challenge in challenges {
            for name in ["resource_metadata", "scope"] where challenge.isRepeated(name) {
                throw .protocolViolation(.resource, name, expected: "at most one", found: "several")
            }
        }
        metadataURL = challenges.lazy.compactMap { $0["resource_metadata"] }.first
        error = challenges.lazy.compactMap(\.error).first
        stepUp = StepUp(challenges)
        requiresDPoP = !challenges.isEmpty && challenges.allSatisfy { $0.isScheme("DPoP") }
        scope = try challenges.lazy.compactMap(\.scope).first.map { scope throws(OIDCError) in
            try ResourceChallenge.checked(scope)
        }
    }

    /// Checks the characters, the length and the number of the scopes that a resource requests (RFC 6749 §3.3), as they
    /// are printed and sent to the authorization server.
    static func checked(_ scope: Scope) throws(OIDCError) -> Scope {
        guard scope.isWellFormed, scope.text.utf8.count <= maximumScopeByteCount else {
            throw .protocolViolation(
                .resource, "scope",
                expected: "up to \(maximumScopeByteCount) ASCII characters without \" and \\",
                found: DisplayText.clean(scope.text, limit: 80))
        }
        guard scope.tokens.count <= maximumScopeCount else {
            throw .protocolViolation(
                .resource, "scope", expected: "up to \(maximumScopeCount) scopes",
                found: "\(scope.tokens.count)")
        }
        return scope
    }

    /// Whether the token lacks scope (RFC 6750 §3.1).
    public var isScopeInsufficient: Bool { error == "insufficient_scope" }
}
