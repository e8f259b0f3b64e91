import OIDCCore
import OIDCSystem

extension ProxyTokens.Grant {
    /// Creates a grant. It reads the session's key, unless the last grant has the same token and key.
    init(_ delivery: SessionTokens.Delivery, after last: ProxyTokens.Grant?) throws(OIDCError) {
        _ = try delivery.access.credentials(.resource)
        self.delivery = delivery
        isBoundToCertificate = delivery.session.isBoundToCertificate(delivery.access)
        if let last, last.delivery.access == delivery.access,
            last.delivery.session.dpopKey == delivery.session.dpopKey
        {
            key = last.key
        } else {
            key = try delivery.session.dpopKey(of: delivery.access)
        }
    }

    /// Returns the header fields with the token and its proof (RFC 6750 §2.1, RFC 9449 §7.1).
    func authorization(
        _ method: HTTPMethod, _ url: WebURL, nonce: String?, _ environment: ProviderEnvironment
    ) throws(OIDCError) -> [HTTPHeaders.Field] {
        var fields = [
            HTTPHeaders.Field(name: "Authorization", value: try delivery.access.credentials(.resource))
        ]
        if let key {
            let proof = try key.proof(
                method: method, url: url, accessToken: token.revealed, nonce: nonce, now: environment.now(),
                random: environment.random)
            fields.append(HTTPHeaders.Field(name: DPoP.header, value: proof))
        }
        return fields
    }
}
