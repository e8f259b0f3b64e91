import OIDCCore
import OIDCCrypto

/// A client certificate that a TLS terminator passed on.
struct ClientCertificate {
    /// The SHA-256 hash of the certificate's DER form (RFC 8705 §3.1).
    let thumbprint: String
    /// The certificate's subject; nil unless the terminator verified the chain.
    let verifiedSubject: String?
}

extension DemoProvider {
    /// Returns the client certificate in the terminator's header; nil unless the configuration names that
    /// header, as any client could send one.
    func certificate(_ call: Call) -> ClientCertificate? {
        guard let header = configuration.certificateHeader, let value = call.request.headers[header],
            let pem = FormEncoding.decode("v=\(value)")?.first?.value
        else { return nil }
        let lines = pem.split { $0.isNewline }.filter { !$0.hasPrefix("-----") }
        guard let der = Base64.decode(lines.joined()), !der.isEmpty,
            let digest = try? Digest.hash(der, .sha256)
        else { return nil }
        let isVerified = call.request.headers["\(header)-Verify"] == "SUCCESS"
        return ClientCertificate(
            thumbprint: Base64URL.encode(digest),
            verifiedSubject: isVerified ? call.request.headers["\(header)-Subject"] : nil)
    }

    /// Authenticates a client by its certificate, or by the subject of a verified one (RFC 8705 §2).
    func clientByCertificate(_ client: DemoClient, _ call: Call) throws(Refusal) -> DemoClient {
        guard let certificate = certificate(call) else {
            throw invalidClient("this client must authenticate with its certificate")
        }
        if let thumbprint = client.certificateThumbprint {
            guard certificate.thumbprint == thumbprint else {
                throw invalidClient("the certificate is another than the registered one")
            }
        } else {
            guard certificate.verifiedSubject == client.certificateSubject else {
                throw invalidClient("the certificate's subject is another than the registered one")
            }
        }
        return client
    }
}
