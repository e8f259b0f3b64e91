@testable import OIDCCore
@testable import OIDCSessions
@testable import OIDCAccount
@testable import Posix
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
