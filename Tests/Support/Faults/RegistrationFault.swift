import DemoProvider
import OIDCCore

/// How a provider may be stricter with the clients that register themselves (RFC 7591).
package enum RegistrationFault: String, Sendable, CaseIterable {
    /// Compares redirect URLs exactly, loopback ports included, against RFC 8252 §7.3.
    case exactRedirects
    case oneRedirectOnly
    case publicClientsRefused
}

extension FaultyProvider {
    /// Returns the refusal of a request that a strict provider does not accept.
    func registrationRefusal(_ call: FaultyCall) -> HTTPResponse? {
        switch call.endpoint {
        case .registration:
            let document = (try? JSONValue(parsing: call.request.body))?.object
            if has(.registration(.oneRedirectOnly)), (document?["redirect_uris"]?.array?.count ?? 0) > 1 {
                return .refusal("invalid_redirect_uri", "one redirect_uri only")
            }
            if has(.registration(.publicClientsRefused)),
                document?["token_endpoint_auth_method"]?.string == "none"
            {
                return .refusal("invalid_client_metadata", "clients must authenticate")
            }
        case .authorize where has(.registration(.exactRedirects)):
            let pairs = FormEncoding.decode(call.request.url.query ?? "") ?? []
            func value(_ name: String) -> String? { pairs.first { $0.name == name }?.value }
            guard let client = value("client_id"), let redirects = registeredRedirects[client] else {
                return nil
            }
            guard redirects.contains(value("redirect_uri") ?? "") else {
                return HTTPResponse(
                    status: 400, headers: HTTPHeaders([("Content-Type", "text/html")]),
                    body: Array("<h1>redirect_uri is not registered</h1>".utf8))
            }
        default: break
        }
        return nil
    }

    /// Keeps what a client registered.
    mutating func noteRegistration(_ call: FaultyCall, _ response: HTTPResponse) {
        guard call.endpoint == .registration, response.isSuccess,
            let answer = (try? JSONValue(parsing: response.body))?.object,
            let id = answer["client_id"]?.string
        else { return }
        registeredRedirects[id] = answer["redirect_uris"]?.array?.compactMap(\.string) ?? []
    }
}
