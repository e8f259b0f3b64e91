import OIDCCore
import Synchronization

/// A document cache that records whether any lookup succeeded. With a console, it logs each lookup.
final class CacheTrace: DocumentCache {
    private let cache: any DocumentCache
    private let console: Console?
    private let hasFound = Mutex(false)

    init(_ cache: any DocumentCache, _ console: Console? = nil) {
        self.cache = cache
        self.console = console
    }

    var isUsed: Bool { hasFound.withLock { $0 } }

    func lookup(_ url: WebURL, at now: Instant) -> [UInt8]? {
        let found = cache.lookup(url, at: now)
        console?.trace("cache: \(found == nil ? "no entry for" : "used for") \(url.withoutQuery)")
        if found != nil { hasFound.withLock { $0 = true } }
        return found
    }

    func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant) {
        cache.keep(response, from: url, at: now)
    }

    func forget(_ url: WebURL) { cache.forget(url) }
}
