import CurlHTTP
import OIDCCore
import Posix
import Synchronization

/// The connections to a Redis server, or to the masters of a cluster.
final class RedisLink: Sendable {
    private let url: SharedStoreURL
    private let configuration: CurlConfiguration
    private let timeout: Duration

    private struct State {
        var connections: [SharedStoreURL.Host: RedisConnection] = [:]
        /// The current server: one of the list, or one that a sentinel or a redirect named.
        var target: SharedStoreURL.Host?
        var asksFirst = false
        /// The index of the server of the list to use; a failure moves on to the next one.
        var index = 0

        /// Closes the connections: what broke one may have broken the others.
        mutating func drop() {
            connections = [:]
            target = nil
        }
    }
    private let state = Mutex(State())

    init(_ url: SharedStoreURL, _ configuration: CurlConfiguration) {
        self.url = url
        self.configuration = configuration
        timeout = configuration.httpTimeout
    }

    private var description: String { url.server }

    /// The server that answered last.
    var target: SharedStoreURL.Host? { state.withLock { $0.target } }

    /// Sends a command and returns its reply. Every command can be repeated, so one that got no reply is sent
    /// again.
    func send(_ command: RedisCommand) throws(OIDCError) -> RedisReply {
        let end = deadline
        let result = state.withLock { state in
            Result { () throws(OIDCError) in try send(command, &state, until: end) }
        }
        return try result.get()
    }

    private var deadline: MonotonicTime {
        let end = MonotonicTime.now().adding(milliseconds: timeout.milliseconds)
        return configuration.deadline.map { min($0, end) } ?? end
    }

    /// Connects to the first server of the list without sending anything.
    func connect() throws(OIDCError) {
        do throws(WireFault) { _ = try open(url.hosts.first, until: deadline) } catch { throw fault(error) }
    }

    private func send(_ command: RedisCommand, _ state: inout State, until deadline: MonotonicTime)
        throws(OIDCError) -> RedisReply
    {
        var (attempts, redirects) = (0, 0)
        let hosts = max(1, url.hosts.count)
        while true {
            attempts += 1
            // The time is divided, so a server that hangs leaves time for the next one.
            let end =
                attempts < hosts
                ? min(deadline, .now().adding(milliseconds: timeout.milliseconds / Int64(hosts))) : deadline
            let wasOpen = state.target.map { state.connections[$0] != nil } ?? false
            let reply: RedisReply
            do throws(WireFault) {
                reply = try exchange(command, &state, until: end)
            } catch {
                state.drop()
                if case .slow = error, attempts < hosts, MonotonicTime.now() < deadline {
                    state.index += 1
                    continue
                }
                if case .broken = error, attempts <= (wasOpen ? 2 : 1) + hosts - 1 {
                    if !wasOpen { state.index += 1 }
                    continue
                }
                if case .other(let refusal) = error, refusal.kind == .unreachable, attempts < hosts {
                    state.index += 1
                    continue
                }
                throw fault(error)
            }
            guard case .error(let text) = reply else { return reply }
            if redirects < RedisLink.redirectLimit, redirect(text, &state) {
                redirects += 1
                continue
            }
            // The server became a replica, is loading its data, or does not know the new master yet. READONLY
            // may be inside the text, as Redis 6 wraps the errors of scripts in others.
            if attempts <= url.hosts.count,
                text.includes("READONLY")
                    || ["MASTERDOWN", "LOADING", "CLUSTERDOWN"].contains(where: text.hasPrefix)
            {
                state.drop()
                state.index += 1
                continue
            }
            throw RedisRefusal.error(text, url)
        }
    }

    private func exchange(_ command: RedisCommand, _ state: inout State, until deadline: MonotonicTime)
        throws(WireFault) -> RedisReply
    {
        let target: SharedStoreURL.Host
        if let used = state.target { target = used } else { target = try listed(state, until: deadline) }
        state.target = target
        let connection: RedisConnection
        if let open = state.connections[target] {
            connection = open
        } else {
            connection = try open(target, until: deadline)
            // If AUTH or SELECT fails, the command is not sent: it would use another user or database.
            let replies = greeting.isEmpty ? [] : try connection.send(greeting, until: deadline)
            if let refusal = replies.first(where: { if case .error = $0 { true } else { false } }) {
                state.drop()
                return refusal
            }
            state.connections[target] = connection
        }
        let commands = state.asksFirst ? [RedisCommand("ASKING"), command] : [command]
        state.asksFirst = false
        let replies = try connection.send(commands, until: deadline)
        return replies.last ?? .null
    }

    /// Returns the current server of the list, or the master that it names if it is a sentinel.
    private func listed(_ state: State, until deadline: MonotonicTime) throws(WireFault)
        -> SharedStoreURL.Host
    {
        // The URL of a socket has no host.
        guard !url.hosts.isEmpty else { return SharedStoreURL.Host(name: "", port: 0) }
        let host = url.hosts[state.index % url.hosts.count]
        guard let master = url.master else { return host }
        let named = try RedisSentinel.master(master, at: open(host, until: deadline), until: deadline)
        guard !named.name.isEmpty, named.name.utf8.allSatisfy(SharedStoreURL.Host.allows),
            url.mayRedirect(to: named)
        else { throw .broken("names a master elsewhere, which gets no password without TLS") }
        return named
    }

    /// The commands that start a connection.
    private var greeting: [RedisCommand] {
        var commands: [RedisCommand] = []
        if url.user != nil || url.password != nil {
            // AUTH needs a password; that of a user without one is empty.
            let words = [url.user, url.password?.revealed ?? ""].compactMap { $0 }
            commands.append(RedisCommand(["AUTH"] + words))
        }
        if url.database != 0 { commands.append(RedisCommand("SELECT", String(url.database))) }
        return commands
    }

    private func open(_ host: SharedStoreURL.Host?, until deadline: MonotonicTime) throws(WireFault)
        -> RedisConnection
    {
        let end = min(
            deadline, .now().adding(milliseconds: configuration.connectTimeout.milliseconds))
        do throws(WireFault) {
            if let socket = url.socket { return try open(socket: socket, until: end) }
            guard let host else { throw .broken("no server is named") }
            return url.isSecure
                ? RedisConnection(try CurlWire.connect(host.text, configuration, until: end))
                : RedisConnection(try SocketWire.connect(host, until: end))
        } catch {
            // Reported as broken, not as slow, as there may be time for the next server.
            guard case .slow = error, MonotonicTime.now() < deadline else { throw error }
            throw .broken(
                url.isSecure
                    ? "no TLS connection within \(configuration.connectTimeout.words): use redis:// if the server "
                        + "does not use TLS"
                    : "no connection within \(configuration.connectTimeout.words)")
        }
    }

    private func open(socket: String, until deadline: MonotonicTime) throws(WireFault) -> RedisConnection {
        do throws(WireFault) {
            return RedisConnection(try SocketWire.connect(socket: socket, until: deadline))
        } catch {
            guard case .broken(let reason) = error else { throw error }
            var refusal = OIDCError.sharedStore(description, reason)
            refusal.hint = "check that Redis runs, and the path in the store's URL"
            throw .other(refusal)
        }
    }

    private static let redirectLimit = 5

    /// Follows a cluster's redirect, such as `MOVED 3999 127.0.0.1:6381`. Returns false for any other error.
    private func redirect(_ text: String, _ state: inout State) -> Bool {
        let words = text.split(separator: " ")
        guard words.count == 3, words[0] == "MOVED" || words[0] == "ASK",
            let colon = words[2].lastIndex(of: ":"),
            let port = UInt16(words[2][words[2].index(after: colon)...])
        else { return false }
        var name = String(words[2][..<colon])
        if name.isEmpty { name = (state.target ?? url.hosts.first)?.name ?? "" }
        guard !name.isEmpty, name.utf8.allSatisfy(SharedStoreURL.Host.allows),
            case let host = SharedStoreURL.Host(name: name, port: port), url.mayRedirect(to: host)
        else { return false }
        state.target = host
        state.asksFirst = words[0] == "ASK"
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
