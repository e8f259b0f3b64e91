import OIDCCore

/// Doctor's trial of a grant that needs no user: one token request, of which nothing is stored.
///
/// An exchange is not tried: it would send a user's token, and some providers count each as a use.
struct GrantCheck {
    let provider: ProviderContext
    let isOffline: Bool

    /// Returns the result; nil for a grant that is not tried.
    func finding() -> Finding? {
        let grant = provider.settings.token.grant
        guard [.clientCredentials, .jwtBearer].contains(grant) else { return nil }
        guard !isOffline else { return Finding("grant", .ok, "\(grant.rawValue) is not tried (--offline)") }
        return Finding("grant") { () throws(OIDCError) in
            let access = try MachineGrant(provider: provider, key: try provider.sessionKey()).outcome()
                .access.get()
            let validity = access.expiresAt.map {
                ", valid for \(TimeWords.duration($0.seconds(since: provider.context.now)))"
            }
            return .ok("\(grant.rawValue): a token was issued\(validity ?? "")")
        }
    }
}
