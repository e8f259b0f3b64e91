package import OIDCCore

/// The error of a failed TLS connection. libcurl's code alone does not distinguish an unsupported TLS version
/// from other failed handshakes, so those are recognized by the texts of OpenSSL and GnuTLS.
package struct CurlTLSFailure {
    let failure: CurlFailure
    let code: CurlCode

    package init(failure: CurlFailure, code: CurlCode) {
        self.failure = failure
        self.code = code
    }

    private var host: String { failure.request.url.hostAndPort }
    private var text: String { failure.result.text }
    /// The text if it is safe to show; empty if it might quote a URL with a password.
    private var shownText: String { text.includes("@") || text.includes("://") ? "" : text }

    var error: OIDCError {
        switch code {
        case .unusableAuthorities: authoritiesProblem
        case .ownCertificate: ownCertificateProblem
        case _ where code.isCertificateRefusal: untrustedCertificate
        default: handshakeFailure
        }
    }

    private func says(_ words: String...) -> Bool {
        let lowered = ASCII.lowercased(text)
        return words.contains { lowered.includes($0) }
    }

    private var authoritiesProblem: OIDCError {
        if let file = failure.configuration.caFile { return file.unusable }
        return failure.error(
            .failed, "this machine has no certificate authorities",
            hint: .advice(.installAuthorities))
    }

    private var untrustedCertificate: OIDCError {
        var reason = shownText
        for prefix in ["SSL certificate problem: ", "SSL: "] where reason.hasPrefix(prefix) {
            reason = String(reason.dropFirst(prefix.count))
        }
        // With GnuTLS, libcurl reports the names of its CA files instead of a reason.
        if reason.includes("CAfile: ") { reason = "unknown issuer, or expired" }
        return failure.error(
            .untrusted,
            "the certificate of \(host) could not be verified: \(reason.isEmpty ? "unknown issuer" : reason)",
            hint: certificateHint)
    }

    private var certificateHint: Hint {
        // OpenSSL's X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED; GnuTLS gives no reason.
        if [9, 10].contains(failure.result.certificateVerification) {
            return "check this machine's clock, or report it to the provider"
        }
        // libcurl writes these texts itself, so they are the same with every TLS library.
        if says("no alternative certificate subject name", "does not match target") {
            return "check the host name in the URL"
        }
        return .trustAuthority(setting: failure.configuration.caFile?.name)
    }

    private var handshakeFailure: OIDCError {
        if says("unsupported protocol", "protocol version", "version_too_low", "unsupported version") {
            return failure.error(
                .untrusted, "\(host) does not support TLS 1.2 or later",
                hint: "the provider must support TLS 1.2 or 1.3")
        }
        if says("wrong version number", "http request", "unexpected tls packet", "packet length too long") {
            return failure.error(
                .unreachable, "\(host) does not answer with TLS", hint: "check the host and the port")
        }
        // CLibcurl makes OpenSSL say this of certificates that are not read.
        if says("cert length mismatch") {
            return failure.error(
                .untrusted,
                "the certificates of \(host) could not be verified: they are malformed, more than 32 or 64 KiB, or a key "
                    + "has a compressed point or explicit curve parameters",
                hint: "check for a proxy on the way, or report it to the provider")
        }
        if Self.isOfAnotherKey(text) {
            return failure.error(
                .untrusted,
                "the certificate of \(host) could not be verified: it is signed by another key than the authority's",
                hint: .trustAuthority(setting: failure.configuration.caFile?.name))
        }
        if let refusal = alertAfterHandshake { return refusal }
        if failure.configuration.presentsCertificate(failure.request), says("error reading x.509") {
            return ownCertificateProblem
        }
        return failure.error(
            .unreachable, "the TLS handshake with \(host) failed: \(handshakeReason)",
            hint: says("alert handshake failure", "handshake failed")
                ? .advice(.giveClientCertificateIfAsked)
                : "try again later, or check for a proxy on the way")
    }

    /// Returns whether a signature of the certificate chain does not verify, as with an authority that has the right
    /// name and another key. libcurl reports this as a failed handshake (35), because OpenSSL's first error
    /// then comes from its cryptography and not from its TLS code (libcurl 7.88 with OpenSSL 3.0, 2026-11).
    static func isOfAnotherKey(_ text: String) -> Bool {
        let lowered = ASCII.lowercased(text)
        let components = [
            "asn1 encoding", "rsa", "elliptic curve", "ecdsa", "provider",
        ]
        return !lowered.includes("ssl routines")
            && components.contains { lowered.includes("\($0) routines") }
    }

    /// The reason without OpenSSL's prefix: its version, a number and the name of a component.
    private var handshakeReason: String {
        let words = shownText.isEmpty ? CurlFailure.meaning(of: code) : shownText
        guard words.includes("SSL routines:"), let colon = words.lastIndex(of: ":") else { return words }
        return ASCII.trimmed(words[words.index(after: colon)...])
    }

    /// The error for a TLS alert; nil if there was none. With TLS 1.3, servers refuse a client certificate
    /// with an alert after the handshake.
    package var alertAfterHandshake: OIDCError? {
        let isGiven =
            failure.configuration.presentsCertificate(failure.request)
            && failure.configuration.clientCertificate != nil
        let message: String
        if says(
            "certificate required", "bad certificate", "alert unknown ca", "alert certificate",
            "certificate is required", "certificate is bad", "ca is unknown")
        {
            message =
                isGiven
                ? "\(host) does not accept the client certificate" : "\(host) requires a client certificate"
        } else if says("fatal alert") {
            message = "\(host) ended the TLS connection with an alert"
        } else {
            return nil
        }
        return failure.error(
            .unreachable, message,
            hint: .advice(.useKnownClientCertificate))
    }

    private var ownCertificateProblem: OIDCError {
        failure.configuration.clientCertificate?.unusable(because: shownText)
            ?? failure.error(.usage, "the client certificate cannot be used: \(shownText)")
    }
}
