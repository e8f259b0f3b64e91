package import OIDCCore

/// The server that issued a nonce. The authorization server and the resource accept only their own nonces
/// (RFC 9449 §8, §9).
enum NonceRealm: String {
    case authorizationServer = "as"
    case resource = "rs"
}

extension DemoProvider {
    /// Returns the key and certificate that this request's tokens will be bound to.
    mutating func tokenBinding(_ client: DemoClient, _ call: Call) throws(Refusal) -> Binding {
        var binding = Binding()
        if call.request.headers[DPoP.header] != nil {
            binding.keyThumbprint = try checkedProof(call, accessToken: nil, .authorizationServer)
        } else if configuration.requiresDPoP {
            throw Refusal("invalid_dpop_proof", "this provider demands DPoP")
        }
        if client.certificateThumbprint != nil || client.certificateSubject != nil {
            _ = try clientByCertificate(client, call)
            binding.certificateThumbprint = certificate(call)?.thumbprint
        }
        return binding
    }

    /// Checks a proof (RFC 9449 §4.3), including replay and nonce, and returns the thumbprint of its key.
    mutating func checkedProof(
        _ call: Call, accessToken: String?, _ realm: NonceRealm
    ) throws(Refusal) -> String {
        let proofs = call.request.headers.values(DPoP.header)
        guard proofs.count == 1, let proof = proofs.first else {
            throw Refusal("invalid_dpop_proof", "exactly one DPoP header is expected")
        }
        let verified: DPoP.VerifiedProof
        do throws(DPoP.Refusal) {
            verified = try DPoP.verify(
                proof, method: call.request.method, url: proofTarget(proof, call), accessToken: accessToken,
                expectedNonce: expectedNonce(proof, realm, call.now), now: call.now)
        } catch {
            throw Refusal(error.wantsNonce ? "use_dpop_nonce" : "invalid_dpop_proof", error.reason)
        }
        guard remember("dpop \(verified.thumbprint) \(verified.identifier)", until: call.now.adding(300))
        else { throw Refusal("invalid_dpop_proof", "jti: this proof was sent before") }
        return verified.thumbprint
    }

    /// Remembers an identifier; returns false if it was already used.
    package mutating func remember(_ identifier: String, until expiry: Instant) -> Bool {
        guard state.usedIdentifiers[identifier] == nil else { return false }
        state.usedIdentifiers[identifier] = expiry
        return true
    }

    /// Adds the nonce for later proofs (RFC 9449 §8.2), if nonces are required.
    mutating func withNonce(_ response: HTTPResponse, _ realm: NonceRealm, _ call: Call) -> HTTPResponse {
        guard demandsNonce(realm) else { return response }
        var response = response
        response.headers["DPoP-Nonce"] = currentNonce(realm, call.now)
        return response
    }

    private func demandsNonce(_ realm: NonceRealm) -> Bool {
        switch realm {
        case .authorizationServer: configuration.requiresDPoPNonceAtToken
        case .resource: configuration.requiresDPoPNonceAtResource
        }
    }

    /// Returns the proof's own nonce if it was issued in the last ten minutes, else the current one.
    private mutating func expectedNonce(_ proof: String, _ realm: NonceRealm, _ now: Instant) -> String? {
        guard demandsNonce(realm) else { return nil }
        let sent = (try? JWS(compact: proof))?.claims?["nonce"]?.string
        if let sent, sent.hasPrefix(realm.rawValue), let since = state.nonces[sent],
            now.seconds(since: since) < 600
        {
            return sent
        }
        return currentNonce(realm, now)
    }

    /// Returns the current nonce, which is issued for five minutes and valid for ten.
    private mutating func currentNonce(_ realm: NonceRealm, _ now: Instant) -> String {
        let fresh = state.nonces.filter {
            $0.key.hasPrefix(realm.rawValue) && now.seconds(since: $0.value) < 300
        }
        if let newest = fresh.max(by: { $0.value < $1.value }) { return newest.key }
        let nonce = "\(realm.rawValue)-\(secret())"
        state.nonces[nonce] = now
        return nonce
    }

    /// Returns the request's URL as clients know it, which differs from the received one behind a TLS
    /// terminator.
    private func proofTarget(_ proof: String, _ call: Call) -> WebURL {
        let claimed = (try? JWS(compact: proof))?.claims?["htu"]?.string
        if let base = configuration.mutualTLSBase, claimed == "\(base)\(call.path)",
            let url = WebURL("\(base)\(call.path)")
        {
            return url
        }
        return WebURL(address(call.path)) ?? call.request.url
    }
}
