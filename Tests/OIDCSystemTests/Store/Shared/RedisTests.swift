@testable import CurlHTTP
import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCShared
@testable import Posix
import Synchronization
import TestSupport
import Testing

extension Peer {
    /// The next bytes; nil at the end of the connection.
    fileprivate func read() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? Array(buffer[..<count]) : nil
    }
}

@Suite("Redis", .serialized, .waiting)
struct RedisTests {
    func engine(_ ports: Int..., seconds: Int64 = 5) throws(OIDCError) -> RedisEngine {
        let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
        var configuration = CurlConfiguration()
        configuration.httpTimeout = .seconds(seconds)
        return RedisEngine(try SharedStoreURL("redis://:hunter2@\(hosts)/0"), configuration)
    }

    /// Answers AUTH, and then each command with `reply`, which gets the command's name.
    func server(_ reply: @escaping @Sendable (String) -> String?) throws -> ScriptedServer {
        try ScriptedServer { peer in
            var parser = RedisParser()
            while let bytes = peer.read() {
                parser.append(bytes)
                while let words = (try? parser.next())?.array {
                    let name = words.first?.text ?? ""
                    guard let answer = name == "AUTH" ? "+OK\r\n" : reply(name) else { return }
                    peer.write(answer)
                }
            }
        }
    }

    @Test(
        "nothing is sent unless the server accepted the user, the password and the database",
        arguments: [
            ("redis://u:hunter2@", "AUTH u hunter2", "/0"), ("redis://u@", "AUTH u ", "/0"),
            ("redis://:hunter2@", "AUTH hunter2", "/0"), ("redis://", "SELECT 7", "/7"),
        ])
    func greeting(_ start: String, _ refused: String, _ path: String) throws {
        let seen = Mutex<[String]>([])
        let server = try ScriptedServer { peer in
            var parser = RedisParser()
            while let bytes = peer.read() {
                parser.append(bytes)
                while let words = (try? parser.next())?.array {
                    seen.withLock { $0.append(words.map { $0.text ?? "" }.joined(separator: " ")) }
                    peer.write("-ERR no\r\n")
                }
            }
        }
        let url = try SharedStoreURL("\(start)127.0.0.1:\(server.port)\(path)")
        let engine = RedisEngine(url, CurlConfiguration())
        #expect(throws: OIDCError.self) { try engine.remove("session/x") }
        #expect(seen.withLock { $0 } == [refused])
        withExtendedLifetime(server) {}
    }

    @Test("a record beyond the limit is not taken for nonsense, and a sign-in is its remedy")
    func tooLarge() throws {
        let server = try server { _ in "$9999999\r\n" }
        let refusal = failure { () throws(OIDCError) in try engine(server.port).read("session/x") }
        #expect(refusal?.kind == .untrusted && refusal?.hint == .signIn)
    }

    @Test("a length that no Redis server has is nonsense", arguments: ["$536870913", "$9223372036854775807"])
    func impossibleLength(_ reply: String) throws {
        let server = try server { _ in "\(reply)\r\n" }
        #expect(
            failure { () throws(OIDCError) in try engine(server.port).read("session/x") }?.kind
                == .unreachable)
    }

    @Test("a socket that is not there is an error that names the path")
    func noSocket() throws {
        let engine = RedisEngine(try SharedStoreURL("redis+unix:/nowhere/redis.sock"), CurlConfiguration())
        let refusal = try #require(failure { () throws(OIDCError) in try engine.read("session/x") })
        #expect(refusal.kind == .unreachable && refusal.message.contains("/nowhere/redis.sock"))
        #expect(refusal.hint == "check that Redis runs, and the path in the store's URL")
    }

    @Test("replies are read, however they are cut")
    func replies() throws {
        let text = "+OK\r\n-ERR no\r\n:-7\r\n$3\r\na\r\n\r\n$-1\r\n*2\r\n$0\r\n\r\n*-1\r\n"
        let expected: [RedisReply] = [
            .status("OK"), .error("ERR no"), .integer(-7), .bytes(Array("a\r\n".utf8)), .null,
            .array([.bytes([]), .null]),
        ]
        for size in [1, 2, 3, 100] {
            var parser = RedisParser()
            var found: [RedisReply] = []
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                parser.append(Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
                while let reply = try parser.next() { found.append(reply) }
            }
            #expect(found == expected)
        }
    }

    @Test(
        "what is not a reply is refused at once, without crash or unbounded memory",
        arguments: [
            "HTTP/1.1 200 OK\r\n", "x", ":\r\n", ":1e9\r\n", "$99999999999999999999\r\n", "$9999999\r\n",
            "$1\r\nabc", "*1000000\r\n", "$-5\r\n", "*-7\r\n", String(repeating: "*1\r\n", count: 20), "\r\n",
            "+a\rb",
            "+" + String(repeating: "x", count: 70_000),
        ])
    func nonsense(_ text: String) {
        var parser = RedisParser()
        parser.append(Array(text.utf8))
        #expect(throws: RedisReply.FormatError.self) { try parser.next() }
    }

    @Test("random bytes neither crash nor hang the parser")
    func random() {
        var random = SeededRandom(state: 1)
        for _ in 0..<3_000 {
            var parser = RedisParser()
            let alphabet = Array("+-:$*0123456789\r\nab".utf8)
            parser.append((0..<40).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] })
            while let reply = try? parser.next(), reply != .null {}
        }
    }

    @Test(
        "an error of the server has its kind and hint, and never the password",
        arguments: [
            ("WRONGPASS invalid", OIDCError.Kind.usage), ("NOAUTH Authentication required.", .usage),
            ("NOPERM no permissions", .usage), ("ERR DB index is out of range", .usage),
            ("OOM command not allowed", .unreachable), ("LOADING Redis is loading", .unreachable),
            ("WRONGTYPE Operation against a key", .untrusted),
            ("MISCONF errors writing to the AOF", .unreachable), ("READONLY You can't write", .unreachable),
            ("ERR \u{1B}[31mhunter", .unreachable), ("", .unreachable), ("MOVED 1 x", .unreachable),
        ])
    func errors(_ text: String, _ kind: OIDCError.Kind) throws {
        let server = try server { _ in "-\(text)\r\n" }
        let refusal = try #require(
            failure { () throws(OIDCError) in try engine(server.port).read("session/x") })
        #expect(refusal.kind == kind && refusal.hint != nil && refusal.stage == .store)
        #expect(!refusal.message.contains("hunter2") && !refusal.message.contains("\u{1B}"))
    }

    @Test("a server that is away, silent, closes or answers nonsense is unreachable")
    func unreachable() throws {
        let closing = try ScriptedServer { _ in }
        let http = try server { _ in "HTTP/1.1 400 Bad Request\r\n\r\n" }
        let silent = try server { _ in
            Thread.sleep(forTimeInterval: 3)
            return nil
        }
        for (port, seconds) in [(1, 5), (closing.port, 5), (http.port, 5), (silent.port, 1)] as [(Int, Int64)]
        {
            let engine = try engine(port, seconds: seconds)
            #expect(failure { () throws(OIDCError) in try engine.read("session/x") }?.kind == .unreachable)
        }
        let odd = try server { _ in "+OK\r\n" }
        let engine = try engine(odd.port)
        #expect(failure { () throws(OIDCError) in try engine.read("session/x") }?.kind == .unreachable)
        #expect(failure { () throws(OIDCError) in try engine.names("session/") }?.kind == .unreachable)
    }

    @Test("the next server is asked if one is away or a replica, and a cluster's redirect is followed")
    func others() throws {
        let good = try server { $0 == "EVAL" ? "*1\r\n:1\r\n" : "$1\r\nv\r\n" }
        let replica = try server { _ in "-READONLY You can't write against a read only replica.\r\n" }
        #expect(try engine(1, good.port).read("session/x")?.bytes == Array("v".utf8))
        #expect(try engine(replica.port, good.port).acquire("lease/x", owner: "o", for: .seconds(1)))
        let moved = try server { _ in "-MOVED 7 127.0.0.1:\(good.port)\r\n" }
        #expect(try engine(moved.port).read("session/x")?.bytes == Array("v".utf8))
        let circle = try server { _ in "-MOVED 7 :1\r\n" }
        #expect(
            failure { () throws(OIDCError) in try engine(circle.port).read("session/x") }?.kind
                == .unreachable)
    }

    @Test("at most five redirects are followed, and none from this machine to another without TLS")
    func redirects() throws {
        let port = Mutex(0)
        let asked = Mutex(0)
        let circle = try server { _ in
            asked.withLock { $0 += 1 }
            return "-MOVED 7 127.0.0.1:\(port.withLock { $0 })\r\n"
        }
        port.withLock { $0 = circle.port }
        #expect(
            failure { () throws(OIDCError) in try engine(circle.port).read("session/x") }?.kind
                == .unreachable)
        #expect(asked.withLock { $0 } == 6)
        for text in ["MOVED 7 192.0.2.1:6379", "ASK 7 evil.example:6379", "MOVED 7 127.evil.example:6379"] {
            let away = try server { _ in "-\(text)\r\n" }
            let refusal = failure { () throws(OIDCError) in try engine(away.port).read("session/x") }
            #expect(refusal?.message.contains(text) == true, "\(String(describing: refusal))")
        }
        let url = try SharedStoreURL("rediss://:hunter2@127.0.0.1:1")
        #expect(url.mayRedirect(to: .init(name: "192.0.2.1", port: 1)))
    }

    @Test("a cluster on this machine that names servers elsewhere gets nothing sent there without TLS")
    func membersElsewhere() throws {
        let server = try server { name in
            name == "INFO"
                ? "$17\r\ncluster_enabled:1\r\n"
                : "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n192.0.2.1\r\n:6379\r\n"
        }
        let refusal = failure { () throws(OIDCError) in try engine(server.port).names("session/") }
        #expect(refusal?.message.contains("not on this machine") == true, "\(String(describing: refusal))")
    }

    @Test("a master that a sentinel names elsewhere gets no password without TLS")
    func masterElsewhere() throws {
        let sentinel = try server { _ in "*2\r\n$9\r\n192.0.2.1\r\n$4\r\n6379\r\n" }
        let url = try SharedStoreURL("redis://:hunter2@127.0.0.1:\(sentinel.port)/0?sentinel=main")
        let engine = RedisEngine(url, CurlConfiguration())
        let refusal = failure { () throws(OIDCError) in try engine.read("session/x") }
        #expect(refusal?.message.contains("master elsewhere") == true, "\(String(describing: refusal))")
    }

    @Test("an answer that does not end is given up at the deadline, though its server always sends something")
    func dripping() throws {
        let server = try ScriptedServer { peer in
            guard peer.read() != nil else { return }
            peer.write("+OK\r\n")
            guard peer.read() != nil else { return }
            peer.write("$60000\r\n")
            for _ in 0..<400 {
                peer.write(String(repeating: "x", count: 20))
                Thread.sleep(forTimeInterval: 0.02)
            }
        }
        let begin = MonotonicTime.now()
        let refusal = failure { () throws(OIDCError) in try engine(server.port, seconds: 1).read("session/x")
        }
        #expect(
            refusal?.kind == .unreachable && begin.adding(seconds: 6) > .now(),
            "\(String(describing: refusal))")
    }

    @Test("a list that does not end is refused, in bounded time and memory")
    func endless() throws {
        let count = Mutex(0)
        let server = try server { name in
            guard name == "SCAN" else { return "$0\r\n\r\n" }
            let start = count.withLock { count in
                count += 1
                return count
            }
            let names = (0..<100).map { index in
                let name = "oidc:session:{\(start)-\(index)-\(String(repeating: "x", count: 9_000))}"
                return "$\(name.utf8.count)\r\n\(name)\r\n"
            }
            return "*2\r\n$1\r\n7\r\n*\(names.count)\r\n\(names.joined())"
        }
        let refusal = failure { () throws(OIDCError) in try engine(server.port).names("session/") }
        #expect(refusal?.kind == .unreachable && refusal?.message.contains("does not end") == true)
        #expect(count.withLock { $0 } < 100)
        var listing = SharedListing(server: "x", timeLimit: .zero)
        #expect(failure { () throws(OIDCError) in try listing.beginPage() }?.kind == .unreachable)
    }

    @Test(
        "what a server repeats of the user and the password is not shown",
        arguments: ["s3cret-password", "wrong", "p"])
    func echoed(_ password: String) throws {
        let server = try ScriptedServer { peer in
            var parser = RedisParser()
            while let bytes = peer.read() {
                parser.append(bytes)
                while let words = (try? parser.next())?.array {
                    let quoted = words.dropFirst().map { "'\($0.text ?? "")'" }.joined(separator: " ")
                    peer.write("-ERR unknown command 'AUTH', with args beginning with: \(quoted)\r\n")
                }
            }
        }
        let url = try SharedStoreURL("redis://somebody:\(password)@127.0.0.1:\(server.port)/0")
        let engine = RedisEngine(url, CurlConfiguration())
        let refusal = try #require(failure { () throws(OIDCError) in try engine.read("session/x") })
        let words = refusal.message.replacingOccurrences(
            of: "(the server's words contain the password)", with: "")
        #expect(!words.contains("somebody") && !words.contains("'\(password)'"))
        #expect(refusal.hint == "check user and password in the store's URL")
        withExtendedLifetime(server) {}
    }

    @Test(
        "with TLS, nothing is sent to a server whose certificate is for another host",
        .enabled(if: TLSServers.areAvailable, "needs python3 and openssl to play the server"))
    func otherHost() throws {
        let servers = try #require(TLSServers.shared)
        var configuration = CurlConfiguration()
        configuration.caFile = .init(path: servers.path("ca.pem"))
        let url = try SharedStoreURL("rediss://:hunter2@localhost:\(servers.port("good"))/0")
        let refusal = failure { () throws(OIDCError) in
            try RedisEngine(url, configuration).read("session/x")
        }
        #expect(refusal?.kind == .untrusted, "\(String(describing: refusal))")
    }

    @Test(
        "the next server is asked if one cannot be reached, also with TLS",
        arguments: ["redis", "rediss"])
    func next(_ scheme: String) throws {
        let asked = Mutex(0)
        let server = try ScriptedServer { _ in asked.withLock { $0 += 1 } }
        let url = try SharedStoreURL("\(scheme)://127.0.0.1:1,127.0.0.1:\(server.port)/0")
        let engine = RedisEngine(url, CurlConfiguration())
        #expect(failure { () throws(OIDCError) in try engine.read("session/x") }?.kind == .unreachable)
        #expect(asked.withLock { $0 } > 0)
        withExtendedLifetime(server) {}
    }

    @Test("a server that accepts and hangs is passed over in time for the next one")
    func hanging() throws {
        let done = DispatchSemaphore(value: 0)
        let hung = try ScriptedServer { _ in done.wait() }
        let good = try server { _ in "$1\r\nv\r\n" }
        #expect(try engine(hung.port, good.port, seconds: 4).read("session/x")?.bytes == Array("v".utf8))
        done.signal()
        withExtendedLifetime((hung, good)) {}
    }

    @Test("a server that hangs does not delay the end of a lease")
    func hangingRelease() throws {
        let done = DispatchSemaphore(value: 0)
        let hung = try ScriptedServer { _ in done.wait() }
        let start = MonotonicTime.now()
        let engine = try engine(hung.port, seconds: 30)
        #expect(throws: OIDCError.self) {
            try engine.release("lease/x", owner: "me", within: .milliseconds(300))
        }
        #expect(MonotonicTime.now().milliseconds(from: start) < 15_000)
        done.signal()
        withExtendedLifetime(hung) {}
    }

    @Test("a signal while a lease is requested: its release follows on the same connection")
    func overtaking() async {
        await #expect(processExitsWith: .exitCode(9)) {
            try Interruption.install()
            // The server answers the first request late; each entry is its connection, and whether it is a release.
            let seen = Mutex<[String]>([])
            let number = Mutex(0)
            let server = try ScriptedServer { peer in
                let connection = number.withLock { number in
                    number += 1
                    return number
                }
                var parser = RedisParser()
                while let bytes = peer.read() {
                    parser.append(bytes)
                    while let words = (try? parser.next())?.array {
                        guard words.first?.text == "EVAL" else {
                            peer.write("+OK\r\n")
                            continue
                        }
                        let isFirst = seen.withLock { seen in
                            seen.append("\(connection) \(words[1].text?.includes("'DEL'") == true)")
                            return seen.count == 1
                        }
                        if isFirst {
                            kill(getpid(), SIGTERM)
                            usleep(300_000)
                        }
                        peer.write(isFirst ? "*1\r\n:1\r\n" : ":1\r\n")
                    }
                }
            }
            var configuration = CurlConfiguration()
            configuration.httpTimeout = .seconds(20)
            let engine = RedisEngine(
                try SharedStoreURL("redis://:hunter2@127.0.0.1:\(server.port)/0"), configuration)
            let lease = SharedLease("lease/x", engine, LeaseTimes())
            let start = MonotonicTime.now()
            let isInterrupted: Bool
            do throws(OIDCError) {
                _ = try lease.acquire(now: { .now() })
                isInterrupted = false
            } catch {
                isInterrupted = error.kind == .interrupted
            }
            let commands = seen.withLock { $0 }
            let isSoon = MonotonicTime.now().milliseconds(from: start) < 10_000
            withExtendedLifetime(server) {}
            exit(isInterrupted && isSoon && commands == ["1 false", "1 true"] ? 9 : 1)
        }
    }

    @Test("a lease comes with the values; one that is not a string is left out")
    func acquires() throws {
        let server = try server { _ in "*4\r\n:1\r\n$1\r\nv\r\n$-1\r\n-WRONGTYPE no\r\n" }
        let answer = try engine(server.port).acquire(
            "lease/x", owner: "o", for: .seconds(1), reading: ["a", "b", "c"], checksWrites: true)
        #expect(answer.isOurs)
        #expect(answer.values == ["a": SharedValue(bytes: Array("v".utf8)), "b": nil])
    }

    @Test("a key of another type in place of a lease is named, with the command that deletes it")
    func leaseOfAnotherType() throws {
        let server = try server { _ in "-WRONGTYPE no\r\n" }
        let keys = try SealingKeys.example()
        let store = SessionStore(try engine(server.port)) { () throws(OIDCError) in keys }
        let lease = "oidc:lease:{\(SessionKey.example.fileStem)}"
        for purpose in [LockPurpose.tokens, .signIn] {
            let refusal = failure { () throws(OIDCError) in
                try store.withLock(.example, for: purpose, LockWait(limit: .zero)) {}
            }
            let key = purpose == .tokens ? lease : lease.replacing("}", with: ".sign-in}")
            #expect(refusal?.hint?.description.hasSuffix(": redis-cli DEL '\(key)'") == true)
            #expect(refusal?.kind == .untrusted && refusal?.code == nil)
        }
    }

    @Test("a command that hangs keeps no other one waiting")
    func parallel() async throws {
        let (isAsked, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let server = try server { name in
            guard name == "DEL" else { return "$1\r\nv\r\n" }
            isAsked.signal()
            _ = done.wait(timeout: .now() + 30)
            return ":1\r\n"
        }
        let engine = try engine(server.port, seconds: 40)
        async let hanging: Void = detached { try? engine.remove("session/x") }
        let wasAsked = await detached { isAsked.wait(timeout: .now() + 20) == .success }
        let start = MonotonicTime.now()
        #expect(try wasAsked && engine.read("session/x") != nil)
        #expect(MonotonicTime.now().milliseconds(from: start) < 15_000)
        done.signal()
        await hanging
    }

    @Test("a connection that broke since the last command is made again")
    func reconnects() throws {
        let server = try server { $0 == "GET" ? "$1\r\nv\r\n" : nil }
        let engine = try engine(server.port)
        #expect(try engine.read("session/x") != nil)
        _ = try? engine.remove("session/x")
        #expect(try engine.read("session/x") != nil)
    }

    @Test(
        "doctor survives every time that a server may name",
        arguments: ["-9223372036854775808", "9223372036854775807"])
    func absurdTime(_ seconds: String) throws {
        let server = try server { name in
            name == "TIME" ? "*2\r\n+\(seconds)\r\n+0\r\n" : "$19\r\nredis_version:7.0.0\r\n"
        }
        let reports = try engine(server.port).health(now: Instant(secondsSinceEpoch: 1_800_000_000))
        #expect(reports.contains { $0.text.hasPrefix("its clock differs by ") && $0.warning != nil })
    }

    @Test("only a command that may have been sent may have been carried out")
    func unanswered() throws {
        let silent = try server { _ in nil }
        let lost = failure { () throws(OIDCError) in try engine(silent.port).remove("session/x") }
        #expect(lost?.kind == .unreachable && lost?.code == .noStoreAnswer)
        let refusing = try server { _ in "-READONLY replica\r\n" }
        let refused = failure { () throws(OIDCError) in try engine(refusing.port).remove("session/x") }
        #expect(refused?.kind == .unreachable && refused?.code == nil)
        // Nothing listens there.
        let unsent = failure { () throws(OIDCError) in try engine(1).remove("session/x") }
        #expect(unsent?.kind == .unreachable && unsent?.code == nil)
        // A refusal says nothing about the attempt before.
        let count = Mutex(0)
        let mixed = try server { _ in
            count.withLock { count in
                count += 1
                return count == 1 ? nil : "-READONLY replica\r\n"
            }
        }
        let unknown = failure { () throws(OIDCError) in
            try engine(mixed.port, mixed.port).remove("session/x")
        }
        #expect(unknown?.code == .noStoreAnswer, "\(unknown as Any)")
    }

    @Test("a name server that does not answer keeps nobody beyond the time limit")
    func slowLookup() throws {
        let start = MonotonicTime.now()
        let isOver = DispatchSemaphore(value: 0)
        #expect(throws: WireFault.self) {
            _ = try SocketWire.addresses(of: "redis.example", until: start.adding(milliseconds: 100)) { _ in
                isOver.wait()
                return []
            }
        }
        isOver.signal()
        let found = try SocketWire.addresses(of: "a.example", until: start.adding(milliseconds: 60_000)) {
            [$0]
        }
        #expect(found == ["a.example"])
        #expect(try SocketWire.addresses(of: "192.0.2.1", until: start) == ["192.0.2.1"])
    }

    @Test("doctor warns of eviction, missing persistence and old versions")
    func health() {
        func warns(_ remark: HealthReport) -> Bool { remark.warning != nil }
        #expect(!warns(RedisHealth.version(["redis_version": "7.0.15"])))
        #expect(warns(RedisHealth.version(["redis_version": "5.0.1"])) && warns(RedisHealth.version([:])))
        #expect(!warns(RedisHealth.persistence(["aof_enabled": "1"])))
        #expect(warns(RedisHealth.persistence(["aof_enabled": "0", "rdb_last_save_time": "1"])))
        #expect(warns(RedisHealth.eviction(["maxmemory_policy": "allkeys-lru"])))
        #expect(!warns(RedisHealth.eviction(["maxmemory_policy": "noeviction"])))
        #expect(warns(RedisHealth.eviction(["maxmemory_policy": "volatile-ttl", "maxmemory": "1000"])))
        #expect(!warns(RedisHealth.eviction(["maxmemory_policy": "volatile-ttl", "maxmemory": "0"])))
        #expect(!warns(.clock(differingBy: 3)) && warns(.clock(differingBy: -60)))
    }
}
