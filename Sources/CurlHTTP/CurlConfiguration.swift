package import OIDCCore
package import Posix

/// The configuration of requests, with the values that the caller read from settings and environment.
package struct CurlConfiguration: Sendable {
    /// The time limit of one request with its redirects, repetitions and pauses; for a streamed answer, of
    /// each period without bytes.
    package var httpTimeout: Duration = .seconds(30)
    /// The time limit for name resolution, connecting and the TLS handshake.
    package var connectTimeout: Duration = .seconds(15)
    /// The deadline of the whole operation, such as a sign-in.
    package var deadline: MonotonicTime?
    /// The certificate authorities to trust instead of the machine's.
    package var caFile: CertificateAuthorities?
    /// The machine's certificate authorities, and what is known of them; shared by copies.
    package var systemAuthorities = SystemAuthorities()
    package var clientCertificate: ClientCertificate?
    /// The origins that get the client certificate with every request.
    package var certificateOrigins: Set<String> = []
    package var userAgent = "oidc"
    /// Whether plain http is allowed for hosts other than loopback.
    package var allowInsecureHTTP = false
    package var proxy: Proxy = .environment
    /// Whether to end the request with an error of kind `interrupted`; checked about every 100 milliseconds
    /// and after a signal. A request that redeems a code or a refresh token is not ended once it is sent.
    package var isCancelled: @Sendable () -> Bool = { Interruption.pending != nil }
    /// The function to call if a signal has to wait for the answer to a request.
    package var onPostponedSignal: (@Sendable () -> Void)?
    package var trace: (@Sendable (HTTPTraceEvent) -> Void)?
    /// The replacement for the wait before a repetition, for tests.
    var pause: (@Sendable (Duration) -> Void)?

    package init() {}

    /// Returns whether a request presents the client certificate, if there is one.
    package func presentsCertificate(_ request: HTTPRequest) -> Bool {
        request.usesClientCertificate
            || !certificateOrigins.isEmpty && certificateOrigins.contains(request.url.origin)
    }

    /// Returns whether requests may go through a proxy that is itself reached with TLS.
    func mayUseSecureProxy(for url: WebURL) -> Bool {
        guard !url.isLoopback else { return false }
        let urls =
            switch proxy {
            case .none: [String]()
            case .url(let proxy): [proxy]
            case .environment:
                ["https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"]
                    .compactMap { ProcessEnvironment.current[$0] }
            }
        return urls.contains { ASCII.lowercased($0).hasPrefix("https:") }
    }

    /// A PEM file of certificate authorities, and its name in errors, such as the setting it came from.
    package struct CertificateAuthorities: Hashable, Sendable {
        package var path: String
        package var name: String

        package init(path: String, name: String = "certificate authorities") {
            self.path = path
            self.name = name
        }
    }

    /// The PEM files of the client certificate, for requests that need it (RFC 8705), and their names in
    /// errors.
    package struct ClientCertificate: Sendable {
        package var certificatePath: String
        package var certificateName: String
        package var keyPath: String
        package var keyName: String
        package var passphrase: Redacted<String>?

        package init(
            certificatePath: String, certificateName: String = "client certificate", keyPath: String,
            keyName: String = "client key", passphrase: Redacted<String>? = nil
        ) {
            self.certificatePath = certificatePath
            self.certificateName = certificateName
            self.keyPath = keyPath
            self.keyName = keyName
            self.passphrase = passphrase
        }
    }

    /// The choice of a proxy; loopback hosts are never reached through one.
    package enum Proxy: Hashable, Sendable {
        /// `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy`, as curl reads them.
        case environment
        case none
        case url(String)
    }
}

/// The HTTP events that are logged, without queries, bodies and header values.
package enum HTTPTraceEvent: Hashable, Sendable {
    case request(method: String, url: String, bytes: Int)
    case answer(
        method: String, url: String, status: Int, elapsed: Duration, isReusedConnection: Bool, bytes: Int)
    case failure(method: String, url: String, elapsed: Duration, message: String)
    case repeating(method: String, url: String, after: Duration)
}

/// Proxy URLs from environment variables.
package enum ProxyURL {
    /// Returns scheme, host and port, which are safe to show; nil if the URL is ambiguous, as part of the
    /// password could be mistaken for them.
    package static func redacted(_ value: String) -> String? {
        let (scheme, rest) =
            value.parts(around: "://").map { ("\($0.before)://", $0.after) } ?? ("", value[...])
        guard scheme.dropLast(3).utf8.allSatisfy(ASCII.isAlphanumeric) else { return nil }
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        guard !rest[end...].contains("@") else { return nil }
        let host = rest[..<end].split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        return WebURL("http://\(host)").map { "\(scheme)\($0.hostAndPort)" }
    }
}
