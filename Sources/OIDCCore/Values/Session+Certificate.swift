/// The client certificate of a session (RFC 8705).
extension Session {
    /// Returns whether requests with this token need the client certificate (RFC 8705 §3). A provider may bind the
    /// tokens of some clients only, as Keycloak does (26.7, 2026-11), so a JWT is bound by its own `cnf`.
    public func isBoundToCertificate(_ access: AccessToken) -> Bool {
        guard access.type != .dpop else { return false }
        guard let claims = (try? JWS(compact: access.token.revealed))?.claims else {
            return bindsOpaqueTokens
        }
        return claims["cnf"]?["x5t#S256"]?.string != nil
    }

    /// Notes the binding of the tokens of a client with a certificate, and the endpoints for such clients (RFC 8705
    /// §5). UserInfo authenticates no client, so only a bound token goes to its alias.
    package mutating func useCertificate(of client: Client, at metadata: ProviderMetadata) {
        guard client.presentsCertificate else { return }
        bindsOpaqueTokens = metadata.tlsClientCertificateBoundAccessTokens
        endpoints.revocation = metadata.revocationURL(for: client)
        endpoints.introspection = metadata.url(.introspection, presentingCertificate: true)
        if isBoundToCertificate(tokens.access) {
            endpoints.userInfo = metadata.url(.userInfo, presentingCertificate: true)
        }
    }
}
