import DemoProvider
import Foundation
import LoopbackHTTP
import OIDCCore
import OIDCCrypto
import Posix
import TestSupport

/// A CI system that gives its jobs an identity: its key, and a server that hands tokens out.
struct ContinuousIntegration: Sendable {
    let trusted: TrustedIssuer
    private let signer: JWTSigner

    init() throws {
        let key = try PrivateKey.generate(.p256)
        signer = try JWTSigner(key, keyID: "ci")
        trusted = TrustedIssuer(
            issuer: "https://ci.example",
            keys: JWKSet(keys: [JSONWebKey(publicKey: key.publicKey, keyID: "ci")]))
    }

    func token(_ audience: String) throws -> String {
        let now = Clock.now().secondsSinceEpoch
        var claims = JSONObject()
        claims["iss"] = "https://ci.example"
        claims["sub"] = "repo:example/app:ref:refs/heads/main"
        claims["aud"] = .string(audience)
        claims["iat"] = JSONValue(now)
        claims["exp"] = JSONValue(now + 300)
        claims["jti"] = .string(UUID().uuidString)
        return try signer.sign(claims: claims)
    }

    /// As GitHub Actions gives them to a job that may write `id-token`.
    func actions() throws -> BackgroundServer {
        try BackgroundServer { request in
            guard request.headers["Authorization"] == "Bearer job-secret",
                let audience = FormEncoding.decode(request.url.query ?? "")?.first(where: {
                    $0.name == "audience"
                }),
                let value = try? token(audience.value)
            else { return HTTPResponse(status: 403) }
            return HTTPResponse(status: 200, body: (["value": .string(value)] as JSONValue).bytes)
        }
    }

    static func variables(_ actions: BackgroundServer) -> [String: String] {
        [
            "ACTIONS_ID_TOKEN_REQUEST_URL": "\(actions.origin)/token?api-version=2",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "job-secret",
        ]
    }
}
