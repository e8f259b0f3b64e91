import CLibcurl
package import OIDCCore
import Posix

/// What gives a transfer its body and takes the answer. libcurl calls these functions on the thread that drives
/// the transfer.
package protocol CurlClient: AnyObject {
    /// The head of the answer, as far as it has come.
    var head: ResponseHead { get }
    /// Takes a header line; returns false to end the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool
    /// Takes a part of the answer's body.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> CurlTransfer.Reception
    /// Provides a part of the request's body.
    func provideBody(_ buffer: UnsafeMutableRawBufferPointer) -> CurlTransfer.Provision
}

/// One request to a server, and its answer.
package final class CurlTransfer {
    package enum Reception {
        case taken
        /// The client accepts no bytes for now; libcurl keeps these.
        case pause
        case refuse
    }

    package enum Provision {
        case bytes(Int)
        case end
        /// The client has no bytes yet.
        case pause
        case refuse
    }

    package enum Body {
        /// libcurl sends a few bytes in one piece with the header, and others as the client provides them.
        case bytes([UInt8])
        /// What the client provides; nil if the length is not known in advance.
        case provided(length: Int64?)

        var length: Int64? {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .provided(let length): length
            }
        }
    }

    package enum Purpose: Hashable {
        /// A call of this program.
        case call(decodesContent: Bool)
        /// A connection without a request.
        case connecting
        /// A connection whose bytes its user sends and receives, in another protocol than HTTP.
        case wire
        /// A request that is passed on for a caller, with its fields as they are.
        case forwarding
    }

    /// A request to send.
    package struct Order {
        package var method: HTTPMethod
        package var url: WebURL
        /// The request target to send in place of the URL's.
        package var rawTarget: String?
        package var fields: [HTTPHeaders.Field]
        package var body: Body
        /// Whether the client certificate is presented, beyond the origins that always get it.
        package var usesClientCertificate: Bool
        package var purpose: Purpose
        package var stage: Stage
        /// The transfers with which this one shares the turns of a loop, such as those of a route.
        package var group: Int

        package init(
            method: HTTPMethod, url: WebURL, rawTarget: String? = nil, fields: [HTTPHeaders.Field],
            body: Body, usesClientCertificate: Bool, purpose: Purpose, stage: Stage, group: Int = 0
        ) {
            self.method = method
            self.url = url
            self.rawTarget = rawTarget
            self.fields = fields
            self.body = body
            self.usesClientCertificate = usesClientCertificate
            self.purpose = purpose
            self.stage = stage
            self.group = group
        }

        var hasBody: Bool { body.length != 0 }
        var isForwarded: Bool { purpose == .forwarding }
        fileprivate var isRequest: Bool { purpose != .connecting && purpose != .wire }

        /// The safe methods (RFC 9110 §9.2.1). PUT and DELETE are idempotent, but their second answer may differ.
        var isRepeatable: Bool { ["GET", "HEAD", "OPTIONS"].contains(method.name) }

        /// The request as far as errors and the choice of the certificate need it.
        fileprivate var summary: HTTPRequest {
            HTTPRequest(method, url, usesClientCertificate: usesClientCertificate)
        }
    }

    /// What keeps libcurl from using the connection again.
    private struct Obstacles: OptionSet {
        let rawValue: UInt8
        static let request = Obstacles(rawValue: 1)
        static let client = Obstacles(rawValue: 2)
        static let unreadBytes = Obstacles(rawValue: 4)
        static let strayBody = Obstacles(rawValue: 8)
    }

    private static let bufferSize = 32_768
    /// The largest body that libcurl copies.
    private static let copyLimit = 16_384

    let easy: OpaquePointer
    private let ownsHandle: Bool
    private let library: UnsafePointer<oidc_curl_library>
    private let order: Order
    private let headers: CurlList
    private let addresses: CurlList
    package private(set) weak var client: (any CurlClient)?
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(OIDC_CURL_ERROR_SIZE))
    /// The CURLPAUSE_… bits.
    private var pauses: Int32 = 0
    /// Whether libcurl does not wait to read. During an answer that is not paused, it then has all of it, or the server has
    /// closed the connection.
    package internal(set) var isReadToEnd = false
    /// The number of times that libcurl has come to the request, taken a part of its body or given a part of the answer.
    private(set) var calls = 0
    /// The loop that drives the transfer.
    weak var loop: CurlMulti?
    /// Whether the answer is paused only until the loop's next round.
    private var waitsForTurn = false
    /// Whether the transfer used up its last turn.
    var isGreedy = false
    /// The number of its last turn in the loop.
    var lastTurn = 0
    var group: Int { order.group }
    /// The CPU time in nanoseconds that libcurl has taken since it gave the last part of the answer, the number of its
    /// calls until then, and the time at which this was noted.
    private var vain: (time: Int64, since: Int, at: MonotonicTime) = (0, 0, .now())
    /// The bytes of the answer's body, with the framing, that libcurl has read since it gave a part of it, and the number of
    /// its calls until then.
    private var unused: (bytes: Int, since: Int) = (0, 0)
    /// How many of these bytes a transfer may have: they are a chunk's extension, which is not used.
    private static let unusedLimit = 65_536
    /// Whether the transfer was ended as libcurl read on in vain.
    private var hasReadInVain = false
    private var isRequested = false
    private var hasAnswerBytes = false
    /// Whether the connection is one of HTTP/2; false until the answer starts.
    package private(set) var isHTTP2 = false
    /// Whether an answer on a connection of HTTP/1.1 claimed to be one of HTTP/2, or the other way around. libcurl believes
    /// what the status line says, and would then neither frame nor separate the messages of this connection properly.
    private(set) var hasFalseVersion = false
    /// Whether the connection is made. Older versions of libcurl do not announce the request.
    package var isConnected: Bool { isRequested || hasAnswerBytes }
    /// The number of bytes of the body that libcurl has.
    private var bodyBytes = 0
    private var obstacles: Obstacles = [] {
        didSet {
            guard obstacles.isEmpty != oldValue.isEmpty else { return }
            _ = oidc_curl_set_long(easy, Int32(OIDC_CURLOPT_FORBID_REUSE), obstacles.isEmpty ? 0 : 1)
        }
    }
    /// Whether the TLS connection to the server may be within another one.
    private let isWithinTLS: Bool
    private var trustsDirectoryAlone = false
    private var result = CurlResult(ending: .code(.failedInit))

    /// Prepares a request. A handle that is used for one request after the other keeps what resumes TLS sessions.
    package init(
        _ order: Order, on handle: OpaquePointer? = nil, _ configuration: CurlConfiguration,
        client: (any CurlClient)?
    ) throws(OIDCError) {
        library = try CurlLibrary.load()
        guard let easy = handle ?? library.pointee.easy_init() else { throw CurlLibrary.outOfMemory }
        self.easy = easy
        ownsHandle = handle == nil
        self.order = order
        self.client = client
        isWithinTLS = configuration.mayUseSecureProxy(for: order.url)
        headers = CurlList(library)
        addresses = CurlList(library)
        errorText.initialize(repeating: 0, count: Int(OIDC_CURL_ERROR_SIZE))
        try setUp(configuration)
    }

    deinit {
        if !ownsHandle {
            library.pointee.easy_reset(easy)
        } else if order.purpose == .wire {
            // The end of the TLS connection is sent.
            withoutBrokenPipeSignal { library.pointee.easy_cleanup(easy) }
        } else {
            library.pointee.easy_cleanup(easy)
        }
        errorText.deallocate()
    }

    private func setUp(_ configuration: CurlConfiguration) throws(OIDCError) {
        let setup = CurlSetup(library: library, configuration: configuration, stage: order.stage)
        try addHeaders(setup)
        var options = CurlOptions(easy)
        trustsDirectoryAlone = setup.setConnection(order.url, addresses: addresses, &options)
        // libcurl uses a connection again only for requests with the same certificate, or none (since 7.50.1).
        if configuration.presentsCertificate(order.summary) { setup.setClientCertificate(&options) }
        setMethod(&options)
        setReuse()
        options.set(OIDC_CURLOPT_HTTPHEADER, pointer: headers.head)
        options.set(OIDC_CURLOPT_ERRORBUFFER, pointer: errorText)
        let noticesRepeats = options.setCallbacks(
            self, header: Self.onHeader, body: Self.onBody, read: Self.onRead, beforeRequest: Self.onRequest)
        switch order.purpose {
        case .connecting: options.set(OIDC_CURLOPT_CONNECT_ONLY, 1)
        case .wire:
            options.set(OIDC_CURLOPT_CONNECT_ONLY, 1)
            options.offer(OIDC_CURLOPT_SSL_ENABLE_ALPN, 0)
            options.set(self, progress: { _, _, _, _, _ in Interruption.pending == nil ? 0 : 1 })
        case .call(let decodesContent): setCall(decodesContent, &options)
        case .forwarding: setForwarding(noticesRepeats, &options)
        }
        if order.isRequest { options.set(self, progress: Self.onProgress) }
        let isSecure = order.url.isSecure || isWithinTLS
        if isSecure { oidc_curl_limit_reads(easy) }
        if order.isRequest, !isSecure || oidc_curl_can_limit_reads(easy) == 0 {
            options.set(self, debug: Self.onDebug)
        }
        try setup.check(options)
    }

    /// libcurl repeats a request that got no answer on a reused connection, so a call that must not be sent twice
    /// always uses a new connection.
    private func setCall(_ decodesContent: Bool, _ options: inout CurlOptions) {
        if order.hasBody || !["GET", "HEAD"].contains(order.method.name) {
            options.set(OIDC_CURLOPT_FRESH_CONNECT, 1)
        }
        let canInflate = library.pointee.version_info(0).pointee.features & Int32(OIDC_CURL_FEATURE_LIBZ) != 0
        if decodesContent, canInflate { options.set(OIDC_CURLOPT_ACCEPT_ENCODING, "gzip, deflate") }
    }

    private func setForwarding(_ noticesRepeats: Bool, _ options: inout CurlOptions) {
        // Another proxy on the way would need the whole URL.
        if let target = order.rawTarget, order.url.isSecure || order.url.isLoopback {
            options.set(OIDC_CURLOPT_REQUEST_TARGET, target)
        }
        // libcurl reads once a round. A larger buffer saves rounds; an even larger one would cost memory for
        // each caller that is slow to read.
        options.offer(OIDC_CURLOPT_BUFFERSIZE, Self.bufferSize)
        // A libcurl without HTTP/2 refuses this option and stays with HTTP/1.1. So does one that would read the frames
        // of a server without an end, and meanwhile serve nobody else.
        if order.url.isSecure, noticesRepeats, oidc_curl_can_limit_reads(easy) != 0 {
            options.offer(OIDC_CURLOPT_HTTP_VERSION, OIDC_CURL_HTTP_VERSION_2TLS)
        }
        // libcurl repeats a request that got no answer on a reused connection. One that must not be sent
        // twice uses a connection that was idle for at most a second, or a new one.
        if !order.isRepeatable {
            if noticesRepeats {
                options.set(OIDC_CURLOPT_MAXAGE_CONN, 1)
            } else {
                options.set(OIDC_CURLOPT_FRESH_CONNECT, 1)
            }
        }
    }

    /// Keeps libcurl from using the connection again until it has the whole body that the head announces. The
    /// server may answer early (RFC 9110 §10.1.1) and keep the connection: the next request would be read as the
    /// rest of this one's body, with its token (RFC 9112 §9.3). libcurl itself closes a connection if it ends a
    /// transfer before it has sent what it has.
    ///
    /// The caller's expectation is the proxy's to answer: with one in the head, libcurl would not send the body
    /// after an early answer, and yet keep the connection.
    private func setReuse() {
        headers.append("Expect:")
        if order.isForwarded, order.hasBody { obstacles.insert(.request) }
    }

    /// Keeps libcurl from using the connection again if the TLS library has bytes that came after the answer, which
    /// would become the next one (RFC 9112 §9.2). Of an answer with a length, libcurl reads no byte more, and what
    /// the TLS library has of a record makes no socket readable.
    private func noteUnreadBytes() {
        guard hasAnswerBytes, order.url.isSecure || isWithinTLS else { return }
        if !isHTTP2, isWithinTLS || oidc_curl_has_unread_bytes(easy) != 0 {
            obstacles.insert(.unreadBytes)
        } else {
            obstacles.remove(.unreadBytes)
        }
    }

    /// Keeps libcurl from using the connection again if the server may send a body that this answer cannot have. It may
    /// come only after the next request, and would be taken for its answer (RFC 9112 §9.2).
    private func noteStrayBody(after head: ResponseHead) {
        guard !isHTTP2, head.isComplete, head.mayLeaveStrayBody(after: order.method) else { return }
        obstacles.insert(.strayBody)
    }

    /// Returns whether libcurl reads on and on, and gives nothing of the answer: the extension of a chunk has no end
    /// (RFC 9112 §7.1.1 leaves the limit to the recipient), or all frames are of unknown types (RFC 9113 §5.5).
    private func readsInVain() -> Bool {
        guard let loop else { return false }
        let (time, now) = (loop.endWork(), MonotonicTime.now())
        guard isConnected else { return false }
        guard calls == vain.since else {
            vain = (0, calls, now)
            return false
        }
        // An idle stream takes less than a hundredth of the time, however often libcurl looks at it.
        let forgiven = (now.nanoseconds - vain.at.nanoseconds) / 100
        vain = (max(0, vain.time - forgiven) + time, calls, now)
        hasReadInVain = vain.time > loop.millisecondsInVain * 1_000_000
        return hasReadInVain
    }

    /// Counts what libcurl has read of the body. Within one call, libcurl before 8.6 reads a hundred times the size of its
    /// buffer, so the connection is ended under it.
    private func noteRead(_ count: Int) {
        // Some versions of libcurl read on while the answer is paused, and keep what they read.
        guard !isReceivingPaused else { return }
        if unused.since != calls { unused = (0, calls) }
        unused.bytes += count
        guard unused.bytes > Self.unusedLimit, !hasReadInVain else { return }
        hasReadInVain = true
        loop?.endSocket(of: self)
    }

    private func setMethod(_ options: inout CurlOptions) {
        switch order.method {
        case .get where !order.hasBody: return options.set(OIDC_CURLOPT_HTTPGET, 1)
        case HTTPMethod("HEAD") where !order.hasBody: return options.set(OIDC_CURLOPT_NOBODY, 1)
        case .post: break
        default: options.set(OIDC_CURLOPT_CUSTOMREQUEST, order.method.name)
        }
        // Without a body, a caller's methods that define none send no Content-Length (RFC 9110 §8.6).
        if order.isForwarded, !order.hasBody,
            ![.post, .put, HTTPMethod("PATCH")].contains(order.method)
        {
            return options.set(OIDC_CURLOPT_HTTPGET, 1)
        }
        options.set(OIDC_CURLOPT_POST, 1)
        options.set(OIDC_CURLOPT_POSTFIELDSIZE_LARGE, offset: order.body.length ?? -1)
        if case .bytes(let bytes) = order.body, !bytes.isEmpty, bytes.count <= Self.copyLimit {
            bytes.withUnsafeBytes { options.set(OIDC_CURLOPT_COPYPOSTFIELDS, pointer: $0.baseAddress) }
        }
    }

    private func addHeaders(_ setup: CurlSetup) throws(OIDCError) {
        for field in order.fields {
            if order.isForwarded {
                headers.append(latin1: field)
            } else {
                try setup.check(field)
                headers.append(field)
            }
        }
        let unset = ["Content-Type"] + (order.isForwarded ? ["Accept", "User-Agent"] : [])
        // A name without a value keeps libcurl from adding the header.
        for name in unset where !order.fields.contains(where: { ASCII.isSameIgnoringCase($0.name, name) }) {
            headers.append("\(name):")
        }
        // libcurl leaves this field out with HTTP/2.
        if order.body.length == nil { headers.append("Transfer-Encoding: chunked") }
    }

    /// Resumes a paused transfer. libcurl may call back before this returns.
    package func resume(receiving: Bool = false, sending: Bool = false) {
        let before = pauses
        // An answer that waits for its turn is not paused for its client.
        if receiving, !waitsForTurn { pauses &= ~Int32(OIDC_CURL_PAUSE_RECV) }
        if sending { pauses &= ~Int32(OIDC_CURL_PAUSE_SEND) }
        guard pauses != before else { return }
        loop?.startTurn()
        _ = library.pointee.easy_pause(easy, pauses)
    }

    /// Goes on with an answer that waited for the loop's next round.
    func endWait(milliseconds: Int64) {
        guard waitsForTurn else { return }
        waitsForTurn = false
        pauses &= ~Int32(OIDC_CURL_PAUSE_RECV)
        loop?.startTurn(milliseconds: milliseconds)
        _ = library.pointee.easy_pause(easy, pauses)
    }

    /// Closes the connection when the transfer ends. After an early end, libcurl would keep an HTTP/2
    /// connection open and reset the stream only with the next request, so the server would not notice that
    /// the caller left.
    package func forbidReuse() {
        obstacles.insert(.client)
    }

    /// Whether libcurl has sent all that it was given of the body. Only for HTTP/2: in a chunked body of HTTP/1.1,
    /// libcurl counts the sizes of the chunks, too.
    package var hasSentAll: Bool {
        CurlInfo.offset(OIDC_CURLINFO_SIZE_UPLOAD_T, of: easy) == bodyBytes
    }

    /// Notes the version of the connection, and what libcurl takes it for (RFC 9112 §2.3). Returns whether they agree.
    private func noteVersion() -> Bool {
        if !hasAnswerBytes { isHTTP2 = oidc_curl_speaks_http2(easy) != 0 }
        let version = CurlInfo.number(OIDC_CURLINFO_HTTP_VERSION, of: easy)
        hasFalseVersion = isHTTP2 != (version > OIDC_CURL_HTTP_VERSION_1_1)
        return !hasFalseVersion
    }

    /// The port of our end of the connection.
    var ownPort: Int { CurlInfo.number(OIDC_CURLINFO_LOCAL_PORT, of: easy) }

    package var isReceivingPaused: Bool { pauses & Int32(OIDC_CURL_PAUSE_RECV) != 0 }
    package var isSendingPaused: Bool { pauses & Int32(OIDC_CURL_PAUSE_SEND) != 0 }

    /// Whether the server may have received the request. Older versions of libcurl do not announce it.
    var isSent: Bool {
        isRequested || CurlInfo.offset(OIDC_CURLINFO_PRETRANSFER_TIME_T, of: easy) > 0
    }

    /// Returns how the transfer ended.
    func result(_ ending: CurlResult.Ending) -> CurlResult {
        var result = CurlResult(
            ending, of: easy, errorText: errorText, isSent: isSent, hasAnswerBytes: hasAnswerBytes)
        result.isReusedConnection = CurlInfo.number(OIDC_CURLINFO_NUM_CONNECTS, of: easy) == 0
        result.trustsDirectoryAlone = trustsDirectoryAlone
        result.hasReadInVain = hasReadInVain
        return result
    }

    package func noteEnd(_ ending: CurlResult.Ending) {
        result = result(ending)
    }

    /// Returns whether the request can be repeated because the connection ended before an answer. libcurl
    /// itself does not repeat it after a GOAWAY (before 8.0), or if it has a body, which libcurl cannot
    /// rewind.
    package func isRepeatable(after code: CurlCode) -> Bool {
        order.isRepeatable && !hasAnswerBytes && (code == .http2 || code == .bodyNotRewound)
    }

    /// Returns whether the answer is whole. It also is if the server then ended the HTTP/2 stream without an error,
    /// and takes no more of the body (RFC 9113 §8.1). Of every other end of a stream, libcurl has an error text.
    package func isAnsweredWhole(after code: CurlCode) -> Bool {
        code == .ok || code == .http2Stream && errorText.pointee == 0
    }

    /// Returns whether to send the request again, as nothing was sent to a server that other authorities may
    /// verify.
    package func needsBundle(_ configuration: CurlConfiguration) -> Bool {
        configuration.needsBundle(after: result, from: order.url)
    }

    /// Returns the failure of a transfer that has ended.
    package func failure(_ configuration: CurlConfiguration) -> CurlFailure {
        CurlFailure(
            result: result, request: order.summary, stage: order.stage, configuration: configuration)
    }

    private static func find(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private static let onHeader: oidc_curl_data_function = { bytes, size, count, context in
        guard let transfer = find(context), let client = transfer.client else { return 0 }
        transfer.calls += 1
        let isOfConnection = transfer.noteVersion()
        transfer.hasAnswerBytes = true
        guard isOfConnection,
            client.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
        else {
            transfer.forbidReuse()
            return 0
        }
        transfer.noteStrayBody(after: client.head)
        return size * count
    }

    private static let onBody: oidc_curl_data_function = { bytes, size, count, context in
        guard let transfer = find(context), let client = transfer.client else { return 0 }
        guard size * count > 0 else { return 0 }
        if transfer.loop?.endsTurn(transfer) == true {
            transfer.waitsForTurn = true
            transfer.pauses |= Int32(OIDC_CURL_PAUSE_RECV)
            return Int(OIDC_CURL_WRITEFUNC_PAUSE)
        }
        transfer.calls += 1
        switch client.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) {
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
        guard let transfer = find(context), let client = transfer.client else {
            return Int(OIDC_CURL_READFUNC_ABORT)
        }
        // When an answer is resumed, libcurl may ask for a body that is still paused. It would send what it gets, and then
        // wait forever for the body to be resumed.
        guard !transfer.isSendingPaused else { return Int(OIDC_CURL_READFUNC_PAUSE) }
        switch client.provideBody(UnsafeMutableRawBufferPointer(start: bytes, count: size * count)) {
        case .bytes(let count):
            transfer.calls += 1
            transfer.bodyBytes += count
            if transfer.order.body.length == Int64(transfer.bodyBytes) { transfer.obstacles.remove(.request) }
            return count
        case .end:
            if transfer.order.body.length == nil { transfer.obstacles.remove(.request) }
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
        guard !transfer.isRequested || transfer.order.isRepeatable else {
            return Int32(OIDC_CURL_PREREQFUNC_ABORT)
        }
        transfer.isRequested = true
        // What came before was the connection's.
        transfer.calls += 1
        return 0
    }

    private static let onProgress: oidc_curl_progress_function = { context, _, _, _, _ in
        guard let transfer = find(context) else { return 0 }
        transfer.noteUnreadBytes()
        if oidc_curl_take_put_off() != 0 { transfer.loop?.noteUnread(transfer) }
        return transfer.hasReadInVain || transfer.readsInVain() ? 1 : 0
    }

    private static let onDebug: oidc_curl_debug_function = { _, kind, _, count, context in
        if kind == OIDC_CURL_DEBUG_DATA_IN { find(context)?.noteRead(count) }
        return 0
    }
}

/// A transfer that runs alone, on the calling thread, and the connection that it leaves.
extension CurlTransfer {
    /// Runs the transfer to its end.
    func perform() -> CurlCode {
        oidc_curl_begin_reads(.max)
        let code = CurlCode(withoutBrokenPipeSignal { library.pointee.easy_perform(easy) })
        noteEnd(.code(code))
        return code
    }

    /// The socket of the connection, after the transfer; nil if it was closed.
    var socket: Int32? {
        var socket: Int32 = -1
        let code = CurlCode(oidc_curl_get_socket(easy, &socket))
        return code == .ok && socket >= 0 ? socket : nil
    }

    /// The socket of the connection that the transfer left open; nil for HTTP/2, whose streams keep the answers
    /// apart.
    var idleSocket: Int32? { isHTTP2 ? nil : socket }

    func send(_ bytes: UnsafeRawBufferPointer, _ count: inout Int) -> CurlCode {
        oidc_curl_begin_reads(.max)
        return withoutBrokenPipeSignal {
            CurlCode(library.pointee.easy_send(easy, bytes.baseAddress, bytes.count, &count))
        }
    }

    func receive(_ buffer: UnsafeMutableRawBufferPointer, _ count: inout Int) -> CurlCode {
        oidc_curl_begin_reads(.max)
        return CurlCode(library.pointee.easy_recv(easy, buffer.baseAddress, buffer.count, &count))
    }
}
