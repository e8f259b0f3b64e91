import CurlHTTP
import DemoProvider
import Foundation
package import OIDCCore
import OIDCCrypto
import OIDCSessions
import Posix

extension Program {
    /// Stores the session and the documents that a sign-in of this program leaves, without running it: a process takes
    /// ten times as long.
    package func storeSession(
        at provider: ProviderServer, client id: String = "demo", secret: Redacted<String>? = nil
    ) throws {
        let environment = OIDCContext(
            transport: Direct(provider: provider),
            cache: MetadataCache(directory: home.appendingPathComponent(".cache/oidc").path),
            now: { Clock.now() }, random: { Random.bytes($0) })
        let metadata = try ProviderDocuments(context: environment).metadata(issuer: provider.origin)
        let client = Client(
            id: id,
            authentication: try ClientAuthentication.choose(
                method: nil, ClientCredentials(secret: secret), metadata),
            assertionAudience: metadata.issuer)
        let login = SignInFlow(
            context: environment, metadata: metadata,
            tokenEndpoint: TokenEndpoint(url: try metadata.require(.token), client: client),
            request: AuthorizationRequest(
                client: client, redirectURI: "http://127.0.0.1/callback",
                scope: Scope("openid profile email offline_access")),
            key: SessionKey(provider: provider.origin, clientID: id))
        let (pending, url) = try login.begin(redirectURI: "http://127.0.0.1:8765/callback")
        // A user who agrees needs no pages, whose forms take longer to read than the rest of a sign-in.
        let user = provider.with { $0.configuration.user }
        provider.with { $0.configuration.user = .approves("alice") }
        defer { provider.with { $0.configuration.user = user } }
        guard let callback = provider.redirect(of: url) else {
            throw OIDCError(.failed, "the sign-in ended on a page of the provider")
        }
        let session = try login.finish(try pending.acceptPasted(callback.url.text)).session
        let store = SessionStore(directory: home.appendingPathComponent(".local/state/oidc").path)
        try store.withLock(session.key, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            try store.save(session, replacingDamaged: false)
        }
    }
}

/// The provider without its socket.
private struct Direct: HTTPTransport {
    let provider: ProviderServer

    func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
        provider.with { $0.handle(request, at: Clock.now()) }
    }
}
