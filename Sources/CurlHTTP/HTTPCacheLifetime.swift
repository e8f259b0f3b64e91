package import OIDCCore

/// The freshness lifetime of an answer in a private cache (RFC 9111 §4.2).
package enum HTTPCacheLifetime {
    /// The lifetime of an answer without freshness information, in seconds.
    private static let unstated: Int64 = 3_600
    /// The longest lifetime of any answer, in seconds.
    static let longest: Int64 = 86_400

    /// Returns how many seconds from `now` the answer is fresh: 0 for a stale answer, nil for one that must
    /// not be stored. Unreadable freshness information counts as stale (§4.2.1).
    package static func seconds(for response: HTTPResponse, at now: Instant) -> Int64? {
        let directives = response.headers.values("Cache-Control").flatMap(CacheDirective.list)
        let has = { (name: String) in directives.contains { $0.name == name } }
        if has("no-store") { return nil }
        let varies = response.headers.values("Vary").contains { ASCII.trimmed($0) == "*" }
        if has("no-cache") || varies { return 0 }
        let age = response.headers["Age"].flatMap(deltaSeconds) ?? 0
        let ages = directives.filter { $0.name == "max-age" }
        if let lifetime = ages.map({ $0.argument.flatMap(deltaSeconds) ?? 0 }).min() {
            return left(lifetime, age)
        }
        if let expires = response.headers["Expires"] {
            guard let end = HTTPDate.instant(expires) else { return 0 }
            let start = response.headers["Date"].flatMap(HTTPDate.instant) ?? now
            return left(end.seconds(since: start), age)
        }
        return left(unstated, age)
    }

    private static func left(_ lifetime: Int64, _ age: Int64) -> Int64 {
        lifetime > age ? min(lifetime - age, longest) : 0
    }

    /// Parses delta-seconds (RFC 9111 §1.2.2); a number out of range counts as very long.
    private static func deltaSeconds(_ text: String) -> Int64? {
        let text = ASCII.trimmed(text)
        guard !text.isEmpty, text.utf8.allSatisfy({ ASCII.isDigit($0) }) else { return nil }
        return Int64(text) ?? Int64(Int32.max)
    }
}

/// A directive of `Cache-Control` (RFC 9111 §5.2), with its name in lower case.
struct CacheDirective: Hashable, Sendable {
    var name: String
    var argument: String?

    /// Splits a field at commas outside quotes.
    static func list(_ value: String) -> [CacheDirective] {
        HTTPHeaders.elements(Array(value.utf8)).compactMap {
            CacheDirective(String(decoding: $0, as: UTF8.self))
        }
    }

    private init?(_ text: String) {
        let pair = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        name = ASCII.lowercased(ASCII.trimmed(pair[0]))
        argument = pair.count > 1 ? CacheDirective.unquoted(ASCII.trimmed(pair[1])) : nil
        if name.isEmpty { return nil }
    }

    private static func unquoted(_ text: String) -> String {
        guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return text }
        return String(text.dropFirst().dropLast())
    }
}
