/// The transport, cache, clock and randomness that the flows use.
package struct ProviderEnvironment: Sendable {
    package var transport: any HTTPTransport
    package var cache: any DocumentCache
    package var now: @Sendable () -> Instant
    package var random: @Sendable (Int) -> [UInt8]

    package init(
        transport: any HTTPTransport, cache: any DocumentCache, now: @escaping @Sendable () -> Instant,
        random: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.transport = transport
        self.cache = cache
        self.now = now
        self.random = random
    }
}

/// A cache of metadata and key sets, which keeps them for as long as their answers allow (RFC 9111 §4.2).
package protocol DocumentCache: Sendable {
    func lookup(_ url: WebURL, at now: Instant) -> [UInt8]?
    func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant)
    func forget(_ url: WebURL)
}

/// A cache that keeps nothing.
package struct NoCache: DocumentCache {
    package init() {}
    package func lookup(_ url: WebURL, at now: Instant) -> [UInt8]? { nil }
    package func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant) {}
    package func forget(_ url: WebURL) {}
}
