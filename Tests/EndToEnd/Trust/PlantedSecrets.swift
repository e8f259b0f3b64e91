import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

/// A client with a secret, and the secrets that must not leak.
enum PlantedSecrets {
    static let clientSecret = "planted-client-secret-8d1f"

    static func world(
        _ variables: [String: String] = ["OIDC_CLIENT_SECRET": clientSecret]
    ) throws -> (ProviderServer, Program) {
        let provider = try TrustWorld.server {
            $0.clients = [DemoClient(id: "planted", secret: clientSecret)]
        }
        return (provider, try Program(provider, client: "planted", variables))
    }

    /// Returns a world with a session.
    static func signedIn() throws -> (ProviderServer, Program) {
        let (provider, program) = try world()
        try program.storeSession(at: provider, client: "planted", secret: Redacted(clientSecret))
        return (provider, program)
    }

    /// Returns every secret that the provider has received or issued so far.
    static func all(_ provider: ProviderServer, _ program: Program) throws -> [String: String] {
        var secrets = ["the client secret": clientSecret]
        let encoded = Data("planted:\(clientSecret)".utf8).base64EncodedString()
        secrets["the Basic credentials"] = encoded
        for (index, request) in provider.with({ $0.requests(to: .token) }).enumerated() {
            let pairs = FormEncoding.decode(String(decoding: request.body, as: UTF8.self)) ?? []
            for name in ["code", "code_verifier", "refresh_token", "client_secret"] {
                guard let value = pairs.first(where: { $0.name == name })?.value else { continue }
                secrets["\(name) \(index)"] = value
            }
        }
        for endpoint in [Endpoint.userinfo, .resource] {
            for (index, request) in provider.with({ $0.requests(to: endpoint) }).enumerated() {
                secrets["access token \(endpoint) \(index)"] = request.headers["Authorization"].map {
                    String($0.dropFirst(7))
                }
            }
        }
        if let file = program.sessionFiles.first {
            let session = try JSONValue(parsing: Array(try Data(contentsOf: file)))
            var count = 0
            func walk(_ value: JSONValue, _ name: String) {
                if let text = value.string, text.utf8.count > 20, name.contains("token"),
                    !text.contains("://"), name != "token_type"
                {
                    secrets["\(name) of the session \(count)"] = text
                    count += 1
                }
                for member in value.object?.members ?? [] { walk(member.value, member.name) }
                for element in value.array ?? [] { walk(element, name) }
            }
            walk(session, "")
        }
        return secrets
    }

    static func expectNone(
        of secrets: [String: String], in text: String, _ place: String, except: [String] = []
    ) {
        for (name, secret) in secrets where !except.contains(secret) {
            #expect(!text.contains(secret), "\(name) stands in \(place)")
        }
    }
}
