import DemoProvider
import OIDCCore
import OIDCCrypto

/// What can be wrong with a demand for proofs (RFC 9449).
package enum ProofFault: String, Sendable, CaseIterable {
    /// Legal: the scheme of a challenge in lower case.
    case schemeLowerCase
    case nonceAlwaysDemanded
    /// The demand without the header that carries the nonce.
    case nonceMissing
    case nonceMalformed
}

extension FaultyProvider {
    /// Demands a new nonce whatever nonce the proof has.
    func demandingProof(_ call: FaultyCall) -> HTTPResponse? {
        let endpoints: Set<Endpoint> = [.token, .pushedAuthorization, .userinfo, .resource]
        guard has(.proof(.nonceAlwaysDemanded)), endpoints.contains(call.endpoint),
            call.request.headers[DPoP.header] != nil
        else { return nil }
        var headers = [("DPoP-Nonce", FaultyProvider.unusedNonce)]
        guard call.endpoint == .userinfo || call.endpoint == .resource else {
            return .refusal("use_dpop_nonce", "yet another nonce", headers: headers)
        }
        headers.append(("WWW-Authenticate", "DPoP error=\"use_dpop_nonce\", algs=\"ES256\""))
        return .refusal("use_dpop_nonce", "yet another nonce", status: 401, headers: headers)
    }

    private static var unusedNonce: String { Base64URL.encode(Random.bytes(24)) }

    func changedProofDemand(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        if has(.proof(.nonceAlwaysDemanded)) { response.headers["DPoP-Nonce"] = FaultyProvider.unusedNonce }
        if has(.proof(.schemeLowerCase)), let value = response.headers["WWW-Authenticate"],
            value.hasPrefix("DPoP ")
        {
            response.headers["WWW-Authenticate"] = "dpop\(value.dropFirst(4))"
        }
        if has(.proof(.nonceMissing)) { response.headers["DPoP-Nonce"] = nil }
        if has(.proof(.nonceMalformed)), response.headers["DPoP-Nonce"] != nil {
            response.headers["DPoP-Nonce"] = "a \"nonce\"\\ "
        }
        return response
    }
}
