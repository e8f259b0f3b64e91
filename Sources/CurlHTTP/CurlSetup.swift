import CLibcurl
import OIDCCore
import Posix

/// The translation of the configuration into libcurl's options.
struct CurlSetup {
    let library: UnsafePointer<oidc_curl_library>
    let configuration: CurlConfiguration
    let stage: Stage

    init(library: UnsafePointer<oidc_curl_library>, configuration: CurlConfiguration, stage: Stage) {
        self.library = library
        self.configuration = configuration
        self.stage = stage
    }

    /// Throws if libcurl refused an option.
    func check(_ options: CurlOptions) throws(OIDCError) {
        guard let option = options.rejected else { return }
        throw OIDCError(
            .failed, "\(stage.title): libcurl does not support the option \(option)",
            hint: "use libcurl 7.66 or later, built with TLS", stage: stage)
    }

    /// Sets the URL, the proxy and addresses, and the trusted certificate authorities. Returns whether the
    /// machine's directory of authorities is used alone.
    func setConnection(_ url: WebURL, addresses: CurlList, _ options: inout CurlOptions) -> Bool {
        setTransport(url, &options)
        setAddress(url, addresses, &options)
        return setTrust(url, &options)
    }

    private func setTransport(_ url: WebURL, _ options: inout CurlOptions) {
        options.set(OIDC_CURLOPT_URL, url.text)
        options.set(OIDC_CURLOPT_NOSIGNAL, 1)
        options.set(OIDC_CURLOPT_PATH_AS_IS, 1)
        options.set(OIDC_CURLOPT_HTTP09_ALLOWED, 0)
        options.set(OIDC_CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        options.set(OIDC_CURLOPT_USERAGENT, configuration.userAgent)
        // libcurl takes an `int`.
        let patience = min(configuration.connectTimeout.milliseconds, 2_000_000_000)
        options.set(OIDC_CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, patience)))
        options.offer(OIDC_CURLOPT_QUICK_EXIT, 1)
        _ = oidc_curl_keep_sockets(options.easy)
        // HTTP/2 is off, as libcurl would repeat a refused stream. A forwarded request turns it on if a repetition is
        // harmless or can be prevented.
        options.set(OIDC_CURLOPT_HTTP_VERSION, OIDC_CURL_HTTP_VERSION_1_1)
        let firstVersionWithNames: UInt32 = 0x07_55_00
        if library.pointee.version_info(0).pointee.version_number >= firstVersionWithNames {
            options.set(OIDC_CURLOPT_PROTOCOLS_STR, "http,https")
        } else {
            options.set(OIDC_CURLOPT_PROTOCOLS, OIDC_CURL_PROTOCOLS_HTTP_HTTPS)
        }
    }

    /// Sets the proxy and the addresses. `localhost` always means this machine, whatever a resolver says (RFC
    /// 8252 §8.3); both loopback addresses are tried.
    private func setAddress(_ url: WebURL, _ addresses: CurlList, _ options: inout CurlOptions) {
        switch (url.isLoopback || GoogleMetadata.isIdentity(url), configuration.proxy) {
        case (true, _), (false, .none): options.set(OIDC_CURLOPT_PROXY, "")
        case (false, .url(let proxy)): options.set(OIDC_CURLOPT_PROXY, proxy)
        case (false, .environment): break
        }
        if url.host == "localhost" {
            addresses.append("localhost:\(url.effectivePort):127.0.0.1,[::1]")
            options.set(OIDC_CURLOPT_RESOLVE, pointer: addresses.head)
        }
    }

    /// Sets the trusted certificate authorities. Returns whether the machine's directory of them is used alone.
    func setTrust(_ url: WebURL, _ options: inout CurlOptions) -> Bool {
        options.set(OIDC_CURLOPT_SSL_VERIFYPEER, 1)
        options.set(OIDC_CURLOPT_SSL_VERIFYHOST, 2)
        options.set(OIDC_CURLOPT_SSLVERSION, OIDC_CURL_SSLVERSION_TLS1_2)
        options.offer(OIDC_CURLOPT_PROXY_SSLVERSION, OIDC_CURL_SSLVERSION_TLS1_2)
        if let file = configuration.caFile {
            // Only the file's authorities are trusted: libcurl would add those of the machine's directory.
            setAuthorities(bundle: file.path, directory: nil, &options)
            return false
        }
        guard url.isSecure else { return false }
        switch configuration.systemAuthorities.source(for: url, self, options.easy) {
        case .directory(let path):
            setAuthorities(bundle: nil, directory: path, &options)
            return true
        case .bundleAlone(let path):
            setAuthorities(bundle: path, directory: nil, &options)
            return false
        case .bundle(let path):
            if let path {
                options.set(OIDC_CURLOPT_CAINFO, path)
                options.offer(OIDC_CURLOPT_PROXY_CAINFO, path)
            }
            return false
        }
    }

    /// Sets the authorities for servers and for proxies that are reached with TLS.
    private func setAuthorities(bundle: String?, directory: String?, _ options: inout CurlOptions) {
        options.set(OIDC_CURLOPT_CAINFO, bundle)
        options.offer(OIDC_CURLOPT_CAPATH, directory)
        options.offer(OIDC_CURLOPT_PROXY_CAINFO, bundle)
        options.offer(OIDC_CURLOPT_PROXY_CAPATH, directory)
    }

    func setClientCertificate(_ options: inout CurlOptions) {
        guard let certificate = configuration.clientCertificate else { return }
        options.set(OIDC_CURLOPT_SSLCERT, certificate.certificatePath)
        options.set(OIDC_CURLOPT_SSLKEY, certificate.keyPath)
        // Without a passphrase, OpenSSL would prompt on the terminal, so it gets an empty one. GnuTLS would
        // use an empty one as if it were real.
        options.set(OIDC_CURLOPT_KEYPASSWD, certificate.passphrase?.revealed ?? (usesGnuTLS ? nil : ""))
    }

    private var usesGnuTLS: Bool { tlsLibrary.includes("GnuTLS") }

    /// The name and version of the TLS library, such as `OpenSSL/3.0.19`.
    var tlsLibrary: String {
        library.pointee.version_info(0).pointee.tls_library.map { String(cString: $0) } ?? ""
    }

    /// Checks that a header field has no control character, such as a line end (RFC 9110 §5.5), and does not
    /// frame the message.
    func check(_ field: HTTPHeaders.Field) throws(OIDCError) {
        guard FieldSyntax.isName(field.name.utf8), FieldSyntax.isValue(field.value.utf8) else {
            throw OIDCError(
                .usage,
                "\(stage.title): the request header \(DisplayText.quoted(field.name, limit: 60)) "
                    + "contains a character that a header cannot contain", stage: stage)
        }
        let framing = ["host", "content-length", "transfer-encoding", "expect"]
        guard !framing.contains(ASCII.lowercased(field.name)) else {
            throw OIDCError(
                .usage, "\(stage.title): the request header \(field.name) is set by the program alone",
                hint: "leave it out", stage: stage)
        }
    }
}
