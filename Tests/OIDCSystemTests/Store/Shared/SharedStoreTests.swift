import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCShared
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("a store that machines share")
final class SharedStoreTests: Sendable {
    let engine = MemoryEngine()
    let time = Mutex(Instant(secondsSinceEpoch: 1_700_000_000))
    let record = "session/\(SessionKey.example.fileStem)"

    static let machineKey = {
        var key = SessionKey.example
        key.grant = .clientCredentials
        return key
    }()

    func machine(
        _ keys: SealingKeys? = nil, keepsCopies: Bool = false, ahead seconds: Int64 = 0
    ) throws -> SessionStore {
        let keys = try keys ?? SealingKeys.example()
        let now = time.withLock { $0.adding(seconds) }
        return SessionStore(engine, keepsCopies: keepsCopies, now: { now }) { () throws(OIDCError) in
            keys
        }
    }

    @Test("a session that one machine saved is what another loads, lists and removes")
    func shared() throws {
        let (one, other) = (try machine(), try machine())
        #expect(try one.load(.example) == nil)
        try one.probe(.example)
        try one.save(.example(), replacingDamaged: false)
        #expect(try other.load(.example) == .example())
        #expect(try other.all().map(\.session) == [.example()])
        #expect(other.location(of: .example) == "memory://test, record \(record)")
        #expect(try other.replace(.example(), with: .example("at-2")))
        #expect(try one.load(.example) == .example("at-2"))
        try one.remove(try #require(try one.all().first))
        #expect(try other.load(.example) == nil)
    }

    @Test(
        "a flood of made-up records is listed only in part, after the sessions that this machine has seen",
        arguments: [(4_100, 1), (80, 1 << 20)])
    func flood(count: Int, size: Int) throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        let store = SessionStore(engine, state: scratch.path, versions: SharedVersions()) {
            () throws(OIDCError) in keys
        }
        var session = Session.example()
        session.nonce = "one"
        try store.save(session, replacingDamaged: false)
        let record = [UInt8](repeating: 0x78, count: size)
        for number in 0..<count { engine["session/0-flood-\(number)"] = record }
        let listed = try store.all()
        #expect(listed.compactMap(\.session) == [session])
        let names = listed.dropFirst().map(\.name)
        #expect(listed.count <= count && listed.first?.isOmission == true && names == names.sorted())
        let failures = listed.compactMap { entry in
            if case .failure(let error) = entry.content { error.message } else { nil }
        }
        #expect(failures.count { $0.includes("too many sessions") } == 1)
    }

    @Test("the server sees issuer and client, but no token")
    func sealed() throws {
        let store = try machine()
        try store.save(.example("secret-token"), replacingDamaged: false)
        store.leave(
            SharedFailure(
                error: OIDCError(.refused, "secret-reason"), time: Instant(secondsSinceEpoch: 1_700_000_000),
                id: "1",
                refreshTokenHash: nil), for: .example, replacing: nil)
        #expect(store.failure(of: .example)?.error.message == "secret-reason")
        let stored = engine.state.withLock { state in
            state.entries.values.map { String(decoding: $0.value.bytes, as: UTF8.self) }.joined()
        }
        #expect(stored.contains("op.example") && stored.contains("app"))
        #expect(!stored.contains("secret") && !stored.contains("rt-1"))
    }

    @Test("nothing is written over a session that changed since it was read")
    func compareAndSet() throws {
        let (one, other) = (try machine(), try machine())
        try one.save(.example(), replacingDamaged: false)
        #expect(try other.replace(.example(), with: .example("at-2")))
        #expect(try !one.replace(.example(), with: .example("at-3")))
        #expect(try !one.replace(nil, with: .example("at-3")))
        #expect(try one.load(.example) == .example("at-2"))
        try other.remove(.example)
        #expect(try !one.replace(.example("at-2"), with: .example("at-3")))
        #expect(try one.load(.example) == nil)
        #expect(try one.replace(nil, with: .example("at-3")))
        // A write whose answer was lost is found to be done.
        #expect(try one.replace(nil, with: .example("at-3")))
    }

    @Test("the record of a machine token goes a day after the token expires; a user's session stays")
    func lifetime() throws {
        let key = SessionKey(provider: "https://op.example", clientID: "app", grant: .clientCredentials)
        var session = Session.example(key: key)
        session.tokens.refreshToken = nil
        let store = try machine()
        try store.save(session, replacingDamaged: false)
        try store.save(.example(), replacingDamaged: false)
        engine.pass(3_600_000 + 86_399_999)
        #expect(try store.load(key) == session)
        engine.pass(1)
        #expect(try store.load(key) == nil)
        #expect(try store.load(.example) != nil)
        // It may go while its successor is requested.
        #expect(try store.replace(session, with: session))
    }

    @Test("the server out of reach is an error, and nothing is lost")
    func outage() throws {
        let store = try machine()
        try store.save(.example(), replacingDamaged: false)
        let down = OIDCError.sharedStore("memory://test", "connection refused")
        #expect(down.kind == .unreachable)
        engine.fail(down)
        #expect(failure { () throws(OIDCError) in try store.load(.example) } == down)
        #expect(failure { () throws(OIDCError) in try store.probe(.example) } == down)
        let lock = failure { () throws(OIDCError) in
            try store.withLock(.example, LockWait(limit: .seconds(1))) { Issue.record("ran without a lease") }
        }
        #expect(lock == down)
        engine.fail(nil)
        #expect(try store.load(.example) == .example())
    }

    @Test("with store_cache, one process uses a token until it expires, and reads again to refresh")
    func copies() throws {
        let store = try machine(keepsCopies: true)
        try store.save(.example(), replacingDamaged: false)
        #expect(try store.load(.example) == .example())
        try machine().save(.example("at-2"), replacingDamaged: false)
        #expect(try store.load(.example) == .example())
        try store.withLock(.example, LockWait(limit: .seconds(1))) { () throws(OIDCError) in
            #expect(try store.load(.example) == .example("at-2"))
        }
        let later = try machine(keepsCopies: true, ahead: 7_200)
        #expect(try later.load(.example) == .example("at-2"))
        try machine().save(.example("at-3"), replacingDamaged: false)
        #expect(try later.load(.example) == .example("at-3"))
    }

    @Test("a failure that a machine with a fast clock left is shared with the others")
    func skew() throws {
        let failure = SharedFailure(
            error: OIDCError(.unreachable, "down"), time: Instant(secondsSinceEpoch: 1_700_000_030), id: "1",
            refreshTokenHash: nil)
        try machine(ahead: 30).leave(failure, for: .example, replacing: nil)
        let found = try #require(try machine().failure(of: .example))
        #expect(found.isRecent(at: Instant(secondsSinceEpoch: 1_700_000_000)))
        try machine().leave(nil, for: .example, replacing: nil)
        let none = try machine().failure(of: .example)
        #expect(none == nil)
    }
}
