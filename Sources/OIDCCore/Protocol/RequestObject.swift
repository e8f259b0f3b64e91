package import OIDCCrypto

/// The signing of authorization requests (JWT-Secured Authorization Request, JAR, RFC 9101).
package struct RequestObjectSigning: Sendable {
    /// The signer; nil for `alg` `none`.
    private let signer: JWTSigner?
    /// The encryption of the signed request; nil for none.
    package var encryption: RequestObjectEncryption?
    /// The URL where the request is published; nil if it is sent by value, or pushed.
    package var reference: RequestObjectReference?

    /// Seconds until a request object expires: longer than a sign-in waits, and at most an hour (FAPI 2.0 Message
    /// Signing §5.3.2).
    private static let lifetime: Int64 = 1_800

    package init(_ signer: JWTSigner) {
        self.signer = signer
    }

    private init() {
        signer = nil
    }

    /// Request objects without a signature, for clients that are registered for them (OIDC Core §6.1).
    package static let unsigned = RequestObjectSigning()

    /// The algorithm, as `request_object_signing_alg` names it (OpenID Connect Registration §2).
    package var algorithmName: String { signer?.algorithm.rawValue ?? "none" }

    /// The key that verifies the requests; nil if the client's secret does, or nothing.
    package var publicKey: PublicKey? { signer?.publicKey }

    /// Returns a request object with the parameters as claims (RFC 9101 §4, §10.8).
    fileprivate func object(
        _ parameters: [FormEncoding.Pair], clientID: String, issuer: String, now: Instant,
        random: (Int) -> [UInt8]
    ) throws(OIDCError) -> String {
        var claims = JSONObject()
        for pair in parameters {
            let values = parameters.filter { $0.name == pair.name }.map { RequestObjectSigning.claim($0) }
            claims[pair.name] = values.count == 1 ? values[0] : .array(values)
        }
        claims["iss"] = .string(clientID)
        claims["aud"] = .string(issuer)
        claims["iat"] = JSONValue(now.secondsSinceEpoch)
        claims["nbf"] = JSONValue(now.secondsSinceEpoch)
        claims["exp"] = JSONValue(now.adding(RequestObjectSigning.lifetime).secondsSinceEpoch)
        claims["jti"] = .string(Base64URL.encode(random(16)))
        var header = JSONObject()
        header["typ"] = "oauth-authz-req+jwt"
        if let signer { return try signer.sign(header: header, claims: claims) }
        header["alg"] = "none"
        return [header, claims].map { Base64URL.encode(JSONValue.object($0).bytes) }.joined(separator: ".")
            + "."
    }

    /// Returns a parameter's value as JSON: `max_age` is a number, and `authorization_details` an array.
    private static func claim(_ pair: FormEncoding.Pair) -> JSONValue {
        switch pair.name {
        case "max_age": Int64(pair.value).map { JSONValue($0) } ?? .string(pair.value)
        case "authorization_details", "claims": (try? JSONValue(parsing: pair.value)) ?? .string(pair.value)
        default: .string(pair.value)
        }
    }
}

/// The encryption of a signed request to its provider (RFC 9101 §4; OpenID Connect Registration §2,
/// `request_object_encryption_alg`).
package struct RequestObjectEncryption: Sendable {
    package let algorithm: KeyManagement
    package let content: ContentEncryption

    /// The algorithms that encrypt to a provider's public key.
    package static let algorithms = KeyManagement.allCases.filter { $0 != .direct && $0 != .rsaOAEP }

    /// Chooses the content encryption: A256GCM, or the first that the provider lists. Without a list, the default
    /// of OpenID Connect Registration §2.
    package init(_ algorithm: KeyManagement, at provider: ProviderMetadata) throws(OIDCError) {
        let names = provider.raw["request_object_encryption_enc_values_supported"]?.strings
        let known = (names ?? [ContentEncryption.a128CBC.rawValue]).compactMap(ContentEncryption.init)
        guard let content = known.contains(.a256GCM) ? .a256GCM : known.first else {
            throw OIDCError(
                .refused,
                "authorize: request_object_encryption_enc_values_supported: the provider lists no encryption "
                    + "that is known here",
                stage: .authorization)
        }
        self.algorithm = algorithm
        self.content = content
    }

    /// Returns the request, encrypted to the provider's first key that is for it. The keys are fetched again if
    /// there is none.
    fileprivate func encrypted(_ object: String, to source: any KeySource) throws(OIDCError) -> String {
        var key = try source.keys(refetching: false).encryptionKey(for: algorithm)
        if key == nil, source.mayBeStale {
            key = try source.keys(refetching: true).encryptionKey(for: algorithm)
        }
        guard let key else {
            throw OIDCError(
                .refused,
                "keys: the provider publishes no key to encrypt requests to with \(algorithm.rawValue)",
                stage: .keys)
        }
        var header = JWE.nested
        // It names the key to decrypt with (OIDC Core §10.2.1).
        header["kid"] = key.id.map { .string($0) }
        return try JWE.encrypt(Array(object.utf8), to: key.key, algorithm, content, header: header)
    }
}

extension JWKSet {
    /// Returns the first key that is for encryption with an algorithm (RFC 7517 §4.2 to §4.4).
    fileprivate func encryptionKey(for algorithm: KeyManagement) -> (key: PublicKey, id: String?)? {
        for key in keys {
            guard key.use == "enc" || (key.use == nil && key.algorithm == algorithm.rawValue),
                key.algorithm ?? algorithm.rawValue == algorithm.rawValue,
                case .asymmetric(let parameters) = key.material
            else { continue }
            switch parameters {
            case .rsa where algorithm.oaepHash != nil, .elliptic where algorithm.oaepHash == nil:
                if let usable = try? PublicKey(parameters) { return (usable, key.keyID) }
            case .rsa, .elliptic, .ed25519: continue
            }
        }
        return nil
    }
}

/// The URL of a request object that the user publishes (`request_uri`, RFC 9101 §5.2.1, OIDC Core §6.2).
package struct RequestObjectReference: Sendable {
    private let url: WebURL
    /// A function that publishes a request object at the URL.
    private let publish: @Sendable (String) throws(OIDCError) -> Void

    /// The greatest length of the URL (RFC 9101 §5.2.1).
    private static let maximumByteCount = 512

    package init(
        _ text: String, publish: @escaping @Sendable (String) throws(OIDCError) -> Void
    ) throws(OIDCError) {
        guard let url = WebURL(text), url.isSecure, url.fragment == nil else {
            throw .usage("request_uri: expected an https URL without a fragment")
        }
        // The hash takes 44 bytes.
        guard url.text.utf8.count + 44 <= RequestObjectReference.maximumByteCount else {
            throw .usage("request_uri: the URL is too long: at most 468 bytes are possible")
        }
        self.url = url
        self.publish = publish
    }

    /// Publishes an object, and returns its URL. The fragment is its hash, as each sign-in has another one, and the
    /// provider may keep copies (OIDC Core §6.2).
    fileprivate func published(_ object: String) throws(OIDCError) -> String {
        let hash = Base64URL.encode(try Cryptography.hash(Array(object.utf8), .sha256))
        try publish(object)
        return "\(url.text)#\(hash)"
    }
}

extension ProviderMetadata {
    /// Checks that requests may be sent by reference: they are not pushed, and the provider supports `request_uri`
    /// (OpenID Connect Discovery §3; RFC 9126 §2.1).
    fileprivate func requireReferences(isPushed: Bool) throws(OIDCError) {
        guard !isPushed else {
            throw .usage(
                "request_uri cannot be used: the request is pushed",
                hint: "leave out request_uri")
        }
        guard raw["request_uri_parameter_supported"] != false else {
            throw OIDCError(
                .refused,
                "authorize: request_uri_parameter_supported: the provider fetches no request objects",
                hint: "leave out request_uri, so the request is sent by value", stage: .authorization)
        }
    }
}

extension PendingAuthorization {
    /// Returns the sign-in with its parameters in a request object. If it is pushed, only `client_id` is sent
    /// with it; in a URL, also `response_type` and, with `openid`, `scope`, with the same values (OIDC Core
    /// §6.1, §6.2). `keys` are the provider's, for an encrypted request.
    func signed(
        by signing: RequestObjectSigning, at metadata: ProviderMetadata, keys: (any KeySource)?, now: Instant,
        random: (Int) -> [UInt8], isPushed: Bool
    ) throws(OIDCError) -> PendingAuthorization {
        guard let issuer, IssuerTemplate(issuer) == nil else {
            throw .usage(
                "a request object names the issuer, and none is known", hint: .advice(.setIssuerOrKeys))
        }
        if signing.reference != nil { try metadata.requireReferences(isPushed: isPushed) }
        var object = try signing.object(
            parameters, clientID: clientID, issuer: issuer, now: now, random: random)
        if let encryption = signing.encryption {
            guard let keys else {
                throw .usage(
                    "a request object is encrypted to a key of the provider, and jwks_uri is not known",
                    hint: .advice(.setIssuerOrKeys))
            }
            object = try encryption.encrypted(object, to: keys)
        }
        var names = ["client_id"]
        if !isPushed { names += scope.contains("openid") ? ["response_type", "scope"] : ["response_type"] }
        let sent =
            try signing.reference.map { reference throws(OIDCError) in
                FormEncoding.Pair("request_uri", try reference.published(object))
            } ?? FormEncoding.Pair("request", object)
        var signed = self
        signed.parameters = parameters.filter { names.contains($0.name) } + [sent]
        signed.url = try AuthorizationRequest.url(endpoint, signed.parameters, isPushed: isPushed)
        return signed
    }
}
