import Foundation
@testable import Posix
import Testing

@Suite("output that nobody reads")
struct BacklogTests {
    @Test("nobody waits; the first texts are kept up to a limit, then their number and the latest")
    func unread() throws {
        let pipe = try FileDescriptor.pipe()
        defer { pipe.reading.close() }
        let backlog = Backlog(pipe.writing) { "\($0) dropped\n" }
        let text = String(repeating: "x", count: 9_990)
        var kept = 0
        for number in 0..<300 where backlog.add("\(1_000 + number) \(text)\n") { kept += 1 }
        #expect((100..<125).contains(kept))
        let reader = try BackgroundResult {
            var bytes: [UInt8] = []
            while let part = try? pipe.reading.read(), !part.isEmpty { bytes += part }
            return String(decoding: bytes, as: UTF8.self)
        }
        backlog.finish(milliseconds: 20_000)
        #expect(backlog.add("later\n"))
        backlog.finish(milliseconds: 20_000)
        pipe.writing.close()
        let lines = reader.wait().split(separator: "\n").map { $0.prefix { $0 != " " } }
        #expect(lines.prefix(kept) == (0..<kept).map { "\(1_000 + $0)" }[...])
        #expect(lines.dropFirst(kept) == ["\(299 - kept)", "1299", "later"])
    }

    @Test("the end waits for a slow reader only for a time, and a failed write ends the wait")
    func end() throws {
        let pipe = try FileDescriptor.pipe()
        let backlog = Backlog(pipe.writing)
        backlog.add(String(repeating: "x", count: 200_000))
        let start = MonotonicTime.now()
        backlog.finish(milliseconds: 50)
        #expect(backlog.failure == nil && MonotonicTime.now() < start.adding(seconds: 10))
        let full = Backlog(try FileDescriptor.open(appendingTo: "/dev/full"))
        full.add("x")
        full.finish(milliseconds: 20_000)
        #expect(full.failure != nil)
    }
}
