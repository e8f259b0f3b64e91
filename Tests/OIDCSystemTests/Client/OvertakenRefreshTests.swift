import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCAccount
@testable import OIDCSystem
@testable import Posix
import Synchronization
import Testing

/// The wait for a session's lock is bounded, so the process that started first may finish last.
@Suite("a refresh that was overtaken")
struct OvertakenRefreshTests {
    private let scratch = ScratchDirectory()
    private let later = Instant(secondsSinceEpoch: 1_700_000_100)

    private var store: SessionStore { SessionStore(directory: scratch.path) }

    /// Refreshes while `meanwhile` does what a process without the lock would do.
    private func refresh(
        in store: SessionStore, loaded: Session? = .example(),
        meanwhile: @escaping () throws(OIDCError) -> Void
    ) throws -> SessionTokens.Delivery {
        let source = SessionTokens(
            store: store, key: .example, now: { [later] in later }, wait: LockWait(limit: .seconds(5))
        ) { (_, _) throws(OIDCError) in
            try meanwhile()
            let refreshed = Session.example("refreshed")
            return SessionTokens.Answer { () throws(OIDCError) in
                TokenRefresh.Outcome(session: refreshed, access: .success(refreshed.tokens.access))
            }
        }
        return try source.refreshed(TokenDemand(), loaded: loaded, refusing: .none)
    }

    private var stores: [SessionStore] { [store, SessionStore.inMemory()] }

    @Test("after a sign-out the token is returned, and not stored")
    func signedOut() throws {
        for store in stores {
            try store.save(.example(), replacingDamaged: true)
            let delivery = try refresh(in: store) { () throws(OIDCError) in try store.remove(.example) }
            #expect(delivery.access.token.revealed == "refreshed" && delivery.warnings.count == 1)
            #expect(try store.load(.example) == nil)
        }
    }

    @Test("after another user's sign-in, its token is the one returned")
    func signedIn() throws {
        for store in stores {
            try store.save(.example(), replacingDamaged: true)
            let delivery = try refresh(in: store) { () throws(OIDCError) in
                try store.save(.example("another's"), replacingDamaged: true)
            }
            #expect(delivery.access.token.revealed == "another's" && delivery.warnings.isEmpty)
            #expect(try store.load(.example) == .example("another's"))
        }
    }

    @Test("a successor is stored also if the session was changed and not refreshed, and keeps that change")
    func changed() throws {
        for store in stores {
            var session = Session.example()
            session.derived = [
                Session.DerivedToken(
                    requestedScope: nil, resources: ["https://a.example"], access: session.tokens.access)
            ]
            let before = session
            try store.save(before, replacingDamaged: true)
            let source = SessionTokens(
                store: store, key: .example, now: { [later] in later }, wait: LockWait(limit: .seconds(5))
            ) { (_, _) throws(OIDCError) in
                var erased = before
                erased.expire(Redacted("at-1"))
                _ = try store.replace(before, with: erased)
                var next = before
                next.tokens.refreshToken = Redacted("rt-2")
                let successor = next
                next.tokens.access = Session.example("refreshed").tokens.access
                let refreshed = next
                return SessionTokens.Answer(successor: successor) { () throws(OIDCError) in
                    TokenRefresh.Outcome(session: refreshed, access: .success(refreshed.tokens.access))
                }
            }
            let delivery = try source.refreshed(TokenDemand(), loaded: before, refusing: .none)
            var expected = Session.example("refreshed")
            expected.tokens.refreshToken = Redacted("rt-2")
            #expect(delivery.warnings.isEmpty, "\(delivery.warnings)")
            #expect(delivery.session == expected)
            #expect(try store.load(.example) == expected)
        }
    }

    @Test("a first token does not replace one that was stored meanwhile")
    func first() throws {
        let delivery = try refresh(in: store) { () throws(OIDCError) in
            try store.save(.example("first"), replacingDamaged: true)
        }
        #expect(delivery.access.token.revealed == "first")
        #expect(try store.load(.example) == .example("first"))
    }

    @Test("one whose caller gave up meanwhile is stored, and ends as interrupted")
    func cancelled() throws {
        for store in stores {
            try store.save(.example(), replacingDamaged: true)
            let isCancelled = CancellationFlag()
            let source = SessionTokens(
                store: store, key: .example, now: { [later] in later },
                wait: LockWait(limit: .seconds(5), isCancelled: { isCancelled.isRaised })
            ) { (_, _) throws(OIDCError) in
                isCancelled.raise()
                let refreshed = Session.example("refreshed")
                return SessionTokens.Answer { () throws(OIDCError) in
                    TokenRefresh.Outcome(session: refreshed, access: .success(refreshed.tokens.access))
                }
            }
            let error = #expect(throws: OIDCError.self) {
                try source.refreshed(TokenDemand(), loaded: try store.load(.example), refusing: .none)
            }
            #expect(error?.kind == .interrupted)
            #expect(try store.load(.example) == .example("refreshed"))
        }
    }

    @Test(
        "a successor that cannot be stored at first is stored later, without a warning", arguments: [1, 39])
    func storedLater(failures: Int) throws {
        let (place, moved) = (scratch.path + "/sessions", scratch.path + "/moved")
        let store = SessionStore(directory: place)
        try store.save(.example(), replacingDamaged: true)
        let pauses = Mutex(0)
        let source = SessionTokens(
            store: store, key: .example, now: { [later] in later }, wait: LockWait(limit: .seconds(5)),
            pause: { _ in
                let count = pauses.withLock { count in
                    count += 1
                    return count
                }
                guard count == failures else { return }
                unlink(place)
                rename(moved, place)
            }
        ) { (_, _) throws(OIDCError) in
            rename(place, moved)
            close(open(place, O_CREAT | O_WRONLY, 0o600))
            let next = Session.example("refreshed")
            return SessionTokens.Answer(successor: next) { () throws(OIDCError) in
                TokenRefresh.Outcome(session: next, access: .success(next.tokens.access))
            }
        }
        let delivery = try source.refreshed(TokenDemand(), loaded: .example(), refusing: .none)
        #expect(delivery.access.token.revealed == "refreshed" && delivery.warnings.isEmpty)
        #expect(pauses.withLock { $0 } == failures)
        #expect(try store.load(.example) == .example("refreshed"))
    }

    @Test("one that was not overtaken is stored, and leaves no other file")
    func undisturbed() throws {
        try store.save(.example(), replacingDamaged: true)
        #expect(try refresh(in: store) {}.access.token.revealed == "refreshed")
        #expect(try store.load(.example) == .example("refreshed"))
        #expect(scratch.names.filter { $0.hasSuffix(".tmp") } == [])
    }
}
