import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("Sign-in with a signed answer")
struct SignedResponseFlowTests {
    private static func signIn(
        _ provider: InMemoryProvider, _ mode: AuthorizationRequest.ResponseMode = .jwt,
        client: Client = Client(id: "demo")
    ) throws -> Session {
        try provider.signIn(client: client) { $0.request.responseMode = mode }
    }

    @Test("a sign-in verifies the answer with the provider's keys", arguments: [true, false])
    func signIn(isEncrypted: Bool) throws {
        let key = try SampleKeys.key(.p256)
        var json = JSONWebKey(publicKey: key.publicKey).json.object ?? JSONObject()
        json["use"] = "enc"
        let keys = try JWKSet(["keys": [.object(json)]])
        let provider = try InMemoryProvider { configuration in
            configuration.clients[0].keys = keys
            configuration.clients[0].authorizationEncryption =
                isEncrypted ? TokenEncryption(.ecdhESA256KW) : nil
        }
        var client = Client(id: "demo")
        client.decryption = try TokenDecryption(key)
        #expect(try Self.signIn(provider, .queryJWT, client: client).subject == "alice")
        provider.with { $0.configuration.requiresPushedAuthorization = true }
        #expect(try Self.signIn(provider, client: client).subject == "alice")
    }

    @Test(
        "an answer with any fault is refused before the code is sent",
        arguments: SignedAnswerFault.allCases)
    func faults(_ fault: SignedAnswerFault) throws {
        let provider = try InMemoryProvider { $0.user = .approves("alice") }
        provider.faults = [.signedAnswer(fault)]
        let error = try #require(#expect(throws: OIDCError.self) { try Self.signIn(provider) })
        let expected: OIDCError.Kind = fault == .repeated ? .refused : .untrusted
        #expect(error.kind == expected, "\(error.kind): \(error.message)")
        #expect(provider.with { $0.requestCount(.token) } == 0)
    }

    @Test("a provider without known keys is refused before the browser")
    func withoutKeys() throws {
        let provider = try InMemoryProvider()
        #expect(throws: OIDCError.self) {
            try provider.outcome { flow in
                flow = SignInFlow(
                    context: flow.context,
                    metadata: ProviderMetadata(issuer: nil, endpoints: flow.metadata.endpoints),
                    tokenEndpoint: flow.tokenEndpoint, request: flow.request, key: flow.key)
                flow.request.responseMode = .jwt
            }
        }
        #expect(provider.with { $0.requestCount(.authorize) } == 0)
    }
}
