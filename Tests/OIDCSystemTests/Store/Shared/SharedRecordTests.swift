import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCShared
@testable import Posix
import Synchronization
import TestSupport
import Testing

/// Records that are not used: foreign, damaged, older, or sealed with another key.
extension SharedStoreTests {
    /// A process of a machine with this state directory.
    private func process(state: String, _ keys: SealingKeys) -> SessionStore {
        SessionStore(engine, state: state, now: { self.time.withLock { $0 } }) {
            () throws(OIDCError) in
            keys
        }
    }

    @Test("a record of another session, changed by the server or by hand, is not used; a sign-in replaces it")
    func foreign() throws {
        let store = try machine()
        try store.save(.example(key: .other), replacingDamaged: false)
        let other = try #require(engine["session/\(SessionKey.other.fileStem)"])
        engine[record] = other
        #expect(failure { () throws(OIDCError) in try store.load(.example) }?.kind == .untrusted)
        // The header alone does not make it ours.
        let text = String(decoding: other, as: UTF8.self).replacingOccurrences(
            of: #"\"other\""#, with: #"\"app\""#)
        #expect(text.contains(#"\"app\""#))
        engine[record] = Array(text.utf8)
        let refusal = failure { () throws(OIDCError) in try store.load(.example) }
        #expect(refusal?.kind == .untrusted)
        #expect(refusal?.message.contains("was changed by somebody without the key") == true)
        #expect(throws: OIDCError.self) { try store.save(.example(), replacingDamaged: false) }
        try store.save(.example(), replacingDamaged: true)
        #expect(try store.load(.example) == .example())
    }

    @Test(
        "nonsense is an error that a sign-in repairs",
        arguments: [
            "", "{", "[]", #"{"format":1}"#, #"{"format":1,"key":"k","content":"session","version":-1}"#,
            #"{"format":1,"key":"k","key_id":"a","content":"removal","version":9223372036854775807,"sealed":""}"#,
        ])
    func nonsense(_ text: String) throws {
        let store = try machine()
        engine[record] = Array(text.utf8)
        #expect(failure { () throws(OIDCError) in try store.load(.example) }?.hint == .signIn)
        #expect(try store.all().first?.session == nil)
        try store.probe(.example)
        try store.save(.example(), replacingDamaged: true)
        #expect(try store.load(.example) == .example())
    }

    @Test("what a record says is shown without the store's secrets: its name, and that of its key")
    func secretWords() throws {
        let store = try machine()
        try store.save(.example(), replacingDamaged: false)
        let sealed = String(decoding: try #require(engine[record]), as: UTF8.self)
        engine["session/correct-horse"] = Array("junk".utf8)
        let id = try SealingKeys.example().sealing.id
        engine[record] = Array(sealed.replacingOccurrences(of: id, with: "correct-horse").utf8)
        let entries = try store.all()
        #expect(entries.count == 2)
        for entry in entries {
            guard case .failure(let error) = entry.content else { continue }
            let shown = error.message + entry.location
            #expect(shown.contains("(secret)") && !shown.contains("correct-horse"))
        }
        engine[record] = Array(#"{"correct-horse":1,"correct-horse":2}"#.utf8)
        let refusal = failure { () throws(OIDCError) in try store.load(.example) }
        #expect(refusal?.message.contains("duplicate member") == true)
        #expect(refusal?.message.contains("correct-horse") == false)
    }

    @Test("a record of a newer format is neither read nor replaced")
    func newerFormat() throws {
        let store = try machine()
        engine[record] = Array(#"{"format":2}"#.utf8)
        let reading = failure { () throws(OIDCError) in try store.load(.example) }
        let writing = failure { () throws(OIDCError) in try store.save(.example(), replacingDamaged: true) }
        #expect(reading?.message.contains("was written by a newer oidc") == true)
        #expect(writing == reading)
    }

    @Test("a process that has seen a version refuses an older one, and says so")
    func rollback() throws {
        let store = try machine()
        try store.save(.example(), replacingDamaged: false)
        let old = try #require(engine[record])
        #expect(try store.replace(.example(), with: .example("at-2")))
        engine[record] = old
        let refusal = try #require(failure { () throws(OIDCError) in try store.load(.example) })
        #expect(refusal.kind == .unreachable)
        #expect(
            refusal.message.contains("returned version 1700000000 of the session, after version 1700000001"))
        #expect(throws: OIDCError.self) { try store.replace(.example(), with: .example("at-3")) }
        // A machine that has not seen the newer one does not notice.
        #expect(try machine().load(.example) == .example())
    }

    @Test("a later process of a machine that has seen a newer record refuses it too, until the next sign-in")
    func seenOnMachine() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        try process().save(.example(), replacingDamaged: false)
        let old = try #require(engine[record])
        #expect(try process().replace(.example(), with: .example("at-2")))
        engine[record] = old
        let refusal = try #require(failure { () throws(OIDCError) in try process().load(.example) })
        #expect(refusal.kind == .unreachable && refusal.hint == .signIn)
        try process().save(.example("at-3"), replacingDamaged: true)
        #expect(try process().load(.example) == .example("at-3"))
    }

    @Test("a session that was signed out stays so, even if the server brings its last record back")
    func signedOut() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        try process().save(.example(), replacingDamaged: false)
        let last = try #require(engine[record])
        try process().remove(.example)
        #expect(try process().load(.example) == nil)
        engine[record] = last
        let refusal = failure { () throws(OIDCError) in try process().load(.example) }
        #expect(refusal?.kind == .unreachable && refusal?.code == .oldRecord)
        // Nor is it listed as one, and a sign-out removes it.
        let listed = try process().all()
        #expect(listed.count == 1 && listed[0].session == nil)
        try process().remove(listed[0])
        #expect(try process().load(.example) == nil)
        #expect(try process().all().isEmpty)
        // If the server loses its data, the next sign-in is newer by its time, also on a machine that has never seen
        // the session.
        time.withLock { $0 = $0.adding(3) }
        engine[record] = nil
        try machine().save(.example("at-2"), replacingDamaged: false)
        #expect(try process().load(.example) == .example("at-2"))
    }

    @Test("a sign-in whose answer was lost stays signed out, though its server hides it meanwhile")
    func lostSignIn() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        var session = Session.example()
        session.nonce = "one"
        let engine = engine
        let passed = Mutex<Int64>(0)
        var runtime = LeaseRuntime()
        runtime.now = { MonotonicTime(nanoseconds: passed.withLock { $0 } * 1_000_000) }
        runtime.sleep = { milliseconds in
            passed.withLock { $0 += milliseconds }
            // The server goes away after the write.
            engine.fail(.sharedStore("memory://test", "connection refused"))
        }
        let store = SessionStore(engine, state: scratch.path, runtime: runtime) {
            () throws(OIDCError) in keys
        }
        engine.state.withLock { $0.losesAnswers = true }
        let said = failure { () throws(OIDCError) in try store.save(session, replacingDamaged: true) }
        #expect(said?.code == .noStoreAnswer && said?.message.contains("refused") == true, "\(said as Any)")
        engine.fail(nil)
        let last = try #require(engine[record])
        engine[record] = nil
        #expect(store.hides(.example))
        try store.remove(.example)
        engine[record] = last
        #expect(try process(state: scratch.path, keys).load(.example) == nil)
    }

    @Test("a sign-in that was not sent is certainly not stored, whatever else got no answer")
    func unsentSignIn() throws {
        var session = Session.example()
        session.nonce = "one"
        let passed = Mutex<Int64>(0)
        var runtime = LeaseRuntime()
        runtime.now = { MonotonicTime(nanoseconds: passed.withLock { $0 } * 1_000_000) }
        runtime.sleep = { milliseconds in passed.withLock { $0 += milliseconds } }
        let keys = try SealingKeys.example()
        let store = SessionStore(engine, runtime: runtime) { () throws(OIDCError) in keys }
        engine.fail(.noAnswer(of: "memory://test", "silent"))
        let said = failure { () throws(OIDCError) in
            try store.saveSignIn(session, LockWait(limit: .seconds(90)))
        }
        #expect(said?.kind == .unreachable && said?.code == nil)
        #expect(!store.hides(.example))
    }

    @Test(
        "a sign-out ends the session that the server hides for one read, and shows for the next",
        arguments: [SessionKey.example, .machine])
    func hiddenOnce(_ key: SessionKey) throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        let record = "session/\(key.fileStem)"
        let reads = Mutex(0)
        var session = Session.example(key: key)
        session.nonce = key.grant.needsUser ? "one" : nil
        try process(state: scratch.path, keys).save(session, replacingDamaged: false)
        let engine = engine
        let last = try #require(engine[record])
        engine[record] = nil
        engine.state.withLock { state in
            state.onRead = {
                let count = reads.withLock { count in
                    count += 1
                    return count
                }
                if count == 2 { engine[record] = last }
            }
        }
        let store = process(state: scratch.path, keys)
        #expect(try store.load(key) == nil)
        try store.noteRemoval(of: key)
        #expect(engine[record] != last && !store.hides(key))
        engine[record] = last
        // It is refused as an old record.
        let found = Result { () throws(OIDCError) in try process(state: scratch.path, keys).load(key) }
        #expect((try? found.get()) == nil, "\(found)")
    }

    @Test(
        "a sign-out that finds no session leaves one that only other machines can open",
        arguments: [true, false])
    func unopenedMeanwhile(isNewer: Bool) throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        var session = Session.example()
        session.nonce = "one"
        let store = process(state: scratch.path, keys)
        try store.save(session, replacingDamaged: false)
        let last = try #require(engine[record])
        engine[record] = nil
        if isNewer {
            engine[record] = Array(#"{"format":2}"#.utf8)
        } else {
            let keys = try SealingKeys.example(9)
            try SessionStore(engine, versions: SharedVersions()) { () throws(OIDCError) in keys }
                .save(session, replacingDamaged: false)
        }
        let found = engine[record]
        try store.noteRemoval(of: .example)
        try store.remove(.example, expecting: session)
        #expect(engine[record] == found)
        // The server does not bring the session back that was signed out of.
        engine[record] = last
        #expect(try process(state: scratch.path, keys).load(.example) == nil)
    }

    @Test(
        "a sign-out that finds no session does not end one that another machine stores meanwhile",
        arguments: [true, false])
    func signInMeanwhile(hasSeen: Bool) throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func signIn(_ token: String, nonce: String) -> Session {
            var session = Session.example(token)
            session.nonce = nonce
            return session
        }
        let store = process(state: scratch.path, keys)
        if hasSeen {
            try store.save(signIn("at-1", nonce: "one"), replacingDamaged: false)
            engine[record] = nil
        }
        let other = SessionStore(engine, versions: SharedVersions(), now: { self.time.withLock { $0 } }) {
            () throws(OIDCError) in keys
        }
        let reads = Mutex(0)
        let later = signIn("at-2", nonce: "two")
        let (engine, last) = (engine, hasSeen ? 1 : 2)
        let meanwhile: @Sendable () -> Void = {
            let count = reads.withLock { count in
                count += 1
                return count
            }
            // After the first read, which finds nothing.
            guard count == last else { return }
            engine.state.withLock { ($0.onRead, $0.onWrite) = ({}, {}) }
            try? other.save(later, replacingDamaged: true)
        }
        engine.state.withLock { state in
            if hasSeen { state.onWrite = meanwhile } else { state.onRead = meanwhile }
        }
        try store.noteRemoval(of: .example)
        #expect(reads.withLock { $0 } >= last)
        #expect(try other.load(.example) == later)
        #expect(try store.load(.example) == later)
    }

    @Test("a sign-out ends each sign-in that this machine has seen, whichever one the server shows")
    func formerSignIns() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func signIn(_ nonce: String) -> Session {
            var session = Session.example()
            session.nonce = nonce
            return session
        }
        let store = process(state: scratch.path, keys)
        // Far more than are kept.
        for number in 0..<40 { try store.save(signIn("\(number)"), replacingDamaged: false) }
        try store.save(signIn("one"), replacingDamaged: false)
        // Refreshed at one of two servers, and signed in to at the other.
        let fork = MemoryEngine()
        fork[record] = engine[record]
        let ahead = SessionStore(
            fork, versions: SharedVersions(), now: { self.time.withLock { $0 }.adding(1_000) }
        ) { () throws(OIDCError) in keys }
        var refreshed = signIn("one")
        refreshed.tokens.refreshToken = Redacted("rt-2")
        #expect(try ahead.replace(signIn("one"), with: refreshed))
        let other = SessionStore(engine, versions: SharedVersions(), now: { self.time.withLock { $0 } }) {
            () throws(OIDCError) in keys
        }
        try other.save(signIn("two"), replacingDamaged: true)
        #expect(try store.load(.example) == signIn("two"))
        try store.remove(.example)
        #expect(!store.hides(.example))
        engine[record] = fork[record]
        #expect(try process(state: scratch.path, keys).load(.example) == nil)
    }

    @Test("a session that a sign-in replaced is not used again, even if another machine refreshes it")
    func replacedSignIn() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        var (first, second) = (Session.example(), Session.example("at-2"))
        (first.nonce, second.nonce) = ("one", "two")
        try process().save(first, replacingDamaged: false)
        let old = try #require(engine[record])
        try process().save(second, replacingDamaged: false)
        #expect(try process().load(.example) == second)
        engine[record] = old
        let other = SessionStore(
            engine, versions: SharedVersions(), now: { self.time.withLock { $0 }.adding(1_000) }
        ) { () throws(OIDCError) in keys }
        var refreshed = first
        refreshed.tokens.refreshToken = Redacted("rt-2")
        #expect(try other.replace(first, with: refreshed))
        #expect(try process().load(.example) == nil)
        // Nobody is kept from signing in again.
        var third = Session.example("at-3")
        third.nonce = "three"
        try process().save(third, replacingDamaged: false)
        #expect(try process().load(.example) == third)
    }

    @Test("a damaged record is listed with its key where that session was seen, so a sign-out of all ends it")
    func damagedIsKnown() throws {
        let (scratch, other) = (ScratchDirectory(), ScratchDirectory())
        let keys = try SealingKeys.example()
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        var session = Session.example()
        session.nonce = "one"
        try process().save(session, replacingDamaged: false)
        engine[record] = Array("garbage".utf8)
        let known = try #require(try process().all(withHidden: true).first)
        #expect(known.session == nil && known.hiddenKey == .example)
        let unknown = try #require(try self.process(state: other.path, keys).all(withHidden: true).first)
        #expect(unknown.session == nil && unknown.hiddenKey == nil)
        #expect(try process().all().first?.hiddenKey == nil)
    }

    @Test("a sign-out that cannot be noted on this machine is said to be so", arguments: [false, true])
    func unnotedSignOut(hasState: Bool) throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        let store =
            hasState
            ? process(state: scratch.path, keys)
            : SessionStore(engine, versions: SharedVersions(), now: { self.time.withLock { $0 } }) {
                () throws(OIDCError) in keys
            }
        try store.save(.example(), replacingDamaged: false)
        #expect((store.noteFailure == nil) == hasState)
        if hasState {
            try FileManager.default.removeItem(atPath: "\(scratch.path)/versions")
            try "".write(toFile: "\(scratch.path)/versions", atomically: false, encoding: .utf8)
        }
        try store.remove(.example)
        #expect(store.noteFailure != nil)
    }

    @Test("the sign-out of a machine that had seen less counts, at a server that had lost data")
    func signedOutBehind() throws {
        let (scratch, other, keys) = (ScratchDirectory(), ScratchDirectory(), try SealingKeys.example())
        var session = Session.example()
        session.nonce = "one"
        let store = process(state: scratch.path, keys)
        try store.save(session, replacingDamaged: false)
        let first = try #require(engine[record])
        for number in 2...5 {
            var next = session
            next.tokens.refreshToken = Redacted("rt-\(number)")
            #expect(try store.replace(session, with: next))
            session = next
        }
        let last = try #require(engine[record])
        engine[record] = first
        try process(state: other.path, keys).remove(.example)
        #expect(try store.load(.example) == nil)
        #expect(try process(state: scratch.path, keys).load(.example) == nil)
        engine[record] = last
        #expect(try process(state: scratch.path, keys).load(.example) == nil)
        // Nobody is kept from signing in again.
        session.nonce = "two"
        try store.save(session, replacingDamaged: false)
        #expect(try process(state: scratch.path, keys).load(.example) == session)
    }

    @Test("a session stays signed out, whatever the settings call the server")
    func otherSpelling() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process(_ engine: MemoryEngine) -> SessionStore {
            SessionStore(
                engine, state: scratch.path, versions: SharedVersions(), now: { self.time.withLock { $0 } }
            ) { () throws(OIDCError) in keys }
        }
        var (first, second) = (Session.example(), Session.example("at-2"))
        (first.nonce, second.nonce) = ("one", "two")
        try process(engine).save(first, replacingDamaged: false)
        let other = engine.named("memory://test:6379")
        func seen(besides engines: MemoryEngine...) -> Set<SessionKey> {
            SeenSessions.keys(state: scratch.path, besides: engines.map(\.description))
        }
        #expect(seen(besides: other) == [.example] && seen(besides: engine, other).isEmpty)
        #expect(try process(other).load(.example) == first)
        try process(engine).remove(.example)
        #expect(seen().isEmpty)
        #expect(try process(other).load(.example) == nil)
        #expect(try process(other).all(withHidden: true).isEmpty)
        // Another sign-in is not taken for it, and the versions of the other name stay its own.
        try process(other).save(second, replacingDamaged: false)
        #expect(try process(other).load(.example) == second)
    }

    @Test(
        "a session stays signed out, even if a machine that has not seen it refreshes its last record",
        arguments: [true, false])
    func signedOutElsewhere(hasNonce: Bool) throws {
        let (scratch, other, keys) = (ScratchDirectory(), ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        func signIn(_ token: String, nonce: String) -> Session {
            var session = Session.example(token)
            if hasNonce { session.nonce = nonce } else { session.signInID = nonce }
            return session
        }
        try process().save(signIn("at", nonce: "one"), replacingDamaged: false)
        let last = try #require(engine[record])
        let machine = SessionStore(
            engine, state: other.path, versions: SharedVersions(), now: { self.time.withLock { $0 } }
        ) { () throws(OIDCError) in keys }
        #expect(try machine.load(.example) == signIn("at", nonce: "one"))
        try process().remove(.example)
        try process().remove(.example)
        let removal = try #require(engine[record])
        engine[record] = last
        time.withLock { $0 = $0.adding(60) }
        #expect(try machine.replace(signIn("at", nonce: "one"), with: signIn("at-2", nonce: "one")))
        #expect(try process().load(.example) == nil)
        #expect(try process().all().compactMap(\.session).isEmpty)
        // The removal tells a third machine what has ended.
        let refreshed = try #require(engine[record])
        engine[record] = removal
        let third = ScratchDirectory()
        #expect(try self.process(state: third.path, keys).load(.example) == nil)
        engine[record] = refreshed
        #expect(try self.process(state: third.path, keys).load(.example) == nil)
        // A new sign-in, even of the same second, is another session, for all machines.
        try process().save(signIn("at-3", nonce: "two"), replacingDamaged: false)
        for store in [process(), machine, self.process(state: third.path, keys)] {
            #expect(try store.load(.example) == signIn("at-3", nonce: "two"))
        }
        #expect(try machine.replace(signIn("at-3", nonce: "two"), with: signIn("at-4", nonce: "two")))
        #expect(try process().load(.example) == signIn("at-4", nonce: "two"))
    }

    @Test("in the second of a sign-out, a sign-in that is stored without a nonce is another session")
    func signInOfSameSecond() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        try process().save(.example(), replacingDamaged: false)
        try process().remove(.example)
        try process().save(.example("at-2"), replacingDamaged: false)
        #expect(try process().load(.example) == .example("at-2"))
    }

    @Test("of two sign-ins that were signed out of, neither comes back by way of another machine")
    func signedOutTwice() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        var first = Session.example("at-1")
        first.nonce = "one"
        try process().save(first, replacingDamaged: false)
        let last = try #require(engine[record])
        let other = ScratchDirectory()
        let machine = SessionStore(
            engine, state: other.path, versions: SharedVersions(), now: { self.time.withLock { $0 } }
        ) { () throws(OIDCError) in keys }
        #expect(try machine.load(.example) == first)
        try process().remove(.example)
        var second = Session.example("at-2")
        second.nonce = "two"
        try process().save(second, replacingDamaged: false)
        try process().remove(.example)
        engine[record] = last
        time.withLock { $0 = $0.adding(60) }
        var refreshed = Session.example("at-3")
        refreshed.nonce = "one"
        #expect(try machine.replace(first, with: refreshed))
        #expect(try process().load(.example) == nil)
    }

    @Test(
        "a session that the server hid during the sign-out, or showed an earlier one for, does not come back",
        arguments: [false, true])
    func hiddenElsewhere(showsEarlier: Bool) throws {
        let (scratch, other, keys) = (ScratchDirectory(), ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        func session(_ token: String, _ nonce: String = "one") -> Session {
            var session = Session.example(token)
            session.nonce = nonce
            return session
        }
        try process().save(session("at-0", "zero"), replacingDamaged: false)
        let earlier = try #require(engine[record])
        try process().save(session("at-1"), replacingDamaged: false)
        let last = try #require(engine[record])
        engine[record] = showsEarlier ? earlier : nil
        try process().remove(.example)
        engine[record] = last
        time.withLock { $0 = $0.adding(60) }
        let machine = SessionStore(
            engine, state: other.path, versions: SharedVersions(), now: { self.time.withLock { $0 } }
        ) { () throws(OIDCError) in keys }
        #expect(try machine.replace(session("at-1"), with: session("at-2")))
        #expect(try process().load(.example) == nil)
    }

    @Test("a session whose key was chosen to have the name of another's record does not take its place")
    func chosenName() throws {
        // Found by a search: the names have a hash that is fast, and no secret.
        let path = "vxjju1d7euevti28jwzco6mkgyov03bwrufohkyp7c8xmc0q"
        var chosen = SessionKey.example
        chosen.resources = ["https://api.example/\(path)"]
        #expect(chosen.fileStem == SessionKey.example.fileStem)
        let store = try machine()
        try store.save(.example(), replacingDamaged: false)
        for isForced in [false, true] {
            let refusal = failure { () throws(OIDCError) in
                try store.save(.example("at-9", key: chosen), replacingDamaged: isForced)
            }
            #expect(refusal?.message.contains("neither used nor overwritten") == true, "\(refusal as Any)")
        }
        #expect(throws: OIDCError.self) { try store.load(chosen) }
        #expect(throws: OIDCError.self) { try store.remove(chosen) }
        #expect(try machine().load(.example) == .example())
    }

    @Test("a session that the server hid during the sign-out stays signed out")
    func hiddenRemoval() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        try process().save(.example(), replacingDamaged: false)
        let last = try #require(engine[record])
        engine[record] = nil
        try process().remove(.example)
        engine[record] = last
        #expect(failure { () throws(OIDCError) in try process().load(.example) }?.code == .oldRecord)
    }

    @Test("sessions that the server hid while all were signed out of stay signed out")
    func hiddenRemovals() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        for key in [SessionKey.example, .other] {
            try process().save(.example(key: key), replacingDamaged: false)
        }
        let last = try #require(engine[record])
        engine[record] = nil
        // Those of one resource cannot be told from others.
        _ = try process().takeLeftovers(of: nil) { $0 != nil }
        _ = try process().takeLeftovers(of: .other) { _ in true }
        #expect(engine[record] == nil)
        #expect(try process().takeLeftovers(of: nil) { _ in true }.isEmpty)
        engine[record] = last
        #expect(failure { () throws(OIDCError) in try process().load(.example) }?.code == .oldRecord)
        #expect(try process().load(.other) == .example(key: .other))
    }

    @Test(
        "a hidden session is reported once, with its key, and not if its sign-out is known",
        arguments: [true, false])
    func hiddenIsSaid(isListed: Bool) throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        func isSaid() throws -> Bool {
            guard isListed else {
                let store = process()
                let isHidden = store.hides(.example)
                try store.remove(.example)
                return isHidden
            }
            let all = try process().all(withHidden: true)
            #expect(try process().all().isEmpty)
            for entry in all {
                let error = failure { () throws(OIDCError) in _ = try entry.content.get() }
                #expect(error?.code == .lostSession && entry.hiddenKey == .example, "\(entry)")
                try process().remove(entry)
            }
            return !all.isEmpty
        }
        #expect(try !isSaid())
        var session = Session.example()
        session.nonce = "one"
        try process().save(session, replacingDamaged: false)
        engine[record] = nil
        #expect(try isSaid())
        #expect(try !isSaid())
        session.nonce = "two"
        try process().save(session, replacingDamaged: false)
        try process().remove(.example)
        #expect(try !isSaid())
        engine[record] = nil
        #expect(try !isSaid())
    }

    @Test(
        "a session that the server only leaves out of its list is listed all the same, and ended with the others"
    )
    func unlisted() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        var session = Session.example()
        session.nonce = "one"
        try process().save(session, replacingDamaged: false)
        engine.state.withLock { $0.hidesNames = true }
        #expect(try process().all().compactMap(\.session) == [session])
        _ = try process().takeLeftovers(of: nil) { _ in true }
        #expect(engine[record] != nil)
        try process().remove(try process().all()[0])
        #expect(try process().all().isEmpty)
    }

    @Test(
        "a session that the server does not remove stays usable, and a sign-out can be repeated",
        arguments: [false, true])
    func refusedRemoval(isListed: Bool) throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        func remove() throws {
            guard isListed else { return try process().remove(.example) }
            try process().remove(try process().all()[0])
        }
        try process().save(.example(), replacingDamaged: false)
        let last = try #require(engine[record])
        engine.fail(OIDCError(.refused, "not now"), removing: "session/")
        engine.fail(OIDCError(.refused, "not now"), writing: "session/")
        #expect(throws: OIDCError.self) { try remove() }
        #expect(try process().load(.example) == .example())
        engine.fail(nil, removing: "")
        engine.fail(nil, writing: "")
        try remove()
        #expect(try process().load(.example) == nil)
        engine[record] = last
        #expect(failure { () throws(OIDCError) in try process().load(.example) }?.code == .oldRecord)
    }

    @Test("a session stays signed out if the server refuses to remove the failure beside it")
    func refusedFailure() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        try process().save(.example(), replacingDamaged: false)
        let last = try #require(engine[record])
        engine.fail(OIDCError(.refused, "not now"), removing: "failure/")
        #expect(throws: OIDCError.self) { try process().remove(.example) }
        #expect(try process().load(.example) == nil)
        engine[record] = last
        #expect(failure { () throws(OIDCError) in try process().load(.example) }?.code == .oldRecord)
    }

    @Test("a record whose version was raised by somebody without the key is refused")
    func raisedVersion() throws {
        let store = try machine()
        try store.save(.example(), replacingDamaged: false)
        let old = try #require(engine[record])
        #expect(try store.replace(.example(), with: .example("at-2")))
        let raised = String(decoding: old, as: UTF8.self).replacingOccurrences(
            of: #""version":1700000000"#, with: #""version":1800000000"#)
        #expect(raised.contains("1800000000"))
        engine[record] = Array(raised.utf8)
        for store in [store, try machine()] {
            let refusal = failure { () throws(OIDCError) in try store.load(.example) }
            #expect(refusal?.kind == .untrusted)
            #expect(refusal?.message.contains("was changed by somebody without the key") == true)
        }
    }

    @Test("one record that cannot be read does not hide the others, whatever its name or error")
    func badRecord() throws {
        let store = try machine()
        try store.save(.example(), replacingDamaged: false)
        let bad = "session/\u{1B}[31m/../../x"
        engine[bad] = Array("{".utf8)
        var entries = try store.all()
        #expect(entries.count == 2 && entries.compactMap(\.session) == [.example()])
        engine.fail(OIDCError(.unreachable, "nonsense", stage: .store), reading: bad)
        entries = try store.all()
        #expect(entries.count == 2 && entries.compactMap(\.session) == [.example()])
        engine.fail(OIDCError(.unreachable, "away", stage: .store))
        #expect(failure { () throws(OIDCError) in try store.all() }?.kind == .unreachable)
    }

    @Test("of too many records, the list says first how many were not read")
    func tooMany() throws {
        for number in 0..<5_000 { engine["session/bad-\(number)"] = Array("{".utf8) }
        let entries = try machine().all()
        #expect(
            entries.count == 4_097
                && entries.map(\.isOmission) == [true] + entries.dropFirst().map { _ in false })
        guard case .failure(let error)? = entries.first?.content else { return #expect(Bool(false)) }
        #expect(
            error.message.hasSuffix(
                "has too many sessions to list them all, or is too slow: 904 were not read"))
        #expect(error.kind == .unreachable)
    }

    @Test("removals take no places in a list: a session after any number of them is listed")
    func removals() throws {
        let key = try SealingKeys.example().sealing
        for number in 0..<20 {
            let stem = "0-\(number)"
            engine["session/\(stem)"] = try SealedRecord(
                sealing: [], .removal, of: stem, version: 1, with: key
            ).bytes
        }
        try machine().save(.example(), replacingDamaged: false)
        let entries = try machine().all(withHidden: false, limit: 10)
        #expect(entries.count == 1 && entries.first?.session?.key == .example)
    }

    @Test(
        "a record that cannot be opened has the key that it names, if that key's session has its name, or was seen there"
    )
    func namedKey() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        var session = Session.example()
        session.nonce = "nonce"
        try process().save(session, replacingDamaged: false)
        let sealed = String(decoding: try #require(engine[record]), as: UTF8.self)
        let id = try SealingKeys.example().sealing.id
        let other = sealed.replacingOccurrences(of: id, with: "000000000000")
        let newer = sealed.replacingOccurrences(of: #""format":1"#, with: #""format":2"#)
        for text in [other, newer, "junk"] {
            engine[record] = Array(text.utf8)
            let entries = [try process().all(), try machine().all()]
            #expect(entries.joined().allSatisfy { $0.session == nil })
            #expect(entries[0].map(\.namedKey) == [.example])
            // Another machine has not seen it.
            #expect(entries[1].map(\.namedKey) == [text == "junk" ? nil : .example])
        }
        engine["session/op.example-app-0000000000000000"] = Array(other.utf8)
        engine[record] = nil
        #expect(try machine().all().map(\.namedKey) == [nil])
    }

    @Test("a record that another process replaces while it is read is not taken for an old one")
    func replacedMeanwhile() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore { self.process(state: scratch.path, keys) }
        let (reading, writing) = (process(), process())
        try writing.save(.example(), replacingDamaged: false)
        let old = try #require(engine[record])
        engine.state.withLock {
            $0.onRead = { [engine, record] in
                engine.state.withLock { $0.onRead = {} }
                // The answer to the read is on its way when the other process writes.
                do {
                    #expect(try writing.replace(.example(), with: .example("at-2")))
                } catch { Issue.record(error) }
                engine[record] = old
            }
        }
        #expect(try reading.load(.example) == .example())
    }

    @Test("a version that one store of a process has seen is known to its others")
    func processVersions() throws {
        let (seen, keys) = (SharedVersions(), try SealingKeys.example())
        func store() -> SessionStore {
            SessionStore(engine, versions: seen, now: { self.time.withLock { $0 } }) {
                () throws(OIDCError) in
                keys
            }
        }
        try store().save(.example(), replacingDamaged: false)
        let old = try #require(engine[record])
        #expect(try store().replace(.example(), with: .example("at-2")))
        engine[record] = old
        #expect(failure { () throws(OIDCError) in try store().load(.example) }?.kind == .unreachable)
        // A sign-in, whose code is redeemed, is stored all the same, as a newer version.
        try store().save(.example("at-3"), replacingDamaged: true)
        #expect(try store().load(.example) == .example("at-3"))
    }

    @Test("what another process of this machine has seen is newer than what this one has")
    func seenElsewhere() throws {
        let (scratch, keys) = (ScratchDirectory(), try SealingKeys.example())
        func process() -> SessionStore {
            SessionStore(engine, state: scratch.path, versions: SharedVersions()) {
                () throws(OIDCError) in
                keys
            }
        }
        let (proxy, command) = (process(), process())
        try proxy.save(.example(), replacingDamaged: false)
        let old = try #require(engine[record])
        #expect(try proxy.load(.example) == .example())
        #expect(try command.replace(.example(), with: .example("at-2")))
        engine[record] = old
        #expect(failure { () throws(OIDCError) in try proxy.load(.example) }?.code == .oldRecord)
        // Nor does a session come back that another process signed out of.
        try process().save(.example("at-3"), replacingDamaged: true)
        #expect(try proxy.load(.example) == .example("at-3"))
        let signedIn = try #require(engine[record])
        try command.remove(.example)
        engine[record] = signedIn
        #expect(failure { () throws(OIDCError) in try proxy.load(.example) }?.code == .oldRecord)
    }

    @Test("after a sign-out and a new sign-in elsewhere, the new session is not taken for an old one")
    func newSignIn() throws {
        let store = try machine()
        try store.save(.example(), replacingDamaged: false)
        for _ in 0..<3 {
            #expect(try store.replace(try store.load(.example), with: .example(UUID().uuidString)))
        }
        try machine().remove(.example)
        time.withLock { $0 = $0.adding(60) }
        try machine().save(.example("at-9"), replacingDamaged: false)
        #expect(try store.load(.example) == .example("at-9"))
    }

    @Test("a record that was sealed with another key is a usage error that names both, and is not replaced")
    func otherKey() throws {
        try machine(try .example(1)).save(.example(), replacingDamaged: false)
        let store = try machine(try .example(2))
        let refusal = try #require(failure { () throws(OIDCError) in try store.load(.example) })
        #expect(refusal.kind == .usage)
        let ids = (try SealingKeys.example(1).ids[0], try SealingKeys.example(2).ids[0])
        #expect(refusal.message.contains("was sealed with the key \(ids.0), found \(ids.1)"))
        #expect(throws: OIDCError.self) { try store.save(.example(), replacingDamaged: true) }
        // It is listed, but not removed with all others.
        let listed = try #require(try store.all().first)
        #expect(listed.session == nil)
        #expect(failure { () throws(OIDCError) in try store.remove(listed) } == refusal)
        // Sign-out works without the key.
        try store.remove(.example)
        #expect(try store.load(.example) == nil)
    }

    @Test("a machine's token whose key is gone is requested again")
    func machineTokenOfOtherKey() throws {
        try machine(try .example(1)).save(.example(key: Self.machineKey), replacingDamaged: false)
        let store = try machine(try .example(2))
        #expect(try store.load(Self.machineKey) == nil)
        // Machines with the other key keep theirs.
        #expect(
            failure { () throws(OIDCError) in
                _ = try store.replace(nil, with: .example("at-2", key: Self.machineKey))
            }?.code == .unknownStoreKey)
        #expect(
            try machine(try .example(1)).load(Self.machineKey) == .example(key: Self.machineKey))
    }

    @Test("the record of a sign-out whose key is gone keeps nobody from signing in")
    func removalOfOtherKey() throws {
        let old = try machine(try .example(1))
        try old.save(.example(), replacingDamaged: false)
        try old.remove(.example)
        #expect(engine[record] != nil)
        let store = try machine(try .example(2))
        #expect(try store.load(.example) == nil)
        // A sign-out leaves it: other machines need it.
        let removal = engine[record]
        try store.remove(.example)
        #expect(engine[record] == removal)
        let version = try SealedRecord(stored: try #require(removal)).version
        try store.save(.example("at-2"), replacingDamaged: false)
        #expect(try store.load(.example) == .example("at-2"))
        // The machine that signed out takes it for newer.
        #expect(try SealedRecord(stored: try #require(engine[record])).version > version)
    }

    @Test("a damaged record of a machine's token is replaced by the next token, and a user's by a sign-in")
    func damagedRecord() throws {
        let store = try machine()
        for bytes in [Array("null".utf8), [], Array("{\"x\":1}".utf8)] {
            let stem = Self.machineKey.fileStem
            engine["session/\(stem)"] = bytes
            #expect(try store.load(Self.machineKey) == nil)
            #expect(try store.replace(nil, with: .example("at-1", key: Self.machineKey)))
            #expect(try store.load(Self.machineKey) == .example("at-1", key: Self.machineKey))
            engine[record] = bytes
            let refusal = failure { () throws(OIDCError) in try store.load(.example) }
            #expect(refusal?.kind == .untrusted && refusal?.hint == .signIn)
            #expect(failure { () throws(OIDCError) in try store.replace(nil, with: .example()) } == refusal)
            try store.save(.example(), replacingDamaged: true)
            #expect(try store.load(.example) == .example())
        }
    }

    @Test("a record that is too large is replaced by a sign-in")
    func largeRecord() throws {
        let store = try machine()
        engine[record] = [UInt8](repeating: 0, count: 100)
        engine.fail(.damagedRecord("too large"), reading: record)
        #expect(failure { () throws(OIDCError) in try store.load(.example) }?.kind == .untrusted)
        try store.probe(.example)
        try store.save(.example(), replacingDamaged: true)
        engine.fail(nil, reading: "")
        #expect(try store.load(.example) == .example())
    }

    @Test("a listed record that is another session's is not shown as a session")
    func swapped() throws {
        let store = try machine()
        try store.save(.example(key: .other), replacingDamaged: false)
        engine[record] = engine["session/\(SessionKey.other.fileStem)"]
        let listed = try store.all()
        #expect(listed.count == 2 && listed.compactMap(\.session) == [.example(key: .other)])
    }

    @Test("keys are rotated machine by machine: the first one seals, both open")
    func rotation() throws {
        let lines = (0..<2).map { _ in SealingKeys.newKey() }
        func keys(_ order: [Int]) throws -> SealingKeys {
            try SealingKeys(Array(order.map { lines[$0] + "\n" }.joined().utf8), source: "store_key_file")
        }
        try machine(try keys([0])).save(.example(), replacingDamaged: false)
        let rotated = try machine(try keys([1, 0]))
        #expect(try rotated.replace(try rotated.load(.example), with: .example("at-2")))
        #expect(try machine(try keys([0, 1])).load(.example) == .example("at-2"))
        #expect(throws: OIDCError.self) { try machine(try keys([0])).load(.example) }
    }

    @Test(
        "a key that is not 32 bytes is refused, without quoting it",
        arguments: ["", "\n", "c2hvcnQ", "0123456789", "not base64, but long enough to be taken for a key"])
    func badKey(_ text: String) {
        let refusal = failure { () throws(OIDCError) in
            try SealingKeys(Array(text.utf8), source: "store_key_file")
        }
        #expect(refusal?.kind == .usage)
        #expect(text.count < 5 || refusal?.message.contains(text) == false)
        let three = Array((0..<3).map { _ in SealingKeys.newKey() }.joined(separator: "\n").utf8)
        #expect(throws: OIDCError.self) { try SealingKeys(three, source: "store_key_file") }
    }
}
