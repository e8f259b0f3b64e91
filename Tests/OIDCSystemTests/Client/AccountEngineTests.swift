import Foundation
@testable import OIDCCore
@testable import OIDCShared
@testable import OIDCSessions
@testable import OIDCAccount
@testable import Posix
import Synchronization
import TestSupport
import Testing

/// What the engine does under the session's lock, with a store in memory.
@Suite("the engine of an account")
struct AccountEngineTests {
    private static let outcome = SignInFlow.Outcome(session: .example("new"), idToken: nil, warnings: [])

    /// A provider that waits for a lock as long as a test says, and sends nothing.
    private struct Stub: AccountProvider {
        var isCancelled = false

        var leeway: Duration { .seconds(60) }
        var idTokenAlgorithms: [String]? { nil }
        var bindsTokens: Bool { false }
        var lockWait: LockWait { LockWait(limit: .milliseconds(20), isCancelled: { isCancelled }) }

        func environment() throws(OIDCError) -> OIDCContext { throw OIDCError(.failed, "offline") }
        func client(
            _ metadata: ProviderMetadata?, method: String?, _ environment: OIDCContext
        ) -> Client {
            Client(id: "stub")
        }
        func tokenEndpoint(at url: WebURL, client: Client, dpop: DPoPKey?) -> TokenEndpoint {
            TokenEndpoint(url: url, client: client, dpop: dpop)
        }
        func tokenEndpoint(of session: Session, _ environment: OIDCContext) -> TokenEndpoint {
            TokenEndpoint(url: session.endpoints.token, client: Client(id: "stub"))
        }
        func alias(
            of url: WebURL, for endpoint: ProviderEndpoint, _ environment: OIDCContext
        ) -> WebURL { url }
    }

    /// A sign-in that has succeeded, up to the session's storage.
    private struct Way: SignInWay {
        func run(
            keep: (SignInFlow.Outcome) throws(OIDCError) -> Void
        ) throws(OIDCError) -> SignInFlow.Outcome {
            try keep(AccountEngineTests.outcome)
            return AccountEngineTests.outcome
        }
    }

    private func engine(_ store: SessionStore, _ stub: Stub = Stub()) -> AccountEngine {
        AccountEngine(key: .example, store: store, stub)
    }

    @Test("a sign-in is saved even while a refresh holds the session's lock too long")
    func savedWithoutLock() throws {
        let store = SessionStore.inMemory()
        let engine = engine(store)
        try store.withLock(.example, LockWait(limit: .zero)) { () throws(OIDCError) in
            _ = try engine.signIn(by: Way())
        }
        #expect(try store.load(.example) == Self.outcome.session)
    }

    @Test("an interrupted wait for the lock ends the sign-in, even if failures of the store are tolerated")
    func interruptedSave() throws {
        let store = SessionStore.inMemory()
        let engine = engine(store, Stub(isCancelled: true))
        let error = failure { () throws(OIDCError) in
            try store.withLock(.example, LockWait(limit: .zero)) { () throws(OIDCError) in
                try engine.signIn(by: Way(), onStoreFailure: { _ in Issue.record("tolerated") })
            }
        }
        #expect(error?.kind == .interrupted)
        #expect(try store.load(.example) == nil)
    }

    @Test("a sign-out removes the session even while a refresh holds its lock too long")
    func takenWithoutLock() throws {
        let store = SessionStore.inMemory()
        try store.save(.example("old"), replacingDamaged: false)
        let engine = engine(store)
        let removal = try store.withLock(.example, LockWait(limit: .zero)) { () throws(OIDCError) in
            try engine.taken()
        }
        #expect(removal.session == .example("old"))
        #expect(try store.load(.example) == nil)
    }

    /// Records whose server takes a removal, and then answers neither that nor, for a time, anything else.
    private final class SilentRecords: RecordStore {
        private let records = MemoryRecords()
        /// Whether a removal is done, without an answer; the number of later requests that get none.
        let removes: Bool
        private let silence: Mutex<Int>
        private let fault = OIDCError(.unreachable, "store: no answer", stage: .store)

        init(removes: Bool, silence: Int) {
            self.removes = removes
            self.silence = Mutex(silence)
        }

        private let wasAsked = Mutex(false)
        var description: String { "silent" }

        private func check() throws(OIDCError) {
            let isSilent = silence.withLock { left in
                guard wasAsked.withLock({ $0 }), left > 0 else { return false }
                left -= 1
                return true
            }
            if isSilent { throw fault }
        }

        func read(_ name: RecordName) throws(OIDCError) -> Record? {
            try check()
            return try records.read(name)
        }

        func write(
            _ bytes: [UInt8], to name: RecordName, replacing current: Record?, lifetime: Duration?
        ) throws(OIDCError) -> Bool {
            try records.write(bytes, to: name, replacing: current, lifetime: lifetime)
        }

        func remove(_ name: RecordName, ifStill current: Record?) throws(OIDCError) -> Bool {
            try check()
            let isFirst = wasAsked.withLock { asked in
                defer { asked = true }
                return !asked
            }
            let isRemoved = isFirst && !removes ? false : try records.remove(name, ifStill: current)
            if isFirst { throw fault }
            return isRemoved
        }

        func names(_ kind: RecordName.Kind) throws(OIDCError) -> [RecordName] { try records.names(kind) }

        func withLock<Value>(
            _ name: RecordName, for purpose: LockPurpose, _ wait: LockWait,
            _ body: () throws(OIDCError) -> Value
        ) throws(OIDCError) -> Value {
            try records.withLock(name, for: purpose, wait, body)
        }
    }

    @Test(
        "the answer to a removal is lost: the store is asked, and a session is neither kept silently nor half ended",
        arguments: [(true, 0), (false, 0), (true, 9), (false, 9)])
    func lostAnswer(removes: Bool, silence: Int) throws {
        let store = SessionStore(records: SilentRecords(removes: removes, silence: silence))
        try store.save(.example("old"), replacingDamaged: false)
        let removal = try engine(store).taken()
        // Its tokens are revoked in each case.
        #expect(removal.session == .example("old"))
        guard silence > 0 else {
            #expect(removal.failure == nil)
            #expect(try store.load(.example) == nil)
            return
        }
        let failure = try #require(removal.failure)
        #expect(failure.kind == .unreachable && failure.message.contains("is not known"))
        #expect(failure.hint == "log out again once the store can be reached")
    }

    @Test("a session that the store has lost, or hides, is not taken for one that was signed out of")
    func hidden() throws {
        let (scratch, keys, server) = (ScratchDirectory(), try SealingKeys.example(), MemoryEngine())
        func store() -> SessionStore {
            SessionStore(server, state: scratch.path, versions: SharedVersions()) { () throws(OIDCError) in
                keys
            }
        }
        var session = Session.example()
        session.nonce = "one"
        try store().save(session, replacingDamaged: false)
        try server.remove("session/\(SessionKey.example.fileStem)")
        let removal = try engine(store()).taken()
        #expect(failure { () throws(OIDCError) in _ = try removal.content.get() }?.kind == .failed)
        #expect(try engine(store()).taken().content.get() == nil)
    }

    @Test("a sign-out that the server has certainly not carried out leaves the session, and revokes nothing")
    func refusedRemoval() throws {
        let (keys, server) = (try SealingKeys.example(), MemoryEngine())
        let store = SessionStore(server) { () throws(OIDCError) in keys }
        try store.save(.example(), replacingDamaged: false)
        let readOnly = OIDCError.sharedStore("memory://test", "READONLY")
        server.fail(readOnly, writing: "session/")
        server.fail(readOnly, removing: "session/")
        let ours = engine(store)
        let refusal = failure { () throws(OIDCError) in _ = try ours.taken() }
        #expect(refusal?.message.hasSuffix("; the session stays, and nothing was revoked") == true)
        let silence = OIDCError.noAnswer(of: "memory://test", "silent")
        server.fail(silence, writing: "session/")
        server.fail(silence, removing: "session/")
        #expect(try ours.taken().session == .example())
    }

    @Test(
        "a copy that waits and cannot be read keeps its session from all but a local sign-out, as it has the valid tokens",
        arguments: [true, false])
    func unreadableCopy(isDirectory: Bool) throws {
        let (scratch, keys, server) = (ScratchDirectory(), try SealingKeys.example(), MemoryEngine())
        let store = SessionStore(server, state: scratch.path) { () throws(OIDCError) in keys }
        try store.save(.example(), replacingDamaged: false)
        let name = "\(SessionKey.example.fileStem)-0000000000000000"
        try PendingSessions(state: scratch.path).keep([1], name)
        let directory = "\(scratch.path)/pending"
        #expect(chmod(isDirectory ? directory : "\(directory)/\(name).sealed", 0o755) == 0)
        let ours = engine(store)
        let refusal = failure { () throws(OIDCError) in _ = try ours.taken() }
        #expect(refusal?.message.hasSuffix("; the session stays, and nothing was revoked") == true)
        #expect(try store.load(.example) == .example())
        #expect(try ours.taken(isLocal: true).session == .example())
    }

    @Test("so does one that is sealed with another key, also if the store had another name then")
    func copyOfOtherKey() throws {
        let (scratch, server) = (ScratchDirectory(), MemoryEngine())
        let (old, new) = (try SealingKeys.example(), try SealingKeys.example(9))
        var (session, next) = (Session.example(), Session.example("at-2"))
        (session.nonce, next.nonce) = ("one", "one")
        let earlier = SessionStore(server, state: scratch.path) { () throws(OIDCError) in old }
        try earlier.save(session, replacingDamaged: false)
        try earlier.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            _ = try earlier.reserveSpace(for: .example)
            server.fail(.sharedStore("memory://test", "down"))
            #expect(throws: OIDCError.self) { try earlier.replace(session, with: next) }
        }
        server.fail(nil)
        try server.remove("lease/\(SessionKey.example.fileStem)")
        try server.remove("session/\(SessionKey.example.fileStem)")
        let moved = server.named("memory://moved")
        let past = Instant(secondsSinceEpoch: 1_000)
        try SessionStore(moved, versions: SharedVersions(), now: { past }) { () throws(OIDCError) in new }
            .save(session, replacingDamaged: false)
        let store = SessionStore(moved, state: scratch.path) { () throws(OIDCError) in new }
        let ours = engine(store)
        let refusal = failure { () throws(OIDCError) in _ = try ours.taken() }
        #expect(refusal?.code == .unknownStoreKey, "\(refusal as Any)")
        #expect(refusal?.message.hasSuffix("; nothing was revoked") == true)
        #expect(try store.load(.example) == session)
        _ = try ours.taken(isLocal: true)
        #expect(try store.load(.example) == nil)
    }

    @Test("a signal while a server removes the session does not make it one that stays")
    func interruptedRemoval() async {
        await #expect(processExitsWith: .exitCode(9)) {
            try Interruption.install()
            let (keys, server) = (try SealingKeys.example(), MemoryEngine())
            let store = SessionStore(server) { () throws(OIDCError) in keys }
            try store.save(.example(), replacingDamaged: false)
            server.state.withLock { state in
                state.onWrite = { Interruption.begin() }
                // As over a connection, a signal ends a request unless it is postponed.
                state.onCall = {
                    if let signal = Interruption.pending { server.fail(Interruption.error(signal: signal)) }
                }
            }
            let removal = try AccountEngine(key: .example, store: store, Stub()).taken()
            let wasEnded = removal.session == .example() && removal.failure == nil
            exit(wasEnded && Interruption.recorded == SIGTERM ? 9 : 1)
        }
    }

    @Test("a session whose removal got no answer is ended, even if the server hides it for a moment")
    func hiddenAfterRemoval() throws {
        let (keys, server) = (try SealingKeys.example(), MemoryEngine())
        let reads = Mutex(0)
        let store = SessionStore(server) { () throws(OIDCError) in keys }
        var session = Session.example()
        session.nonce = "one"
        try store.save(session, replacingDamaged: false)
        let name = "session/\(SessionKey.example.fileStem)"
        let last = server[name]
        let silence = OIDCError.noAnswer(of: "memory://test", "silent")
        server.fail(silence, writing: "session/")
        server.fail(silence, removing: "session/")
        server.state.withLock { state in
            // After the removal has failed: hidden for the first read, and shown for the next.
            state.onRemove = {
                server.state.withLock { $0.onRemove = {} }
                server.fail(nil, writing: "session/")
                server[name] = nil
                server.state.withLock { state in
                    state.onRead = {
                        let count = reads.withLock { count in
                            count += 1
                            return count
                        }
                        if count == 2 { server[name] = last }
                    }
                }
            }
        }
        let removal = try engine(store).taken()
        #expect(removal.session == session && removal.failure == nil)
        #expect(reads.withLock { $0 } >= 2 && server[name] != last)
        #expect(try store.load(.example) == nil)
    }

    @Test(
        "a session that only other machines can read is not ended by this one, unless its tokens may stay valid",
        arguments: [2, nil] as [UInt8?])
    func otherKey(number: UInt8?) throws {
        let (scratch, server) = (ScratchDirectory(), MemoryEngine())
        let missing = "the key cannot be read"
        func store(_ number: UInt8?) throws -> SessionStore {
            let keys = try number.map { try SealingKeys.example($0) }
            return SessionStore(server, state: scratch.path, versions: SharedVersions()) {
                () throws(OIDCError) in
                guard let keys else { throw OIDCError(.usage, missing) }
                return keys
            }
        }
        try store(1).save(.example(), replacingDamaged: false)
        let ours = try engine(store(number))
        let refusal = failure { () throws(OIDCError) in _ = try ours.taken() }
        let reason = number == nil ? missing : "was sealed with the key"
        #expect(refusal?.kind == .usage && refusal?.message.contains(reason) == true)
        #expect(try store(1).load(.example) == .example())
        _ = try ours.taken(isLocal: true)
        #expect(try store(1).load(.example) == nil)
    }

    @Test("a machine's token that was sealed with another key stays, unless its tokens may stay valid")
    func machineTokenOfOtherKey() throws {
        let server = MemoryEngine()
        var key = SessionKey.example
        key.grant = .clientCredentials
        func store(_ number: UInt8) throws -> SessionStore {
            let keys = try SealingKeys.example(number)
            return SessionStore(server) { () throws(OIDCError) in keys }
        }
        try store(1).save(.example(key: key), replacingDamaged: false)
        let ours = AccountEngine(key: key, store: try store(2), Stub())
        #expect(failure { () throws(OIDCError) in _ = try ours.taken() }?.code == .unknownStoreKey)
        #expect(try store(1).load(key) == .example(key: key))
        guard case .failure(let error) = try ours.taken(isLocal: true).content else {
            Issue.record("a session was removed without a word")
            return
        }
        #expect(error.code == .unknownStoreKey)
        #expect(try store(1).load(key) == nil)
        #expect(try ours.taken().content.get() == nil)
    }

    @Test("a sign-out leaves the session of somebody who signs in meanwhile")
    func laterSignIn() throws {
        let (scratch, server, keys) = (ScratchDirectory(), MemoryEngine(), try SealingKeys.example())
        let store = SessionStore(server, state: scratch.path, versions: SharedVersions()) {
            () throws(OIDCError) in
            keys
        }
        var (first, second) = (Session.example("at-1"), Session.example("at-2"))
        (first.nonce, second.nonce) = ("one", "two")
        try store.save(first, replacingDamaged: false)
        try store.save(second, replacingDamaged: false)
        try store.remove(.example, expecting: first)
        #expect(try store.load(.example) == second)
        try store.remove(.example, expecting: second)
        #expect(try store.load(.example) == nil)
    }

    @Test("an interrupted sign-out leaves the session, as nothing was revoked")
    func interruptedRemoval() throws {
        let store = SessionStore.inMemory()
        try store.save(.example("old"), replacingDamaged: false)
        let engine = engine(store, Stub(isCancelled: true))
        let error = failure { () throws(OIDCError) in
            try store.withLock(.example, LockWait(limit: .zero)) { () throws(OIDCError) in
                try engine.taken()
            }
        }
        #expect(error?.kind == .interrupted)
        #expect(try store.load(.example) != nil)
    }

    @Test("a revocation that cannot be sent is an error, not a provider without revocation")
    func unsentRevocation() throws {
        var session = Session.example("old")
        session.endpoints.revocation = WebURL("https://login.example.com/revoke")
        let result = Stub().revoke(session)
        #expect(result.isOffered)
        #expect(!result.isRevoked)
        #expect(result.failures.map(\.message) == ["offline"])
        session.endpoints.revocation = nil
        #expect(!Stub().revoke(session).isOffered)
    }
}
