public import OIDCCrypto

/// A client authentication method with its credentials (RFC 6749 §2.3, OpenID Connect Core §9, RFC 8705 §2).
public struct ClientAuthentication: Sendable {
    package enum Kind: Sendable {
        case none
        case clientSecretBasic(Redacted<String>)
        case clientSecretPost(Redacted<String>)
        case clientSecretJWT(Redacted<String>, SignatureAlgorithm)
        case privateKeyJWT(JWTSigner)
        case assertion(@Sendable () throws(OIDCError) -> Redacted<String>)
        case tlsClientAuth
        case selfSignedTLSClientAuth
    }

    package let kind: Kind

    /// A public client: `client_id` alone.
    public static let none = ClientAuthentication(kind: .none)

    /// Returns the method with a secret in HTTP Basic.
    public static func clientSecretBasic(_ secret: Redacted<String>) -> ClientAuthentication {
        ClientAuthentication(kind: .clientSecretBasic(secret))
    }

    /// Returns the method with a secret among the parameters.
    public static func clientSecretPost(_ secret: Redacted<String>) -> ClientAuthentication {
        ClientAuthentication(kind: .clientSecretPost(secret))
    }

    /// Returns the method with an assertion that is signed with a secret, by HMAC.
    public static func clientSecretJWT(
        _ secret: Redacted<String>, _ algorithm: SignatureAlgorithm
    ) -> ClientAuthentication {
        ClientAuthentication(kind: .clientSecretJWT(secret, algorithm))
    }

    /// Returns the method with an assertion that is signed with the client's key.
    public static func privateKeyJWT(_ signer: JWTSigner) -> ClientAuthentication {
        ClientAuthentication(kind: .privateKeyJWT(signer))
    }

    /// Returns the method with an assertion from another system, such as a CI system's identity (RFC 7523
    /// §2.2). The assertion is fetched again for each request.
    public static func assertion(
        _ source: @escaping @Sendable () throws(OIDCError) -> Redacted<String>
    ) -> ClientAuthentication {
        ClientAuthentication(kind: .assertion(source))
    }

    /// The client's certificate (RFC 8705 §2.1).
    public static let tlsClientAuth = ClientAuthentication(kind: .tlsClientAuth)
    /// Like `tlsClientAuth`, with a certificate that the provider knows instead of its authority (RFC 8705 §2.2).
    public static let selfSignedTLSClientAuth = ClientAuthentication(kind: .selfSignedTLSClientAuth)

    /// The name that metadata and settings use.
    public var method: String {
        switch kind {
        case .none: "none"
        case .clientSecretBasic: "client_secret_basic"
        case .clientSecretPost: "client_secret_post"
        case .clientSecretJWT: "client_secret_jwt"
        case .privateKeyJWT, .assertion: "private_key_jwt"
        case .tlsClientAuth: "tls_client_auth"
        case .selfSignedTLSClientAuth: "self_signed_tls_client_auth"
        }
    }

    /// A text that differs if the method, the secret or the key's name does.
    package var credentials: Redacted<String> {
        let keyID = if case .privateKeyJWT(let signer) = kind { signer.keyID } else { String?.none }
        return Redacted([method, secret?.revealed ?? "", keyID ?? ""].joined(separator: "\n"))
    }

    var usesCertificate: Bool {
        switch kind {
        case .tlsClientAuth, .selfSignedTLSClientAuth: true
        default: false
        }
    }

    var secret: Redacted<String>? {
        switch kind {
        case .clientSecretBasic(let secret), .clientSecretPost(let secret), .clientSecretJWT(let secret, _):
            secret
        case .none, .privateKeyJWT, .assertion, .tlsClientAuth, .selfSignedTLSClientAuth: nil
        }
    }

    /// Returns the signer for a client secret. One that is shorter than the hash would make signatures that
    /// can be guessed (RFC 7518 §3.2).
    static func signer(
        secret: Redacted<String>, _ algorithm: SignatureAlgorithm
    ) throws(OIDCError) -> JWTSigner {
        let (needed, found) = (algorithm.hash?.byteCount ?? 0, secret.revealed.utf8.count)
        guard found >= needed else {
            throw .usage(
                "client_secret: \(algorithm.rawValue) needs at least \(needed) bytes, found \(found)",
                hint: .set(.clientAuthentication, to: "client_secret_basic"))
        }
        return try JWTSigner(secret: secret, algorithm: algorithm)
    }
}

/// The encoding of the parameters in a request to the token endpoint.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum RequestFormat: String, Sendable, CaseIterable {
    /// A form (RFC 6749 appendix B).
    case form
    /// JSON, which no specification defines but some providers document.
    case json
}

extension Client {
    /// Returns a POST with the client's authentication. The parameters of the authentication come last, and
    /// no secret is in the URL.
    func request(
        to url: WebURL, _ parameters: [FormEncoding.Pair], format: RequestFormat = .form, now: Instant,
        random: (Int) -> [UInt8]
    ) throws(OIDCError) -> HTTPRequest {
        try check()
        let proof = try proof(for: url, now: now, random: random)
        let all = parameters + proof.parameters.filter { own in !parameters.contains { $0.name == own.name } }
        var request: HTTPRequest
        switch format {
        case .form: request = .form(url, all)
        case .json:
            request = HTTPRequest(
                .post, url,
                headers: HTTPHeaders([("Content-Type", "application/json"), ("Accept", "application/json")]),
                body: Client.json(all).bytes)
        }
        if let authorization = proof.authorization { request.headers["Authorization"] = authorization }
        request.usesClientCertificate = presentsCertificate
        return request
    }

    private struct Proof {
        var parameters: [FormEncoding.Pair] = []
        var authorization: String?
    }

    private func proof(
        for url: WebURL, now: Instant, random: (Int) -> [UInt8]
    ) throws(OIDCError) -> Proof {
        let identity = FormEncoding.Pair("client_id", id)
        switch authentication.kind {
        case .none, .tlsClientAuth, .selfSignedTLSClientAuth: return Proof(parameters: [identity])
        case .clientSecretPost(let secret):
            return Proof(parameters: [identity, FormEncoding.Pair("client_secret", secret.revealed)])
        case .clientSecretBasic(let secret):
            return Proof(authorization: basicCredentials(secret.revealed))
        case .clientSecretJWT(let secret, let algorithm):
            let signer = try ClientAuthentication.signer(secret: secret, algorithm)
            return try proof(signedBy: signer, for: url, now: now, random: random)
        case .privateKeyJWT(let signer):
            return try proof(signedBy: signer, for: url, now: now, random: random)
        case .assertion(let source): return proof(assertion: try source().revealed)
        }
    }

    /// Returns the credentials for HTTP Basic. Both halves are form-encoded first, so a colon in the ID is
    /// not a separator (RFC 6749 §2.3.1).
    private func basicCredentials(_ secret: String) -> String {
        let credentials = "\(FormEncoding.encode(id)):\(FormEncoding.encode(secret))"
        return "Basic \(Base64.encode(Array(credentials.utf8)))"
    }

    private func proof(
        signedBy signer: JWTSigner, for url: WebURL, now: Instant, random: (Int) -> [UInt8]
    ) throws(OIDCError) -> Proof {
        proof(
            assertion: try ClientAssertion.signed(
                by: signer, clientID: id, audience: assertionAudience ?? url.text, now: now, random: random))
    }

    /// Returns the parameters of a client assertion (RFC 7523 §2.2).
    private func proof(assertion: String) -> Proof {
        Proof(parameters: [
            FormEncoding.Pair("client_id", id),
            FormEncoding.Pair(
                "client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            FormEncoding.Pair("client_assertion", assertion),
        ])
    }

    /// Returns the parameters as a JSON object. A repeated parameter, such as `resource`, becomes an array.
    private static func json(_ parameters: [FormEncoding.Pair]) -> JSONValue {
        var object = JSONObject()
        for pair in parameters {
            switch object[pair.name] {
            case nil: object[pair.name] = .string(pair.value)
            case .array(let items)?: object[pair.name] = .array(items + [.string(pair.value)])
            case let single?: object[pair.name] = .array([single, .string(pair.value)])
            }
        }
        return .object(object)
    }
}

/// A client assertion (RFC 7523 §3, OpenID Connect Core §9): new for each request, short-lived, and for one
/// audience in one string, so no other provider can use it.
enum ClientAssertion {
    static let lifetime: Int64 = 120
    /// The seconds by which what we sign is dated back, as some providers refuse an `iat` that is a second ahead of
    /// their clock.
    static let allowance: Int64 = 5

    static func signed(
        by signer: JWTSigner, clientID: String, audience: String, now: Instant, random: (Int) -> [UInt8]
    ) throws(OIDCError) -> String {
        var claims = JSONObject()
        claims["iss"] = .string(clientID)
        claims["sub"] = .string(clientID)
        claims["aud"] = .string(audience)
        claims["jti"] = .string(Base64URL.encode(random(16)))
        let issued = now.adding(-allowance)
        claims["iat"] = JSONValue(issued.secondsSinceEpoch)
        claims["exp"] = JSONValue(issued.adding(lifetime).secondsSinceEpoch)
        var header = JSONObject()
        header["typ"] = "JWT"
        return try signer.sign(header: header, claims: claims)
    }
}
