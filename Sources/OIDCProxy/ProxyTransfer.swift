import CLibcurl
import CurlHTTP
import LoopbackHTTP
import OIDCCore

/// One request to a server, and its answer.
final class ProxyTransfer {
    enum Reception {
        case taken
        /// The caller accepts no bytes for now; libcurl keeps these.
        case pause
        case refuse
    }

    enum Provision {
        case bytes(Int)
        case end
        /// The caller has sent no bytes yet.
        case pause
        case refuse
    }

    /// A request to send.
    struct Order {
        var method: HTTPMethod
        var url: WebURL
        /// The request target to send in place of the URL's.
        var rawTarget: String?
        var fields: [HTTPHeaders.Field]
        var framing: HTTP1.BodyFraming
        /// Whether the client certificate is presented, because the token is bound to it.
        var usesClientCertificate = false

        /// The request as far as errors and the choice of the certificate need it.
        fileprivate var summary: HTTPRequest {
            HTTPRequest(method, url, usesClientCertificate: usesClientCertificate)
        }
    }

    private static let bufferSize = 32_768

    let easy: OpaquePointer
    private let library: UnsafePointer<oidc_curl_library>
    private let order: Order
    private let headers: CurlList
    private let addresses: CurlList
    private(set) weak var owner: ProxyExchange?
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(OIDC_CURL_ERROR_SIZE))
    /// The CURLPAUSE_… bits.
    private var pauses: Int32 = 0
    /// Whether libcurl has the whole answer, and waits only until it can send more of the body.
    var isOnlySending = false
    /// The number of times that libcurl has taken or given something.
    private(set) var calls = 0
    private(set) var isSent = false
    private(set) var hasAnswerBytes = false
    /// The number of bytes of the body that libcurl has.
    private var bodyBytes = 0
    private var result = CurlResult(ending: .code(.failedInit))
    private let isRepeatable: Bool
    private var trustsDirectoryAlone = false

    init(
        _ order: Order, _ library: UnsafePointer<oidc_curl_library>, _ configuration: CurlConfiguration,
        owner: ProxyExchange
    ) throws(OIDCError) {
        guard let easy = library.pointee.easy_init() else {
            throw OIDCError(.failed, "libcurl has no memory for a request")
        }
        self.easy = easy
        self.library = library
        self.order = order
        self.owner = owner
        headers = CurlList(library)
        addresses = CurlList(library)
        errorText.initialize(repeating: 0, count: Int(OIDC_CURL_ERROR_SIZE))
        // The safe methods (RFC 9110 §9.2.1). PUT and DELETE are idempotent, but their second answer may differ.
        isRepeatable = ["GET", "HEAD", "OPTIONS"].contains(order.method.name)
        try setUp(configuration)
    }

    deinit {
        library.pointee.easy_cleanup(easy)
        errorText.deallocate()
    }

    private func setUp(_ configuration: CurlConfiguration) throws(OIDCError) {
        var options = CurlOptions(easy)
        let setup = CurlSetup(library: library, configuration: configuration, stage: .resource)
        trustsDirectoryAlone = setup.setConnection(order.url, addresses: addresses, &options)
        // libcurl uses a connection again only for requests with the same certificate, or none (since 7.50.1).
        if configuration.presentsCertificate(order.summary) { setup.setClientCertificate(&options) }
        // Another proxy on the way would need the whole URL.
        if let target = order.rawTarget, order.url.isSecure || order.url.isLoopback {
            options.set(OIDC_CURLOPT_REQUEST_TARGET, target)
        }
        setMethod(&options)
        setReuse(&options)
        addHeaders()
        options.set(OIDC_CURLOPT_HTTPHEADER, pointer: headers.head)
        // libcurl reads once a round. A larger buffer saves rounds; an even larger one would cost memory for
        // each caller that is slow to read.
        options.offer(OIDC_CURLOPT_BUFFERSIZE, Self.bufferSize)
        options.set(OIDC_CURLOPT_ERRORBUFFER, pointer: errorText)
        let noticesRepeats = options.setCallbacks(
            self, header: Self.onHeader, body: Self.onBody, read: Self.onRead, beforeRequest: Self.onRequest)
        // A libcurl without HTTP/2 refuses this option and stays with HTTP/1.1.
        if order.url.isSecure, isRepeatable || noticesRepeats {
            options.offer(OIDC_CURLOPT_HTTP_VERSION, OIDC_CURL_HTTP_VERSION_2TLS)
        }
        // libcurl repeats a request that got no answer on a reused connection. One that must not be sent
        // twice uses a connection that was idle for at most a second, or a new one.
        if !isRepeatable {
            if noticesRepeats {
                options.set(OIDC_CURLOPT_MAXAGE_CONN, 1)
            } else {
                options.set(OIDC_CURLOPT_FRESH_CONNECT, 1)
            }
        }
        try setup.check(options)
    }

    /// Keeps libcurl from using the connection again until it has the whole body that the head announces. The
    /// server may answer early (RFC 9110 §10.1.1) and keep the connection: the next request would be read as the
    /// rest of this one's body, with its token (RFC 9112 §9.3). libcurl itself closes a connection if it ends a
    /// transfer before it has sent what it has.
    ///
    /// The caller's expectation is the proxy's to answer: with one in the head, libcurl would not send the body
    /// after an early answer, and yet keep the connection.
    private func setReuse(_ options: inout CurlOptions) {
        headers.append("Expect:")
        if order.framing != .length(0) { options.set(OIDC_CURLOPT_FORBID_REUSE, 1) }
    }

    private func allowReuse() {
        _ = oidc_curl_set_long(easy, Int32(OIDC_CURLOPT_FORBID_REUSE), 0)
    }

    private func setMethod(_ options: inout CurlOptions) {
        switch (order.method, order.framing) {
        case (.get, .length(0)): return options.set(OIDC_CURLOPT_HTTPGET, 1)
        case (HTTPMethod("HEAD"), _): return options.set(OIDC_CURLOPT_NOBODY, 1)
        case (.post, _): break
        default: options.set(OIDC_CURLOPT_CUSTOMREQUEST, order.method.name)
        }
        // Without a body, only methods that define one send Content-Length (RFC 9110 §8.6).
        if order.framing == .length(0), ![.post, .put, HTTPMethod("PATCH")].contains(order.method) {
            return options.set(OIDC_CURLOPT_HTTPGET, 1)
        }
        options.set(OIDC_CURLOPT_POST, 1)
        switch order.framing {
        case .length(let length): options.set(OIDC_CURLOPT_POSTFIELDSIZE_LARGE, offset: Int64(length))
        case .chunked: options.set(OIDC_CURLOPT_POSTFIELDSIZE_LARGE, offset: -1)
        }
    }

    private func addHeaders() {
        for field in order.fields {
            headers.append(latin1: field)
        }
        // A name without a value keeps libcurl from adding the header.
        for name in ["Accept", "User-Agent", "Content-Type"]
        where !order.fields.contains(where: { ASCII.isSameIgnoringCase($0.name, name) }) {
            headers.append("\(name):")
        }
        // libcurl leaves this field out with HTTP/2.
        if order.framing == .chunked { headers.append("Transfer-Encoding: chunked") }
    }

    /// Resumes a paused transfer. libcurl may call back before this returns.
    func resume(receiving: Bool = false, sending: Bool = false) {
        let before = pauses
        if receiving { pauses &= ~Int32(OIDC_CURL_PAUSE_RECV) }
        if sending { pauses &= ~Int32(OIDC_CURL_PAUSE_SEND) }
        if pauses != before { _ = library.pointee.easy_pause(easy, pauses) }
    }

    /// Closes the connection when the transfer ends. After an early end, libcurl would keep an HTTP/2
    /// connection open and reset the stream only with the next request, so the server would not notice that
    /// the caller left.
    func forbidReuse() {
        _ = oidc_curl_set_long(easy, Int32(OIDC_CURLOPT_FORBID_REUSE), 1)
    }

    /// Whether libcurl has sent all that it was given of the body. With HTTP/1.1 it also counts the chunks' sizes.
    var hasSentAll: Bool {
        var sent: Int64 = 0
        return oidc_curl_get_offset(easy, Int32(OIDC_CURLINFO_SIZE_UPLOAD_T), &sent) == 0 && sent == bodyBytes
    }

    var isHTTP2: Bool {
        var version = 0
        return oidc_curl_get_long(easy, Int32(OIDC_CURLINFO_HTTP_VERSION), &version) == 0
            && version > OIDC_CURL_HTTP_VERSION_1_1
    }

    var isReceivingPaused: Bool { pauses & Int32(OIDC_CURL_PAUSE_RECV) != 0 }
    var isSendingPaused: Bool { pauses & Int32(OIDC_CURL_PAUSE_SEND) != 0 }

    func noteEnd(_ code: CurlCode) {
        result = CurlResult(
            .code(code), of: easy, errorText: errorText, isSent: isSent, hasAnswerBytes: hasAnswerBytes)
        result.trustsDirectoryAlone = trustsDirectoryAlone
    }

    /// Returns whether the request can be repeated because the connection ended before an answer. libcurl
    /// itself does not repeat it after a GOAWAY (before 8.0), or if it has a body, which libcurl cannot
    /// rewind.
    func isRepeatable(after code: CurlCode) -> Bool {
        isRepeatable && !hasAnswerBytes && (code == .http2 || code == .bodyNotRewound)
    }

    /// Returns whether the answer is whole: also if the server ended the stream without an error after it, so that
    /// libcurl could not send the rest of the body (RFC 9113 §8.1). libcurl has words for every other end of a stream.
    func isAnsweredWhole(after code: CurlCode) -> Bool {
        code == .ok || code == .http2Stream && errorText.pointee == 0
    }

    /// Returns whether to send the request again, as nothing was sent to a server that other authorities may
    /// verify.
    func needsBundle(_ configuration: CurlConfiguration) -> Bool {
        configuration.needsBundle(after: result, from: order.url)
    }

    /// Returns the error of a transfer that has ended.
    func failure(_ configuration: CurlConfiguration) -> OIDCError {
        CurlFailure(
            result: result, request: order.summary, stage: .resource, configuration: configuration
        ).error
    }

    private static func find(_ context: UnsafeMutableRawPointer?) -> ProxyTransfer? {
        context.map { Unmanaged<ProxyTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private static let onHeader: oidc_curl_data_function = { bytes, size, count, context in
        guard let transfer = find(context), let owner = transfer.owner else { return 0 }
        transfer.calls += 1
        transfer.hasAnswerBytes = true
        guard owner.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) else {
            transfer.forbidReuse()
            return 0
        }
        return size * count
    }

    private static let onBody: oidc_curl_data_function = { bytes, size, count, context in
        guard let transfer = find(context), let owner = transfer.owner else { return 0 }
        guard size * count > 0 else { return 0 }
        transfer.calls += 1
        switch owner.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) {
        case .taken: return size * count
        case .refuse:
            transfer.forbidReuse()
            return 0
        case .pause:
            transfer.pauses |= Int32(OIDC_CURL_PAUSE_RECV)
            return Int(OIDC_CURL_WRITEFUNC_PAUSE)
        }
    }

    private static let onRead: oidc_curl_data_function = { bytes, size, count, context in
        guard let transfer = find(context), let owner = transfer.owner else {
            return Int(OIDC_CURL_READFUNC_ABORT)
        }
        transfer.calls += 1
        switch owner.provideBody(UnsafeMutableRawBufferPointer(start: bytes, count: size * count)) {
        case .bytes(let count):
            transfer.bodyBytes += count
            if transfer.order.framing == .length(transfer.bodyBytes) { transfer.allowReuse() }
            return count
        case .end:
            if transfer.order.framing == .chunked { transfer.allowReuse() }
            return 0
        case .refuse:
            transfer.forbidReuse()
            return Int(OIDC_CURL_READFUNC_ABORT)
        case .pause:
            transfer.pauses |= Int32(OIDC_CURL_PAUSE_SEND)
            return Int(OIDC_CURL_READFUNC_PAUSE)
        }
    }

    /// The callback before each sending of the request. It refuses to repeat a request that may have been
    /// acted on.
    private static let onRequest: oidc_curl_before_request_function = { context, _, _, _, _ in
        guard let transfer = find(context) else { return 0 }
        guard !transfer.isSent || transfer.isRepeatable else { return Int32(OIDC_CURL_PREREQFUNC_ABORT) }
        transfer.isSent = true
        return 0
    }
}
