import CurlHTTP
import OIDCAccount
import OIDCCore
import OIDCCrypto
import Posix

/// The account of the tour at the demo provider: a public client.
struct DemoAccount: AccountProvider {
    let clientID: String
    let transport: CurlTransport

    var leeway: Duration { .seconds(60) }
    var idTokenAlgorithms: [String]? { nil }
    var bindsTokens: Bool { false }
    var lockWait: LockWait { LockWait(limit: .seconds(90)) }

    func environment() -> OIDCContext {
        OIDCContext(transport: transport, now: { Clock.now() }, random: Random.bytes)
    }

    func client(_ metadata: ProviderMetadata?, method: String?, _ environment: OIDCContext) -> Client {
        Client(id: clientID)
    }

    func tokenEndpoint(at url: WebURL, client: Client, dpop: DPoPKey?) -> TokenEndpoint {
        TokenEndpoint(url: url, client: client, dpop: dpop)
    }

    func tokenEndpoint(of session: Session, _ environment: OIDCContext) -> TokenEndpoint {
        TokenEndpoint(url: session.endpoints.token, client: Client(id: clientID))
    }

    func alias(of url: WebURL, for endpoint: ProviderEndpoint, _ environment: OIDCContext) -> WebURL { url }
}
