import OIDCCore
import OIDCCrypto

extension CurlConfiguration.CertificateAuthorities {
    /// Checks that the file is readable and contains a certificate. A bad file is an error, never a reason to
    /// trust everything.
    func check() throws(OIDCError) {
        switch PEMFile.look(path, for: [" CERTIFICATE-----"]) {
        case .found: return
        case .absent:
            throw OIDCError(
                .usage, "\(name): \(path) contains no PEM certificate",
                hint: "use a file with \"-----BEGIN CERTIFICATE-----\" in it", stage: .settings)
        case .unreadable(let reason):
            throw OIDCError(
                .usage, "\(name): \(path) cannot be read: \(reason)",
                hint: "use a PEM file that this user may read", stage: .settings)
        case .unavailable(let reason): throw PEMFile.shortage(name, path, reason)
        }
    }

    var unusable: OIDCError {
        OIDCError(
            .usage, "\(name): \(path) contains no usable certificate",
            hint: "use a PEM file of certificate authorities", stage: .settings)
    }
}

extension PEMFile {
    fileprivate static func shortage(_ name: String, _ path: String, _ reason: Errno) -> OIDCError {
        OIDCError(
            .failed, "\(name): \(path) cannot be read: \(reason)", hint: reason.shortageHint,
            stage: .settings)
    }
}

extension CurlConfiguration.ClientCertificate {
    func check() throws(OIDCError) {
        try Self.check(
            certificatePath, name: certificateName, for: [" CERTIFICATE-----"], what: "certificate"
        )
        try Self.check(keyPath, name: keyName, for: ["PRIVATE KEY-----"], what: "private key")
        if passphrase == nil, case .found = PEMFile.look(keyPath, for: ["ENCRYPTED"]) {
            throw OIDCError(
                .usage, "\(keyName): \(keyPath) is encrypted and no passphrase is configured",
                hint: .advice(.giveKeyPassphrase), stage: .settings)
        }
    }

    private static func check(
        _ path: String, name: String, for marks: [String], what: String
    ) throws(OIDCError) {
        switch PEMFile.look(path, for: marks) {
        case .found: return
        case .absent:
            throw OIDCError(
                .usage, "\(name): \(path) contains no PEM \(what)",
                hint: "use a PEM file with the \(what)", stage: .settings)
        case .unreadable(let reason):
            throw OIDCError(
                .usage, "\(name): \(path) cannot be read: \(reason)",
                hint: "use a PEM file that this user may read", stage: .settings)
        case .unavailable(let reason): throw PEMFile.shortage(name, path, reason)
        }
    }

    /// Returns the error for a certificate that libcurl refused. libcurl does not distinguish a key that
    /// cannot be decrypted from a key of another certificate, so the key is tried separately.
    func unusable(because text: String) -> OIDCError {
        let lowered = ASCII.lowercased(text)
        guard lowered.includes("key"), !lowered.includes("client certificate") else {
            return OIDCError(
                .usage,
                "\(certificateName): \(certificatePath) cannot be used with the key \(keyPath)",
                hint: .advice(.usePEMPair), stage: .settings)
        }
        guard opensKey else {
            return OIDCError(
                .usage, "\(keyName): \(keyPath) cannot be used as a private key",
                hint: "check its format and its passphrase", stage: .settings)
        }
        return OIDCError(
            .usage, "\(keyName): \(keyPath) does not belong to the certificate \(certificatePath)",
            hint: .advice(.useMatchingPair), stage: .settings)
    }

    private var opensKey: Bool {
        guard let pem = PEMFile.content(keyPath) else { return false }
        return (try? PrivateKey(pem: pem, passphrase: passphrase.map { Array($0.revealed.utf8) })) != nil
    }
}
