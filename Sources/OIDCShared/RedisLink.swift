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
        /// The connections that no command uses now.
        var idle: [SharedStoreURL.Host: [RedisConnection]] = [:]
        /// The current server: one of the list, or one that a sentinel or a redirect named.
        var target: SharedStoreURL.Host?
        /// The index of the server of the list to use; a failure moves on to the next one.
        var index = 0
        /// The number of failures; a connection from before one is not used again.
        var generation = 0

        /// Closes the connections: what broke one may have broken the others.
        mutating func drop() {
            idle = [:]
            target = nil
            generation += 1
        }
    }
    /// Locked only for a moment, never while a server is waited for: a call that hangs delays no other.
    private let state = Mutex(State())

    init(_ url: SharedStoreURL, _ configuration: CurlConfiguration) {
        self.url = url
        self.configuration = configuration
        timeout = configuration.httpTimeout
    }

    private var description: String { url.server }

    /// The server that answered last.
    var target: SharedStoreURL.Host? { state.withLock { $0.target } }

    /// Sends a command and returns its reply, within `limit` or the time limit of a request. Every command can be
    /// repeated, so one that got no reply is sent again.
    func send(_ command: RedisCommand, within limit: Duration? = nil) throws(OIDCError) -> RedisReply {
        let timeout = min(limit ?? self.timeout, self.timeout)
        let deadline = deadline(timeout)
        var (attempts, redirects) = (0, 0)
        var pause: Int64 = 100
        let hosts = max(1, url.hosts.count)
        var asksFirst = false
        // Whether an attempt got no reply, so the server may have run the command.
        var isUnanswered = false
        while true {
            attempts += 1
            // The time is divided, so a server that hangs leaves time for the next one.
            let end =
                attempts < hosts
                ? min(deadline, .now().adding(milliseconds: timeout.milliseconds / Int64(hosts))) : deadline
            var attempt = Attempt()
            let reply: RedisReply
            do throws(WireFault) {
                reply = try exchange(command, asksFirst: asksFirst, &attempt, until: end)
            } catch {
                // A signal breaks no connection.
                if case .interrupted = error {} else { drop() }
                isUnanswered = isUnanswered || attempt.isSent
                if case .slow = error, attempts < hosts, MonotonicTime.now() < deadline {
                    moveOn()
                    continue
                }
                if case .broken = error, attempts <= (attempt.wasOpen ? 2 : 1) + hosts - 1 {
                    if !attempt.wasOpen { moveOn() }
                    continue
                }
                if case .other(let refusal) = error, refusal.kind == .unreachable, attempts < hosts {
                    moveOn()
                    continue
                }
                throw fault(error).unanswered(isUnanswered)
            }
            guard case .error(let text) = reply else { return reply }
            let isMoving = text.hasPrefix("TRYAGAIN")
            // The server that a slot moves to answers only after ASKING, until the slot is its own.
            asksFirst = asksFirst && isMoving
            if redirects < RedisLink.redirectLimit, let redirect = redirect(text) {
                state.withLock { $0.target = redirect.host }
                asksFirst = redirect.asksFirst
                redirects += 1
                continue
            }
            // The server became a replica, is loading its data, or does not know the new master yet. READONLY
            // may be inside the text, as Redis 6 wraps the errors of scripts in others.
            let isStarting = ["MASTERDOWN", "LOADING", "CLUSTERDOWN"].contains(where: text.hasPrefix)
            if attempts <= url.hosts.count, text.includes("READONLY") || isStarting {
                drop()
                moveOn()
                continue
            }
            // It has not run the command.
            let next = MonotonicTime.now().adding(milliseconds: pause)
            if isStarting || isMoving, pause <= RedisLink.longestPause, next < deadline {
                Poll.sleep(until: next)
                try Interruption.throwIfPending()
                pause *= 2
                continue
            }
            throw RedisRefusal.error(text, url).unanswered(isUnanswered)
        }
    }

    private func drop() { state.withLock { $0.drop() } }

    private func moveOn() { state.withLock { $0.index += 1 } }

    private func deadline(_ timeout: Duration) -> MonotonicTime {
        let end = MonotonicTime.now().adding(milliseconds: timeout.milliseconds)
        return configuration.deadline.map { min($0, end) } ?? end
    }

    /// Connects to the first server of the list without sending anything.
    func connect() throws(OIDCError) {
        do throws(WireFault) { _ = try open(url.hosts.first, until: deadline(timeout)) } catch {
            throw fault(error)
        }
    }

    private struct Attempt {
        /// Whether the connection is an earlier one.
        var wasOpen = false
        /// Whether the command may have been sent.
        var isSent = false
    }

    /// Sends a command over a connection that nothing else uses meanwhile.
    private func exchange(
        _ command: RedisCommand, asksFirst: Bool, _ attempt: inout Attempt, until deadline: MonotonicTime
    ) throws(WireFault) -> RedisReply {
        let (used, generation) = state.withLock { ($0.target, $0.generation) }
        let target: SharedStoreURL.Host
        if let used { target = used } else { target = try listed(until: deadline) }
        let idle = state.withLock { state in
            state.target = target
            return state.idle[target]?.popLast()
        }
        attempt.wasOpen = idle != nil
        let connection: RedisConnection
        if let idle {
            connection = idle
        } else {
            connection = try open(target, until: deadline)
            // If AUTH or SELECT fails, the command is not sent: it would use another user or database.
            let replies = greeting.isEmpty ? [] : try connection.send(greeting, until: deadline)
            if let refusal = replies.first(where: { if case .error = $0 { true } else { false } }) {
                drop()
                return refusal
            }
        }
        let commands = asksFirst ? [RedisCommand("ASKING"), command] : [command]
        attempt.isSent = true
        func keep() {
            state.withLock { state in
                if state.generation == generation { state.idle[target, default: []].append(connection) }
            }
        }
        let replies: [RedisReply]
        do throws(WireFault) { replies = try connection.send(commands, until: deadline) } catch {
            // The server may read the request for a lease late. A release on another connection would overtake it.
            if case .interrupted = error, connection.isWhole { keep() }
            throw error
        }
        keep()
        return replies.last ?? .null
    }

    /// Returns the current server of the list, or the master that it names if it is a sentinel.
    private func listed(until deadline: MonotonicTime) throws(WireFault) -> SharedStoreURL.Host {
        // The URL of a socket has no host.
        guard !url.hosts.isEmpty else { return SharedStoreURL.Host(name: "", port: 0) }
        let host = url.hosts[state.withLock { $0.index } % url.hosts.count]
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
    /// The longest pause, in milliseconds, before a server that is not ready is asked again.
    private static let longestPause: Int64 = 800

    /// Parses a cluster's redirect, such as `MOVED 3999 127.0.0.1:6381`. Returns nil for any other error.
    private func redirect(_ text: String) -> (host: SharedStoreURL.Host, asksFirst: Bool)? {
        let words = text.split(separator: " ")
        guard words.count == 3, words[0] == "MOVED" || words[0] == "ASK",
            let colon = words[2].lastIndex(of: ":"),
            let port = UInt16(words[2][words[2].index(after: colon)...])
        else { return nil }
        var name = String(words[2][..<colon])
        if name.isEmpty { name = (target ?? url.hosts.first)?.name ?? "" }
        guard !name.isEmpty, name.utf8.allSatisfy(SharedStoreURL.Host.allows),
            case let host = SharedStoreURL.Host(name: name, port: port), url.mayRedirect(to: host)
        else { return nil }
        return (host, words[0] == "ASK")
    }

    private func fault(_ fault: WireFault) -> OIDCError {
        switch fault {
        case .broken(let reason): return .sharedStore(description, url.withoutPassword(reason))
        case .slow:
            if let deadline = configuration.deadline, MonotonicTime.now() >= deadline {
                return OIDCError(.timedOut, "store: timed out waiting for \(description)", stage: .store)
            }
            return .sharedStore(description, "no answer within \(timeout.components.seconds) s")
        case .interrupted:
            return Interruption.pending.map(Interruption.error)
                ?? OIDCError(.interrupted, "interrupted", stage: .store)
        case .other(var error):
            error.message = url.withoutPassword(error.message)
            error.hint = error.hint?.replacingText(url.withoutPassword)
            return error
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
