import CLibcurl
package import OIDCCore
package import Posix

/// HTTP over libcurl, which is loaded at the first request.
///
/// It may be used from several threads; connections are reused for later requests.
package final class CurlTransport: HTTPTransport {
    package let configuration: CurlConfiguration
    package let pool: CurlChannelPool

    /// The size limit of a decompressed answer.
    package static let bodyLimit = 1_024 * 1_024

    /// The version of libcurl; nil if it cannot be loaded.
    package static var libraryVersion: String? {
        (oidc_curl()?.pointee.version_info(0).pointee.version).map { String(cString: $0) }
    }

    package init(_ configuration: CurlConfiguration = CurlConfiguration()) {
        self.configuration = configuration
        pool = CurlChannelPool()
    }

    private init(_ configuration: CurlConfiguration, sharing pool: CurlChannelPool) {
        self.configuration = configuration
        self.pool = pool
    }

    /// Returns a transport with the same connections and another deadline.
    package func bounded(by deadline: MonotonicTime?) -> CurlTransport {
        var bounded = configuration
        bounded.deadline = [configuration.deadline, deadline].compactMap { $0 }.min()
        return CurlTransport(bounded, sharing: pool)
    }

    /// Returns a transport with the same connections whose requests end early if `isCancelled` returns true.
    package func cancelled(if isCancelled: @escaping @Sendable () -> Bool) -> CurlTransport {
        var cancellable = configuration
        cancellable.isCancelled = isCancelled
        return CurlTransport(cancellable, sharing: pool)
    }

    /// Sends a request and returns the answer, whatever its status. Redirects of a GET are followed within
    /// its origin.
    package func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
        try admit(request, stage: stage)
        let end = MonotonicTime.now().adding(milliseconds: configuration.httpTimeout.milliseconds)
        var request = request
        var redirects = 0
        while true {
            let response = try sendRepeatedly(request, stage: stage, end: end)
            let redirect = Redirect(request: request, stage: stage)
            guard let next = try redirect.next(after: response, count: redirects) else { return response }
            redirects += 1
            request.url = next
        }
    }

    /// Opens a connection to a server, with TLS for https, and sends no request.
    package func connect(to url: WebURL, stage: Stage) throws(OIDCError) {
        var request = HTTPRequest(.get, url)
        request.onlyConnects = true
        try admit(request, stage: stage)
        let exchange = CurlExchange(body: .bytes([]), stage: stage) { (_) throws(OIDCError) in }
        let end = MonotonicTime.now().adding(milliseconds: configuration.httpTimeout.milliseconds)
        if let failure = try perform(request, exchange, end: end, silence: nil).1 { throw failure }
    }

    /// Throws if the request must not be sent.
    func admit(_ request: HTTPRequest, stage: Stage) throws(OIDCError) {
        guard
            request.url.isSafe(allowsInsecureHTTP: configuration.allowInsecureHTTP)
                || stage == .subjectToken && GoogleMetadata.isIdentity(request.url)
        else {
            throw OIDCError(
                .usage, "\(stage.title): \(request.url.origin) is plain http, which is only for this machine",
                hint: .advice(.useHTTPS), stage: stage)
        }
        try configuration.caFile?.check()
        if configuration.presentsCertificate(request) { try configuration.clientCertificate?.check() }
    }

    private func sendRepeatedly(
        _ request: HTTPRequest, stage: Stage, end: MonotonicTime
    ) throws(OIDCError) -> HTTPResponse {
        let policy = RepeatPolicy(method: request.method, isLoopback: request.url.isLoopback)
        var tries = 0
        while true {
            tries += 1
            var body: [UInt8] = []
            let exchange = CurlExchange(
                body: .bytes(request.body), endsAfterHead: request.needsOnlyHead, stage: stage
            ) { (bytes) throws(OIDCError) in
                guard body.count + bytes.count <= Self.bodyLimit else {
                    throw OIDCError(
                        .refused,
                        "\(stage.title): the answer of \(request.url.hostAndPort) is larger than "
                            + "\(Self.bodyLimit / 1_024) KiB", stage: stage)
                }
                body.append(contentsOf: bytes)
            }
            let (result, failure) = try perform(request, exchange, end: end, silence: nil)
            let response = HTTPResponse(
                status: exchange.head.status, headers: exchange.head.headers, body: body,
                receivedAt: Clock.now())
            let pause =
                failure == nil
                ? policy.pause(after: response, tries: tries) : policy.pause(after: result, tries: tries)
            guard let pause, MonotonicTime.now().adding(milliseconds: pause.milliseconds) < end else {
                guard let failure else { return response }
                guard request.redeemsSingleUseSecret, exchange.head.isComplete, !body.isEmpty else {
                    throw failure
                }
                var partial = response
                partial.failure = failure
                return partial
            }
            try wait(pause, before: request, stage: stage)
        }
    }

    /// Performs one transfer and reports it to `trace`. Returns the result, and the error if the transfer
    /// failed.
    func perform(
        _ request: HTTPRequest, _ exchange: CurlExchange, end: MonotonicTime?, silence: Duration?
    ) throws(OIDCError) -> (CurlResult, OIDCError?) {
        let (method, url) = (request.method.name, request.url.withoutQuery)
        configuration.trace?(.request(method: method, url: url, bytes: exchange.body.knownByteCount))
        let channel = try pool.take(usesClientCertificate: configuration.presentsCertificate(request))
        defer { pool.giveBack(channel) }
        let start = MonotonicTime.now()
        let limits = CurlChannel.Limits(
            configuration: configuration, end: end, silence: silence,
            isAwaitedOnceSent: request.redeemsSingleUseSecret)
        var result = try channel.perform(request, exchange, limits)
        if configuration.needsBundle(after: result, from: request.url) {
            result = try channel.perform(request, exchange, limits)
        }
        let elapsed = Duration.nanoseconds(MonotonicTime.now().nanoseconds - start.nanoseconds)
        guard let failure = failure(result, exchange, request) else {
            configuration.trace?(
                .answer(
                    method: method, url: url, status: exchange.head.status, elapsed: elapsed,
                    isReusedConnection: result.isReusedConnection, bytes: exchange.receivedBytes))
            return (result, nil)
        }
        configuration.trace?(.failure(method: method, url: url, elapsed: elapsed, message: failure.message))
        return (result, failure)
    }

    private func failure(_ result: CurlResult, _ exchange: CurlExchange, _ request: HTTPRequest) -> OIDCError?
    {
        if request.onlyConnects, result.isSuccess { return nil }
        if request.needsOnlyHead, exchange.head.isComplete, result.isEndOfBody {
            return nil
        }
        if let refusal = exchange.refusal { return refusal }
        let failure = CurlFailure(
            result: result, request: request, stage: exchange.stage, configuration: configuration)
        guard result.isSuccess else { return failure.error }
        if !exchange.head.isComplete, exchange.head.status >= 200 { return failure.incomplete }
        guard exchange.head.isComplete, (200...599).contains(exchange.head.status) else {
            return failure.error(.refused, "\(request.url.hostAndPort) does not answer with HTTP")
        }
        // 407 comes from a proxy, which forwards plain http without a tunnel (RFC 9110 §15.5.8).
        let isBeyondLoopback = !request.url.isSecure && !request.url.isLoopback
        return exchange.head.status == 407 && isBeyondLoopback ? failure.proxyRefusal(status: 407) : nil
    }

    private func wait(_ pause: Duration, before request: HTTPRequest, stage: Stage) throws(OIDCError) {
        configuration.trace?(
            .repeating(method: request.method.name, url: request.url.withoutQuery, after: pause))
        if let pauseElsewhere = configuration.pause { return pauseElsewhere(pause) }
        let end = MonotonicTime.now().adding(milliseconds: pause.milliseconds)
        while MonotonicTime.now() < end {
            if let ending = configuration.interruption {
                throw CurlFailure(
                    result: CurlResult(ending: ending), request: request, stage: stage,
                    configuration: configuration
                ).error
            }
            Poll.sleep(until: min(end, .now().adding(milliseconds: 100)))
        }
    }
}

extension CurlTransport {
    /// Sends one request and passes the answer on while it arrives, in bounded memory: without a size limit,
    /// decompression, repetition or redirects. `httpTimeout` bounds each period without bytes.
    ///
    /// `onResponse` is called once, before the first byte of the body; an error from either closure ends the
    /// transfer.
    package func stream(
        _ request: HTTPRequest, body: RequestBody? = nil, stage: Stage = .resource,
        onResponse: @escaping (_ status: Int, _ headers: HTTPHeaders) throws(OIDCError) -> Void,
        onBody: @escaping (UnsafeRawBufferPointer) throws(OIDCError) -> Void
    ) throws(OIDCError) {
        try admit(request, stage: stage)
        let exchange = CurlExchange(
            body: body ?? .bytes(request.body), decodesContent: false, stage: stage, onHead: onResponse,
            onBody: onBody)
        let (_, failure) = try perform(request, exchange, end: nil, silence: configuration.httpTimeout)
        if let failure { throw failure }
    }
}

/// The metadata server of Google's virtual machines: plain http, at a link-local address that no router
/// forwards (RFC 3927 §2.7), and never through a proxy.
package enum GoogleMetadata {
    private static let host = "169.254.169.254"
    /// The URL of the identity token of the machine's service account.
    package static let identity =
        "http://\(host)/computeMetadata/v1/instance/service-accounts/default/identity"
    /// The header that requests must have, as protection against forged ones, and that answers have too.
    package static let flavor = ("Metadata-Flavor", "Google")

    /// Returns whether a URL is that of the identity token, whatever its query.
    static func isIdentity(_ url: WebURL) -> Bool { url.withoutQuery == identity }
}
