public import OIDCCore

/// How requests are sent; the caller reads settings and environment and passes values.
public struct CurlConfiguration: Sendable {
    /// Bounds one request with its redirects, repeats and pauses; for a streamed answer, each silence.
    public var httpTimeout: Duration = .seconds(30)
    /// Bounds finding the host, connecting and the TLS handshake.
    public var connectTimeout: Duration = .seconds(15)
    /// When everything has to be over, say a whole sign-in.
    public var deadline: MonotonicTime?
    /// The certificate authorities to trust in place of the machine's.
    public var caFile: CertificateAuthorities?
    public var clientCertificate: ClientCertificate?
    public var userAgent = "oidc"
    /// Plain http to other hosts than this one.
    public var allowInsecureHTTP = false
    public var proxy: Proxy = .environment
    /// Asked about every 100 milliseconds, and when a signal comes; true ends the request with an error of
    /// kind `interrupted`. A request that redeems a code or a refresh token, once sent, is waited for.
    public var isCancelled: @Sendable () -> Bool = { Interruption.pending != nil }
    /// Called when a signal comes that has to wait for the answer to a request.
    package var onPostponedSignal: (@Sendable () -> Void)?
    public var trace: (@Sendable (HTTPTraceEvent) -> Void)?
    /// Lets time pass before a repeat.
    var pause: (@Sendable (Duration) -> Void)?

    public init() {}

    /// A PEM file of certificate authorities, and the setting that named it.
    public struct CertificateAuthorities: Hashable, Sendable {
        public var path: String
        /// As errors name it: `ca_file` or `SSL_CERT_FILE`.
        public var setting: String

        public init(path: String, setting: String = "ca_file") {
            self.path = path
            self.setting = setting
        }
    }

    /// A certificate of our own in PEM files, for requests that ask for it (RFC 8705).
    public struct ClientCertificate: Sendable {
        public var certificatePath: String
        public var keyPath: String
        public var passphrase: Redacted<String>?

        public init(certificatePath: String, keyPath: String, passphrase: Redacted<String>? = nil) {
            self.certificatePath = certificatePath
            self.keyPath = keyPath
            self.passphrase = passphrase
        }
    }

    /// Which way out; a loopback host is never reached through a proxy.
    public enum Proxy: Hashable, Sendable {
        /// `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy`, as curl reads them.
        case environment
        case none
        case url(String)
    }
}

/// What `--verbose` tells; without queries, bodies and header values.
public enum HTTPTraceEvent: Hashable, Sendable {
    case request(method: String, url: String, bytes: Int)
    case answer(
        method: String, url: String, status: Int, elapsed: Duration, isReusedConnection: Bool, bytes: Int)
    case failure(method: String, url: String, elapsed: Duration, message: String)
    case repeating(method: String, url: String, after: Duration)
}
