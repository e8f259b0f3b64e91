@testable import CurlHTTP
import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCShared
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("etcd", .serialized, .waiting)
struct EtcdTests {
    /// A transport whose answers the test gives, by host and path.
    final class Gateway: HTTPTransport {
        let answer: @Sendable (HTTPRequest) -> Result<String, OIDCError>
        private let seen = Mutex<[String]>([])
        var requests: [String] { seen.withLock { $0 } }

        init(_ answer: @escaping @Sendable (HTTPRequest) -> Result<String, OIDCError>) {
            self.answer = answer
        }

        func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
            seen.withLock { $0.append("\(request.url.host) \(request.url.path)") }
            let body = try answer(request).get()
            return HTTPResponse(
                status: body.hasPrefix(#"{"error"#) ? 400 : 200, headers: HTTPHeaders([]),
                body: Array(body.utf8))
        }
    }

    private func engine(_ gateway: Gateway, _ url: String = "etcd://a,b,c/team") throws(OIDCError)
        -> EtcdEngine
    {
        EtcdEngine(try SharedStoreURL(url), gateway)
    }

    private static let found =
        #"{"header":{"revision":"13"},"kvs":[{"key":"aw==","mod_revision":"12","value":"dg=="}],"count":"1"}"#

    @Test("a value is read with its revision, and an absent one is none")
    func reads() throws {
        let value = try engine(Gateway { _ in .success(Self.found) }).read("session/x")
        #expect(value == SharedValue(bytes: Array("v".utf8), revision: 12))
        #expect(
            try engine(Gateway { _ in .success(#"{"header":{"revision":"1"}}"#) }).read("session/x") == nil)
    }

    @Test(
        "while no leader is elected, the endpoints are asked again",
        arguments: ["no leader", "leader changed"])
    func election(problem: String) throws {
        let asked = Mutex(0)
        let gateway = Gateway { request in
            guard request.url.host != "c" else {
                return .failure(OIDCError(.unreachable, "cannot connect to c", stage: .store))
            }
            let count = asked.withLock { asked in
                asked += 1
                return asked
            }
            return .success(count < 4 ? #"{"error":"etcdserver: \#(problem)","code":14}"# : Self.found)
        }
        #expect(try engine(gateway).read("session/x")?.revision == 12)
        #expect(gateway.requests.count == 5)
    }

    @Test("a write compares the revision, and one whose answer was lost is found to be done")
    func writes() throws {
        let won = Gateway { _ in .success(#"{"header":{"revision":"2"},"succeeded":true}"#) }
        #expect(try engine(won).write("session/x", [1], replacing: nil, lifetime: nil)?.revision == 2)
        let lost = Gateway { request in
            .success(
                String(decoding: request.body, as: UTF8.self).contains(#""mod_revision":"12""#)
                    ? #"{"header":{"revision":"2"},"responses":[{"response_range":\#(Self.found)}]}"# : "[]")
        }
        let current = SharedValue(bytes: [0], revision: 12)
        let stored = try engine(lost).write("session/x", Array("v".utf8), replacing: current, lifetime: nil)
        #expect(stored?.revision == 12)
        #expect(
            try engine(lost).write("session/x", Array("w".utf8), replacing: current, lifetime: nil) == nil)
    }

    @Test("what etcd granted for a write that it refuses is revoked")
    func lostWrite() throws {
        let gateway = Gateway { request in
            .success(
                request.url.path.hasSuffix("grant")
                    ? #"{"ID":"7"}"#
                    : #"{"header":{"revision":"2"},"responses":[{"response_range":\#(Self.found)}]}"#)
        }
        let engine = try engine(gateway, "etcd://a")
        #expect(try engine.write("session/x", [1], replacing: nil, lifetime: .seconds(9)) == nil)
        #expect(gateway.requests == ["a /v3/lease/grant", "a /v3/kv/txn", "a /v3/lease/revoke"])
    }

    @Test("a lease is given with the values in one transaction; while another has it, nothing is granted")
    func acquires() throws {
        let isFree = Mutex(false)
        let gateway = Gateway { request in
            guard !request.url.path.contains("/lease/") else { return .success(#"{"ID":"7"}"#) }
            let holder = isFree.withLock { $0 } ? "bWU=" : "eW91"
            let lease =
                #"{"header":{"revision":"13"},"kvs":[{"key":"aw==","mod_revision":"13","value":"\#(holder)"}],"count":"1"}"#
            let ranges = [lease, Self.found, #"{"header":{"revision":"13"}}"#].map {
                #"{"response_range":\#($0)}"#
            }
            let start = isFree.withLock { $0 } ? [#"{"response_put":{}}"#, #"{"response_txn":{}}"#] : []
            return .success(
                #"{"header":{"revision":"13"},"succeeded":\#(isFree.withLock { $0 }),"#
                    + #""responses":[\#((start + ranges).joined(separator: ","))]}"#)
        }
        let engine = try engine(gateway, "etcd://a")
        let names = ["session/x", "failure/x"]
        func acquire() throws(OIDCError) -> LeaseAnswer {
            try engine.acquire("lease/x", owner: "me", for: .seconds(60), reading: names, checksWrites: true)
        }
        let lost = try acquire()
        #expect(!lost.isOurs && lost.values["session/x"] == SharedValue(bytes: Array("v".utf8), revision: 12))
        #expect(gateway.requests == ["a /v3/lease/grant", "a /v3/kv/txn", "a /v3/lease/revoke"])
        #expect(try !acquire().isOurs)
        #expect(gateway.requests.count == 4)
        isFree.withLock { $0 = true }
        let won = try engine.acquire(
            "lease/y", owner: "me", for: .seconds(60), reading: names, checksWrites: true)
        #expect(won.isOurs && won.values["failure/x"] == .some(nil))
        #expect(gateway.requests.suffix(2) == ["a /v3/lease/grant", "a /v3/kv/txn"])
    }

    @Test("a lease whose answer was lost is released by what etcd granted for it")
    func lostLease() throws {
        let gateway = Gateway { request in
            request.url.path.hasSuffix("txn")
                ? .failure(OIDCError(.unreachable, "no answer", code: .noStoreAnswer))
                : .success(#"{"ID":"7"}"#)
        }
        let lease = SharedLease("lease/x", try engine(gateway, "etcd://a"), LeaseTimes())
        #expect(throws: OIDCError.self) { try lease.acquire(now: { .now() }) }
        #expect(gateway.requests == ["a /v3/lease/grant", "a /v3/kv/txn", "a /v3/lease/revoke"])
    }

    @Test(
        "only a call that a server may have had may have been carried out",
        arguments: [
            (.failure(OIDCError(.unreachable, "no answer", code: .noStoreAnswer)), true),
            (.failure(OIDCError(.refused, "the answer is too large")), true), (.success("<html>"), true),
            (.success(#"{"error":"etcdserver: leader changed"}"#), true),
            (.success(#"{"error":"etcdserver: request timed out"}"#), true),
            (.success(#"{"error":"etcdserver: no leader"}"#), false),
            (.success(#"{"error":"etcdserver: mvcc: database space exceeded"}"#), false),
            (.failure(OIDCError(.unreachable, "cannot connect")), false),
        ] as [(Result<String, OIDCError>, Bool)])
    func unanswered(answer: Result<String, OIDCError>, isUnknown: Bool) throws {
        func code(_ url: String, _ path: String) throws -> OIDCError? {
            let gateway = Gateway { request in
                guard request.url.host == "a" else { return .failure(OIDCError(.unreachable, "refused")) }
                return request.url.path.hasSuffix(path) ? answer : .success(#"{"ID":"7"}"#)
            }
            let engine = EtcdEngine(try SharedStoreURL(url), gateway, election: 0)
            return failure { () throws(OIDCError) in
                _ = try engine.write("session/x", [1], replacing: nil, lifetime: .seconds(9))
            }
        }
        let alone = try code("etcd://a", "txn")
        #expect(alone?.kind == .unreachable && (alone?.code == .noStoreAnswer) == isUnknown)
        // Nothing was written if there is no grant, or no token.
        #expect(try code("etcd://a", "grant")?.code != .noStoreAnswer)
        #expect(try code("etcd://u:hunter2@a", "authenticate")?.code != .noStoreAnswer)
    }

    @Test("what one server may have carried out is not forgotten because the next one is away")
    func unansweredBefore() throws {
        let gateway = Gateway { request in
            .failure(
                OIDCError(.unreachable, "away", code: request.url.host == "a" ? .noStoreAnswer : nil))
        }
        let refusal = failure { () throws(OIDCError) in try engine(gateway).remove("session/x") }
        #expect(refusal?.code == .noStoreAnswer && gateway.requests.count == 3)
    }

    @Test("a server that hangs does not delay the end of a lease")
    func hangingRelease() throws {
        let done = DispatchSemaphore(value: 0)
        let hung = try ScriptedServer { _ in done.wait() }
        let engine = EtcdEngine(try SharedStoreURL("etcd://127.0.0.1:\(hung.port)"), CurlConfiguration())
        engine.grants.withLock { $0["me"] = EtcdEngine.Grant(id: "7", seconds: 1) }
        let start = MonotonicTime.now()
        #expect(throws: OIDCError.self) {
            try engine.release("lease/x", owner: "me", within: .milliseconds(300))
        }
        #expect(MonotonicTime.now().milliseconds(from: start) < 15_000)
        done.signal()
        withExtendedLifetime(hung) {}
    }

    @Test("the endpoints are tried in turn, and the one that answered stays first")
    func endpoints() throws {
        let gateway = Gateway { request in
            request.url.host == "a" ? .failure(OIDCError(.unreachable, "refused")) : .success(Self.found)
        }
        let engine = try engine(gateway)
        #expect(try engine.read("session/x") != nil)
        #expect(try engine.read("session/x") != nil)
        #expect(gateway.requests == ["a /v3/kv/range", "b /v3/kv/range", "b /v3/kv/range"])
        let away = Gateway { _ in .failure(OIDCError(.unreachable, "refused")) }
        let refusal = failure { () throws(OIDCError) in try self.engine(away).read("session/x") }
        #expect(refusal?.kind == .unreachable)
        #expect(refusal?.message.contains("none of etcd://a:2379,b:2379,c:2379/team answers") == true)
        #expect(away.requests.count == 3)
    }

    @Test(
        "a user signs in first, and again when the token has ended, once",
        arguments: ["invalid auth token", "revision of auth store is old"])
    func signsIn(words: String) throws {
        let gateway = Gateway { [box = Box(calls: 0)] request in
            if request.url.path.hasSuffix("authenticate") { return .success(#"{"token":"t"}"#) }
            guard request.headers["Authorization"] == "t" else { return .success(#"{"error":"no token"}"#) }
            let isFirst = box.calls.withLock { calls in
                calls += 1
                return calls == 2
            }
            return .success(isFirst ? #"{"error":"etcdserver: \#(words)","code":16}"# : Self.found)
        }
        let engine = try engine(gateway, "etcd://u:hunter2@a/team")
        for _ in 0..<3 { #expect(try engine.read("session/x") != nil) }
        #expect(gateway.requests.filter { $0.hasSuffix("authenticate") }.count == 2)
    }

    private final class Box: Sendable {
        let calls: Mutex<Int>
        init(calls: Int) { self.calls = Mutex(calls) }
    }

    @Test(
        "an error has its kind and hint, and never the password",
        arguments: [
            (
                #"{"error":"etcdserver: authentication failed, invalid user ID or password"}"#,
                OIDCError.Kind.usage
            ),
            (#"{"error":"etcdserver: permission denied","code":7}"#, .usage),
            (#"{"error":"etcdserver: user name is empty"}"#, .usage),
            (#"{"error":"etcdserver: mvcc: database space exceeded","code":8}"#, .unreachable),
            (#"{"error":{"message":"etcdserver: no leader"}}"#, .unreachable),
            ("", .unreachable), ("<html>", .unreachable), ("[]", .unreachable),
            (#"{"header":{"revision":"2"},"kvs":[{}],"count":"1"}"#, .unreachable),
            (
                #"{"header":{"revision":"2"},"kvs":[{"mod_revision":"x","value":"!"}],"count":"1"}"#,
                .unreachable
            ),
            (
                #"{"header":{"revision":"2"},"kvs":[{"mod_revision":1e999,"value":"dg=="}],"count":"1"}"#,
                .unreachable
            ), ("{}", .unreachable), (#"{"header":{}}"#, .unreachable),
            (#"{"header":{"revision":"2"},"kvs":5,"count":"1"}"#, .unreachable),
            (#"{"header":{"revision":"2"},"kvs":[{"mod_revision":"1"}]}"#, .unreachable),
        ])
    func errors(_ answer: String, _ kind: OIDCError.Kind) throws {
        let gateway = Gateway { request in
            .success(request.url.path.hasSuffix("authenticate") ? #"{"token":"t"}"# : answer)
        }
        let engine = EtcdEngine(try SharedStoreURL("etcds://u:hunter2@a/team"), gateway, election: 0)
        let refusal = try #require(failure { () throws(OIDCError) in try engine.read("session/x") })
        #expect(refusal.kind == kind && refusal.hint != nil)
        #expect(!refusal.message.contains("hunter2"))
    }

    @Test(
        "what a server repeats of its token, the user and the password is not shown",
        arguments: [
            #"{"error":"bad request {\"name\":\"somebody\",\"password\":\"hunter22\"} tok-e-n-1234"}"#,
            #"{"error":"permission denied: somebody hunter22 tok-e-n-1234"}"#,
        ])
    func echoed(_ answer: String) throws {
        let gateway = Gateway { request in
            .success(request.url.path.hasSuffix("authenticate") ? #"{"token":"tok-e-n-1234"}"# : answer)
        }
        let engine = EtcdEngine(try SharedStoreURL("etcds://somebody:hunter22@a/team"), gateway, election: 0)
        let refusal = try #require(failure { () throws(OIDCError) in try engine.read("session/x") })
        for secret in ["somebody", "hunter22", "tok-e-n-1234"] { #expect(!refusal.message.contains(secret)) }
    }

    @Test("a list that does not end is refused, whether its pages repeat or go on")
    func endless() throws {
        let count = Mutex(0)
        @Sendable func page(_ name: String) -> String {
            let key = Base64.encode(Array(name.utf8))
            return
                #"{"header":{"revision":"2"},"kvs":[{"key":"\#(key)","mod_revision":"1"}],"count":"1","more":true}"#
        }
        let repeating = Gateway { _ in .success(page("team/session/x")) }
        #expect(
            failure { () throws(OIDCError) in try engine(repeating, "etcds://a/team").names("session/") }?
                .kind
                == .unreachable)
        #expect(repeating.requests.count == 2)
        let empty = Gateway { _ in .success(#"{"header":{"revision":"2"},"more":true}"#) }
        #expect(
            failure { () throws(OIDCError) in try engine(empty, "etcds://a/team").names("session/") }?.kind
                == .unreachable)
        let growing = Gateway { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .success(
                page("team/session/\(1_000_000_000 + number)" + String(repeating: "x", count: 500_000)))
        }
        let refusal = failure { () throws(OIDCError) in
            try engine(growing, "etcds://a/team").names("session/")
        }
        #expect(refusal?.message.contains("does not end") == true)
        #expect(count.withLock { $0 } < 200)
    }

    @Test("doctor warns of a cluster without leader, of alarms and old versions")
    func health() throws {
        let good = Gateway { _ in .success(#"{"version":"3.5.1","leader":"10276657743932975437"}"#) }
        #expect(
            try engine(good, "etcds://a").health(now: Instant(secondsSinceEpoch: 0)).allSatisfy {
                $0.warning == nil
            })
        let open = try engine(good, "etcd://a").health(now: Instant(secondsSinceEpoch: 0))
        #expect(open.compactMap(\.warning) == ["use etcds://"])
        let bad = Gateway { _ in .success(#"{"version":"3.3.1","errors":["NOSPACE"]}"#) }
        let remarks = try engine(bad, "etcds://a").health(now: Instant(secondsSinceEpoch: 0))
        #expect(remarks.count == 3 && remarks.allSatisfy { $0.warning != nil })
    }

    @Test(
        "an answer that the HTTP client refuses, such as a redirect, is no answer of etcd; the next server is asked"
    )
    func refused() throws {
        let gateway = Gateway { request in
            request.url.host == "a" ? .failure(OIDCError(.refused, "a redirect")) : .success(Self.found)
        }
        #expect(try engine(gateway).read("session/x") != nil)
        let refusal = failure { () throws(OIDCError) in try engine(gateway, "etcd://a").read("session/x") }
        #expect(refusal?.kind == .unreachable)
    }

    @Test("doctor warns of an endpoint that is away or has no leader, though others answer")
    func endpointsOfDoctor() throws {
        let gateway = Gateway { request in
            switch request.url.host {
            case "b": .failure(OIDCError(.unreachable, "b refuses"))
            case "c": .success(#"{"version":"3.5.1","leader":"0"}"#)
            default: .success(#"{"version":"3.5.1","leader":"1"}"#)
            }
        }
        let remarks = try engine(gateway, "etcds://a,b,c").health(now: Instant(secondsSinceEpoch: 0))
        let warnings = remarks.filter { $0.warning != nil }.map(\.text)
        #expect(warnings == ["b refuses", "c:2379: has no leader"])
    }
}
