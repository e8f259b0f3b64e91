import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("a program that serves others, and whose messages nobody reads", .serialized, .waiting)
struct UnreadMessagesTests {
    /// A pipe of one page, as a file.
    private final class UnreadPipe {
        let path = FileManager.default.temporaryDirectory.path + "/oidc-unread-\(UUID().uuidString)"
        private let descriptor: Int32

        init() throws {
            try #require(mkfifo(path, 0o600) == 0)
            descriptor = open(path, O_RDWR)
            try #require(fcntl(descriptor, 1_031 /* F_SETPIPE_SZ */, 4_096) == 4_096)
        }

        func fill() {
            let bytes = [UInt8](repeating: 0, count: 4_096)
            _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        }

        deinit {
            close(descriptor)
            unlink(path)
        }
    }

    private func start(
        _ program: Program, _ arguments: [String], _ messages: UnreadPipe,
        _ variables: [String: String] = [:]
    ) throws -> Run {
        try program.start(
            ["-c", #"exec "$0" "$@" 2> "$MESSAGES""#, Program.path] + arguments, input: .none,
            variables.merging(["MESSAGES": messages.path]) { $1 }, executable: "/bin/sh")
    }

    @Test("a lender goes on lending, and ends by a signal")
    func lender() throws {
        let (world, messages) = (try ToolWorld(), try UnreadPipe())
        try world.signIn()
        let run = try start(try Program(at: world), ["lend"], messages, world.person)
        let socket = run.output { $0.contains("\n") ? String($0.prefix { $0 != "\n" }) : nil }
        let path = try #require(socket)
        for _ in 0..<100 {
            let answer = LendWorld.connection(path, LendWorld.body("access_token"))?.received(within: 20)
            try #require(answer?.contains("\"access\"") == true)
        }
        run.signal(SIGTERM)
        #expect(run.finish(within: 20).status == 143)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("one that cannot write its first message ends by a signal")
    func beginning() throws {
        let (world, messages) = (try ToolWorld(), try UnreadPipe())
        try world.signIn()
        messages.fill()
        let run = try start(try Program(at: world), ["lend"], messages, world.person)
        usleep(1_500_000)
        #expect(run.isRunning)
        run.signal(SIGTERM)
        #expect(run.finish(within: 20).status == 143)
    }
}
