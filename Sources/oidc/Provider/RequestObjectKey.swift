import OIDCCore
import OIDCCrypto
import Posix

/// The signing of this client's authorization requests (RFC 9101).
extension ProviderContext {
    /// Returns the signing that the settings ask for, or the provider's metadata; nil for a plain request.
    func requestSigning(_ metadata: ProviderMetadata) throws(OIDCError) -> RequestObjectSigning? {
        let signIn = settings.signIn
        try signIn.checkRequestObject()
        guard
            signIn.asksForRequestObject || (signIn.requestObject == .auto && metadata.requiresSignedRequests)
        else { return nil }
        guard var signing = try signing(metadata) else { return nil }
        if let algorithm = signIn.requestObjectEncryption {
            signing.encryption = try RequestObjectEncryption(algorithm, at: metadata)
        }
        signing.reference = try requestReference()
        return signing
    }

    private func signing(_ metadata: ProviderMetadata) throws(OIDCError) -> RequestObjectSigning? {
        let setting = Setting.requestObjectSigningAlg.name
        let name = settings.signIn.requestObjectAlgorithm
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
            guard let asking = settings.signIn.requestObjectAsking else { return nil }
            throw .usage(
                "\(asking.name): a signed request needs a private key, and none is set",
                hint: .advice(.signRequests))
        }
        let key = try privateKey(pem)
        let signer = try JWTSigner(
            key, algorithm: algorithm, supported: metadata.requestObjectSigningAlgorithms,
            keyID: settings.client.privateKeyID)
        return RequestObjectSigning(signer)
    }

    /// Returns the URL of requests by reference, and the way to publish them; nil if they are sent by value,
    /// or pushed.
    private func requestReference() throws(OIDCError) -> RequestObjectReference? {
        guard let url = settings.signIn.requestURI, let file = settings.signIn.requestObjectFile else {
            return nil
        }
        let (parent, _) = FilePath.split(file.path)
        guard (try? FilePath.status(parent).kind) == .directory else {
            throw .usage(
                "\(file.name): \(DisplayText.clean(parent)) is not a directory",
                hint: "create it, or name a file in another directory")
        }
        return try settings.layers.checking(.requestURI) { () throws(OIDCError) in
            // Readable by all, as another user may serve the URL, and the provider reads the request anyway.
            try RequestObjectReference(url) { object throws(OIDCError) in
                try UserFile.rewrite(file.path, named: file.name, permissions: 0o644) { Array(object.utf8) }
            }
        }
    }
}

extension SignInSettings {
    /// The setting that requests signed requests even if the provider does not; nil if none does.
    var requestObjectAsking: Setting? {
        guard requestObject != .off else { return nil }
        if requestObject == .signed { return .requestObject }
        let others: [Setting] = [.requestObjectSigningAlg, .requestObjectEncryptionAlg, .requestURI]
        return others.first { layers[$0] != nil }
    }

    var asksForRequestObject: Bool { requestObjectAsking != nil }

    /// Refuses settings for signed requests that contradict each other.
    func checkRequestObject() throws(OIDCError) {
        let parts: [Setting] = [.requestObjectEncryptionAlg, .requestURI, .requestObjectOut]
        if requestObject == .off, let part = parts.first(where: { layers[$0] != nil }) {
            throw .usage("request_object is off, and \(part.name) is set", hint: "leave one of them out")
        }
        guard (requestURI == nil) == (requestObjectFile == nil) else {
            throw requestURI == nil
                ? .usage(
                    "request_object_out is set, and request_uri, the URL of that file, is not",
                    hint: .options(["--set", "request_uri=URL"]))
                : .usage(
                    "request_uri needs request_object_out, the file that it serves",
                    hint: .options(["--request-object-out", "FILE"]))
        }
        guard requestURI != nil else { return }
        guard pushing != .require else {
            throw .usage(
                "par is require, and request_uri is set: a pushed request cannot be one by reference",
                hint: "leave one of them out")
        }
        guard flow != .device else {
            throw .usage(
                "request_uri is for requests in a browser, and flow is device", hint: "leave out request_uri")
        }
    }
}
