/// The scope to request for a resource, and its source.
package struct ScopeChoice: Hashable, Sendable {
    package enum Source: Hashable, Sendable {
        /// The caller.
        case caller
        /// The resource's challenge.
        case challenge
        /// `scopes_supported` of the resource.
        case resource
        /// The authorization server, as no scope was named.
        case server
    }

    package let scope: Scope
    package let source: Source
    /// Whether `offline_access` was added because the authorization server lists it.
    package let addsOfflineAccess: Bool

    private static let offlineAccess = "offline_access"

    /// Creates the scope of a first sign-in: the caller's, else the challenge's, else all that the resource
    /// supports, else none (MCP authorization, 2026-07-28).
    ///
    /// The caller's scope is never changed. To any other, `offline_access` is added if the authorization
    /// server lists it; if the server does not, it is removed from the resource's list. If `isForUser` is
    /// false, it is always left out, as no refresh token is issued and servers refuse the scope. It is not added
    /// if `needsOfflineAccess` is false: the server is known to issue refresh tokens without it.
    package init(
        caller: Scope? = nil, challenge: ResourceChallenge = ResourceChallenge(),
        resource: ProtectedResourceMetadata? = nil, server: ProviderMetadata, isForUser: Bool = true,
        needsOfflineAccess: Bool = true
    ) throws(OIDCError) {
        let isOfflineListed =
            isForUser && server.scopesSupported?.contains(ScopeChoice.offlineAccess) == true
        var chosen: (scope: Scope, source: Source)
        if let caller, !caller.isEmpty {
            self.init(scope: caller, source: .caller, addsOfflineAccess: false)
            return
        } else if let asked = challenge.scope, !asked.isEmpty {
            let kept = asked.tokens.filter { isForUser || $0 != ScopeChoice.offlineAccess }
            chosen = (Scope(tokens: kept), .challenge)
        } else if let supported = resource?.scopesSupported, !supported.isEmpty {
            let kept = supported.tokens.filter { isOfflineListed || $0 != ScopeChoice.offlineAccess }
            chosen = (Scope(tokens: kept), kept.isEmpty ? .server : .resource)
        } else {
            chosen = (Scope(""), .server)
        }
        let addsOffline =
            isOfflineListed && needsOfflineAccess && !chosen.scope.contains(ScopeChoice.offlineAccess)
        if addsOffline { chosen.scope = chosen.scope.union(Scope(ScopeChoice.offlineAccess)) }
        do throws(OIDCError) { chosen.scope = try ResourceChallenge.checked(chosen.scope) } catch {
            var error = error
            error.hint = .advice(.nameScopes)
            throw error
        }
        self.init(scope: chosen.scope, source: chosen.source, addsOfflineAccess: addsOffline)
    }

    private init(scope: Scope, source: Source, addsOfflineAccess: Bool) {
        self.scope = scope
        self.source = source
        self.addsOfflineAccess = addsOfflineAccess
    }

    /// Returns the scope of a step-up sign-in: what the session requested and was granted, and what the
    /// challenge requests, so the session loses no access.
    package static func stepUp(
        requested: Scope?, granted: Scope?, challenge: ResourceChallenge
    ) throws(OIDCError) -> Scope {
        let known = (requested ?? Scope("")).union(granted ?? Scope(""))
        return try ResourceChallenge.checked(known.union(challenge.scope ?? Scope("")))
    }
}
