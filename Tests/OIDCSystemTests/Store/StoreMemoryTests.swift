import OIDCCore
@testable import OIDCSessions
@testable import Posix
import Testing

@Suite("sessions in memory")
struct StoreMemoryTests {
    @Test("sessions stay until they are removed, and their lock excludes other threads")
    func roundTrip() throws {
        let store = SessionStore.inMemory()
        try store.save(.example(), replacingDamaged: false)
        #expect(try store.load(.example) == .example())
        #expect(try store.load(.other) == nil)
        #expect(try store.all().map(\.session) == [.example()])
        try store.withLock(.example, LockWait(limit: .zero)) { () throws(OIDCError) in
            let second = failure { () throws(OIDCError) in
                try store.withLock(.example, LockWait(limit: .zero)) {}
            }
            #expect(second?.kind == .failed)
            try store.withLock(.other, LockWait(limit: .zero)) {}
            try store.withLock(.example, for: .signIn, LockWait(limit: .zero)) {}
        }
        try store.withLock(.example, LockWait(limit: .zero)) {}
        try store.remove(try store.all()[0])
        #expect(try store.load(.example) == nil)
    }
}
