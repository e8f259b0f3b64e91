package import OIDCCrypto

/// The client's credentials from the configuration.
package struct ClientCredentials: Sendable {
    package var secret: Redacted<String>?
    package var privateKey: PrivateKey?
    package var privateKeyID: String?
    /// The `alg` of client assertions; nil if the metadata and the key decide.
    package var signingAlgorithm: String?
    /// Whether the client's secret is the empty one, which HTTP Basic sends as `ID:` (RFC 6749 §2.3.1). Cloud
    /// Foundry's own client has it.
    package var hasEmptySecret = false
    /// An assertion that another system issues.
    package var assertion: (@Sendable () throws(OIDCError) -> Redacted<String>)?
    package var hasCertificate: Bool
    /// Whether the client has nothing to authenticate with.
    package var isEmpty: Bool {
        secret == nil && privateKey == nil && assertion == nil && !hasCertificate
    }

    package init(
        secret: Redacted<String>? = nil, privateKey: PrivateKey? = nil, privateKeyID: String? = nil,
        assertion: (@Sendable () throws(OIDCError) -> Redacted<String>)? = nil, hasCertificate: Bool = false
    ) {
        self.secret = secret
        self.privateKey = privateKey
        self.privateKeyID = privateKeyID
        self.assertion = assertion
        self.hasCertificate = hasCertificate
    }
}

extension ClientAuthentication {
    /// The names that settings allow.
    public static let methods = [
        "none", "client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt",
        "tls_client_auth", "self_signed_tls_client_auth",
    ]

    /// Returns the named method, or else the first that both the credentials and the metadata allow. No
    /// method is tried out with a secret, and metadata cannot turn a client with a secret into a public one.
    package static func choose(
        method: String? = nil, _ credentials: ClientCredentials, _ metadata: ProviderMetadata?
    ) throws(OIDCError) -> ClientAuthentication {
        let algorithms =
            credentials.signingAlgorithm.map { [$0] } ?? metadata?.tokenEndpointAuthSigningAlgValuesSupported
        if let method { return try make(method, credentials, algorithms: algorithms) }
        let possible = credentials.methods
        guard !possible.isEmpty else { return .none }
        guard let supported = metadata?.tokenEndpointAuthMethodsSupported else {
            return try make(possible[0], credentials, algorithms: algorithms)
        }
        guard let method = possible.first(where: supported.contains) else {
            // A certificate may only bind the tokens of a public client (RFC 8705 §4).
            if possible == credentials.certificateMethods { return .none }
            let listed = supported.isEmpty ? "no method" : supported.joined(separator: ", ")
            throw .usage(
                "client authentication: the provider takes \(DisplayText.clean(listed)), "
                    + "and the configuration has what \(possible.joined(separator: ", ")) needs",
                hint: .advice(.useRegisteredAuthentication))
        }
        return try make(method, credentials, algorithms: algorithms)
    }

    private static func make(
        _ method: String, _ credentials: ClientCredentials, algorithms: [String]?
    ) throws(OIDCError) -> ClientAuthentication {
        switch method {
        case "none": return .none
        case "client_secret_basic": return .clientSecretBasic(try credentials.neededSecret(method))
        case "client_secret_post": return .clientSecretPost(try credentials.neededSecret(method))
        case "client_secret_jwt":
            let secret = try credentials.neededSecret(method)
            let algorithm = try symmetricAlgorithm(algorithms)
            _ = try signer(secret: secret, algorithm)
            return .clientSecretJWT(secret, algorithm)
        case "private_key_jwt":
            if let key = credentials.privateKey {
                return .privateKeyJWT(
                    try JWTSigner(key, supported: algorithms, keyID: credentials.privateKeyID))
            }
            if let assertion = credentials.assertion { return .assertion(assertion) }
            throw .usage(
                "client authentication: private_key_jwt needs a key",
                hint: .advice(.giveClientKey))
        case "tls_client_auth", "self_signed_tls_client_auth":
            guard credentials.hasCertificate else {
                throw .usage(
                    "client authentication: \(method) needs a certificate",
                    hint: .advice(.giveClientCertificate))
            }
            return method == "tls_client_auth" ? .tlsClientAuth : .selfSignedTLSClientAuth
        default:
            throw .usage(
                "client authentication: expected one of \(methods.joined(separator: ", ")), "
                    + "found \(DisplayText.clean(method))",
                hint: .advice(.useRegisteredAuthentication))
        }
    }

    private static func symmetricAlgorithm(_ listed: [String]?) throws(OIDCError) -> SignatureAlgorithm {
        let known: [SignatureAlgorithm] = [.hs256, .hs384, .hs512]
        guard let listed, listed.contains(where: { $0.hasPrefix("HS") }) else { return .hs256 }
        guard let algorithm = known.first(where: { listed.contains($0.rawValue) }) else {
            throw .usage(
                "client authentication: client_secret_jwt signs with HS256, HS384 or HS512, the provider takes "
                    + DisplayText.clean(listed.joined(separator: ", ")),
                hint: .advice(.useRegisteredAuthentication))
        }
        return algorithm
    }
}

extension ClientCredentials {
    /// The possible methods, preferred first: those whose key never leaves this machine before the others.
    fileprivate var methods: [String] {
        var methods: [String] = []
        if privateKey != nil || assertion != nil { methods.append("private_key_jwt") }
        if secret != nil { methods += ["client_secret_basic", "client_secret_post", "client_secret_jwt"] }
        return methods + certificateMethods
    }

    /// The methods that the certificate allows.
    fileprivate var certificateMethods: [String] {
        hasCertificate ? ["tls_client_auth", "self_signed_tls_client_auth"] : []
    }

    fileprivate func neededSecret(_ method: String) throws(OIDCError) -> Redacted<String> {
        if hasEmptySecret, secret == nil, method == "client_secret_basic" { return Redacted("") }
        guard let secret, !secret.revealed.isEmpty else {
            throw .usage(
                "client authentication: \(method) needs a secret",
                hint: .advice(.giveClientSecret))
        }
        return secret
    }
}
