import OIDCCore
import OIDCCrypto

extension DemoProvider {
    /// Returns the metadata (OIDC Discovery §3, RFC 8414 §2), for both well-known URLs.
    func metadata(_ call: Call) -> HTTPResponse {
        var metadata = JSONObject()
        metadata["issuer"] = .string(issuer.text)
        for (name, endpoint) in DemoProvider.endpoints { metadata[name] = .string(address(endpoint)) }
        metadata["require_pushed_authorization_requests"] = .bool(configuration.requiresPushedAuthorization)
        metadata["request_parameter_supported"] = true
        metadata["request_uri_parameter_supported"] = .bool(configuration.requestObject != nil)
        metadata["request_object_signing_alg_values_supported"] = strings(assertionAlgorithms)
        if configuration.requestDecryptionKey != nil {
            metadata["request_object_encryption_alg_values_supported"] = strings(
                RequestObjectEncryption.algorithms.map(\.rawValue))
            metadata["request_object_encryption_enc_values_supported"] = strings(
                ContentEncryption.allCases.map(\.rawValue))
        }
        if configuration.requiresSignedRequests { metadata["require_signed_request_object"] = true }
        metadata["scopes_supported"] = strings(configuration.scopes)
        metadata["response_types_supported"] = ["code"]
        metadata["response_modes_supported"] = strings(
            AuthorizationRequest.ResponseMode.allCases.map(\.rawValue))
        for name in ["authorization", "userinfo", "introspection"] {
            metadata["\(name)_signing_alg_values_supported"] = strings(idTokenAlgorithms)
        }
        metadata["grant_types_supported"] = strings(grantHandlers.map(\.name))
        metadata["subject_types_supported"] = ["public"]
        metadata["id_token_signing_alg_values_supported"] = strings(idTokenAlgorithms)
        for prefix in ["id_token", "userinfo", "introspection", "authorization"] {
            metadata["\(prefix)_encryption_alg_values_supported"] = strings(
                TokenEncryption.algorithms.map(\.rawValue))
            metadata["\(prefix)_encryption_enc_values_supported"] = strings(
                ContentEncryption.allCases.map(\.rawValue))
        }
        metadata["token_endpoint_auth_methods_supported"] = strings(authenticationMethods)
        metadata["token_endpoint_auth_signing_alg_values_supported"] = strings(assertionAlgorithms)
        metadata["code_challenge_methods_supported"] = ["S256"]
        metadata["authorization_response_iss_parameter_supported"] = true
        if !configuration.clientDocuments.isEmpty {
            metadata["client_id_metadata_document_supported"] = true
        }
        metadata["prompt_values_supported"] = ["none", "login", "consent", "select_account"]
        metadata["acr_values_supported"] = strings([DemoProvider.basicACR, DemoProvider.strongACR])
        metadata["claim_types_supported"] = ["normal", "aggregated", "distributed"]
        metadata["claims_supported"] = strings(DemoProvider.claimNames)
        metadata["dpop_signing_alg_values_supported"] = strings(proofAlgorithms)
        metadata["mtls_endpoint_aliases"] = mutualTLSAliases()
        if configuration.certificateHeader != nil {
            metadata["tls_client_certificate_bound_access_tokens"] = true
        }
        return cacheable(.json(.object(metadata)))
    }

    func keySet(_ call: Call) -> HTTPResponse {
        let signing = (keys.current + keys.previous).map { JSONValue.object($0.publicMembers) }
        return cacheable(.json(["keys": .array(signing + (encryptionKey.map { [$0.json] } ?? []))]))
    }

    func cacheable(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.headers["Cache-Control"] = "public, max-age=3600"
        return response
    }

    /// Returns `mtls_endpoint_aliases` (RFC 8705 §5).
    private func mutualTLSAliases() -> JSONValue? {
        guard let base = configuration.mutualTLSBase else { return nil }
        var aliases = JSONObject()
        for (name, endpoint) in DemoProvider.endpoints where name != "authorization_endpoint" {
            aliases[name] = .string("\(base)\(endpoint.path)")
        }
        return .object(aliases)
    }

    private var idTokenAlgorithms: [String] {
        let byClients = configuration.clients.compactMap(\.idTokenAlgorithm)
        let extra = byClients.filter { !configuration.signingAlgorithms.contains($0) }
        return (configuration.signingAlgorithms + extra).map(\.rawValue)
    }

    /// The methods of client authentication; a profile allows no secrets (FAPI 2.0 Security Profile §5.3.2.1).
    var authenticationMethods: [String] {
        var methods = ["private_key_jwt"]
        if configuration.profile == nil {
            methods = ["none", "client_secret_basic", "client_secret_post", "client_secret_jwt"] + methods
        }
        if configuration.certificateHeader != nil {
            methods += ["tls_client_auth", "self_signed_tls_client_auth"]
        }
        return methods
    }

    func strings(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }

    private static let endpoints: [(String, Endpoint)] = [
        ("authorization_endpoint", .authorize), ("token_endpoint", .token),
        ("userinfo_endpoint", .userinfo), ("jwks_uri", .jwks), ("revocation_endpoint", .revocation),
        ("introspection_endpoint", .introspection), ("device_authorization_endpoint", .device),
        ("end_session_endpoint", .endSession), ("registration_endpoint", .registration),
        ("pushed_authorization_request_endpoint", .pushedAuthorization),
    ]

    var proofAlgorithms: [String] { allowed(["ES256", "ES384", "ES512", "RS256", "PS256", "EdDSA"]) }
    private var assertionAlgorithms: [String] {
        proofAlgorithms + allowed(["RS384", "RS512", "PS384", "PS512", "HS256"])
    }

    private func allowed(_ names: [String]) -> [String] {
        names.filter { configuration.allows(SignatureAlgorithm(rawValue: $0)) }
    }

    private static let claimNames = [
        "sub", "iss", "aud", "exp", "iat", "auth_time", "acr", "name", "given_name", "family_name",
        "preferred_username", "email", "email_verified", "address", "phone_number",
    ]
}
