package import OIDCCore
import OIDCCrypto
import Posix

extension CurlConfiguration.CertificateAuthorities {
    /// Checks that the file is readable and contains a certificate. A bad file is an error, never a reason to
    /// trust everything.
    package func check() throws(OIDCError) {
        try PEMFile.require(
            path, named: name, with: " CERTIFICATE-----", what: "certificate",
            hint: "use a file with \"-----BEGIN CERTIFICATE-----\" in it")
    }

    var unusable: OIDCError {
        OIDCError(
            .usage, "\(name): \(path) contains no usable certificate",
            hint: "use a PEM file of certificate authorities", stage: .settings)
    }
}

extension CurlConfiguration.ClientCertificate {
    package func check() throws(OIDCError) {
        try PEMFile.require(
            certificatePath, named: certificateName, with: " CERTIFICATE-----", what: "certificate",
            hint: "use a PEM file with the certificate")
        let key = try PEMFile.require(
            keyPath, named: keyName, with: "PRIVATE KEY-----", what: "private key",
            hint: "use a PEM file with the private key")
        if passphrase == nil, PEMFile.has("ENCRYPTED", in: key) {
            throw OIDCError(
                .usage, "\(keyName): \(keyPath) is encrypted and no passphrase is configured",
                hint: .advice(.giveKeyPassphrase), stage: .settings)
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
        guard let pem = try? PEMFile.content(keyPath) else { return false }
        return (try? PrivateKey(pem: pem, passphrase: passphrase.map { Array($0.revealed.utf8) })) != nil
    }
}
