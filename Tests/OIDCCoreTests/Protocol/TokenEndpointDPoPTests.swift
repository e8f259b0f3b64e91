import OIDCCrypto
import Testing

@testable import OIDCCore

@Suite("DPoP at the token endpoint (RFC 9449 §5, §8)")
struct TokenEndpointDPoPTests {
    private static let bound = #"{"access_token":"at","token_type":"DPoP"}"#

    private func send(
        _ transport: ScriptedTransport, _ key: DPoPKey?
    ) throws -> TokenSet {
        let signer = try JWTSigner(try PrivateKey.generate(.p256))
        let client = Client(id: "cli", authentication: .privateKeyJWT(signer))
        let endpoint = TokenEndpoint(
            url: try Fixture.url("https://op.example/token"), client: client, dpop: key)
        return try endpoint.send(.clientCredentials(), in: Fixture.context(transport))
    }

    private static func demand(_ nonce: String?) -> HTTPResponse {
        Fixture.json(
            #"{"error":"use_dpop_nonce"}"#, status: 400, nonce.map { [("DPoP-Nonce", $0)] } ?? [])
    }

    @Test("the request has a proof for this URL")
    func proof() throws {
        let key = try DPoPKey.generate()
        let transport = ScriptedTransport(Fixture.json(Self.bound))
        #expect(try send(transport, key).access.type == .dpop)
        let request = try #require(transport.requests.first)
        let verified = try DPoP.verify(
            #require(request.headers["DPoP"]), method: .post, url: request.url, now: Fixture.now)
        #expect(verified.thumbprint == key.thumbprint)
    }

    @Test("FAPI 2.0 client: a demanded DPoP nonce is answered once, with a new jti and a new assertion")
    func nonce() throws {
        let transport = ScriptedTransport(Self.demand("n-1"), Fixture.json(Self.bound))
        _ = try send(transport, try DPoPKey.generate())
        #expect(transport.requests.count == 2)
        let proofs = try transport.requests.map { try JWS(compact: #require($0.headers["DPoP"])).claims }
        #expect(proofs[0]?["nonce"] == nil)
        #expect(proofs[1]?["nonce"] == "n-1")
        #expect(proofs[0]?["jti"] != proofs[1]?["jti"])
        let assertions = transport.requests.map { $0.value("client_assertion") }
        #expect(assertions[0] != assertions[1])
    }

    @Test("a second demand is a refusal, not a loop")
    func secondDemand() throws {
        let transport = ScriptedTransport(Self.demand("n-1"), Self.demand("n-2"), Fixture.json(Self.bound))
        let error = Fixture.error { try send(transport, try DPoPKey.generate()) }
        #expect(
            error
                == OIDCError(
                    .refused, "token: the provider demands another DPoP nonce each time", stage: .token,
                    oauthError: "use_dpop_nonce"))
        #expect(transport.requests.count == 2)
    }

    @Test("use_dpop_nonce without a nonce is a refusal")
    func noNonce() throws {
        let transport = ScriptedTransport(Self.demand(nil), Fixture.json(Self.bound))
        let error = Fixture.error { try send(transport, try DPoPKey.generate()) }
        #expect(error?.oauthError == "use_dpop_nonce")
        #expect(error?.kind == .refused)
        #expect(error?.hint == "the provider sent no DPoP-Nonce header with it: contact the provider")
        #expect(transport.requests.count == 1)
    }

    @Test("use_dpop_nonce for a client without a key names the setting")
    func noKey() {
        let transport = ScriptedTransport(Self.demand("n-1"))
        let error = Fixture.error { try send(transport, nil) }
        #expect(error?.hint == .set(.dpop, to: "true"))
        #expect(transport.requests.count == 1)
        #expect(transport.requests.first?.headers["DPoP"] == nil)
    }

    @Test("Bearer is refused if DPoP was requested")
    func downgrade() throws {
        let transport = ScriptedTransport(
            Fixture.json(#"{"access_token":"at","token_type":"Bearer"}"#))
        let key = try DPoPKey.generate()
        var refusal = OIDCError.protocolViolation(
            .token, "token_type", expected: "DPoP", found: "Bearer", hint: .advice(.allowUnboundTokens))
        refusal.code = .tokenNotBound
        #expect(throws: refusal) { try send(transport, key) }
    }

    @Test("a failure of the transport is not retried")
    func transportFailure() throws {
        let failure = OIDCError(.unreachable, "no route")
        let transport = ScriptedTransport([.failure(failure), .success(Fixture.json(Self.bound))])
        #expect(Fixture.error { try send(transport, try DPoPKey.generate()) } == failure)
        #expect(transport.requests.count == 1)
    }
}
