import Foundation
@testable import LoopbackHTTP
import OIDCCore
@testable import OIDCShared
@testable import Posix
import TestSupport
import Testing

@Suite("a Unix socket")
struct SocketListenerTests {
    private let directory = ScratchDirectory()

    @Test(
        "it is refused in a directory that others may write to, unless only its owner can replace it there",
        arguments: [
            (0o700, true), (0o755, true), (0o1777, true), (0o777, false), (0o770, false), (0o702, false),
        ])
    func directories(mode: mode_t, isAccepted: Bool) throws {
        try #require(mkdir(directory["d"], 0o700) == 0 && chmod(directory["d"], mode) == 0)
        try #require(symlink(directory["d"], directory["link"]) == 0)
        for path in [directory["d/s"], directory["link/s"]] {
            guard !isAccepted else {
                let listener = try SocketListener(path)
                #expect(try FilePath.status(path).permissions == 0o600)
                listener.descriptor.close()
                listener.remove()
                continue
            }
            let error = #expect(throws: OIDCError.self) { try SocketListener(path) }
            #expect(error?.kind == .usage && error?.message.contains("other users can replace") == true)
            #expect(error?.hint?.description.contains("chmod go-w") == true, "\(String(describing: error))")
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test(
        "a warning names a directory above it in which others may put another one",
        arguments: [(0o755, false), (0o1777, false), (0o777, true), (0o770, true)])
    func directoriesAbove(mode: mode_t, isOpen: Bool) throws {
        try #require(mkdir(directory["d"], 0o700) == 0 && chmod(directory["d"], mode) == 0)
        for name in ["d/own", "d/own/deep"] { try #require(mkdir(directory[name], 0o700) == 0) }
        try #require(symlink(directory["d/own"], directory["link"]) == 0)
        try #require(symlink(directory.path, directory["d/back"]) == 0)
        for path in ["d/own/s", "d/own/deep/s", "link/s", "d/back/s"] {
            let warning = SocketListener.warning(of: directory[path])
            #expect((warning != nil) == isOpen, "\(path): \(warning ?? "")")
            #expect(warning?.hasSuffix("/d") != false, "\(path): \(warning ?? "")")
        }
        #expect(SocketListener.warning(of: directory["s"]) == nil)
    }

    #if os(Linux)
        @Test("a caller waits while the queue of the listener is full", .timeLimit(.minutes(2)))
        func fullQueue() throws {
            let listener = try SocketListener(directory["s"])
            defer { listener.remove() }
            try #require(listen(listener.descriptor.rawValue, 1) == 0)
            var queued: [SocketWire] = []
            let fault = #expect(throws: WireFault.self) {
                while queued.count < 100 {
                    queued.append(
                        try SocketWire.connect(
                            socket: listener.path, until: .now().adding(milliseconds: 50)))
                }
            }
            guard case .slow = fault else {
                Issue.record("\(String(describing: fault))")
                return
            }
            let server = try BackgroundResult {
                Poll.sleep(until: .now().adding(milliseconds: 100))
                return try? LoopbackSocket.accept(listener.descriptor)
            }
            _ = try SocketWire.connect(socket: listener.path, until: .now().adding(seconds: 60))
            listener.descriptor.close()
            withExtendedLifetime((server, queued)) {}
        }
    #endif
}
