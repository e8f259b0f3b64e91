/// What the flows need of the world outside: everything that is not a value comes through here.
public struct LoginEnvironment: Sendable {
    public var transport: any HTTPTransport
    public var cache: any DocumentCache
    public var now: @Sendable () -> Instant
    public var random: @Sendable (Int) -> [UInt8]

    public init(
        transport: any HTTPTransport, cache: any DocumentCache, now: @escaping @Sendable () -> Instant,
        random: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.transport = transport
        self.cache = cache
        self.now = now
        self.random = random
    }
}

/// Keeps metadata and key sets for as long as their answers allow (RFC 9111 §4.2).
public protocol DocumentCache: Sendable {
    func lookup(_ url: WebURL, at now: Instant) -> [UInt8]?
    func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant)
    func forget(_ url: WebURL)
}

/// Keeps nothing.
public struct NoCache: DocumentCache {
    public init() {}
    public func lookup(_ url: WebURL, at now: Instant) -> [UInt8]? { nil }
    public func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant) {}
    public func forget(_ url: WebURL) {}
}
