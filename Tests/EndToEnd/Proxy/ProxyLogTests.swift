import Foundation
import OIDCCore
@testable import OIDCProxy
@testable import Posix
import TestSupport
import Testing
@testable import oidc

@Suite("the proxy's log of requests")
struct ProxyLogTests {
    @Test("a reader that does not read is not waited for; its lines are kept, up to a limit")
    func fullPipe() throws {
        let path = FileManager.default.temporaryDirectory.path + "/oidc-log-\(UUID().uuidString)"
        defer { unlink(path) }
        try #require(mkfifo(path, 0o600) == 0)
        let number = open(path, O_RDONLY | O_NONBLOCK)
        let reader = FileDescriptor(rawValue: number)
        defer { reader.close() }
        var common = CommonOptions()
        common.isQuiet = true
        let log = try ProxyLog(path, Console(common))
        let entry = ProxyLogEntry(
            time: Instant(secondsSinceEpoch: 1_800_000_000), route: nil, method: "GET",
            path: String(repeating: "p", count: 10_000), status: 200, bytes: 0, milliseconds: 1, refreshes: 0)
        for _ in 0..<200 { log.add(entry) }
        var count = 0
        // The log is written by another thread. How much it drops shows only once nothing more comes.
        while Poll.wait(for: number, .reading, until: .now().adding(milliseconds: count < 100 ? 20_000 : 500))
        {
            count += try reader.read().count { $0 == .lineFeed }
        }
        #expect((100..<150).contains(count))
    }
}
