import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import Posix
import Testing

@Suite("the temporary file of a killed writer")
struct LeftoverTests {
    let scratch = ScratchDirectory()
    var store: SessionStore { SessionStore(directory: scratch.path) }
    var stem: String { SessionKey.example.fileStem }

    /// The session as a refresh of `example` would have stored it.
    private func refreshed(_ change: (inout Session) -> Void = { _ in }) -> Session {
        var session = Session.example()
        session.tokens.refreshToken = Redacted("rt-2")
        change(&session)
        return session
    }

    /// Leaves a temporary file as if its writer had been killed before the rename, so many seconds after the last write.
    private func leave(_ text: String, mode permissions: mode_t = 0o600, seconds: Int = 0) throws {
        scratch.put(text, "\(stem).tmp", mode: permissions)
        var status = stat()
        try #require(lstat(scratch["\(stem).json"], &status) == 0)
        var times = [timespec(), timespec()]
        for index in times.indices { times[index].tv_sec = status.st_mtim.tv_sec + 1 + seconds }
        try #require(utimensat(AT_FDCWD, scratch["\(stem).tmp"], times, 0) == 0)
    }

    /// What the next holder of the lock finds.
    private func found() throws -> Session? {
        try store.withLock(.example, LockWait(limit: .seconds(20))) { () throws(OIDCError) in
            try store.load(.example)
        }
    }

    @Test("what a refresh had written before it was killed is adopted by the next holder of the lock")
    func adopted() throws {
        try store.save(.example(), replacingDamaged: false)
        let successor = refreshed()
        try leave(successor.json.compact)
        #expect(try store.load(.example) == .example())
        #expect(try found() == successor)
        #expect(try store.load(.example) == successor)
        #expect(scratch.names == ["\(stem).json", "\(stem).lock"])
        #expect(mode(scratch["\(stem).json"]) == 0o600)
    }

    /// Something that is done to a store without the session's lock.
    enum Unlocked: CaseIterable {
        case probe, reserveSpace, refusedSave, unwantedReplacement

        func run(_ store: SessionStore) throws {
            switch self {
            case .probe: try store.probe(.example)
            case .reserveSpace: _ = try store.reserveSpace(for: .example)
            case .refusedSave:
                // A session of another key with the same file name is never overwritten.
                let directory = SessionDirectory(path: store.description, ending: ".json")
                _ = try? directory.replace(SessionKey.example.fileStem) { _ throws(OIDCError) in
                    throw OIDCError(.failed, "refused")
                }
            case .unwantedReplacement:
                #expect(try !store.replace(.example("at-9"), with: .example("at-2")))
            }
        }
    }

    @Test("nobody but its adopter touches what a killed refresh left", arguments: Unlocked.allCases)
    func untouched(_ action: Unlocked) throws {
        try store.save(.example(), replacingDamaged: false)
        let successor = refreshed()
        try leave(successor.json.compact)
        try action.run(store)
        #expect(scratch.text("\(stem).tmp") == successor.json.compact)
        #expect(scratch.names.allSatisfy { !$0.hasSuffix(".reserved") })
        #expect(try found() == successor)
    }

    @Test("a reservation of a killed process is reused, and removed with the session")
    func reservation() throws {
        try store.save(.example(), replacingDamaged: false)
        scratch.put("   ", "\(stem).reserved", mode: 0o600)
        try store.probe(.example)
        #expect(scratch.names == ["\(stem).json"])
        scratch.put("   ", "\(stem).reserved", mode: 0o600)
        try store.remove(.example)
        #expect(scratch.names == [])
    }

    @Test(
        "one that the clock calls older is adopted if its token was issued for the stored one",
        arguments: [0, 3_600])
    func clockSetBack(seconds: Int64) throws {
        try store.save(.example(), replacingDamaged: false)
        let successor = refreshed {
            $0.replacedToken = FNV1a.digits(Session.example().tokens.refreshToken?.revealed ?? "")
            $0.tokens.access.obtainedAt = $0.tokens.access.obtainedAt.adding(-seconds)
        }
        try leave(successor.json.compact, seconds: -10)
        #expect(try found() == successor)
    }

    @Test("a lock for a sign-in adopts nothing")
    func signInLock() throws {
        try store.save(.example(), replacingDamaged: false)
        try leave(refreshed().json.compact)
        try store.withLock(.example, for: .signIn, LockWait(limit: .seconds(20))) {}
        #expect(try store.load(.example) == .example())
    }

    enum Doubt: CaseIterable {
        case older, half, blank, otherKey, otherSignIn, otherNonce, olderToken, withoutRefreshToken, wideMode,
            link
    }

    @Test("what is older, half, foreign or open to others is not adopted", arguments: Doubt.allCases)
    func doubtful(_ doubt: Doubt) throws {
        try store.save(.example(), replacingDamaged: false)
        let text = refreshed().json.compact
        switch doubt {
        case .older: try leave(text, seconds: -10)
        case .half: try leave(String(text.dropLast(2)))
        case .blank: try leave(String(repeating: " ", count: 32_768))
        case .otherKey: try leave(refreshed { $0.key = .other }.json.compact)
        case .otherSignIn: try leave(refreshed { $0.createdAt = $0.createdAt.adding(60) }.json.compact)
        case .otherNonce: try leave(refreshed { $0.nonce = "of another sign-in" }.json.compact)
        case .olderToken:
            try leave(
                refreshed { $0.tokens.access.obtainedAt = $0.createdAt.adding(-60) }.json.compact)
        case .withoutRefreshToken: try leave(refreshed { $0.tokens.refreshToken = nil }.json.compact)
        case .wideMode: try leave(text, mode: 0o644)
        case .link:
            scratch.put(text, "elsewhere")
            symlink(scratch["elsewhere"], scratch["\(stem).tmp"])
        }
        #expect(try found() == .example())
    }

    enum Obstacle: CaseIterable {
        case link, directory, pipe, otherOwner

        static var usable: [Obstacle] { allCases.filter { $0 != .otherOwner || getuid() == 0 } }
    }

    @Test("no token is asked for while its temporary file could not be written", arguments: Obstacle.usable)
    func obstructed(_ obstacle: Obstacle) throws {
        try store.save(.example(), replacingDamaged: false)
        let path = scratch["\(stem).tmp"]
        switch obstacle {
        case .link:
            scratch.put("x", "elsewhere")
            symlink(scratch["elsewhere"], path)
        case .directory: mkdir(path, 0o700)
        case .pipe: mkfifo(path, 0o600)
        case .otherOwner:
            scratch.put("x", "\(stem).tmp", mode: 0o600)
            chown(path, 12345, 12345)
        }
        let before = scratch.names
        let refusal = failure { () throws(OIDCError) in _ = try store.reserveSpace(for: .example) }
        #expect(refusal?.kind == .failed, "\(refusal as Any)")
        #expect(refusal?.message.contains("\(stem).tmp") == true, "\(refusal as Any)")
        #expect(scratch.names == before)
    }

    @Test("a temporary file whose new content cannot be renamed stays for its adopter")
    func unrenamed() throws {
        try store.save(.example(), replacingDamaged: false)
        let directory = try #require(try PrivateDirectory.open(scratch.path))
        mkdir(scratch["odd"], 0o700)
        scratch.put("x", "odd/x")
        let refusal = failure { () throws(OIDCError) in
            try AtomicFile.write(to: "odd", temporary: "odd.tmp", in: directory) { Array("new".utf8) }
        }
        #expect(refusal != nil)
        #expect(scratch.text("odd.tmp") == "new")
    }

    @Test("what a writer at work has locked is left to it")
    func locked() throws {
        try store.save(.example(), replacingDamaged: false)
        try leave(refreshed().json.compact)
        let directory = try #require(try PrivateDirectory.open(scratch.path))
        let writer = try FileLock.acquire("\(stem).tmp", in: directory, LockWait(limit: .seconds(20)))
        #expect(try found() == .example())
        withExtendedLifetime(writer) {}
    }

    @Test(
        "a leftover of another mode is not taken for none: the refresh token before it is neither presented nor revoked",
        arguments: [0o644, 0o400, 0o700])
    func otherMode(mode: Int) throws {
        try store.save(.example(), replacingDamaged: false)
        try leave(refreshed().json.compact)
        let path = scratch["\(stem).tmp"]
        #expect(chmod(path, mode_t(mode)) == 0)
        let refresh = failure { () throws(OIDCError) in _ = try store.reserveSpace(for: .example) }
        let signOut = failure { () throws(OIDCError) in try store.checkWaiting(.example) }
        for refusal in [refresh, signOut] {
            let message = refusal?.message ?? "none"
            #expect(message.contains("the unfinished session file "), "\(message)")
            #expect(refusal?.hint?.description.hasPrefix("chmod 600 ") == true)
        }
        // The leftover is adopted only beside a file that can be read.
        #expect(chmod(path, 0o600) == 0 && chmod(scratch["\(stem).json"], 0o644) == 0)
        let beside = failure { () throws(OIDCError) in try store.checkWaiting(.example) }
        #expect(beside?.hint?.description.hasSuffix("\(stem).json") == true, "\(beside as Any)")
        #expect(chmod(path, mode_t(mode)) == 0 && chmod(scratch["\(stem).json"], 0o600) == 0)
        // What is stored may still be fresh, and a sign-in replaces both.
        #expect(try found() == .example())
        try store.probe(.example)
        #expect(chmod(path, 0o600) == 0)
        #expect(try found() == refreshed())
    }

    @Test("a leftover that could not be read as the lock was taken is not passed over once it can be")
    func otherModeForAMoment() throws {
        try store.save(.example(), replacingDamaged: false)
        try leave(refreshed().json.compact)
        let path = scratch["\(stem).tmp"]
        #expect(chmod(path, 0o644) == 0)
        try store.withLock(.example, LockWait(limit: .seconds(20))) { () throws(OIDCError) in
            #expect(try store.load(.example) == .example())
            #expect(chmod(path, 0o600) == 0)
            let refusal = failure { () throws(OIDCError) in try store.checkAdopted(.example) }
            #expect(refusal?.message.contains("a later copy of the session") == true, "\(refusal as Any)")
        }
        #expect(try found() == refreshed())
    }

    @Test("what is written over a leftover of the same size starts the file")
    func sameSize() throws {
        try store.save(.example("at-1"), replacingDamaged: false)
        try leave(Session.example("at-2").json.compact.replacing("at-2", with: "at-9"))
        scratch.put(String(repeating: "x", count: Session.example("at-3").json.bytes.count), "\(stem).tmp")
        try store.save(.example("at-3"), replacingDamaged: false)
        #expect(try store.load(.example) == .example("at-3"))
        #expect(scratch.text("\(stem).json")?.hasPrefix("{") == true)
    }

    @Test("a leftover without a session keeps nobody from signing out")
    func otherModeAlone() throws {
        scratch.put(Session.example().json.compact, "\(stem).tmp", mode: 0o644)
        try store.checkWaiting(.example)
        #expect(try store.takeLeftovers(of: .example) { _ in true } == [.example()])
    }

    @Test("a damaged session is not replaced by a leftover")
    func damaged() throws {
        scratch.put("{", "\(stem).json")
        try leave(refreshed().json.compact)
        #expect(throws: OIDCError.self) { try found() }
        #expect(scratch.text("\(stem).json") == "{")
    }

    @Test("the session of a sign-in that was killed before it was stored is removed and returned")
    func withoutSession() throws {
        let other = Session.example(key: .other)
        scratch.put(Session.example().json.compact, "\(stem).tmp")
        scratch.put(String(other.json.compact.dropLast()), "\(SessionKey.other.fileStem).tmp")
        #expect(try store.load(.example) == nil && store.all().isEmpty)
        #expect(try store.takeLeftovers(of: .example) { _ in true } == [.example()])
        #expect(scratch.names == ["\(SessionKey.other.fileStem).tmp"])
        // One that is not whole is removed if all are meant.
        #expect(try store.takeLeftovers(of: nil) { $0 != nil } == [])
        #expect(scratch.names == ["\(SessionKey.other.fileStem).tmp"])
        #expect(try store.takeLeftovers(of: nil) { _ in true } == [])
        #expect(scratch.names == [])
    }

    @Test(
        "beside a session, plain or sealed, nothing is taken; and nothing is made",
        arguments: ["json", "sealed"])
    func besideSession(ending: String) throws {
        #expect(try store.takeLeftovers(of: .example) { _ in true } == [])
        #expect(scratch.names == [])
        scratch.put(Session.example().json.compact, "\(stem).\(ending)")
        scratch.put(refreshed().json.compact, "\(stem).tmp")
        #expect(try store.takeLeftovers(of: .example) { _ in true } == [])
        #expect(try store.takeLeftovers(of: nil) { _ in true } == [])
        #expect(scratch.names == ["\(stem).\(ending)", "\(stem).tmp"])
    }
}

@Suite("the temporary file of a killed writer of a sealed session")
struct SealedLeftoverTests {
    let scratch = ScratchDirectory()
    var path: String { scratch["oidc/\(SessionKey.example.fileStem)"] }

    @Test("what a killed refresh had written is adopted")
    func adopted() throws {
        let helper = FakeHelper(scratch)
        try helper.store().save(.example(), replacingDamaged: false)
        let before = try #require(FileManager.default.contents(atPath: path + ".sealed"))
        var successor = Session.example()
        successor.tokens.refreshToken = Redacted("rt-2")
        try helper.store().save(successor, replacingDamaged: false)
        // As if the second writer had been killed before the rename.
        let after = try #require(FileManager.default.contents(atPath: path + ".sealed"))
        _ = FileManager.default.createFile(atPath: path + ".sealed", contents: before)
        _ = FileManager.default.createFile(atPath: path + ".tmp", contents: after)
        chmod(path + ".sealed", 0o600)
        chmod(path + ".tmp", 0o600)
        let store = helper.store()
        let found = try store.withLock(.example, LockWait(limit: .seconds(20))) { () throws(OIDCError) in
            try store.load(.example)
        }
        #expect(found == successor)
        #expect(!FileManager.default.fileExists(atPath: path + ".tmp"))
    }

    @Test("the leftover of a killed sign-in is removed with its key")
    func withoutSession() throws {
        let helper = FakeHelper(scratch)
        try helper.store().save(.example(), replacingDamaged: false)
        try FileManager.default.moveItem(atPath: path + ".sealed", toPath: path + ".tmp")
        let store = helper.store()
        #expect(try store.load(.example) == nil)
        #expect(try store.takeLeftovers(of: .example) { _ in true } == [.example()])
        #expect(helper.entries.isEmpty && !FileManager.default.fileExists(atPath: path + ".tmp"))
    }
}
