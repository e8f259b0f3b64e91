package import OIDCCore
import Synchronization

/// A shared store in Redis 6 or later, or Valkey. A write compares the whole value, which is unique as each record has
/// a random nonce; a lease is a key with an owner that the server removes in time.
///
/// Plain connections need no library, so a fresh token costs one round trip; TLS uses a connection of libcurl, with
/// the settings of https.
package final class RedisEngine: SharedEngine {
    package let url: SharedStoreURL
    private let configuration: CurlConfiguration
    private let timeout: Duration

    private struct State {
        var connection: RedisConnection?
        /// The server that a redirect named.
        var target: SharedStoreURL.Host?
        var asksFirst = false
        /// The host of the list that is used.
        var index = 0
    }
    private let state = Mutex(State())

    package init(_ url: SharedStoreURL, _ configuration: CurlConfiguration) {
        self.url = url
        self.configuration = configuration
        timeout = configuration.httpTimeout
    }

    package var description: String { url.server }

    private func key(_ name: String) -> String {
        guard let (kind, stem) = name.parts(around: "/") else { return "oidc:\(name)" }
        // The braces keep a session's keys on one server of a cluster.
        return "oidc:\(kind):{\(stem)}"
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
    ) throws(OIDCError) -> Bool {
        let milliseconds = lifetime.map { max(1, $0.wholeMilliseconds) } ?? 0
        return try succeeds(
            RedisCommand(
                script: RedisEngine.writing, key: key(name),
                [current?.bytes ?? [], bytes, Array(String(milliseconds).utf8)]))
    }

    package func remove(_ name: String) throws(OIDCError) {
        _ = try send(RedisCommand("DEL", key(name)))
    }

    package func names(_ prefix: String) throws(OIDCError) -> [String] {
        let kind = prefix.split(separator: "/").first.map(String.init) ?? prefix
        let start = "oidc:\(kind):{"
        var names: Set<String> = []
        var cursor = "0"
        repeat {
            let reply = try send(RedisCommand("SCAN", cursor, "MATCH", "\(start)*", "COUNT", "1000"))
            guard let parts = reply.array, parts.count == 2, let next = parts[0].text,
                let keys = parts[1].array
            else {
                throw nonsense
            }
            for key in keys {
                guard let text = key.text, text.hasPrefix(start), text.hasSuffix("}") else { continue }
                names.insert("\(kind)/\(text.dropFirst(start.utf8.count).dropLast())")
            }
            cursor = next
        } while cursor != "0"
        return Array(names)
    }

    private static let acquiring = """
        local v = redis.call('GET', KEYS[1])
        if v and v ~= ARGV[1] then return 0 end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return 1
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

    package func acquire(_ lease: String, owner: String, for duration: Duration) throws(OIDCError) -> Bool {
        try succeeds(script(RedisEngine.acquiring, lease, owner, duration))
    }

    package func extend(_ lease: String, owner: String, to duration: Duration) throws(OIDCError) -> Bool {
        try succeeds(script(RedisEngine.extending, lease, owner, duration))
    }

    package func release(_ lease: String, owner: String) throws(OIDCError) {
        _ = try send(RedisCommand(script: RedisEngine.releasing, key: key(lease), [Array(owner.utf8)]))
    }

    private func script(_ script: String, _ lease: String, _ owner: String, _ duration: Duration)
        -> RedisCommand
    {
        let milliseconds = String(max(1, duration.wholeMilliseconds))
        return RedisCommand(script: script, key: key(lease), [Array(owner.utf8), Array(milliseconds.utf8)])
    }

    private func succeeds(_ command: RedisCommand) throws(OIDCError) -> Bool {
        guard let number = try send(command).integer else { throw nonsense }
        return number == 1
    }

    private var nonsense: OIDCError { .sharedStore(description, "does not answer as a Redis server") }
}

/// Sending
extension RedisEngine {
    /// Sends a command and returns its reply. Every command can be repeated, so one that got no reply is sent again.
    func send(_ command: RedisCommand) throws(OIDCError) -> RedisReply {
        let deadline = MonotonicTime.now().adding(milliseconds: Int64(timeout.milliseconds))
        let end = configuration.deadline.map { min($0, deadline) } ?? deadline
        let result = state.withLock { state in
            Result { () throws(OIDCError) in try send(command, &state, until: end) }
        }
        return try result.get()
    }

    private func send(_ command: RedisCommand, _ state: inout State, until deadline: MonotonicTime)
        throws(OIDCError) -> RedisReply
    {
        var attempts = 0
        while true {
            attempts += 1
            let wasOpen = state.connection != nil
            let reply: RedisReply
            do throws(WireFault) {
                reply = try exchange(command, &state, until: deadline)
            } catch {
                state.connection = nil
                state.target = nil
                if case .broken = error, attempts <= (wasOpen ? 2 : 1) + max(0, url.hosts.count - 1) {
                    if !wasOpen { state.index += 1 }
                    continue
                }
                throw fault(error)
            }
            guard case .error(let text) = reply else { return reply }
            if attempts < 6, redirect(text, &state) { continue }
            // A server that became a replica, or does not know yet who leads.
            if attempts <= url.hosts.count, text.hasPrefix("READONLY") || text.hasPrefix("MASTERDOWN") {
                state.connection = nil
                state.index += 1
                continue
            }
            throw RedisRefusal.error(text, description)
        }
    }

    private func exchange(_ command: RedisCommand, _ state: inout State, until deadline: MonotonicTime)
        throws(WireFault) -> RedisReply
    {
        var commands: [RedisCommand] = []
        let connection: RedisConnection
        if let open = state.connection {
            connection = open
        } else {
            let host = url.hosts.isEmpty ? nil : url.hosts[state.index % url.hosts.count]
            var target = state.target ?? host
            if let master = url.master, state.target == nil, let sentinel = host {
                target = try RedisSentinel.master(
                    master, at: open(sentinel, until: deadline), until: deadline)
            }
            connection = try open(target, until: deadline)
            commands = greeting
            state.connection = connection
        }
        let count = commands.count
        if state.asksFirst { commands.append(RedisCommand("ASKING")) }
        state.asksFirst = false
        let replies = try connection.send(commands + [command], until: deadline)
        // The first refusal is the cause of the others.
        if let refusal = replies.prefix(count).first(where: { if case .error = $0 { true } else { false } }) {
            state.connection = nil
            return refusal
        }
        return replies.last ?? .null
    }

    /// The commands that start a connection.
    private var greeting: [RedisCommand] {
        var commands: [RedisCommand] = []
        if let password = url.password?.revealed {
            commands.append(
                url.user.map { RedisCommand("AUTH", $0, password) } ?? RedisCommand("AUTH", password))
        }
        if url.database != 0 { commands.append(RedisCommand("SELECT", String(url.database))) }
        return commands
    }

    private func open(_ host: SharedStoreURL.Host?, until deadline: MonotonicTime) throws(WireFault)
        -> RedisConnection
    {
        let end = min(
            deadline, .now().adding(milliseconds: Int64(configuration.connectTimeout.milliseconds)))
        if let socket = url.socket {
            return RedisConnection(try SocketWire.connect(socket: socket, until: end))
        }
        guard let host else { throw .broken("no server is named") }
        return url.isSecure
            ? RedisConnection(try CurlWire.connect(host, configuration, until: end))
            : RedisConnection(try SocketWire.connect(host, until: end))
    }

    /// Follows a cluster's redirect: `MOVED 3999 127.0.0.1:6381`. Returns false for any other error.
    private func redirect(_ text: String, _ state: inout State) -> Bool {
        let words = text.split(separator: " ")
        guard words.count == 3, words[0] == "MOVED" || words[0] == "ASK",
            let colon = words[2].lastIndex(of: ":"),
            let port = UInt16(words[2][words[2].index(after: colon)...])
        else { return false }
        var name = String(words[2][..<colon])
        if name.isEmpty { name = (state.target ?? url.hosts.first)?.name ?? "" }
        guard !name.isEmpty, name.utf8.allSatisfy({ ASCII.isAlphanumeric($0) || "-._:".utf8.contains($0) })
        else {
            return false
        }
        state.target = SharedStoreURL.Host(name: name, port: port)
        state.asksFirst = words[0] == "ASK"
        state.connection = nil
        return true
    }

    private func fault(_ fault: WireFault) -> OIDCError {
        switch fault {
        case .broken(let reason): return .sharedStore(description, reason)
        case .slow:
            if let deadline = configuration.deadline, MonotonicTime.now() >= deadline {
                return OIDCError(.timedOut, "store: timed out waiting for \(description)", stage: .store)
            }
            return .sharedStore(description, "no answer within \(timeout.components.seconds) s")
        case .interrupted:
            return Interruption.pending.map(Interruption.error)
                ?? OIDCError(.interrupted, "interrupted", stage: .store)
        case .other(let error): return error
        }
    }
}

/// Redis Sentinel, which knows the current master.
private enum RedisSentinel {
    static func master(
        _ name: String, at sentinel: RedisConnection, until deadline: MonotonicTime
    ) throws(WireFault) -> SharedStoreURL.Host {
        let command = RedisCommand("SENTINEL", "get-master-addr-by-name", name)
        let reply = try sentinel.send([command], until: deadline).first
        guard let parts = reply?.array, parts.count == 2, let host = parts[0].text,
            let port = parts[1].text.flatMap({ UInt16($0) })
        else { throw .broken("the sentinel knows no master \(name)") }
        return SharedStoreURL.Host(name: host, port: port)
    }
}

/// The meaning of Redis's errors
enum RedisRefusal {
    static func error(_ text: String, _ server: String) -> OIDCError {
        let words = DisplayText.clean(text, limit: 200)
        switch text.prefix(while: { $0 != " " }) {
        case "NOAUTH", "WRONGPASS":
            return .sharedStoreRefusal(server, words, hint: "check user and password in the setting store")
        case "NOPERM":
            return .sharedStoreRefusal(
                server, words, hint: "allow this user GET, SET, DEL, EVAL, SCAN and INFO on the keys oidc:*")
        case "DENIED":
            return .sharedStoreRefusal(
                server, "refuses connections from other machines", hint: "set a password on it")
        case "ERR" where text.includes("AUTH") || text.includes("invalid password"):
            return .sharedStoreRefusal(server, words, hint: "check user and password in the setting store")
        case "ERR" where text.includes("DB index") || text.includes("SELECT is not allowed"):
            return .sharedStoreRefusal(
                server, words, hint: "check the number of the database in the setting store")
        default: return .sharedStore(server, words)
        }
    }
}
