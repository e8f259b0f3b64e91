import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import Posix
import TestSupport
import Testing

/// Does what a process does with a stale token: only the holder of the lock may send a request.
private func refreshOnce(in directory: String, stale: String, took: useconds_t) throws -> String {
    let store = SessionStore(directory: directory)
    let fresh = { (session: Session?) -> String? in
        session.map(\.tokens.access.token.revealed).flatMap { $0 == stale ? nil : $0 }
    }
    return try store.withLock(.example, LockWait(limit: .seconds(60))) {
        () throws(OIDCError) in
        if let token = fresh(try store.load(.example)) { return token }
        let request = open("\(directory)/requests", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        write(request, "x", 1)
        close(request)
        usleep(took)
        let token = "fresh of \(getpid())"
        try store.save(.example(token), replacingDamaged: false)
        return token
    }
}

@Suite("many processes and one session", .serialized, .waiting)
struct LockProcessTests {
    let scratch = ScratchDirectory()
    var path: String { scratch.path }

    @Test("of six processes one refreshes, and all have its token", arguments: [useconds_t(0), 300_000])
    func oneRefresh(took: useconds_t) async throws {
        let store = SessionStore(directory: path)
        try store.save(.example("stale"), replacingDamaged: false)
        let path = path
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    await #expect(processExitsWith: .success) {
                        [path = path as String, took = took as UInt32] in
                        let token = try refreshOnce(in: path, stale: "stale", took: took)
                        let results = open("\(path)/results", O_WRONLY | O_CREAT | O_APPEND, 0o600)
                        write(results, token + "\n", token.utf8.count + 1)
                    }
                }
            }
        }
        #expect(scratch.text("requests") == "x")
        let token = try #require(try store.load(.example)).tokens.access.token.revealed
        #expect(scratch.text("results") == String(repeating: token + "\n", count: 6))
    }

    @Test("a holder killed during its request leaves the old session, and the next process refreshes")
    func killedInRequest() async throws {
        let store = SessionStore(directory: path)
        try store.save(.example("stale"), replacingDamaged: false)
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            try SessionStore(directory: path).withLock(.example, LockWait(limit: .zero)) {
                _ = kill(getpid(), SIGKILL)
            }
        }
        #expect(try store.load(.example) == .example("stale"))
        #expect(try refreshOnce(in: path, stale: "stale", took: 0) == "fresh of \(getpid())")
    }

    @Test("a writer killed at any moment leaves the complete old session or the complete new one")
    func killedWriters() async throws {
        let store = SessionStore(directory: path)
        try store.save(.example("0"), replacingDamaged: false)
        for round in 1...8 {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, round = round as Int] in
                let store = SessionStore(directory: path)
                Thread.detachNewThread {
                    usleep(useconds_t(round * 2_900 % 20_000))
                    kill(getpid(), SIGKILL)
                }
                while true {
                    for token in ["short", String(repeating: "long", count: 50_000)] {
                        try store.withLock(.example, LockWait(limit: .seconds(10))) { () throws(OIDCError) in
                            try store.save(.example(token), replacingDamaged: false)
                        }
                    }
                }
            }
            let token = try #require(try store.load(.example)).tokens.access.token.revealed
            #expect(token == "0" || token == "short" || token == String(repeating: "long", count: 50_000))
        }
        try store.save(.example("last"), replacingDamaged: false)
        #expect(try store.load(.example) == .example("last"))
        let stem = SessionKey.example.fileStem
        #expect(scratch.names.filter { $0 != "\(stem).lock" } == ["\(stem).json"])
    }

    @Test("writers without a common lock do not corrupt the file")
    func unlockedWriters() async throws {
        let store = SessionStore(directory: path)
        let tokens = (0..<4).map { String(repeating: "\($0)", count: 1 + $0 * 60_000) }
        await withTaskGroup(of: Void.self) { group in
            for token in tokens {
                group.addTask {
                    for _ in 0..<8 {
                        #expect(throws: Never.self) {
                            try store.save(.example(token), replacingDamaged: false)
                        }
                        let found = try? store.load(.example)?.tokens.access.token.revealed
                        #expect(found.map(tokens.contains) == true)
                    }
                }
            }
        }
        #expect(scratch.names == ["\(SessionKey.example.fileStem).json"])
    }
}
