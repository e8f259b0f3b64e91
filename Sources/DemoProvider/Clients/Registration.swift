import OIDCCore
import OIDCCrypto

extension DemoProvider {
    /// Registers a client (RFC 7591 §3).
    mutating func register(_ call: Call) throws(Refusal) -> HTTPResponse {
        if let expected = configuration.initialAccessToken {
            guard let token = call.credentials("Bearer"), isSameSecret(token, expected) else {
                throw challenge(call, "invalid_token", "an initial access token is needed")
            }
        }
        guard let wanted = (try? JSONValue(parsing: call.request.body))?.object else {
            throw invalidMetadata("the body is not a JSON object")
        }
        let method = try text(wanted, "token_endpoint_auth_method") ?? "client_secret_basic"
        guard authenticationMethods.contains(method) else {
            throw invalidMetadata("token_endpoint_auth_method is not supported")
        }
        let grants = try texts(wanted, "grant_types") ?? ["authorization_code"]
        let redirects = try checkedRedirects(wanted, grants)
        var client = DemoClient(
            id: "client-\(Base64URL.encode(random(9)))", authenticationMethods: [method],
            redirectURIs: redirects, allowsAnyLoopbackRedirect: false,
            postLogoutRedirectURIs: try texts(wanted, "post_logout_redirect_uris") ?? [],
            grantTypes: Set(grants))
        try addCredentials(&client, method, wanted)
        try addEncryption(&client, wanted)
        state.register(client)
        return .json(.object(answer(client, wanted, method, grants, call.now)), status: 201)
    }

    private func addCredentials(
        _ client: inout DemoClient, _ method: String, _ wanted: JSONObject
    ) throws(Refusal) {
        switch method {
        case "none": break
        case "client_secret_basic", "client_secret_post", "client_secret_jwt":
            client.secret = Redacted(secret())
        case "private_key_jwt":
            guard let json = wanted["jwks"], let keys = try? JWKSet(json), !keys.keys.isEmpty else {
                throw invalidMetadata("private_key_jwt needs jwks")
            }
            client.keys = keys
        default: throw invalidMetadata("token_endpoint_auth_method is not supported")
        }
    }

    /// Registers the encryption of ID tokens, UserInfo and authorization responses, and the signature
    /// algorithms of requests and of these (OpenID Connect Registration §2, JARM §3).
    private func addEncryption(_ client: inout DemoClient, _ wanted: JSONObject) throws(Refusal) {
        client.idTokenEncryption = try encryption(wanted, "id_token_encrypted_response")
        client.userInfoEncryption = try encryption(wanted, "userinfo_encrypted_response")
        client.introspectionEncryption = try encryption(wanted, "introspection_encrypted_response")
        client.authorizationEncryption = try encryption(wanted, "authorization_encrypted_response")
        let algorithms = [
            client.idTokenEncryption, client.userInfoEncryption, client.introspectionEncryption,
            client.authorizationEncryption,
        ].compactMap { $0?.algorithm }
        if let json = wanted["jwks"], client.keys.keys.isEmpty, let keys = try? JWKSet(json) {
            client.keys = keys
        }
        client.allowsUnsignedRequests = try text(wanted, "request_object_signing_alg") == "none"
        client.idTokenAlgorithm = try algorithm(wanted, "id_token", client)
        client.userInfoAlgorithm = try algorithm(wanted, "userinfo", client)
        client.introspectionAlgorithm = try algorithm(wanted, "introspection", client)
        client.authorizationAlgorithm = try algorithm(wanted, "authorization", client)
        for algorithm in algorithms {
            guard algorithm == .direct ? client.secret != nil : client.encryptionKey != nil else {
                throw invalidMetadata(
                    "\(algorithm.rawValue) needs \(algorithm == .direct ? "a secret" : "an EC key in jwks")")
            }
        }
    }

    private func algorithm(
        _ wanted: JSONObject, _ prefix: String, _ client: DemoClient
    ) throws(Refusal) -> SignatureAlgorithm? {
        let member = "\(prefix)_signed_response_alg"
        guard let name = try text(wanted, member) else { return nil }
        guard let algorithm = SignatureAlgorithm(rawValue: name), configuration.allows(algorithm),
            algorithm.isSymmetric ? client.secret != nil : signingKey(for: algorithm) != nil
        else { throw invalidMetadata("\(member) is not supported") }
        return algorithm
    }

    private func encryption(_ wanted: JSONObject, _ prefix: String) throws(Refusal) -> TokenEncryption? {
        guard let name = try text(wanted, "\(prefix)_alg") else { return nil }
        let content = try text(wanted, "\(prefix)_enc") ?? ContentEncryption.a128CBC.rawValue
        guard let algorithm = TokenEncryption.algorithms.first(where: { $0.rawValue == name }),
            let content = ContentEncryption(rawValue: content)
        else { throw invalidMetadata("\(prefix)_alg or \(prefix)_enc is not supported") }
        return TokenEncryption(algorithm, content)
    }

    /// Returns the redirect URIs. Each must be https, loopback http, or of the application's own scheme (RFC
    /// 8252 §7).
    private func checkedRedirects(_ wanted: JSONObject, _ grants: [String]) throws(Refusal) -> [String] {
        let redirects = try texts(wanted, "redirect_uris") ?? []
        guard !redirects.isEmpty || !grants.contains("authorization_code") else {
            throw Refusal("invalid_redirect_uri", "redirect_uris is missing")
        }
        let isWeb = try applicationType(wanted) == "web"
        for redirect in redirects {
            let scheme = redirect.prefix { $0 != ":" }
            let isOwnScheme = scheme.contains(".") && redirect.utf8.count > scheme.utf8.count
            let url = WebURL(redirect)
            let isNative = isOwnScheme || url?.isLoopback == true
            guard isNative || url?.isSecure == true, !(isWeb && isNative), url?.fragment == nil else {
                throw Refusal(
                    "invalid_redirect_uri", "\(DisplayText.quoted(redirect, limit: 100)) is not allowed")
            }
        }
        return redirects
    }

    /// Returns the application type, which decides which redirect URIs are allowed (OIDC Registration §2).
    private func applicationType(_ wanted: JSONObject) throws(Refusal) -> String? {
        let type = try text(wanted, "application_type")
        guard [nil, "native", "web"].contains(type) else {
            throw invalidMetadata("application_type must be native or web")
        }
        return type
    }

    /// Returns the response with the registered values (RFC 7591 §3.2.1).
    private func answer(
        _ client: DemoClient, _ wanted: JSONObject, _ method: String, _ grants: [String], _ now: Instant
    ) -> JSONObject {
        var answer = JSONObject()
        answer["client_id"] = .string(client.id)
        answer["client_id_issued_at"] = JSONValue(now.secondsSinceEpoch)
        if let secret = client.secret {
            answer["client_secret"] = .string(secret.revealed)
            answer["client_secret_expires_at"] = 0
        }
        answer["token_endpoint_auth_method"] = .string(method)
        answer["redirect_uris"] = .array(client.redirectURIs.map { .string($0) })
        answer["grant_types"] = .array(grants.map { .string($0) })
        answer["response_types"] = ["code"]
        let kept = ["client_name", "application_type", "post_logout_redirect_uris", "scope", "jwks"]
        for name in kept + wanted.members.map(\.name).filter({ DemoProvider.isAboutJOSE($0) }) {
            if let value = wanted[name] { answer[name] = value }
        }
        return answer
    }

    /// Returns whether a member says how messages are signed or encrypted.
    private static func isAboutJOSE(_ name: String) -> Bool {
        name.includes("_encrypted_response_") || name.hasPrefix("request_object_")
            || name.hasSuffix("_signed_response_alg")
    }

    private func text(_ wanted: JSONObject, _ name: String) throws(Refusal) -> String? {
        guard let value = wanted[name] else { return nil }
        guard let text = value.string else { throw invalidMetadata("\(name) is not a string") }
        return text
    }

    private func texts(_ wanted: JSONObject, _ name: String) throws(Refusal) -> [String]? {
        guard let value = wanted[name] else { return nil }
        guard let items = value.array, case let texts = items.compactMap(\.string), texts.count == items.count
        else { throw invalidMetadata("\(name) is not an array of strings") }
        return texts
    }

    private func invalidMetadata(_ description: String) -> Refusal {
        Refusal("invalid_client_metadata", description)
    }
}
