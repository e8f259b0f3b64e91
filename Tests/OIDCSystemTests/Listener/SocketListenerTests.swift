import Foundation
@testable import LoopbackHTTP
import OIDCCore
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
}
