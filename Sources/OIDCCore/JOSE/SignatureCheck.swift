import OIDCCrypto

/// The result of a signature check.
package enum SignatureCheck: Hashable, Sendable {
    case valid
    case invalid(reason: String)
}

extension JWS {
    /// Verifies the signature (RFC 7515 §5.2) with the keys of a set that fit `alg`, `kid` and their own use.
    /// Keys and URLs in the token itself (`jwk`, `jku`, `x5c`, `x5u`) are ignored (RFC 8725 §3.10). All known
    /// algorithms are allowed; `none` never is.
    package func verify(keys: JWKSet, allowsSymmetric: Bool = false) throws(OIDCError) -> SignatureCheck {
        let algorithm: SignatureAlgorithm
        do throws(HeaderRefusal) {
            algorithm = try acceptedAlgorithm()
        } catch {
            return .invalid(reason: error.cause.message)
        }
        return try verify(algorithm, keys: keys, allowsSymmetric: allowsSymmetric)
    }

    /// The reason why a header is refused, whatever the keys are.
    struct HeaderRefusal: Error, Hashable {
        let cause: OIDCError.Cause

        init(_ member: String, expected: String, found: String) {
            cause = .mismatch(member: member, expected: expected, found: found)
        }
    }

    /// Returns `alg` if it is allowed and known (RFC 8725 §3.1) and there is no `crit`, as no critical
    /// extension is supported (RFC 7515 §4.1.11). If `allowed` is nil, all known ones are; `none` never is.
    func acceptedAlgorithm(allowed: [String]? = nil) throws(HeaderRefusal) -> SignatureAlgorithm {
        let reader = JSONReader(header) { HeaderRefusal($0, expected: $1, found: $2.found) }
        let name = try reader.required("alg", expected: "a string", reader.string)
        guard ASCII.lowercased(name) != "none" else {
            throw HeaderRefusal("alg", expected: "a signature algorithm", found: quoted(name))
        }
        guard let algorithm else {
            throw HeaderRefusal(
                "alg", expected: "a supported algorithm",
                found: quoted(name, unlike: SignatureAlgorithm.allCases.map(\.rawValue)))
        }
        if let allowed, !allowed.contains(where: { SignatureAlgorithm(joseName: $0) == algorithm }) {
            let signing = allowed.filter { ASCII.lowercased($0) != "none" }
            let expected =
                !signing.isEmpty
                ? DisplayText.clean(signing.joined(separator: ", "))
                : "an algorithm that the provider lists (it lists no signature algorithm)"
            throw HeaderRefusal("alg", expected: expected, found: quoted(name, unlike: allowed))
        }
        if let critical = header["crit"] {
            let names = critical.array?.compactMap(\.string).joined(separator: ", ") ?? critical.typeName
            throw HeaderRefusal("crit", expected: "no critical extension", found: quoted(names))
        }
        _ = try reader.string("kid")
        return algorithm
    }

    /// The number of keys that are tried for one signature: each takes time, and a key set may contain
    /// thousands.
    private static let candidateLimit = 64

    /// Verifies the signature with each candidate in turn, as several keys may share a `kid` or have none.
    /// `ignoresKeyID` makes all keys that fit the algorithm candidates.
    func verify(
        _ algorithm: SignatureAlgorithm, keys: JWKSet, allowsSymmetric: Bool, ignoresKeyID: Bool = false
    ) throws(OIDCError) -> SignatureCheck {
        let candidates = keys.candidates(
            algorithm: algorithm, keyID: ignoresKeyID ? nil : keyID, allowsSymmetric: allowsSymmetric)
        var tried = 0
        var reasons: [String] = []
        for key in candidates.prefix(JWS.candidateLimit) {
            switch try key.attempt(self, algorithm) {
            case .verified: return .valid
            case .failed: tried += 1
            case .unusable(let reason): reasons.append(reason)
            }
        }
        guard tried == 0 else {
            let which = keyID.map { " with kid \(quoted($0))" } ?? (tried == 1 ? "" : " of \(tried)")
            let rest = candidates.count - JWS.candidateLimit
            let untried = rest > 0 ? " (\(rest) more that fit were not tried)" : ""
            return .invalid(
                reason: "signature: no key\(which) verifies it with \(algorithm.rawValue)\(untried)")
        }
        return .invalid(
            reason: noKey(algorithm, keys, reasons: reasons, allowsSymmetric: allowsSymmetric))
    }

    private func quoted(_ text: String, unlike expected: [String] = []) -> String {
        "\"\(DisplayText.distinct(text, from: expected, limit: 60))\""
    }

    /// Returns the message that no key fits, with the reasons why keys were not used.
    private func noKey(
        _ algorithm: SignatureAlgorithm, _ keys: JWKSet, reasons: [String], allowsSymmetric: Bool
    ) -> String {
        guard !keys.keys.isEmpty || !keys.skipped.isEmpty else { return "the key set is empty" }
        let misfits = keys.named(keyID).compactMap { $0.misfit(algorithm, allowsSymmetric: allowsSymmetric) }
        let skipped = keys.skipped.filter { skipped in
            keyID == nil || skipped.keyID.map { ExactText.isSame($0, keyID ?? "") } ?? true
        }
        let all = reasons + misfits + skipped.map(\.reason)
        let which = keyID.map { " with kid \(quoted($0))" } ?? ""
        let details = all.prefix(3).joined(separator: "; ")
        let more = all.count > 3 ? " and \(all.count - 3) more" : ""
        return "no key\(which) for \(algorithm.rawValue)"
            + (all.isEmpty ? "" : " (a key is not used: \(details)\(more))")
    }
}

extension JSONWebKey {
    enum Attempt {
        case verified
        case failed
        case unusable(String)
    }

    /// Verifies a signature with this key, which fits the algorithm. A key that the library refuses is
    /// unusable; only a library that cannot be loaded is an error.
    func attempt(_ token: JWS, _ algorithm: SignatureAlgorithm) throws(OIDCError) -> Attempt {
        do throws(CryptoError) {
            switch material {
            case .asymmetric(let parameters):
                let key = try PublicKey(parameters)
                return try key.isValidSignature(token.signature, for: token.signingInput, algorithm)
                    ? .verified : .failed
            case .symmetric(let secret):
                guard let hash = algorithm.hash else { return .failed }
                let code = try Digest.authenticationCode(
                    token.signingInput, key: secret.revealed, hash)
                return equalInConstantTime(code, token.signature) ? .verified : .failed
            }
        } catch {
            switch error {
            case .invalidKey(let reason), .unsupported(let reason), .failed(let reason):
                return .unusable(reason)
            case .unavailable, .outOfDescriptors, .passphraseNeeded, .wrongPassphrase:
                throw OIDCError(error)
            }
        }
    }
}
