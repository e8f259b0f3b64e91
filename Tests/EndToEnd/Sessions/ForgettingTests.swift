import Foundation
import OIDCCore
import OIDCSessions
import Posix
import TestSupport
import Testing

@testable import oidc

/// A store with a session that cannot be removed.
private struct ImmovableStore: SessionStoring {
    let memory = MemorySessionStore()
    let failure = OIDCError(
        .failed, "the session file x: Read-only file system", hint: .advice(.useWritableDirectory),
        stage: .store)

    let description = "x"
    func location(of key: SessionKey) -> String { "x" }
    func load(_ key: SessionKey) throws(OIDCError) -> Session? { try memory.load(key) }
    func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError) {
        try memory.save(session, replacingDamaged: replacingDamaged)
    }
    func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool { throw failure }
    func remove(_ key: SessionKey) throws(OIDCError) { throw failure }
    func all() throws(OIDCError) -> [StoredSession] { try memory.all() }
    func remove(_ stored: StoredSession) throws(OIDCError) { throw failure }
    func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value { throw failure }
    func probe(_ key: SessionKey) throws(OIDCError) { throw failure }
}

@Suite("logout forgets the session before anything is revoked", .waiting)
struct ForgettingTests {
    @Test("a session that cannot be removed is not revoked either, and the hint is about its directory")
    func immovable() throws {
        let key = SessionKey(provider: "https://op.example", clientID: "app")
        let now = Instant(secondsSinceEpoch: 1_700_000_000)
        let store = ImmovableStore()
        try store.save(
            Session(
                key: key,
                endpoints: .init(
                    issuer: nil, token: try #require(WebURL("https://op.example/token"))),
                createdAt: now, requestedScope: nil,
                tokens: TokenSet(
                    access: AccessToken(
                        token: Redacted("at"), type: .bearer, obtainedAt: now, expiresAt: nil, scope: nil))),
            replacingDamaged: false)
        let common = CommonOptions()
        let context = CommandContext(console: Console(common), environment: [:], common: common)
        let provider = try context.provider(ProviderOptions())
        // The error is thrown before the session is handed to what revokes it.
        #expect(
            throws: OIDCError(
                .failed,
                "the session file x: Read-only file system; the session stays, and nothing was revoked",
                hint: "make the file or its directory writable, then log out again", stage: .store)
        ) {
            _ = try LogoutCommand().take(key, from: store, provider)
        }
    }

    @Test(
        "the session of a sign-in that was killed before it was stored is revoked and removed by every form",
        arguments: [
            ["logout"], ["logout", "--local"], ["logout", "--all"], ["logout", "--all", "--local"],
        ])
    func leftover(_ arguments: [String]) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let temporary = try world.file.deletingPathExtension().appendingPathExtension("tmp")
        try FileManager.default.moveItem(at: world.file, to: temporary)
        let outcome = try world.program.start(arguments).finish()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("Revoked the refresh token.") == !arguments.contains("--local"))
        #expect(!FileManager.default.fileExists(atPath: temporary.path))
        let again = try world.program.start(arguments).finish()
        #expect(again.status == 0)
    }
}
