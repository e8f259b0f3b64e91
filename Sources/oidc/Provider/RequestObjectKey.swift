import OIDCCore
import OIDCCrypto

/// The signing of this client's authorization requests (RFC 9101).
extension ProviderContext {
    /// Returns the signing that the settings ask for, or the provider's metadata; nil for a plain request.
    func requestSigning(_ metadata: ProviderMetadata) throws(OIDCError) -> RequestObjectSigning? {
        let mode = settings.signIn.requestObject
        let name = settings.signIn.requestObjectAlgorithm
        guard mode == .signed || (mode == .auto && (metadata.requiresSignedRequests || name != nil)) else {
            return nil
        }
        let setting = Setting.requestObjectSigningAlg.name
        if name == "none" {
            guard !metadata.requiresSignedRequests else {
                throw .usage("\(setting): the provider takes only signed requests, not none")
            }
            return .unsigned
        }
        let algorithm = name.flatMap { SignatureAlgorithm(rawValue: $0 == "Ed25519" ? "EdDSA" : $0) }
        if let algorithm, algorithm.isSymmetric {
            guard let secret = try secrets.value(settings.client.secret) else {
                throw .usage(
                    "\(setting): \(algorithm.rawValue) needs the client's secret, and none is set",
                    hint: .advice(.giveClientSecret))
            }
            return RequestObjectSigning(try JWTSigner(secret: secret, algorithm: algorithm))
        }
        guard let pem = try secrets.text(settings.client.privateKey) else {
            guard mode == .signed || name != nil else { return nil }
            throw .usage(
                "\(mode == .signed ? Setting.requestObject.name : setting): a signed request needs a private key, "
                    + "and none is set",
                hint: .advice(.signRequests))
        }
        let key = try privateKey(pem)
        let signer = try JWTSigner(
            key, algorithm: algorithm, supported: metadata.requestObjectSigningAlgorithms,
            keyID: settings.client.privateKeyID)
        return RequestObjectSigning(signer)
    }
}
