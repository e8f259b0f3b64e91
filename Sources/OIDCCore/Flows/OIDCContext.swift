/// The HTTP client, the clock and the random numbers that the steps of the protocol use.
public struct OIDCContext: Sendable {
    /// The HTTP client.
    public var transport: any HTTPTransport
    /// A function that returns the time.
    public var now: @Sendable () -> OIDCInstant
    /// A function that returns the given number of random bytes, which nobody can predict.
    public var random: @Sendable (Int) -> [UInt8]
    package var cache: any DocumentCache

    /// Creates a context that does not keep metadata and keys between two steps.
    public init(
        transport: any HTTPTransport, now: @escaping @Sendable () -> OIDCInstant,
        random: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.init(transport: transport, cache: NoCache(), now: now, random: random)
    }

    package init(
        transport: any HTTPTransport, cache: any DocumentCache, now: @escaping @Sendable () -> Instant,
        random: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.transport = transport
        self.cache = cache
        self.now = now
        self.random = random
    }

    /// Sends a call's request and reads the answer.
    public func perform<Value>(_ call: EndpointCall<Value>) throws(OIDCError) -> Value {
        try transport.perform(call)
    }

    /// Returns the keys at a provider's `jwks_uri`, which are fetched when they are needed.
    public func keys(at url: WebURL) -> some KeySource { PublishedKeys(url: url, context: self) }
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
