import DemoProvider
import OIDCCore

/// What can be wrong with metadata, or unusual and right (`pkceSilent`, `authorizationEndpointQuery`).
package enum MetadataFault: String, Sendable, CaseIterable {
    case issuerMismatch, issuerTrailingSlash, issuerMissing, issuerNumber
    case plainHTTPTokenEndpoint, plainHTTPKeys, plainHTTPUserInfo
    case foreignTokenEndpoint
    case authorizationEndpointScript, authorizationEndpointFile, authorizationEndpointOption
    case authorizationEndpointControls, authorizationEndpointNumber, authorizationEndpointQuery
    case tokenEndpointNumber
    case plainPKCEOnly, pkceSilent, noneAlgorithmOnly, noneAlgorithmListed
    case withoutKeys, withoutTokenEndpoint, withoutAuthorizationEndpoint, withoutUserInfo, withoutDevice
    case withoutRevocation, withoutEndSession, withoutIntrospection, withoutRegistration
    case withoutPushedAuthorization, withoutIssuerParameter, withoutAuthenticationMethods
    case duplicateMembers, unknownMembers
}

extension FaultyProvider {
    func changedMetadata(_ response: HTTPResponse) -> HTTPResponse {
        guard var metadata = response.successObject else { return response }
        for case .metadata(let fault) in faults { apply(fault, to: &metadata) }
        var response = response.with(metadata)
        if has(.metadata(.duplicateMembers)) {
            response.appendMember("\"issuer\":\"https://other.example\"")
        }
        return response
    }

    private func apply(_ fault: MetadataFault, to metadata: inout JSONObject) {
        switch fault {
        case .issuerMismatch: metadata["issuer"] = .string(foreignOrigin)
        case .issuerTrailingSlash:
            let text = issuer.text
            metadata["issuer"] = .string(text.hasSuffix("/") ? String(text.dropLast()) : "\(text)/")
        case .issuerMissing: metadata["issuer"] = nil
        case .issuerNumber: metadata["issuer"] = 42
        case .plainHTTPTokenEndpoint: metadata["token_endpoint"] = "http://other.example/token"
        case .plainHTTPKeys: metadata["jwks_uri"] = "http://other.example/jwks"
        case .plainHTTPUserInfo: metadata["userinfo_endpoint"] = "http://127.0.0.1:9/userinfo"
        case .foreignTokenEndpoint:
            metadata["token_endpoint"] = .string("\(foreignOrigin)/token")
        case .tokenEndpointNumber: metadata["token_endpoint"] = 42
        case .plainPKCEOnly: metadata["code_challenge_methods_supported"] = ["plain"]
        case .pkceSilent: metadata["code_challenge_methods_supported"] = nil
        case .noneAlgorithmOnly: metadata["id_token_signing_alg_values_supported"] = ["none"]
        case .noneAlgorithmListed:
            let listed = metadata["id_token_signing_alg_values_supported"]?.array ?? []
            metadata["id_token_signing_alg_values_supported"] = .array(["none"] + listed)
        case .unknownMembers:
            metadata["x_demo"] = ["anything": [1, "two", .null, [:]]]
        default:
            applyToAuthorizationEndpoint(fault, &metadata)
            if let name = FaultyProvider.removed[fault] { metadata[name] = nil }
        }
    }

    private func applyToAuthorizationEndpoint(_ fault: MetadataFault, _ metadata: inout JSONObject) {
        let endpoint = demo.address(.authorize)
        let text: JSONValue? =
            switch fault {
            case .authorizationEndpointScript: "javascript:alert(document.domain)"
            case .authorizationEndpointFile: "file:///etc/passwd"
            case .authorizationEndpointOption: "--remote-debugging-port=9222"
            case .authorizationEndpointControls: .string("\(endpoint)\n--new-window")
            case .authorizationEndpointNumber: 42
            case .authorizationEndpointQuery: .string("\(endpoint)?tenant=a%20b&x=1")
            default: nil
            }
        if let text { metadata["authorization_endpoint"] = text }
    }

    private static let removed: [MetadataFault: String] = [
        .withoutKeys: "jwks_uri", .withoutTokenEndpoint: "token_endpoint",
        .withoutAuthorizationEndpoint: "authorization_endpoint", .withoutUserInfo: "userinfo_endpoint",
        .withoutDevice: "device_authorization_endpoint", .withoutRevocation: "revocation_endpoint",
        .withoutEndSession: "end_session_endpoint", .withoutIntrospection: "introspection_endpoint",
        .withoutRegistration: "registration_endpoint",
        .withoutPushedAuthorization: "pushed_authorization_request_endpoint",
        .withoutIssuerParameter: "authorization_response_iss_parameter_supported",
        .withoutAuthenticationMethods: "token_endpoint_auth_methods_supported",
    ]
}
