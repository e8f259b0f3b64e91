package import OIDCCore

/// How requests are sent; the caller reads settings and environment and passes values.
package struct CurlConfiguration: Sendable {
    /// Bounds one request with its redirects, repeats and pauses; for a streamed answer, each silence.
    package var httpTimeout: Duration = .seconds(30)
    /// Bounds finding the host, connecting and the TLS handshake.
    package var connectTimeout: Duration = .seconds(15)
    /// When everything has to be over, say a whole sign-in.
    package var deadline: MonotonicTime?
    /// The certificate authorities to trust in place of the machine's.
    package var caFile: CertificateAuthorities?
    package var clientCertificate: ClientCertificate?
    package var userAgent = "oidc"
    /// Plain http to other hosts than this one.
    package var allowInsecureHTTP = false
    package var proxy: Proxy = .environment
    /// Asked about every 100 milliseconds, and when a signal comes; true ends the request with an error of
    /// kind `interrupted`. A request that redeems a code or a refresh token, once sent, is waited for.
    package var isCancelled: @Sendable () -> Bool = { Interruption.pending != nil }
    /// Called when a signal comes that has to wait for the answer to a request.
    package var onPostponedSignal: (@Sendable () -> Void)?
    package var trace: (@Sendable (HTTPTraceEvent) -> Void)?
    /// Lets time pass before a repeat.
    var pause: (@Sendable (Duration) -> Void)?

    package init() {}

    /// A PEM file of certificate authorities, and the setting that named it.
    package struct CertificateAuthorities: Hashable, Sendable {
        package var path: String
        /// As errors name it: `ca_file` or `SSL_CERT_FILE`.
        package var setting: String

        package init(path: String, setting: String = "ca_file") {
            self.path = path
            self.setting = setting
        }
    }

    /// A certificate of our own in PEM files, for requests that ask for it (RFC 8705).
    package struct ClientCertificate: Sendable {
        package var certificatePath: String
        package var keyPath: String
        package var passphrase: Redacted<String>?

        package init(certificatePath: String, keyPath: String, passphrase: Redacted<String>? = nil) {
            self.certificatePath = certificatePath
            self.keyPath = keyPath
            self.passphrase = passphrase
        }
    }

    /// Which way out; a loopback host is never reached through a proxy.
    package enum Proxy: Hashable, Sendable {
        /// `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy`, as curl reads them.
        case environment
        case none
        case url(String)
    }
}

/// What `--verbose` tells; without queries, bodies and header values.
package enum HTTPTraceEvent: Hashable, Sendable {
    case request(method: String, url: String, bytes: Int)
    case answer(
        method: String, url: String, status: Int, elapsed: Duration, isReusedConnection: Bool, bytes: Int)
    case failure(method: String, url: String, elapsed: Duration, message: String)
    case repeating(method: String, url: String, after: Duration)
}

/// A proxy as a variable names it.
package enum ProxyURL {
    /// Scheme, host and port, which is all that may be shown. Nil if it is not clear where they are: a part of
    /// the password could be taken for them.
    package static func shown(_ value: String) -> String? {
        let (scheme, rest) =
            value.parts(around: "://").map { ("\($0.before)://", $0.after) } ?? ("", value[...])
        guard scheme.dropLast(3).utf8.allSatisfy(ASCII.isAlphanumeric) else { return nil }
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        guard !rest[end...].contains("@") else { return nil }
        let host = rest[..<end].split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        return WebURL("http://\(host)").map { "\(scheme)\($0.hostAndPort)" }
    }
}
