package import CurlHTTP
package import OIDCCore
import Posix

/// A shared store in Redis 6 or later, or Valkey. A write compares the whole value, which is unique as each
/// record has a random nonce; a lease is a key with its owner as the value, which the server removes when it
/// expires.
///
/// Plain connections need no library, so a fresh token costs one round trip, and another one for AUTH or
/// SELECT. TLS uses a connection of libcurl, with the settings of https.
package final class RedisEngine: SharedEngine {
    package let url: SharedStoreURL
    private let configuration: CurlConfiguration
    private let link: RedisLink

    package init(_ url: SharedStoreURL, _ configuration: CurlConfiguration) {
        self.url = url
        self.configuration = configuration
        link = RedisLink(url, configuration)
    }

    /// Creates an engine for one server, with the settings of another engine.
    private convenience init(_ host: SharedStoreURL.Host, of other: RedisEngine) {
        var url = other.url
        url.hosts = [host]
        url.master = nil
        url.isNamedByServer = true
        self.init(url, other.configuration)
    }

    package var description: String { url.server }
    package func withoutSecrets(_ text: String) -> String { url.withoutSecrets(text) }
    package func withoutPassword(_ text: String) -> String { url.withoutPassword(text) }

    private func key(_ name: String) -> String {
        guard let (kind, stem) = name.parts(around: "/") else { return "oidc:\(name)" }
        // The braces keep a session's keys on one server of a cluster.
        return "oidc:\(kind):{\(stem)}"
    }

    package func deletion(of name: String) -> [String] {
        ["redis-cli"] + (url.database == 0 ? [] : ["-n", "\(url.database)"]) + ["DEL", key(name)]
    }

    package func read(_ name: String) throws(OIDCError) -> SharedValue? {
        let reply = try send(RedisCommand("GET", key(name)))
        switch reply {
        case .null: return nil
        case .bytes(let bytes): return SharedValue(bytes: bytes)
        default: throw nonsense
        }
    }

    private static let writing = """
        local v = redis.call('GET', KEYS[1])
        if v == ARGV[2] then return 1 end
        if (v or '') ~= ARGV[1] then return 0 end
        if ARGV[3] == '0' then redis.call('SET', KEYS[1], ARGV[2])
        else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
        return 1
        """

    package func write(
        _ name: String, _ bytes: [UInt8], replacing current: SharedValue?, lifetime: Duration?
    ) throws(OIDCError) -> SharedValue? {
        let milliseconds = lifetime.map { max(1, $0.milliseconds) } ?? 0
        let isWritten = try succeeds(
            RedisCommand(
                script: RedisEngine.writing, key: key(name),
                [current?.bytes ?? [], bytes, Array(String(milliseconds).utf8)]))
        return isWritten ? SharedValue(bytes: bytes) : nil
    }

    package func remove(_ name: String) throws(OIDCError) {
        _ = try send(RedisCommand("DEL", key(name)))
    }

    package func names(_ prefix: String) throws(OIDCError) -> [String] {
        let kind = prefix.split(separator: "/").first.map(String.init) ?? prefix
        var listing = SharedListing(server: description)
        for master in try masters().engines { try master.scan(kind, into: &listing) }
        return listing.names
    }

    private func scan(_ kind: String, into listing: inout SharedListing) throws(OIDCError) {
        let start = "oidc:\(kind):{"
        var cursor = "0"
        repeat {
            try listing.beginPage()
            let reply = try send(RedisCommand("SCAN", cursor, "MATCH", "\(start)*", "COUNT", "1000"))
            guard let parts = reply.array, parts.count == 2, let next = parts[0].text,
                let keys = parts[1].array
            else {
                throw nonsense
            }
            for key in keys {
                guard let text = key.text, text.hasPrefix(start), text.hasSuffix("}") else { continue }
                try listing.add("\(kind)/\(text.dropFirst(start.utf8.count).dropLast())")
            }
            cursor = next
        } while cursor != "0"
    }

    /// The masters of a cluster.
    struct Masters {
        var engines: [RedisEngine]
        /// The number of slots that the masters serve; nil if the server is not part of a cluster.
        var slots: Int64?
    }

    /// Returns the masters of the server's cluster, or the server itself if it is not part of one.
    func masters() throws(OIDCError) -> Masters {
        guard try info("cluster")["cluster_enabled"] == "1" else { return Masters(engines: [self]) }
        let reply = try send(RedisCommand("CLUSTER", "SLOTS"))
        guard let found = RedisCluster(slots: reply, asked: link.target?.name ?? "") else { throw nonsense }
        guard found.masters.allSatisfy(url.mayRedirect) else {
            throw .sharedStore(
                description, "names servers that are not on this machine, and the connection is not encrypted"
            )
        }
        return Masters(engines: found.masters.map { RedisEngine($0, of: self) }, slots: found.slots)
    }

    /// One engine for each server in the URL.
    var listed: [RedisEngine] { url.hosts.map { RedisEngine($0, of: self) } }

    /// Returns the fields of a section of `INFO`.
    func info(_ section: String = "default") throws(OIDCError) -> [String: String] {
        RedisHealth.fields(try send(RedisCommand("INFO", section)).text ?? "").mapValues(url.withoutSecrets)
    }

    func send(_ command: RedisCommand) throws(OIDCError) -> RedisReply { try link.send(command) }

    /// Connects without sending anything.
    func connect() throws(OIDCError) { try link.connect() }

    /// Returns whether the lease is the owner's, and the values. One that is not a string is an error in the list. The
    /// first value is written before the lease, so a refusal leaves no lease behind.
    private static let acquiring = """
        local v = redis.call('GET', KEYS[1])
        local found = {(not v or v == ARGV[1]) and 1 or 0}
        for i = 2, #KEYS do found[i] = redis.pcall('GET', KEYS[i]) end
        if found[1] == 0 then return found end
        if ARGV[3] == '1' and type(found[2]) == 'string' then redis.call('SET', KEYS[2], found[2], 'KEEPTTL') end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return found
        """
    private static let extending = """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return 1
        """
    private static let releasing = """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        return redis.call('DEL', KEYS[1])
        """

    package func acquire(
        _ lease: String, owner: String, for duration: Duration, reading names: [String], checksWrites: Bool
    ) throws(OIDCError) -> LeaseAnswer {
        let words = [owner, String(max(1, duration.milliseconds)), checksWrites ? "1" : "0"]
        let reply = try send(
            RedisCommand(
                script: RedisEngine.acquiring, keys: ([lease] + names).map(key), words.map { Array($0.utf8) })
        )
        guard let items = reply.array, items.count == names.count + 1, let number = items[0].integer else {
            throw nonsense
        }
        var answer = LeaseAnswer(isOurs: number == 1)
        for (name, item) in zip(names, items.dropFirst()) {
            switch item {
            case .null: answer.values[name] = .some(nil)
            case .bytes(let bytes): answer.values[name] = SharedValue(bytes: bytes)
            // It is read again, for its error.
            case .error: continue
            default: throw nonsense
            }
        }
        return answer
    }

    package func extend(_ lease: String, owner: String, to duration: Duration) throws(OIDCError) -> Bool {
        try succeeds(script(RedisEngine.extending, lease, owner, duration))
    }

    package func release(_ lease: String, owner: String, within limit: Duration) throws(OIDCError) {
        let command = RedisCommand(script: RedisEngine.releasing, key: key(lease), [Array(owner.utf8)])
        _ = try link.send(command, within: limit)
    }

    private func script(_ script: String, _ lease: String, _ owner: String, _ duration: Duration)
        -> RedisCommand
    {
        let milliseconds = String(max(1, duration.milliseconds))
        return RedisCommand(script: script, key: key(lease), [Array(owner.utf8), Array(milliseconds.utf8)])
    }

    private func succeeds(_ command: RedisCommand) throws(OIDCError) -> Bool {
        guard let number = try send(command).integer else { throw nonsense }
        return number == 1
    }

    private var nonsense: OIDCError { .noAnswer(of: description, "does not answer as a Redis server") }
}
