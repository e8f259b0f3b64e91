import OIDCCore
import OIDCSessions

/// The link that a search produces.
extension ResourceResolution {
    /// Returns the link to store after a sign-in.
    func link(
        to found: Found, at server: ProviderMetadata, scope: Scope, client: ResourceClient.Choice,
        grant: GrantType, entries: [SettingLayers.Entry]
    ) throws(OIDCError) -> ResourceLink {
        let issuer = server.issuer ?? ""
        let given = ResourceOwnership(entries: entries)
        let own = ResourceOwnership(entries: given.entries(for: issuer))
        var link = ResourceLink(
            resource: found.metadata.resource, metadataURL: found.metadataURL?.text, issuer: issuer,
            clientID: client.clientID, grant: grant,
            account: own.text(.account, in: [.options, .variables, .profile]))
        if let prefix = found.prefix {
            link.prefix = prefix.text
            trace(
                "\(prefix.text) names this resource, so the token is used only for that URL and those below it"
            )
        }
        let isNamed = found.challenge.scope != nil || evidence.scope != nil
        link.scope = isNamed || !grant.needsUser ? scope : rememberedScope(of: found)
        link.profile = client.profile
        link.registration = client.registration
        let isSameClient = earlier?.clientID == client.clientID
        let wasNamed = earlier?.isIssuerNamed == true && earlier?.issuer == issuer && isSameClient
        link.isIssuerNamed = given.names(issuer: issuer) || wasNamed
        if let earlier, ExactText.isSame(earlier.issuer, issuer) {
            link.settings = earlier.settings
            if earlier.metadataURL == nil { link.settings[Setting.resourceParameter.name] = nil }
            if !isSameClient {
                for redirect in Setting.redirects { link.settings[redirect.name] = nil }
            }
        }
        // A server of 2025-03-26 knows no resources.
        if found.metadataURL == nil { link.settings[Setting.resourceParameter.name] = "off" }
        link.bindsTokens = try bindsTokens(found)
        return link
    }

    /// Returns whether the resource requires tokens that are bound to a key. Throws if an option refuses them.
    private func bindsTokens(_ found: Found) throws(OIDCError) -> Bool {
        let isChallenged = found.challenge != ResourceChallenge()
        let bindsTokens =
            found.metadata.requiresDPoP || found.challenge.requiresDPoP
            || !isChallenged && earlier?.resource == found.metadata.resource && earlier?.bindsTokens == true
        let isRefused = operand.settings.layers.given.contains {
            $0.setting == .dpop && $0.origin.layer == .options && $0.value == false
        }
        guard bindsTokens, isRefused else { return bindsTokens }
        throw .usage(
            "\(DisplayText.clean(found.metadata.resource)) requires tokens that are bound to a key (DPoP)",
            hint: "leave --set dpop=false out")
    }
}
