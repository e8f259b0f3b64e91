import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("a signal during a refresh", .serialized, .waitingLong)
struct InterruptedRefreshTests {
    private static let signals =
        [(SIGHUP, 129), (SIGINT, 130), (SIGQUIT, 131), (SIGTERM, 143)] as [(Int32, Int32)]

    @Test("one signal waits for the answer, which is stored", arguments: signals)
    func kept(number: Int32, status: Int32) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let before = try world.bytes
        let run = try world.duringTokenRequest {
            try world.program.start(["token", "--refresh"])
        } _: { run in
            // As `timeout` does: to the child, then to its group.
            for _ in 0..<2 { run.signal(number) }
        }
        let outcome = run.finish()
        #expect(outcome.status == status, "\(outcome.errorOutput)")
        #expect(outcome.output == "")
        #expect(try world.bytes != before)
        let next = try world.program.run("token", "--refresh")
        #expect(next.status == 0, "\(next.errorOutput)")
        #expect(world.refreshes == 2)
    }

    @Test(
        "Ctrl-C on a terminal prints a note at once, and the answer is stored",
        .enabled(if: Installed.programs("script"), "script, which gives a terminal, is not installed"))
    func controlC() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let before = try world.bytes
        let run = try world.duringTokenRequest {
            try world.program.start(
                ["-qec", "\(Program.path) token --refresh", "/dev/null"], input: .open,
                executable: "/usr/bin/script")
        } _: { run in
            run.type("\u{3}")
            let note = run.output { $0.contains("finishing the request") ? true : nil }
            #expect(note == true)
        }
        let outcome = run.finish()
        #expect(outcome.status == 130, "\(outcome.output)")
        #expect(
            outcome.output.components(
                separatedBy: "finishing the request in progress; press Ctrl-C again to stop now"
            ).count == 2, "\(outcome.output)")
        #expect(try world.bytes != before)
    }

    @Test(
        "timeout(1), which signals its child and then its group, costs no session",
        .enabled(if: Installed.programs("timeout"), "timeout is not installed"))
    func timeLimit() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        world.provider.delayTokens(milliseconds: 2_000)
        let run = try world.program.start(
            ["timeout", "1", Program.path, "token", "--refresh"], executable: "/usr/bin/env")
        #expect(run.finish().status == 124)
        world.provider.delayTokens(milliseconds: 0)
        let next = try world.program.run("token", "--refresh")
        #expect(next.status == 0, "\(next.errorOutput)")
    }

    @Test("a second signal ends it at once")
    func twice() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let run = try world.duringTokenRequest {
            try world.program.start(["token", "--refresh"])
        } _: { run in
            run.signal(SIGINT)
            usleep(700_000)
            #expect(run.isRunning)
            // A busy machine may deliver two signals as one.
            for _ in 0..<60 where run.isRunning {
                run.signal(SIGINT)
                usleep(700_000)
            }
            #expect(!run.isRunning)
        }
        #expect(run.finish().status == 130)
    }

    @Test("a signal that comes before the refresh token is sent ends it at once")
    func unsent() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let silent = try Silence()
        try world.point(toEndpoint: "https://127.0.0.1:\(silent.port)/token")
        let run = try world.program.start(["token", "--refresh"])
        try #require(silent.isVisited)
        run.signal(SIGTERM)
        #expect(run.finish(within: 30).status == 143)
    }

    @Test("a signal that was ignored at the start ends nothing", arguments: ["INT", "TERM", "HUP"])
    func ignored(name: String) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let run = try world.duringTokenRequest {
            try world.program.start(
                ["-c", "trap '' \(name); exec \"$@\"", "sh", Program.path, "token", "--refresh"],
                executable: "/bin/sh")
        } _: { run in
            run.signal(["INT": SIGINT, "TERM": SIGTERM, "HUP": SIGHUP][name] ?? 0)
        }
        let outcome = run.finish()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(!outcome.token.isEmpty)
    }
}

/// A listener that accepts connections and never says a byte.
private final class Silence {
    let port: Int
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let socket = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, size) == 0 && listen(socket, 8) == 0 && getsockname(socket, $0, &size) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }

    /// Waits until a peer has connected.
    var isVisited: Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 30_000) == 1
    }
}
