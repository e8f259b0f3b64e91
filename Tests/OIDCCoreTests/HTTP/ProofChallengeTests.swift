import OIDCCore
import Testing

@Suite("a resource's demand for DPoP")
struct ProofChallengeTests {
    @Test(
        "only a challenge with DPoP alone demands it",
        arguments: [
            ([], false), (["Bearer"], false), (["Basic realm=\"x\""], false), (["DPoP algs=\"ES256\""], true),
            (["Basic realm=\"x\"", "dpop"], true), (["DPoP algs=\"ES256\", Bearer"], false),
            (["Bearer", "DPoP"], false),
        ] as [([String], Bool)])
    func schemes(fields: [String], isDemanded: Bool) throws {
        let headers = HTTPHeaders(fields.map { ("WWW-Authenticate", $0) })
        let challenge = try ResourceChallenge(HTTPResponse(status: 401, headers: headers))
        #expect(challenge.requiresDPoP == isDemanded)
    }
}
