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
        object["max_age"] = maxAge.map { JSONValue($0) }
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
        let file = PendingFile(members: members)
        guard let url = try file.url("url") else { throw file.missing("url") }
        self.init(
            url: url, endpoint: url, parameters: [],
            state: Redacted(try file.secret("state")), nonce: try file.nonce(),
            pkce: try PKCE(verifier: try file.required("code_verifier")),
            clientID: try file.required("client_id"), redirectURI: try file.required("redirect_uri"),
            scope: Scope(try file.string("scope") ?? ""), resources: try file.strings("resource"),
            maxAge: try file.seconds("max_age"),
            prompt: try file.string("prompt"), responseMode: try file.responseMode(),
            issuer: try file.string("issuer"),
            isIssuerPromised: try file.flag("authorization_response_iss_parameter_supported"),
            tokenEndpoint: try file.url("token_endpoint"), jwksURI: try file.url("jwks_uri"))
    }
}

private struct PendingFile {
    let members: JSONObject

    func value(_ name: String) -> JSONValue? {
        guard let value = members[name], value != .null else { return nil }
        return value
    }

    func string(_ name: String) throws(OIDCError) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.string else { throw wrong(name, "a string", value) }
        return text
    }

    func strings(_ name: String) throws(OIDCError) -> [String] {
        guard let value = value(name) else { return [] }
        guard let strings = value.strings else { throw wrong(name, "an array of strings", value) }
        return strings
    }

    func required(_ name: String) throws(OIDCError) -> String {
        guard let text = try string(name), !text.isEmpty else { throw missing(name) }
        return text
    }

    /// Returns a secret of at least 128 bits, which are 22 characters of base64url. A shorter one could be
    /// guessed.
    func secret(_ name: String) throws(OIDCError) -> String {
        let text = try required(name)
        guard text.utf8.count >= 22 else {
            throw .usage("pending: \(name): expected at least 22 characters, found \(text.utf8.count)")
        }
        return text
    }

    /// Returns the nonce; nil if the file has null, which means that none was sent. A missing nonce is an
    /// error.
    func nonce() throws(OIDCError) -> Redacted<String>? {
        members["nonce"] == .null ? nil : Redacted(try secret("nonce"))
    }

    func url(_ name: String) throws(OIDCError) -> WebURL? {
        guard let text = try string(name) else { return nil }
        guard let url = WebURL(text) else {
            throw .usage("pending: \(name): expected an http(s) URL, found \(DisplayText.clean(text))")
        }
        return url
    }

    func seconds(_ name: String) throws(OIDCError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard let seconds = value.integer, seconds >= 0 else { throw wrong(name, "seconds", value) }
        return seconds
    }

    func flag(_ name: String) throws(OIDCError) -> Bool {
        guard let value = value(name) else { return false }
        guard let flag = value.bool else { throw wrong(name, "true or false", value) }
        return flag
    }

    func responseMode() throws(OIDCError) -> AuthorizationRequest.ResponseMode {
        guard let text = try string("response_mode") else { return .query }
        guard let mode = AuthorizationRequest.ResponseMode(rawValue: text) else {
            throw .usage(
                "pending: response_mode: expected query or form_post, found \(DisplayText.clean(text))")
        }
        return mode
    }

    func missing(_ name: String) -> OIDCError {
        .usage("pending: \(name) is missing", hint: .advice(.sendPendingUnchanged))
    }

    private func wrong(_ name: String, _ expected: String, _ found: JSONValue) -> OIDCError {
        .usage("pending: \(name): expected \(expected), found \(found.typeName)")
    }
}
