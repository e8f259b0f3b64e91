import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCSystem
import Posix
import Synchronization
import Testing

// The example of the page, between markers: it is tested here as a store of files is.
// begin OwnTheStorage
/// Sessions as rows of a database, which is a dictionary here.
final class RowStore: RecordStore {
    let description = "the database"
    private let rows = Mutex<[RecordName: [UInt8]]>([:])
    private let turns = MemoryRecords()

    func read(_ name: RecordName) throws(OIDCError) -> Record? {
        rows.withLock { $0[name] }.map { Record(bytes: $0) }
    }

    func write(
        _ bytes: [UInt8], to name: RecordName, replacing current: Record?, lifetime: Duration?
    ) throws(OIDCError) -> Bool {
        rows.withLock { rows in
            guard rows[name] == current?.bytes else { return false }
            rows[name] = bytes
            return true
        }
    }

    func remove(_ name: RecordName, ifStill current: Record?) throws(OIDCError) -> Bool {
        rows.withLock { rows in
            guard current == nil || rows[name] == current?.bytes else { return false }
            rows[name] = nil
            return true
        }
    }

    func names(_ kind: RecordName.Kind) throws(OIDCError) -> [RecordName] {
        rows.withLock { rows in rows.keys.filter { $0.kind == kind } }
    }

    func withLock<Value>(
        _ name: RecordName, for purpose: LockPurpose, _ wait: LockWait,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try turns.withLock(name, for: purpose, wait, body)
    }
}

func client(keepingSessionsIn rows: RowStore) -> OIDCClient {
    var configuration = ClientConfiguration(issuer: "https://login.example.com", clientID: "my-app")
    configuration.store = SessionStore(records: rows)
    return OIDCClient(configuration)
}
// end

@Test("the store of the documentation does what a store of files does")
func rowStore() throws {
    let store = SessionStore(records: RowStore())
    #expect(try store.load(.example) == nil)
    try store.save(.example(), replacingDamaged: false)
    #expect(try store.load(.example) == .example())
    #expect(try store.replace(.example(), with: .example("at-2")))
    #expect(try !store.replace(.example(), with: .example("at-3")))
    #expect(try store.all().map(\.session) == [.example("at-2")])
    let ran = try store.withLock(.example, LockWait(limit: .zero)) { () throws(OIDCError) in true }
    #expect(ran)
    let failure = SharedFailure(
        error: OIDCError(.unreachable, "down"), time: Instant(secondsSinceEpoch: 1_700_000_000), id: "1",
        refreshTokenHash: nil)
    store.leave(failure, for: .example, replacing: nil)
    #expect(store.failure(of: .example)?.id == "1")
    try store.remove(.example)
    #expect(try store.load(.example) == nil && store.failure(of: .example) == nil)
}

@Test("a damaged row is replaced by a sign-in only")
func damagedRow() throws {
    let rows = RowStore()
    #expect(
        try rows.write(Array("{".utf8), to: SessionKey.example.recordName, replacing: nil, lifetime: nil))
    let store = SessionStore(records: rows)
    let error = failure { () throws(OIDCError) in try store.load(.example) }
    #expect(error?.code == .damagedSession && error?.hint == .signIn)
    #expect(throws: OIDCError.self) { try store.save(.example(), replacingDamaged: false) }
    try store.save(.example(), replacingDamaged: true)
    #expect(try store.load(.example) == .example())
}

@Test("the example of the page Own the storage is the store that is tested here")
func ownStorage() throws {
    let here = URL(fileURLWithPath: #filePath)
    let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    let page = try String(
        contentsOf: root.appendingPathComponent("Sources/OIDCSessions/Documentation.docc/OwnTheStorage.md"),
        encoding: .utf8)
    let source = try String(contentsOf: here, encoding: .utf8)
    let start = try #require(source.range(of: "// begin OwnTheStorage\n"))
    let rest = source[start.upperBound...]
    let end = try #require(rest.range(of: "// end\n"))
    #expect(page.contains(rest[..<end.lowerBound]))
}
