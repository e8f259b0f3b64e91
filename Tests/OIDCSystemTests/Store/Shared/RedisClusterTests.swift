@testable import CurlHTTP
import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCShared
@testable import Posix
import Synchronization
import TestSupport
import Testing

/// The ports of a cluster's masters, which are known after its servers were started.
private final class PortList: Sendable {
    let masters = Mutex<[Int]>([])
}

/// A cluster.
extension RedisTests {
    /// A server of a cluster, with one session.
    private func clusterServer(_ session: String, masters: PortList, eviction: String = "noeviction") throws
        -> ScriptedServer
    {
        try server { name in
            switch name {
            case "SCAN": return "*2\r\n$1\r\n0\r\n*1\r\n$\(session.utf8.count)\r\n\(session)\r\n"
            case "INFO":
                let info =
                    "cluster_enabled:1\nredis_version:7.0.0\naof_enabled:1\nmaxmemory_policy:\(eviction)"
                return "$\(info.utf8.count)\r\n\(info)\r\n"
            case "CLUSTER":
                let rows = masters.masters.withLock { $0 }.enumerated().map { index, port in
                    // The first server does not know its own address.
                    let host = index == 0 ? "$0\r\n\r\n" : "$9\r\n127.0.0.1\r\n"
                    return "*3\r\n:\(index)\r\n:\(index)\r\n*2\r\n\(host):\(port)\r\n"
                }
                return "*\(rows.count)\r\n" + rows.joined()
            default: return "-ERR unknown\r\n"
            }
        }
    }

    @Test("a server that names another by the store's password shows it in no message", arguments: [0, 1, 2])
    func secretName(_ way: Int) throws {
        // Too long for a name, so it is refused without a name server.
        let password = "Correct-Horse-" + String(repeating: "x", count: 64)
        let server = try server { name in
            switch (way, name) {
            case (0, _): return "-MOVED 1 \(password).invalid:1\r\n"
            case (1, "INFO"): return "$17\r\ncluster_enabled:1\r\n"
            case (1, _): return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n+\(password).invalid\r\n:1\r\n"
            default: return "*2\r\n+\(password).invalid\r\n$1\r\n1\r\n"
            }
        }
        let sentinel = way == 2 ? "?sentinel=main" : ""
        var configuration = CurlConfiguration()
        configuration.httpTimeout = .seconds(5)
        // Not all hosts are on this machine, so redirects are followed.
        let host = "127.0.0.1:\(server.port)"
        let url = try SharedStoreURL("redis://:\(password)@\(host),192.0.2.1:1,\(host)/0\(sentinel)")
        let engine = RedisEngine(url, configuration)
        let refusal = failure { () throws(OIDCError) in try engine.names("session/") }
        let message = refusal?.message ?? ""
        #expect(message.contains("(secret)") && !ASCII.lowercased(message).contains("horse"), "\(message)")
        withExtendedLifetime(server) {}
    }

    @Test("the sessions of all of a cluster's masters are listed, and doctor checks each master")
    func cluster() throws {
        let ports = PortList()
        let first = try clusterServer("oidc:session:{a}", masters: ports)
        let second = try clusterServer("oidc:session:{b}", masters: ports, eviction: "allkeys-lru")
        ports.masters.withLock { $0 = [first.port, second.port] }
        let engine = try engine(first.port)
        #expect(try engine.names("session/").sorted() == ["session/a", "session/b"])
        let remarks = try engine.health(now: Instant(secondsSinceEpoch: 0))
        let warnings = remarks.filter { $0.warning != nil }.map(\.text)
        #expect(
            warnings == [
                "127.0.0.1:\(second.port): maxmemory-policy allkeys-lru",
                "a cluster of 2 masters with 2 of 16384 slots",
            ])
        ports.masters.withLock { $0 = [first.port, 1] }
        let refusal = failure { () throws(OIDCError) in try engine.names("session/") }
        #expect(refusal?.kind == .unreachable && refusal?.message.contains("127.0.0.1:1/0") == true)
        withExtendedLifetime((first, second)) {}
    }

    @Test(
        "a server that is not ready for a moment is asked again, a few times",
        arguments: ["TRYAGAIN", "CLUSTERDOWN", "LOADING"])
    func notReady(_ word: String) throws {
        let left = Mutex(3)
        let server = try server { _ in
            let isReady = left.withLock { left in
                left -= 1
                return left < 0
            }
            return isReady ? "$1\r\nv\r\n" : "-\(word) Not now\r\n"
        }
        #expect(try engine(server.port).read("session/x")?.bytes == Array("v".utf8))
        left.withLock { $0 = 1_000 }
        let refusal = failure { () throws(OIDCError) in try engine(server.port).read("session/x") }
        #expect(refusal?.kind == .unreachable && refusal?.message.contains(word) == true)
        #expect((990...996).contains(left.withLock { $0 }))
        // There is no time for another attempt.
        left.withLock { $0 = 1_000 }
        _ = try? engine(server.port).release("lease/x", owner: "me", within: .milliseconds(50))
        #expect(left.withLock { $0 } >= 998)
        withExtendedLifetime(server) {}
    }

    @Test("the server that a slot moves to is asked again as it wants to be asked")
    func movingSlot() throws {
        let names = Mutex<[String]>([])
        let target = try server { name in
            let (count, isAsking) = names.withLock { names in
                names.append(name)
                return (names.filter { $0 == "GET" }.count, names.suffix(2).first == "ASKING")
            }
            guard name == "GET" else { return "+OK\r\n" }
            guard isAsking else { return "-MOVED 7 127.0.0.1:1\r\n" }
            return count < 3 ? "-TRYAGAIN Multiple keys request during rehashing of slot\r\n" : "$1\r\nv\r\n"
        }
        let source = try server { _ in "-ASK 7 127.0.0.1:\(target.port)\r\n" }
        #expect(try engine(source.port).read("session/x")?.bytes == Array("v".utf8))
        #expect(names.withLock { $0 } == ["ASKING", "GET", "ASKING", "GET", "ASKING", "GET"])
        withExtendedLifetime((source, target)) {}
    }

    @Test(
        "a list of a cluster's masters that is not one is refused",
        arguments: [
            ":1", "*1 :1", "*1 *2 :0 :1", "*1 *3 :0 :16384 *2 $1 h :7", "*1 *3 :1 :0 *2 $1 h :7",
            "*1 *3 :0 :-1 *2 $1 h :7", "*1 *3 :-1 :0 *2 $1 h :7",
            "*1 *3 :0 :1 *2 $1 / :7", "*1 *3 :0 :1 *2 $1 h :70000", "*1 *3 :0 :1 *1 $1 h", "*1 *3 :0 :1 $-1",
        ])
    func clusterNonsense(_ text: String) throws {
        var parser = RedisParser()
        parser.append(Array((text.split(separator: " ") + [""]).joined(separator: "\r\n").utf8))
        #expect(RedisCluster(slots: try #require(try parser.next()), asked: "h") == nil)
    }
}
