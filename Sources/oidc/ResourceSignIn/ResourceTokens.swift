import OIDCCore
import OIDCSessions
import OIDCSystem

/// The tokens of a resource's session. Before a refused one is replaced, the resource's metadata is fetched
/// again, because it may name another authorization server now.
final class ResourceTokens: AccessTokenSource {
    private let access: SessionAccess
    private let target: ResourceTarget
    /// The resource's last response.
    var lastHead: HTTPResponse?
    private(set) var hasRefetched = false
    /// The refused token, which the response may repeat.
    private(set) var secrets = WithheldSecrets()

    init(_ access: SessionAccess, _ target: ResourceTarget) {
        self.access = access
        self.target = target
    }

    func token(_ demand: TokenDemand) throws(OIDCError) -> SessionTokens.Delivery {
        try access.token(demand)
    }

    func token(
        _ demand: TokenDemand, insteadOf refused: SessionTokens.Delivery
    ) throws(OIDCError) -> SessionTokens.Delivery {
        secrets = refused.secrets
        try checkServer()
        return try access.token(demand, insteadOf: refused)
    }

    /// Fetches the resource's metadata again. If it now names another server, or the URL now belongs to another
    /// resource, throws before the refresh token is sent: a new sign-in is needed.
    func checkServer() throws(OIDCError) {
        let operand = target.operand
        let console = operand.context.console
        let found: ResourceSearch.Found
        do throws(OIDCError) { found = try find() } catch {
            let error = error.withholding(secrets)
            guard error.kind == .refused || error.kind == .unreachable else { throw error }
            console.trace("the resource's metadata could not be fetched again: \(error.message)")
            return
        }
        hasRefetched = true
        let (link, metadata) = (target.link, found.metadata)
        guard ExactText.isSame(metadata.resource, link.resource) else {
            let isOwn = ResourceIdentifier(metadata.resource)?.identifies(operand.url) == true
            throw changed(
                "\(DisplayText.clean(operand.url.withoutQuery)) is "
                    + (isOwn
                        ? "now a resource of its own"
                        : "now part of the resource \(DisplayText.clean(metadata.resource))"))
        }
        guard metadata.authorizationServers.contains(where: { IssuerSpelling.isSameServer($0, link.issuer) })
        else {
            throw changed(
                "\(DisplayText.clean(link.resource)) now takes tokens from \(metadata.serverList), "
                    + "not from \(DisplayText.clean(link.issuer))")
        }
    }

    /// Fetches the metadata that the resource's last response leads to, or else the stored metadata URL.
    private func find() throws(OIDCError) -> ResourceSearch.Found {
        let operand = target.operand
        let search = try ResourceSearch(
            operand.url, environment: try operand.reach.environment(),
            allowsInsecureHTTP: operand.reach.allowsInsecureHTTP)
        if lastHead == nil, let url = target.link.metadataURL.flatMap({ WebURL($0) }) {
            return try search.find(at: url, refetching: true)
        }
        return try search.find(after: lastHead?.withoutFields(repeating: secrets), refetching: true)
    }

    private func changed(_ message: String) -> OIDCError {
        OIDCError(.loginRequired, message, hint: access.provider.settings.loginLine, stage: .resource)
    }
}

extension SessionTokens.Delivery {
    /// The token, which a resource may repeat in its response.
    var secrets: WithheldSecrets { WithheldSecrets([access.token.revealed]) }
}

extension HTTPResponse {
    /// Returns the response without the header fields that repeat a token: otherwise a URL in a challenge
    /// would be requested and shown with the token in it.
    func withoutFields(repeating secrets: WithheldSecrets) -> HTTPResponse {
        var copy = self
        copy.headers = HTTPHeaders(
            headers.fields.filter { secrets.removed(from: $0.value) == $0.value }.map { ($0.name, $0.value) })
        return copy
    }
}
