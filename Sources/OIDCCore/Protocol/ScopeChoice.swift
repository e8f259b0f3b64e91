/// The scope to request for a resource, and where it comes from.
package struct ScopeChoice: Hashable, Sendable {
    package enum Source: Hashable, Sendable {
        /// The caller named it.
        case caller
        /// The resource's challenge.
        case challenge
        /// `scopes_supported` of the resource.
        case resource
        /// Nobody named one: the authorization server decides.
        case server
    }

    package let scope: Scope
    package let source: Source
    /// Whether `offline_access` was added because the authorization server lists it.
    package let addsOfflineAccess: Bool

    private static let offlineAccess = "offline_access"

    /// Chooses the scope of a first sign-in: the caller's, else the challenge's, else all that the resource supports,
    /// else none (MCP authorization, 2026-07-28). To all but the caller's own, `offline_access` is added if the
    /// authorization server lists it, and left out of the resource's list if the server does not. Without a user,
    /// `isForUser` is false, and it is left out: no refresh token is issued then, and servers refuse the scope.
    package init(
        caller: Scope? = nil, challenge: ResourceChallenge = ResourceChallenge(),
        resource: ProtectedResourceMetadata? = nil, server: ProviderMetadata, isForUser: Bool = true
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
        let addsOffline = isOfflineListed && !chosen.scope.contains(ScopeChoice.offlineAccess)
        if addsOffline { chosen.scope = chosen.scope.union(Scope(ScopeChoice.offlineAccess)) }
        self.init(
            scope: try ResourceChallenge.checked(chosen.scope), source: chosen.source,
            addsOfflineAccess: addsOffline)
    }

    private init(scope: Scope, source: Source, addsOfflineAccess: Bool) {
        self.scope = scope
        self.source = source
        self.addsOfflineAccess = addsOfflineAccess
    }

    /// Returns the scope of a sign-in that steps up: what the session requested and was granted, and what the challenge
    /// asks for, so nothing that the session could do is lost.
    package static func stepUp(
        requested: Scope?, granted: Scope?, challenge: ResourceChallenge
    ) throws(OIDCError) -> Scope {
        let known = (requested ?? Scope("")).union(granted ?? Scope(""))
        return try ResourceChallenge.checked(known.union(challenge.scope ?? Scope("")))
    }
}
