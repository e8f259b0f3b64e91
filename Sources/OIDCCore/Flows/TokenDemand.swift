/// The access token that is wanted from a session.
package struct TokenDemand: Hashable, Sendable {
    /// The wanted scope; nil or empty means the session's own.
    package var scope: Scope?
    package var resources: [String]
    /// The seconds for which the token must remain valid, but no more than half its lifetime.
    package var minimumValidity: Int64

    package init(scope: Scope? = nil, resources: [String] = [], minimumValidity: Int64 = 60) {
        self.scope = scope
        self.resources = resources
        self.minimumValidity = minimumValidity
    }
}

/// The source of the token for a demand.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum TokenSource: Hashable, Sendable {
    /// The session's own access token.
    case own
    /// A separate, narrower token, obtained with the session's refresh token (RFC 6749 §6, RFC 8707 §2.2).
    case derived(scope: OAuthScope?, resources: [String])
    /// A scope that was not granted; only a new sign-in can add it.
    case wider(OAuthScope)
}

extension TokenSource {
    /// The scope and resources of a derived token, as text; nil for the other sources.
    var text: String? {
        guard case .derived(let scope, let resources) = self else { return nil }
        return (["scope=\(scope?.text ?? "")"] + resources.sorted().map { "resource=\($0)" })
            .joined(separator: "\n")
    }
}

extension Session {
    package func source(for demand: TokenDemand) -> TokenSource {
        let wantsOwnResources =
            demand.resources.isEmpty || Set(demand.resources) == Set(requestedResources)
        guard let scope = demand.scope, !scope.isEmpty, scope != requestedScope, scope != grantedScope else {
            return wantsOwnResources ? .own : .derived(scope: nil, resources: demand.resources)
        }
        guard let granted = grantedScope, granted.missing(from: scope).isEmpty else { return .wider(scope) }
        // GitHub issues no refresh token, so no narrower token can be requested: the session's own covers the
        // scope.
        if wantsOwnResources, tokens.refreshToken == nil, key.grant.needsUser { return .own }
        return .derived(scope: scope, resources: wantsOwnResources ? [] : demand.resources)
    }

    /// Returns the warning if the session's own token is used in place of one with a narrower scope; nil
    /// otherwise.
    package func warning(for demand: TokenDemand) -> Warning? {
        guard let scope = demand.scope, !scope.isEmpty, scope != requestedScope, let granted = grantedScope,
            scope != granted, tokens.refreshToken == nil, source(for: demand) == .own
        else { return nil }
        return Warning(
            "cannot request a token for \(DisplayText.quoted(scope.text)) alone (no refresh token); using the token "
                + "for \(DisplayText.quoted(granted.text))")
    }

    /// Returns the stored access token of a source, fresh or not.
    package func accessToken(from source: TokenSource) -> AccessToken? {
        switch source {
        case .own: hasAccessToken ? tokens.access : nil
        case .derived(let scope, let resources):
            derived.first { $0.requestedScope == scope && Set($0.resources) == Set(resources) }?.access
        case .wider: nil
        }
    }

    /// Removes a derived token; another source is left as it is.
    package mutating func removeToken(from source: TokenSource) {
        guard case .derived(let scope, let resources) = source else { return }
        derived.removeAll { $0.requestedScope == scope && Set($0.resources) == Set(resources) }
    }

    /// The maximum number of derived tokens in a session, and of all their characters together. This is far
    /// below the limit for reading a store, so a session that was written can always be read.
    private static let derivedLimit = (count: 64, characters: 1 << 20)

    /// Stores a derived token in place of an earlier one for the same scope and resources. Expired ones are
    /// removed, then the oldest, until the rest is within the limits.
    public mutating func keep(_ access: AccessToken, scope: OAuthScope?, resources: [String]) {
        let now = access.obtainedAt
        derived.removeAll {
            ($0.requestedScope == scope && Set($0.resources) == Set(resources))
                || $0.access.expiresAt.map { $0 <= now } ?? false
        }
        derived.append(DerivedToken(requestedScope: scope, resources: resources, access: access))
        var characters = derived.reduce(0) { $0 + $1.characterCount }
        while derived.count > Session.derivedLimit.count
            || (characters > Session.derivedLimit.characters && derived.count > 1)
        {
            characters -= derived.removeFirst().characterCount
        }
    }
}

extension Session.DerivedToken {
    /// The approximate length of the token in a stored session.
    fileprivate var characterCount: Int {
        let resourcesCount = resources.reduce(0) { $0 + $1.utf8.count }
        let scopesCount = (requestedScope?.text.utf8.count ?? 0) + (access.scope?.text.utf8.count ?? 0)
        return access.token.revealed.utf8.count + resourcesCount + scopesCount + 200
    }
}
