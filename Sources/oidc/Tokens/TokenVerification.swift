import OIDCCore
import OIDCCrypto
import Posix

/// The result of checking a signature.
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

/// The verification of a token with the given keys, or with the provider's.
struct TokenVerification {
    let provider: ProviderContext
    let jwks: String?

    /// Returns the verdict on the signature. A token of another issuer than the configured one is invalid,
    /// whatever its keys.
    ///
    /// Keys that cannot be fetched are an error; a signature is unchecked only if neither keys nor a provider
    /// is named.
    func verdict(_ token: JWS) throws(OIDCError) -> SignatureVerdict {
        if let reason = try foreignIssuer(token) { return .invalid(reason) }
        if let jwks { return try named(jwks, token) }
        guard token.algorithm != nil else { return try verdict(token, JWKSet(keys: []), isLocal: false) }
        guard namesProvider else {
            return .unchecked("neither keys nor a provider is named: give --jwks, --issuer or -p")
        }
        return try published(token)
    }

    private var namesProvider: Bool {
        provider.settings.provider.issuer != nil || !provider.settings.provider.endpoints.isEmpty
    }

    /// Returns why the token is not from the configured issuer; nil if it is, or if it has no `iss`.
    private func foreignIssuer(_ token: JWS) throws(OIDCError) -> String? {
        guard let issuer = provider.settings.provider.issuer else { return nil }
        guard let claims = token.claims else {
            // Payloads other than claims may be signed too, with keys that the user names.
            let isText = jwks != nil && token.payload.first { !ASCII.isBlank($0) } != .leftBrace
            return isText ? nil : "payload: expected a JSON object, found something else"
        }
        guard let claim = claims["iss"] else { return nil }
        guard let found = claim.string else { return "iss: expected a string, found \(claim.typeName)" }
        guard !ExactText.isSame(found, issuer) else { return nil }
        if let template = try template(issuer, found) {
            guard let tenant = claims["tid"]?.string, let own = template.issuer(of: tenant) else {
                return "tid: expected the tenant of \(DisplayText.clean(template.text)), found none"
            }
            return ExactText.isSame(found, own) ? nil : mismatch(own, found)
        }
        return mismatch(issuer, found)
    }

    private func mismatch(_ issuer: String, _ found: String) -> String {
        let sides = DisplayText.sides(expected: issuer, found: found)
        return "iss: expected \"\(sides.expected)\", found \"\(sides.found)\""
    }

    /// Returns the template of the configured issuer: the issuer itself, or the one in the metadata if the
    /// token's issuer differs from the configured one only in one path segment.
    private func template(_ issuer: String, _ found: String) throws(OIDCError) -> IssuerTemplate? {
        if let template = IssuerTemplate(issuer) { return template }
        guard IssuerTemplate.mayFill(found, for: issuer) else { return nil }
        return try provider.discovered(issuer, try provider.environment()).issuer.flatMap {
            IssuerTemplate($0)
        }
    }

    /// Verifies with the keys in a file, which may be symmetric, or at a URL.
    private func named(_ name: String, _ token: JWS) throws(OIDCError) -> SignatureVerdict {
        if let url = WebURL(name) {
            let environment = try provider.environment()
            let source = provider.documents(environment).keys(url)
            return try verdict(token, source)
        }
        let file = try UserFile.require(provider.context.path(name), limit: 1 << 20, named: "--jwks")
        func unusable(_ problem: String) -> OIDCError {
            .usage(
                "--jwks \(DisplayText.clean(name)) \(problem)",
                hint: .words("use the document at the provider's jwks_uri (", .run("discover"), ")"))
        }
        let json: JSONValue
        do { json = try JSONValue(parsing: file.bytes) } catch {
            throw unusable("is not valid JSON (\(error.inFile))")
        }
        let keys: JWKSet
        do throws(JWKSet.Malformed) { keys = try JWKSet(json) } catch {
            throw unusable("is not a key set or a key: \(error.reason)")
        }
        return try verdict(token, keys, isLocal: true)
    }

    private func published(_ token: JWS) throws(OIDCError) -> SignatureVerdict {
        let environment = try provider.environment()
        let metadata = try provider.metadata(environment, for: [.keys])
        if token.algorithm?.isSymmetric == true, metadata.signsWithSharedSecret,
            let secret = try provider.secrets.value(provider.settings.client.secret)
        {
            let key = JSONWebKey(secret: Redacted(Array(secret.revealed.utf8)))
            return try verdict(token, JWKSet(keys: [key]), isLocal: true)
        }
        guard let url = metadata.jwksURI else {
            throw OIDCError(
                .refused, "the provider names no jwks_uri, so the signature cannot be verified",
                hint: "give the keys with --jwks FILE, or set jwks_uri", stage: .keys)
        }
        return try verdict(token, provider.documents(environment).keys(url))
    }

    /// Verifies the signature. Fetches the keys again if the cached ones do not match.
    private func verdict(_ token: JWS, _ source: any KeySource) throws(OIDCError) -> SignatureVerdict {
        let issuer = token.claims?["iss"]?.string ?? provider.settings.provider.issuer
        let first = try verdict(token, try source.keys(refetching: false).of(issuer), isLocal: false)
        guard first != .valid, source.mayBeStale else { return first }
        return try verdict(token, try source.keys(refetching: true).of(issuer), isLocal: false)
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
