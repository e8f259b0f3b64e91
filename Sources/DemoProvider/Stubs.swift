import OIDCCore

struct PushedRequest: Sendable { let expiresAt: Instant }
struct DeviceRecord: Sendable { let expiresAt: Instant }

extension DemoProvider {
    func tokenBinding(_ client: DemoClient, _ call: Call) throws(Refusal) -> Binding { Binding() }
    func withDPoPNonce(_ response: HTTPResponse, _ call: Call) -> HTTPResponse { response }
    func pushedParameters(_ parameters: Parameters, _ call: Call) throws(Refusal) -> Parameters {
        throw .invalidRequest("request_uri is not known")
    }
    func clientByAssertion(_ assertion: String, _ parameters: Parameters, _ call: Call) throws(Refusal)
        -> DemoClient
    {
        throw invalidClient("assertions are not known")
    }
    func clientByCertificate(_ client: DemoClient, _ call: Call) throws(Refusal) -> DemoClient {
        throw invalidClient("certificates are not known")
    }
    func signInForDevice(_ code: String, _ form: Parameters, _ call: Call) throws(Refusal) -> HTTPResponse {
        throw .invalidRequest("device")
    }
}
