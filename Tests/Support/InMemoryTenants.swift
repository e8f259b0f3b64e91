import DemoProvider
package import OIDCCore
import OIDCCrypto
import Posix

/// What a provider with many tenants answers, as Entra ID does at `common`.
package struct Tenancy: Sendable {
    /// The `tid` of ID tokens; nil leaves it out.
    package var tenant: String?
    /// The `iss` of ID tokens; nil means the tenant's own.
    package var issuer: String?
    /// The `issuer` of the keys; nil leaves it out.
    package var keyIssuer: String? = Tenancy.template
    /// The `issuer` of the metadata.
    package var metadataIssuer = Tenancy.template

    package init(tenant: String? = "11111111-2222-3333-4444-555555555555") {
        self.tenant = tenant
    }

    package static let template = "\(InMemoryProvider.issuer)/{tenantid}/v2.0"
    package static let common = "\(InMemoryProvider.issuer)/common/v2.0"
    package static let metadataURL = "\(common)/.well-known/openid-configuration"

    /// The issuer of a tenant.
    package static func issuer(of tenant: String) -> String { "\(InMemoryProvider.issuer)/\(tenant)/v2.0" }
}

extension Tenancy {
    /// Answers as a provider at an origin, which `handle` plays, would with many tenants.
    fileprivate func answer(
        _ request: HTTPRequest, at origin: String, _ handle: (HTTPRequest) -> (HTTPResponse, DemoProvider)
    ) -> HTTPResponse {
        func here(_ text: String) -> JSONValue {
            guard let rest = text.parts(around: InMemoryProvider.issuer) else { return .string(text) }
            return .string("\(rest.before)\(origin)\(rest.after)")
        }
        var request = request
        let isMetadata = request.url.path == "/common/v2.0/.well-known/openid-configuration"
        if isMetadata, let url = request.url.replacingPath("/.well-known/openid-configuration") {
            request.url = url
        }
        let (response, demo) = handle(request)
        guard var object = response.successObject else { return response }
        if isMetadata {
            object["issuer"] = here(metadataIssuer)
            object["authorization_response_iss_parameter_supported"] = false
        } else if let keys = object["keys"]?.array {
            object["keys"] = .array(
                keys.map { key in
                    var members = key.object ?? JSONObject()
                    members["issuer"] = keyIssuer.map(here)
                    return .object(members)
                })
        } else if let text = object["id_token"]?.string, var token = ForgedToken(text, demo) {
            token.claims["tid"] = tenant.map { .string($0) }
            token.claims["iss"] = here(issuer ?? Tenancy.issuer(of: tenant ?? "nobody"))
            object["id_token"] = (try? token.serialized()).map { .string($0) }
        }
        return response.with(object)
    }
}

extension ProviderServer {
    /// Answers from now on as a provider with many tenants, whose issuer is `/common/v2.0` here.
    package func play(_ tenancy: Tenancy) {
        with { $0.faults.insert(.authorization(.issuerMissing)) }
        let origin = origin
        intercept { [weak self] request in
            guard let self else { return nil }
            return tenancy.answer(request, at: origin) { request in
                self.with { ($0.handle(request, at: Clock.now()), $0.demo) }
            }
        }
    }
}

extension InMemoryProvider {
    /// Answers from now on as a provider with many tenants.
    package func play(_ tenancy: Tenancy) {
        intercept { [unowned self] (request) throws(OIDCError) in
            let now = now
            return tenancy.answer(request, at: InMemoryProvider.issuer) { request in
                with { ($0.handle(request, at: now), $0.demo) }
            }
        }
    }

    /// Signs in at a provider with many tenants, with the session that is stored already.
    package func signIn(
        at issuer: String, metadataURL: String? = nil, after earlier: Session? = nil, iss: String? = nil
    ) throws -> Session {
        let client = Client(id: "demo")
        let metadata = try ProviderDocuments(context: environment).metadata(
            issuer: issuer, at: metadataURL.flatMap { WebURL($0) })
        var login = SignInFlow(
            context: environment, metadata: metadata,
            tokenEndpoint: TokenEndpoint(url: try metadata.require(.token), client: client),
            request: AuthorizationRequest(
                client: client, redirectURI: "http://127.0.0.1/callback",
                scope: Scope("openid profile email offline_access")),
            key: SessionKey(provider: issuer, clientID: client.id))
        login.pin(to: earlier)
        let (pending, url) = try login.begin(redirectURI: "http://127.0.0.1:8765/callback")
        // The demo provider names its own issuer in the redirect.
        let pairs = (FormEncoding.decode(WebURL(try callback(of: url))?.query ?? "") ?? []).filter {
            $0.name != "iss"
        }
        let answer = FormEncoding.encode(pairs + (iss.map { [FormEncoding.Pair("iss", $0)] } ?? []))
        return try login.finish(try pending.acceptPasted("?\(answer)")).session
    }
}
