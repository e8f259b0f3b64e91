import OIDCCore
import OIDCSystem

/// What is known of a signature.
enum SignatureVerdict: Equatable {
    case valid
    case invalid(String)
    case unchecked(String)

    var word: String {
        switch self {
        case .valid: "valid"
        case .invalid: "invalid"
        case .unchecked: "unchecked"
        }
    }

    var reason: String? {
        switch self {
        case .valid: nil
        case .invalid(let reason), .unchecked(let reason): reason
        }
    }
}

/// Finds the keys for a token and verifies it: those that are named, else the provider's.
struct TokenVerification {
    let setup: ProviderSetup
    let jwks: String?

    func verdict(_ token: JWS) throws(OIDCError) -> SignatureVerdict {
        if let jwks { return try named(jwks, token) }
        guard token.algorithm != nil else { return try verdict(token, JWKSet(keys: []), isLocal: false) }
        guard let issuer = setup.settings.text(.issuer) ?? setup.settings.text(.jwksURI) else {
            return .unchecked("no key: give --jwks, or a provider with --issuer or -p")
        }
        if let configured = setup.settings.text(.issuer), let found = token.claims?["iss"]?.string,
            found != configured
        {
            return .unchecked(
                "iss is \(DisplayText.clean(found)), and the keys at hand are those of "
                    + DisplayText.clean(configured))
        }
        do {
            return try published(token)
        } catch {
            guard error.kind == .unreachable || error.kind == .refused else { throw error }
            return .unchecked("the keys of \(DisplayText.clean(issuer)) could not be had: \(error.message)")
        }
    }

    /// A file, in which a symmetric key serves too, or an address.
    private func named(_ name: String, _ token: JWS) throws(OIDCError) -> SignatureVerdict {
        if let url = WebURL(name) {
            let environment = try setup.environment()
            let source = ProviderDocuments(
                environment: environment, allowsInsecureHTTP: setup.allowsInsecureHTTP
            ).keys(url)
            return try verdict(token, source)
        }
        let file = try UserFile.require(name, limit: 1 << 20, named: "--jwks")
        let keys: JWKSet
        do throws(JWKSet.Malformed) { keys = try JWKSet(parsing: file.bytes) } catch {
            throw OIDCError.usage(
                "--jwks \(DisplayText.clean(name)): expected a key set or a key: \(error.reason)",
                hint: "give it what the provider's jwks_uri answers (oidc discover)")
        }
        return try verdict(token, keys, isLocal: true)
    }

    private func published(_ token: JWS) throws(OIDCError) -> SignatureVerdict {
        let environment = try setup.environment()
        let metadata = try setup.metadata(environment, for: [.keys])
        guard let url = metadata.jwksURI else {
            return .unchecked("the provider names no jwks_uri")
        }
        let documents = ProviderDocuments(
            environment: environment, allowsInsecureHTTP: setup.allowsInsecureHTTP)
        return try verdict(token, documents.keys(url))
    }

    /// Once more with keys fetched anew where those at hand do not do.
    private func verdict(_ token: JWS, _ source: any KeySource) throws(OIDCError) -> SignatureVerdict {
        let first = try verdict(token, try source.keys(refetching: false), isLocal: false)
        guard first != .valid, source.mayBeStale else { return first }
        return try verdict(token, try source.keys(refetching: true), isLocal: false)
    }

    private func verdict(
        _ token: JWS, _ keys: JWKSet, isLocal: Bool
    ) throws(OIDCError) -> SignatureVerdict {
        switch try token.verify(keys: keys, allowsSymmetric: isLocal) {
        case .valid: .valid
        case .invalid(let reason): .invalid(reason)
        }
    }
}
