import OIDCCore

/// Tells a certificate or TLS version that does not hold from a handshake that failed otherwise, by
/// libcurl's code and the words of OpenSSL and GnuTLS.
struct CurlTLSFailure {
    let failure: CurlFailure
    let code: Int32

    private var host: String { failure.request.url.hostAndPort }
    private var text: String { failure.result.text }
    /// Empty if it might quote a URL, which may hold a password.
    private var shownText: String { text.includes("@") || text.includes("://") ? "" : text }

    var error: OIDCError {
        switch code {
        case 77: authoritiesProblem
        case 58: ownCertificateProblem
        case 51, 60, 83, 90, 91: untrustedCertificate
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
            .failed, "this machine has no list of certificate authorities",
            hint: .advice(.installAuthorities))
    }

    private var untrustedCertificate: OIDCError {
        var reason = shownText
        for prefix in ["SSL certificate problem: ", "SSL: "] where reason.hasPrefix(prefix) {
            reason = String(reason.dropFirst(prefix.count))
        }
        // libcurl with GnuTLS tells its files in place of a reason.
        if reason.includes("CAfile: ") { reason = "its authority is not trusted, or its time is over" }
        return failure.error(
            .untrusted,
            "the certificate of \(host) does not hold: \(reason.isEmpty ? "not trusted" : reason)",
            hint: certificateHint)
    }

    private var certificateHint: Hint {
        if says("expired", "not yet valid", "not yet activated") {
            return "check this machine's clock, or tell the provider"
        }
        if says("does not match", "no alternative", "unable to match", "no matching") {
            return "check the host in the address"
        }
        return .trustAuthority(setting: failure.configuration.caFile?.setting)
    }

    private var handshakeFailure: OIDCError {
        if says("unsupported protocol", "protocol version", "version_too_low", "unsupported version") {
            return failure.error(
                .untrusted, "\(host) speaks no TLS 1.2 or later",
                hint: "the provider has to offer TLS 1.2 or 1.3")
        }
        if says("wrong version number", "http request", "unexpected tls packet", "packet length too long") {
            return failure.error(
                .unreachable, "\(host) does not answer with TLS", hint: "check the address and its port")
        }
        if let refusal = alertAfterHandshake { return refusal }
        if failure.request.usesClientCertificate, says("error reading x.509") { return ownCertificateProblem }
        return failure.error(
            .unreachable, "the TLS handshake with \(host) failed: \(handshakeReason)",
            hint: says("alert handshake failure", "handshake failed")
                ? .advice(.giveClientCertificateIfAsked)
                : "try again later, or check for a proxy in between")
    }

    /// OpenSSL puts its version, a number and the name of a part before the reason itself.
    private var handshakeReason: String {
        let words = shownText.isEmpty ? CurlFailure.meaning(of: code) : shownText
        guard words.includes("SSL routines:"), let colon = words.lastIndex(of: ":") else { return words }
        return ASCII.trimmed(words[words.index(after: colon)...])
    }

    /// With TLS 1.3 our own certificate is judged only after the handshake, as an alert.
    var alertAfterHandshake: OIDCError? {
        let isGiven = failure.request.usesClientCertificate && failure.configuration.clientCertificate != nil
        let message: String
        if says(
            "certificate required", "bad certificate", "alert unknown ca", "alert certificate",
            "certificate is required", "certificate is bad", "ca is unknown")
        {
            message =
                isGiven
                ? "\(host) does not accept the client certificate" : "\(host) asks for a client certificate"
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
