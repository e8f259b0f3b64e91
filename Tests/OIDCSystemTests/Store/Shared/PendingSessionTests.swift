import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCShared
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("the sessions that wait for a shared store")
struct PendingSessionTests {
    private let engine = MemoryEngine()
    private let scratch = ScratchDirectory()
    private let milliseconds = Milliseconds()

    private final class Milliseconds: Sendable { let passed = Mutex(Int64(0)) }

    private func machine(_ engine: MemoryEngine? = nil) throws -> SessionStore {
        let engine = engine ?? self.engine
        let keys = try SealingKeys.example()
        let milliseconds = milliseconds
        var runtime = LeaseRuntime()
        runtime.renew = { _, _ in {} }
        runtime.now = { MonotonicTime(nanoseconds: milliseconds.passed.withLock { $0 } * 1_000_000) }
        runtime.sleep = { count in milliseconds.passed.withLock { $0 += count } }
        return SessionStore(engine, state: scratch.path, runtime: runtime) {
            () throws(OIDCError) in keys
        }
    }

    /// The contents of the files of pending sessions.
    private func files() throws -> [String] {
        let directory = "\(scratch.path)/pending"
        return try FileManager.default.contentsOfDirectory(atPath: directory).filter {
            $0.hasSuffix(".sealed")
        }
        .map {
            String(decoding: try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\($0)")), as: UTF8.self)
        }
    }

    /// Loses the server while a refresh token is presented, so its successor cannot be stored.
    private func fail(from current: Session, to next: Session) throws {
        let store = try machine()
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            _ = try store.reserveSpace(for: .example)
            engine.fail(.sharedStore("memory://test", "down"))
            let error = #expect(throws: OIDCError.self) { try store.replace(current, with: next) }
            #expect(error?.message.contains("kept on this machine") == true, "\(error as Any)")
            // The same refresh does not wait for the server again, and keeps what came last.
            let calls = engine.state.withLock { $0.calls }
            if let error { #expect(throws: error) { try store.replace(current, with: next) } }
            #expect(throws: OIDCError.self) { try store.load(.example) }
            #expect(engine.state.withLock { $0.calls } == calls)
        }
        #expect(try store.load(.example) == next)
    }

    /// Brings the server back, whose lease has ended.
    private func recover() throws {
        engine.fail(nil)
        try engine.remove("lease/\(SessionKey.example.fileStem)")
    }

    @Test(
        "a successor that the server does not take is kept, and stored unless the session has changed meanwhile",
        arguments: [
            (Session.example(), Session.refreshed("at-2"), Session.refreshed("at-2")),
            (
                Session.refreshed("other", "rt-3"), Session.refreshed("at-2"),
                Session.refreshed("other", "rt-3")
            ),
            (Session.refused, Session.refreshed("at-2"), Session.refreshed("at-2")),
            (Session.refused, Session.example("at-2"), Session.refused),
        ])
    func kept(meanwhile: Session, next: Session, found: Session) throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: next)
        #expect((5_000...6_000).contains(milliseconds.passed.withLock { $0 }))
        #expect(try files().count == 1 && !files()[0].contains("at-2"))
        #expect(try machine().load(.example) == next)
        try recover()
        let keys = try SealingKeys.example()
        let other = SessionStore(engine) { () throws(OIDCError) in keys }
        try other.save(meanwhile, replacingDamaged: false)
        #expect(try machine().load(.example) == found)
        #expect(try other.load(.example) == found)
        #expect(try files() == [])
    }

    @Test(
        "a copy that was closed only while the session was loaded is not taken for none",
        arguments: [".sealed", ".tmp"], [true, false])
    func closedForAMoment(ending: String, isOtherSpelling: Bool) throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .refreshed())
        try recover()
        let directory = "\(scratch.path)/pending"
        let file = try #require(try FileManager.default.contentsOfDirectory(atPath: directory).first)
        var name = String(file.dropLast(".sealed".count))
        if isOtherSpelling { name.replace(/-[0-9a-f]+$/, with: "-0000000000000000") }
        #expect(rename("\(directory)/\(file)", "\(directory)/\(name)\(ending)") == 0)
        let store = try machine()
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            chmod(directory, 0o755)
            #expect(try store.load(.example) == .example())
            chmod(directory, 0o700)
            #expect(throws: OIDCError.self) { _ = try store.reserveSpace(for: .example) }
            // Loaded again, it is there.
            #expect(try store.load(.example) == .refreshed())
            _ = try store.reserveSpace(for: .example)
        }
    }

    @Test(
        "a copy that cannot be read is not taken for none: the refresh token before it is not presented",
        arguments: [(false, false), (false, true), (true, false), (true, true)])
    func unreadable(isOtherSpelling: Bool, isDirectory: Bool) throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .refreshed())
        try recover()
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: "\(scratch.path)/pending").first)
        let own = "\(scratch.path)/pending/\(name)"
        // That of another spelling of the store has another end.
        let path =
            isOtherSpelling ? own.replacing(/-[0-9a-f]+\.sealed/, with: "-0000000000000000.sealed") : own
        if isOtherSpelling { #expect(path != own && rename(own, path) == 0) }
        let place = isDirectory ? "\(scratch.path)/pending" : path
        #expect(chmod(place, isDirectory ? 0o755 : 0o644) == 0)
        let store = try machine()
        // What is stored may still be fresh.
        #expect(try store.load(.example) == .example())
        #expect(throws: OIDCError.self) {
            try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
                // A sign-out revokes what is stored.
                guard try store.load(.example) == .example() else { return }
                _ = try store.reserveSpace(for: .example)
            }
        }
        #expect(chmod(place, isDirectory ? 0o700 : 0o600) == 0)
        let found = try machine()
        try found.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            #expect(try found.load(.example) == .refreshed())
            _ = try found.reserveSpace(for: .example)
        }
    }

    @Test(
        "a copy of an earlier sign-in, under another name of the server, keeps nobody from a refresh or a sign-out"
    )
    func replacedCopy() throws {
        func session(_ token: String, nonce: String) -> Session {
            var session = Session.example(token)
            session.nonce = nonce
            return session
        }
        try machine(engine.named("memory://old")).save(session("at-1", nonce: "one"), replacingDamaged: false)
        let seen = try FileManager.default.contentsOfDirectory(atPath: scratch.path + "/versions")
        let name = try #require(seen.first { $0.hasSuffix(".version") }).dropLast(".version".count)
        let pending = PendingSessions(state: scratch.path)
        try pending.keep([1], String(name))
        #expect(chmod(pending.location(String(name)), 0o644) == 0)
        let store = try machine()
        // It may be what followed the session that is stored.
        #expect(throws: OIDCError.self) { try store.checkWaiting(.example) }
        try store.save(session("at-2", nonce: "two"), replacingDamaged: false)
        try store.checkWaiting(.example)
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            _ = try store.load(.example)
            _ = try store.reserveSpace(for: .example)
        }
    }

    @Test("a damaged copy does not take along an unfinished one that cannot be read")
    func damagedCopy() throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .refreshed())
        try recover()
        let directory = "\(scratch.path)/pending"
        let file = try #require(try FileManager.default.contentsOfDirectory(atPath: directory).first)
        let name = String(file.dropLast(".sealed".count))
        #expect(rename("\(directory)/\(file)", "\(scratch.path)/away") == 0)
        #expect(symlink("\(scratch.path)/away", "\(directory)/\(name).tmp") == 0)
        try PendingSessions(state: scratch.path).keep([1], "probe")
        #expect(rename("\(directory)/probe.sealed", "\(directory)/\(file)") == 0)
        let store = try machine()
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            #expect(try store.load(.example) == .example())
            #expect(throws: OIDCError.self) { _ = try store.reserveSpace(for: .example) }
        }
    }

    @Test(
        "a copy that was not put in place is adopted for each spelling of the store, and not passed over if it cannot be read",
        arguments: [true, false])
    func unfinishedCopy(isOpen: Bool) throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .refreshed())
        try recover()
        let directory = "\(scratch.path)/pending/"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: directory).first)
        let other = name.replacing(/-[0-9a-f]+\.sealed/, with: "-0000000000000000.tmp")
        #expect(rename(directory + name, directory + other) == 0)
        if isOpen { #expect(chmod(directory + other, 0o644) == 0) }
        let store = try machine()
        let refusal = failure { () throws(OIDCError) in
            try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
                let found = try store.load(.example)
                _ = try store.reserveSpace(for: .example)
                #expect(found == .refreshed())
            }
        }
        #expect((refusal?.hint?.description.contains("chmod 600 ") == true) == isOpen, "\(refusal as Any)")
    }

    @Test(
        "the hint beside a directory that is closed opens it, as its copy would not be found in another one",
        .enabled(if: getuid() != 0), arguments: [0o600, 0o100])
    func closedDirectory(mode: Int) throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .refreshed())
        try recover()
        let path = "\(scratch.path)/pending"
        #expect(chmod(path, mode_t(mode)) == 0)
        defer { chmod(path, 0o700) }
        let store = try machine()
        let refusal = failure { () throws(OIDCError) in try store.checkWaiting(.example) }
        #expect(refusal?.hint?.description.contains("chmod 700 ") == true, "\(refusal as Any)")
    }

    @Test("nothing waits in a directory of another mode that has no copy")
    func emptyDirectory() throws {
        try machine().save(.example(), replacingDamaged: false)
        mkdir("\(scratch.path)/pending", 0o755)
        #expect(chmod("\(scratch.path)/pending", 0o755) == 0)
        let store = try machine()
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            _ = try store.load(.example)
            _ = try store.reserveSpace(for: .example)
        }
    }

    @Test("a successor that waits is stored over a record that was changed and not refreshed")
    func changed() throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .refreshed())
        try recover()
        let keys = try SealingKeys.example()
        let other = SessionStore(engine) { () throws(OIDCError) in keys }
        var erased = Session.example()
        erased.expire(Redacted("at-1"))
        #expect(try other.replace(.example(), with: erased))
        var expected = Session.refreshed()
        expected.tokens.access = erased.tokens.access
        #expect(try machine().load(.example) == expected)
        #expect(try files() == [])
    }

    @Test("a successor whose record was changed under the lease stays on this machine until it is stored")
    func changedUnderLease() throws {
        try machine().save(.example(), replacingDamaged: false)
        let keys = try SealingKeys.example()
        let other = SessionStore(engine) { () throws(OIDCError) in keys }
        let store = try machine()
        var expected = Session.refreshed()
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            _ = try store.load(.example)
            _ = try store.reserveSpace(for: .example)
            var erased = Session.example()
            erased.expire(Redacted("at-1"))
            expected.tokens.access = erased.tokens.access
            _ = try other.replace(.example(), with: erased)
            #expect(try !store.replace(.example(), with: .refreshed()))
            #expect((try? files().count) == 1)
            #expect(try store.load(.example) == expected)
        }
        #expect(try files() == [])
        #expect(try other.load(.example) == expected)
    }

    @Test("a successor is on this machine before the server is asked, as the process may be killed meanwhile")
    func keptFirst() throws {
        try machine().save(.example(), replacingDamaged: false)
        let store = try machine()
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            _ = try store.reserveSpace(for: .example)
            let directory = "\(scratch.path)/pending"
            let found = Mutex<[Bool]>([])
            let note: @Sendable () -> Void = {
                let names = try? FileManager.default.contentsOfDirectory(atPath: directory)
                found.withLock { $0.append(names?.contains { $0.hasSuffix(".sealed") } == true) }
            }
            engine.state.withLock { ($0.onRead, $0.onWrite) = (note, note) }
            #expect(try store.replace(.example(), with: .example("at-2")))
            engine.state.withLock { ($0.onRead, $0.onWrite) = ({}, {}) }
            #expect(found.withLock { $0 } == [true])
        }
        #expect(try files() == [])
        #expect(try machine().load(.example) == .example("at-2"))
    }

    @Test(
        "what a killed process had written, and not yet put in place, is stored too",
        arguments: [true, false])
    func killedBeforeRename(isWhole: Bool) throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .example("at-2"))
        let directory = "\(scratch.path)/pending"
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".sealed") })
        let temporary = "\(directory)/\(name.dropLast(7)).tmp"
        try FileManager.default.moveItem(atPath: "\(directory)/\(name)", toPath: temporary)
        if !isWhole { truncate(temporary, 100) }
        try recover()
        #expect(try machine().load(.example) == (isWhole ? .example("at-2") : .example()))
        #expect(try files() == [])
    }

    @Test("a sign-in also replaces what a killed process had written if it is a link since")
    func linkedLeftover() throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .example("at-2"))
        try recover()
        let directory = "\(scratch.path)/pending"
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".sealed") })
        try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
        try FileManager.default.createSymbolicLink(
            atPath: "\(directory)/\(name.dropLast(7)).tmp", withDestinationPath: "gone")
        let store = try machine()
        #expect(failure { () throws(OIDCError) in try store.checkWaiting(.example) }?.kind == .failed)
        try store.save(.example("at-3"), replacingDamaged: false)
        #expect(failure { () throws(OIDCError) in try store.checkWaiting(.example) } == nil)
        #expect(try files() == [])
    }

    @Test(
        "what waits for the server by another name is stored before a refresh, unless the session has changed",
        arguments: [true, false])
    func renamed(isChanged: Bool) throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .example("at-2"))
        try recover()
        let moved = engine.named("memory://moved")
        if isChanged {
            let keys = try SealingKeys.example()
            try SessionStore(moved) { () throws(OIDCError) in keys }.save(
                .example("at-3"), replacingDamaged: false)
        }
        let store = try machine(moved)
        let found = try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            try store.load(.example)
        }
        #expect(found == (isChanged ? .example("at-3") : .example("at-2")))
        #expect(try store.load(.example) == found)
        #expect(try files().count == (isChanged ? 1 : 0))
    }

    @Test(
        "what waits for the server by another name, sealed with a key that is gone, keeps its session from a refresh",
        arguments: [true, false])
    func renamedKey(isSameSignIn: Bool) throws {
        var (session, next) = (Session.example(), Session.example("at-2"))
        (session.nonce, next.nonce) = ("one", "one")
        try machine().save(session, replacingDamaged: false)
        try fail(from: session, to: next)
        try recover()
        let (moved, keys) = (engine.named("memory://moved"), try SealingKeys.example(9))
        if !isSameSignIn { session.nonce = "two" }
        try moved.remove("session/\(SessionKey.example.fileStem)")
        let early = Instant(secondsSinceEpoch: 1_000)
        try SessionStore(moved, versions: SharedVersions(), now: { early }) { () throws(OIDCError) in keys }
            .save(session, replacingDamaged: false)
        let store = SessionStore(moved, state: scratch.path) { () throws(OIDCError) in keys }
        let found = Result { () throws(OIDCError) in
            try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
                try store.load(.example)
            }
        }
        if isSameSignIn {
            let refusal = failure { () throws(OIDCError) in try found.get() }
            #expect(refusal?.kind == .usage && refusal?.message.contains("/pending/") == true)
        } else {
            #expect(try found.get() == session)
        }
        #expect(try files().count == 1)
    }

    @Test("what looks like a sign-out, and was sealed with another key, does not cost the session that waits")
    func forgedRemoval() throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .example("at-2"))
        try recover()
        let name = "session/\(SessionKey.example.fileStem)"
        let last = engine[name]
        let keys = try SealingKeys.example(9)
        let foreign = try SealedRecord(
            sealing: [], .removal, of: SessionKey.example.fileStem, version: 1, with: keys.sealing)
        engine[name] = foreign.bytes
        let store = try machine()
        let refusal = failure { () throws(OIDCError) in try store.load(.example) }
        #expect(refusal?.kind == .usage)
        #expect(try files().count == 1)
        // Nor does a list leave it out.
        let listed = try store.all()
        #expect(listed.map(\.content) == refusal.map { [.failure($0)] })
        engine[name] = last
        #expect(try machine().load(.example) == .example("at-2"))
    }

    @Test("a session that waits is listed, whatever its server has lost")
    func listed() throws {
        var (session, refreshed) = (Session.example(), Session.example("at-2"))
        (session.nonce, refreshed.nonce) = ("one", "one")
        try machine().save(session, replacingDamaged: false)
        try fail(from: session, to: refreshed)
        try recover()
        engine["session/\(SessionKey.example.fileStem)"] = nil
        let store = try machine()
        #expect(try store.all().map(\.session) == [refreshed])
        #expect(try files().isEmpty && store.load(.example) == refreshed)
    }

    @Test("a sign-in whose answer was lost is not written over what another machine made of it")
    func lostAnswerAtSignIn() throws {
        var session = Session.example()
        session.nonce = "one"
        var refreshed = Session.example("at-2")
        refreshed.nonce = "one"
        try machine().save(session, replacingDamaged: false)
        let keys = try SealingKeys.example()
        let other = SessionStore(engine) { () throws(OIDCError) in keys }
        #expect(try other.replace(try other.load(.example), with: refreshed))
        try machine().save(session, replacingDamaged: false)
        #expect(try machine().load(.example) == refreshed)
        // Nor over its sign-out.
        try other.remove(.example)
        try machine().save(session, replacingDamaged: false)
        #expect(try machine().load(.example) == nil && other.load(.example) == nil)
    }

    @Test(
        "a copy that waits by a key that is gone gives way to a later session, and is named where there is none"
    )
    func oldCopy() throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .example("at-2"))
        try recover()
        let keys = try SealingKeys.example(9)
        let (scratch, engine) = (scratch, engine)
        func rotated() -> SessionStore {
            SessionStore(engine, state: scratch.path) { () throws(OIDCError) in keys }
        }
        let said = failure { () throws(OIDCError) in try rotated().load(.example) }
        #expect(
            said?.message.contains("the session that waits in \(scratch.path)/pending/") == true,
            "\(said as Any)")
        #expect(said?.hint?.description.contains("mv ") == true)
        // A session that is not later, as after a rotation that was rolled back, is not used in its place.
        let early = SessionStore(
            engine, versions: SharedVersions(), now: { Instant(secondsSinceEpoch: 1_000) }
        ) { () throws(OIDCError) in keys }
        try engine.remove("session/\(SessionKey.example.fileStem)")
        try early.save(.example("at-0"), replacingDamaged: false)
        #expect(failure { () throws(OIDCError) in try rotated().load(.example) }?.kind == .usage)
        let later = Instant(secondsSinceEpoch: Clock.now().secondsSinceEpoch + 100)
        let fleet = SessionStore(engine, versions: SharedVersions(), now: { later }) { () throws(OIDCError) in
            keys
        }
        try engine.remove("session/\(SessionKey.example.fileStem)")
        try fleet.save(.example("at-3"), replacingDamaged: false)
        #expect(try rotated().load(.example) == .example("at-3"))
        #expect(try files().count == 1)
    }

    @Test("a sign-in is stored also if the server is away for a moment just then")
    func awayAtSignIn() throws {
        engine.fail(.sharedStore("memory://test", "down"))
        #expect(throws: OIDCError.self) { try machine().save(.example(), replacingDamaged: false) }
        #expect((4_000...6_000).contains(milliseconds.passed.withLock { $0 }))
        engine.state.withLock { $0.failureCount = 3 }
        try machine().save(.example(), replacingDamaged: false)
        #expect(try machine().load(.example) == .example())
    }

    @Test("a sign-in whose server is silent waits for one answer only")
    func silentAtSignIn() throws {
        let (milliseconds, engine) = (milliseconds, engine)
        engine.fail(.noAnswer(of: "memory://test", "no answer within 30 s"))
        engine.state.withLock { $0.onCall = { milliseconds.passed.withLock { $0 += 30_000 } } }
        let store = try machine()
        let refusal = failure { () throws(OIDCError) in
            try store.saveSignIn(.example(), LockWait(limit: .seconds(90)))
        }
        #expect(refusal?.kind == .unreachable && refusal?.stage == .store)
        // The release of the lease, whose answer was lost, is limited by itself.
        #expect(milliseconds.passed.withLock { $0 } == 60_000)
        #expect(!FileManager.default.fileExists(atPath: "\(scratch.path)/pending"))
    }

    @Test("a server that is away for a moment gets the sign-in, and nothing waits")
    func briefOutageAtSignIn() throws {
        engine.fail(.sharedStore("memory://test", "down"))
        engine.state.withLock { $0.failureCount = 4 }
        try machine().saveSignIn(.example(), LockWait(limit: .seconds(90)))
        #expect(try machine().load(.example) == .example())
        #expect(!FileManager.default.fileExists(atPath: "\(scratch.path)/pending"))
    }

    @Test("a server that is away for a moment gets the sign-in also after a long wait for the lease")
    func outageAfterLease() throws {
        let lease = "lease/\(SessionKey.example.fileStem)"
        _ = try engine.acquire(lease, owner: "other", for: .seconds(60))
        let (engine, milliseconds) = (engine, milliseconds)
        engine.state.withLock { state in
            state.onCall = {
                guard milliseconds.passed.withLock({ $0 }) > 9_000 else { return }
                engine.state.withLock { $0.onCall = {} }
                try? engine.remove(lease)
            }
            state.onWrite = {
                engine.state.withLock { $0.onWrite = {} }
                engine.fail(.sharedStore("memory://test", "down"))
                engine.state.withLock { $0.failureCount = 2 }
            }
        }
        try machine().saveSignIn(.example(), LockWait(limit: .seconds(90)))
        #expect(milliseconds.passed.withLock { $0 } > 9_000)
        #expect(try machine().load(.example) == .example())
    }

    @Test("a refresh does not start from the local copy, but from the record that it became")
    func chain() throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .example("at-2"))
        try recover()
        let store = try machine()
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            engine.fail(.sharedStore("memory://test", "down"))
            #expect(throws: OIDCError.self) { try store.load(.example) }
            engine.fail(nil)
            #expect(try store.load(.example) == .example("at-2"))
            _ = try store.reserveSpace(for: .example)
            #expect(try store.replace(.example("at-2"), with: .example("at-3")))
        }
        #expect(try files() == [])
        #expect(try machine().load(.example) == .example("at-3"))
    }

    @Test("a copy that another process has written meanwhile stays")
    func writtenMeanwhile() throws {
        let pending = PendingSessions(state: scratch.path)
        try pending.keep([1], "name")
        pending.remove("name", ifStill: [2])
        #expect(pending.content("name") == [1])
        pending.remove("name", ifStill: [1])
        #expect(pending.content("name") == nil)
    }

    @Test("a write whose answer was lost is found to be done, and no copy stays")
    func lostAnswer() throws {
        try machine().save(.example(), replacingDamaged: false)
        let store = try machine()
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            #expect(try store.load(.example) == .example())
            _ = try store.reserveSpace(for: .example)
            // The server takes the write and is away before its answer.
            engine.state.withLock { $0.losesAnswers = true }
            #expect(try store.replace(.example(), with: .example("at-2")))
        }
        #expect(engine.state.withLock { !$0.losesAnswers })
        #expect(try files() == [])
        #expect(try machine().load(.example) == .example("at-2"))
    }

    @Test("a file of a newer oidc stays, and nothing older is used in its place")
    func newerFormat() throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .example("at-2"))
        try recover()
        let directory = "\(scratch.path)/pending"
        for name in try FileManager.default.contentsOfDirectory(atPath: directory)
        where name.hasSuffix(".sealed") {
            try Data(#"{"format":2}"#.utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
        }
        let later = try machine()
        let refusal = failure { () throws(OIDCError) in try later.load(.example) }
        #expect(refusal?.message.contains("was written by a newer oidc") == true)
        #expect(try files().count == 1)
    }

    @Test("a sign-in removes the copy of an earlier session")
    func signedIn() throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .example("at-2"))
        try recover()
        try machine().save(.example("at-9"), replacingDamaged: true)
        #expect(try files() == [])
    }

    @Test("a damaged file is removed, and one that cannot be written is an error of both")
    func damaged() throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .example("at-2"))
        try recover()
        let directory = "\(scratch.path)/pending"
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            try Data("damaged".utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
        }
        #expect(try machine().load(.example) == .example())
        #expect(try files() == [])
        try FileManager.default.removeItem(atPath: directory)
        try "a file".write(toFile: directory, atomically: true, encoding: .utf8)
        let store = try machine()
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            _ = try store.reserveSpace(for: .example)
            engine.fail(.sharedStore("memory://test", "down"))
            let error = #expect(throws: OIDCError.self) {
                try store.replace(.example(), with: .example("at-2"))
            }
            #expect(error?.kind == .unreachable)
            #expect(error?.message.contains("; it could not be kept on this machine either: ") == true)
        }
    }

    @Test(
        "a server that comes back without the record, or with an older one, gets it again: there is no other copy",
        arguments: [false, true])
    func lostRecord(isSetBack: Bool) throws {
        let name = RecordName(.session, SessionKey.example.fileStem).description
        try machine().save(.example("at-0"), replacingDamaged: false)
        let old = try engine.read(name)
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .example("at-2"))
        try recover()
        try engine.remove(name)
        if isSetBack, let old { _ = try engine.write(name, old.bytes, replacing: nil, lifetime: nil) }
        #expect(try machine().load(.example) == .example("at-2"))
        #expect(try files() == [])
        let keys = try SealingKeys.example()
        let other = SessionStore(engine) { () throws(OIDCError) in keys }
        #expect(try other.load(.example) == .example("at-2"))
    }

    @Test(
        "a record that the server loses during a refresh is written again, unless the session was ended",
        arguments: [(false, false), (false, true), (true, false), (true, true)])
    func lostDuringRefresh(isSignedOut: Bool, isSetBack: Bool) throws {
        let keys = try SealingKeys.example()
        let name = RecordName(.session, SessionKey.example.fileStem).description
        do {
            try machine().save(.example("at-0"), replacingDamaged: false)
            let old = try engine.read(name)
            try machine().save(.example("at-1"), replacingDamaged: false)
            try machine().save(.example(), replacingDamaged: false)
            let store = try machine()
            try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
                let current = try store.load(.example)
                #expect(current == .example())
                _ = try store.reserveSpace(for: .example)
                if isSetBack || !isSignedOut { try engine.remove(name) }
                if isSetBack, let old {
                    _ = try engine.write(name, old.bytes, replacing: nil, lifetime: nil)
                }
                // The other machine may have seen the older record only.
                if isSignedOut { try SessionStore(engine) { () throws(OIDCError) in keys }.remove(.example) }
                let isReplaced = try? store.replace(.example(), with: .example("at-2"))
                #expect((isReplaced ?? false) != isSignedOut)
            }
            // The record of the sign-out may be older than what this machine has seen.
            let later = try machine()
            if isSignedOut, isSetBack {
                #expect(throws: OIDCError.self) { try later.load(.example) }
            } else {
                #expect(try later.load(.example) == (isSignedOut ? nil : .example("at-2")))
            }
            #expect(try files() == [])
        }
    }

    @Test("the removal of the session before does not end the one whose refresh finds it again")
    func earlierRemoval() throws {
        func session(_ token: String, nonce: String) -> Session {
            var session = Session.example(token)
            session.nonce = nonce
            return session
        }
        let name = RecordName(.session, SessionKey.example.fileStem).description
        try machine().save(session("at-1", nonce: "one"), replacingDamaged: false)
        try machine().remove(.example)
        let removal = try #require(try engine.read(name))
        let (current, next) = (session("at-2", nonce: "two"), session("at-3", nonce: "two"))
        try machine().save(current, replacingDamaged: false)
        let store = try machine()
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            #expect(try store.load(.example) == current)
            _ = try store.reserveSpace(for: .example)
            try engine.remove(name)
            _ = try engine.write(name, removal.bytes, replacing: nil, lifetime: nil)
            #expect(try store.replace(current, with: next))
        }
        #expect(try machine().load(.example) == next)
        #expect(try files() == [])
    }

    @Test(
        "the check for doctor finds a directory that cannot be used, and makes none",
        arguments: [
            ("pending", "no session could wait on this machine"),
            ("versions", "a sign-out cannot be noted on this machine"),
        ])
    func health(name: String, effect: String) throws {
        let directory = "\(scratch.path)/\(name)"
        #expect(try machine().health().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: directory))
        try PendingSessions(state: scratch.path).keep([1], "name")
        try VersionFiles(state: scratch.path).note(SeenRecord(newest: 1), of: "name")
        #expect(try machine().health().isEmpty)
        try FileManager.default.removeItem(atPath: directory)
        try "a file".write(toFile: directory, atomically: true, encoding: .utf8)
        let reports = try machine().health()
        #expect(reports.count == 1 && reports.first?.text.hasPrefix(effect) == true)
        #expect(reports.first?.warning?.hasPrefix("make \(name) below") == true)
    }

    @Test(
        "a successor that waits stays if the server has certainly not carried out the sign-out",
        arguments: [
            (.sharedStoreRefusal("memory://test", "NOPERM", hint: "allow it"), true),
            (.sharedStore("memory://test", "READONLY You can't write against a read only replica."), true),
            (.noAnswer(of: "memory://test", "silent"), false),
            (OIDCError(.timedOut, "timed out", stage: .store, code: .noStoreAnswer), false),
            (OIDCError(.interrupted, "interrupted"), true),
        ] as [(OIDCError, Bool)])
    func refusedSignOut(fault: OIDCError, isRefused: Bool) throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .example("at-2"))
        try recover()
        engine.fail(fault, writing: "session/")
        engine.fail(fault, removing: "session/")
        let store = try machine()
        let said = failure { () throws(OIDCError) in try store.remove(.example) }
        #expect(said?.kind == fault.kind)
        engine.fail(nil, writing: "session/")
        engine.fail(nil, removing: "session/")
        #expect(try files().count == (isRefused ? 1 : 0))
        #expect(try machine().load(.example) == (isRefused ? .example("at-2") : .example()))
    }

    @Test(
        "a successor that the server refuses waits under the lease, so nobody presents the old refresh token")
    func refusedSuccessor() throws {
        try machine().save(.example(), replacingDamaged: false)
        let store = try machine()
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            _ = try store.reserveSpace(for: .example)
            engine.fail(
                .sharedStoreRefusal("memory://test", "NOPERM", hint: "allow it"), writing: "session/")
            #expect(throws: OIDCError.self) { try store.replace(.example(), with: .example("at-2")) }
            engine.fail(nil, writing: "session/")
        }
        #expect(engine["lease/\(SessionKey.example.fileStem)"] != nil)
        #expect(try machine().load(.example) == .example("at-2"))
    }

    @Test(
        "a signal keeps the lease only while the server does not have the new refresh token",
        arguments: [true, false])
    func interrupted(isStored: Bool) throws {
        try machine().save(.example(), replacingDamaged: false)
        let store = try machine()
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            _ = try store.load(.example)
            _ = try store.reserveSpace(for: .example)
            if isStored { #expect(try store.replace(.example(), with: .refreshed())) }
            engine.fail(OIDCError(.interrupted, "interrupted"), writing: "session/")
            let current = isStored ? Session.refreshed() : .example()
            #expect(throws: OIDCError.self) { try store.replace(current, with: .refreshed("at-2")) }
            engine.fail(nil, writing: "session/")
        }
        #expect((engine["lease/\(SessionKey.example.fileStem)"] == nil) == isStored)
        #expect(try machine().load(.example)?.tokens.refreshToken == Redacted("rt-2"))
    }

    @Test(
        "a successor that waits stays on this machine while the server claims that the record keeps changing")
    func changingRecord() throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .example("at-2"))
        try recover()
        let (engine, name) = (engine, "session/\(SessionKey.example.fileStem)")
        // It has another revision each time.
        engine.state.withLock { $0.onWrite = { engine[name] = engine[name] } }
        #expect(try machine().load(.example) == .example("at-2"))
        #expect(try files().count == 1)
        engine.state.withLock { $0.onWrite = {} }
        #expect(try machine().load(.example) == .example("at-2"))
        #expect(try files() == [])
    }

    @Test("a token that was revoked meanwhile does not come back with the successor that waits")
    func revokedMeanwhile() throws {
        func derived(_ token: String, _ session: Session) -> Session {
            var session = session
            session.keep(
                AccessToken(
                    token: Redacted(token), type: .bearer, obtainedAt: session.createdAt,
                    expiresAt: session.createdAt.adding(3_600), scope: nil),
                scope: OAuthScope(token), resources: [])
            return session
        }
        let session = derived("read", .example())
        try machine().save(session, replacingDamaged: false)
        try fail(from: session, to: derived("write", derived("read", .refreshed())))
        try recover()
        let keys = try SealingKeys.example()
        let other = SessionStore(engine) { () throws(OIDCError) in keys }
        let rest = try #require(session.revoking(Redacted("read")))
        #expect(try other.replace(session, with: rest))
        let found = try machine().load(.example)
        #expect(found?.tokens.refreshToken == Redacted("rt-2"))
        #expect(found?.derived.map(\.access.token) == [Redacted("write")])
    }

    @Test("after a sign-out nothing is stored", arguments: [true, false])
    func signedOut(isHere: Bool) throws {
        try machine().save(.example(), replacingDamaged: false)
        try fail(from: .example(), to: .example("at-2"))
        try recover()
        let keys = try SealingKeys.example()
        let other = SessionStore(engine) { () throws(OIDCError) in keys }
        try (isHere ? machine() : other).remove(.example)
        #expect(try machine().load(.example) == nil)
        #expect(try files() == [])
    }

    @Test("a server that refuses a record is not away: nothing waits for it, and its lease is released")
    func refused() throws {
        try machine().save(.example(), replacingDamaged: false)
        let store = try machine()
        let lease = "lease/\(SessionKey.example.fileStem)"
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            _ = try store.reserveSpace(for: .example)
            engine.fail(OIDCError(.failed, "out of memory", stage: .store), writing: "session/")
            let error = #expect(throws: OIDCError.self) {
                try store.replace(.example(), with: .example("at-2"))
            }
            #expect(error?.message.contains("kept on this machine") == true, "\(error as Any)")
            engine.state.withLock { $0.writeFailure = nil }
            #expect(engine.state.withLock { $0.entries[lease] } != nil)
        }
        #expect(milliseconds.passed.withLock { $0 } == 0)
        #expect(engine.state.withLock { $0.entries[lease] } == nil)
        #expect(try machine().load(.example) == .example("at-2"))
    }
}

extension Session {
    fileprivate static func refreshed(_ token: String = "at-1", _ refreshToken: String = "rt-2") -> Session {
        var session = Session.example(token)
        session.tokens.refreshToken = Redacted(refreshToken)
        return session
    }

    /// The session after its refresh token was refused.
    fileprivate static var refused: Session {
        let refusal = OIDCError(.loginRequired, "ended", oauthError: "invalid_grant", code: .sessionEnded)
        return Session.example().refused(by: refusal, at: Instant(secondsSinceEpoch: 1_800_000_000))
            .without(Session.example().tokens.access)
    }
}
