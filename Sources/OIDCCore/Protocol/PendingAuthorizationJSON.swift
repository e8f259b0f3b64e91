extension PendingAuthorization {
    /// The JSON form of a sign-in in progress. It contains the verifier, which is a secret.
    public var json: JSONValue { json(opening: url) }

    /// Returns the JSON form with another URL to open, as for a pushed request.
    public func json(opening url: WebURL) -> JSONValue {
        var object = JSONObject()
        object["url"] = .string(url.text)
        object["state"] = .string(state.revealed)
        object["nonce"] = nonce.map { .string($0.revealed) } ?? .null
        object["code_verifier"] = .string(pkce.verifier.revealed)
        object["redirect_uri"] = .string(redirectURI)
        object["issuer"] = issuer.map { .string($0) }
        object["client_id"] = .string(clientID)
        object["scope"] = .string(scope.text)
        if !resources.isEmpty { object["resource"] = .array(resources.map { .string($0) }) }
        object["max_age"] = maxAge.map { JSONValue($0.components.seconds) }
        object["prompt"] = prompt.map { .string($0) }
        object["response_mode"] = .string(responseMode.rawValue)
        object["authorization_response_iss_parameter_supported"] = .bool(isIssuerPromised)
        object["token_endpoint"] = tokenEndpoint.map { .string($0.text) }
        object["jwks_uri"] = jwksURI.map { .string($0.text) }
        return .object(object)
    }

    /// Parses the form that `json` has; an error names the member.
    public init(json: JSONValue) throws(OIDCError) {
        guard let members = json.object else {
            throw .usage("pending: expected an object, found \(json.typeName)")
        }
        let file = JSONReader(members, readsNullAsAbsent: true, failure: PendingAuthorization.flaw)
        let url = try file.required("url", file.url)
        self.init(
            url: url, endpoint: url, parameters: [],
            state: Redacted(try file.secret("state")),
            // Null means that none was sent. A missing nonce is an error.
            nonce: members["nonce"] == .null ? nil : Redacted(try file.secret("nonce")),
            pkce: try PKCE(verifier: try file.requiredString("code_verifier")),
            clientID: try file.requiredString("client_id"),
            redirectURI: try file.requiredString("redirect_uri"),
            scope: Scope(try file.string("scope") ?? ""), resources: try file.strings("resource") ?? [],
            maxAge: try file.value("max_age", "seconds") {
                $0.integer.flatMap { $0 < 0 ? nil : .seconds($0) }
            },
            prompt: try file.string("prompt"),
            responseMode: try file.text("response_mode", "a known response mode") {
                AuthorizationRequest.ResponseMode(rawValue: $0)
            } ?? .query,
            issuer: try file.string("issuer"),
            isIssuerPromised: try file.bool("authorization_response_iss_parameter_supported") ?? false,
            tokenEndpoint: try file.url("token_endpoint"), jwksURI: try file.url("jwks_uri"))
    }

    private static func flaw(_ member: String, _ expected: String, _ flaw: JSONFlaw) -> OIDCError {
        let found: String
        switch flaw {
        case .missing, .empty:
            return .usage("pending: \(member) is missing", hint: .advice(.sendPendingUnchanged))
        case .type(let value): found = value.typeName
        case .element: found = "an array"
        case .form(let text): found = DisplayText.clean(text)
        }
        return .usage("pending: \(member): expected \(expected), found \(found)")
    }
}

extension JSONReader<OIDCError> {
    /// Returns a secret of at least 128 bits, which are 22 characters of base64url. A shorter one could be guessed.
    fileprivate func secret(_ name: String) throws(OIDCError) -> String {
        let text = try requiredString(name)
        guard text.utf8.count >= 22 else {
            throw .usage("pending: \(name): expected at least 22 characters, found \(text.utf8.count)")
        }
        return text
    }
}
