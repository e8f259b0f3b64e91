import Foundation
import OIDCCore
import OIDCSessions
import OIDCAccount
import Posix
import TestSupport
import Testing

@testable import oidc

/// Records that cannot be removed.
private struct ImmovableRecords: RecordStore {
    let memory = MemoryRecords()
    let failure = OIDCError(
        .failed, "the session file x: Read-only file system", hint: .advice(.useWritableDirectory),
        stage: .store, code: .notWritable)

    let description = "x"
    func read(_ name: RecordName) throws(OIDCError) -> Record? { try memory.read(name) }
    func write(
        _ bytes: [UInt8], to name: RecordName, replacing current: Record?, lifetime: Duration?
    ) throws(OIDCError) -> Bool {
        try memory.write(bytes, to: name, replacing: current, lifetime: lifetime)
    }
    func remove(_ name: RecordName, ifStill current: Record?) throws(OIDCError) -> Bool { throw failure }
    func names(_ kind: RecordName.Kind) throws(OIDCError) -> [RecordName] { try memory.names(kind) }
    func withLock<Value>(
        _ name: RecordName, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value { throw failure }
}

@Suite("logout forgets the session before anything is revoked", .waiting)
struct ForgettingTests {
    @Test("a session that cannot be removed is not revoked either, and the hint is about its directory")
    func immovable() throws {
        let key = SessionKey(provider: "https://op.example", clientID: "app")
        let now = Instant(secondsSinceEpoch: 1_700_000_000)
        let store = SessionStore(records: ImmovableRecords())
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
                hint: "make the file or its directory writable, then log out again", stage: .store,
                code: .notWritable)
        ) {
            _ = try AccountEngine(key: key, store: store, provider).taken()
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
