import Foundation
@testable import Posix
import Testing

@Suite("paths")
struct FilePathTests {
    private let scratch = ScratchDirectory()

    @Test(
        "a closed directory on the way has a command that opens it; one that can be entered is closed only at the end",
        arguments: [
            (0o700, 0o700, nil), (0o555, 0o755, nil), (0o600, 0o700, "chmod 700 above"),
            (0o644, 0o700, "chmod u+rwx above"), (0o700, 0o500, "chmod 700 above/below"),
            (0o700, 0o555, "chmod u+rwx above/below"), (0o600, 0o500, "chmod 700 above"),
        ] as [(Int, Int, String?)])
    func opening(above: Int, below: Int, command: String?) throws {
        let path = scratch["above/below"]
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        #expect(chmod(path, mode_t(below)) == 0 && chmod(scratch["above"], mode_t(above)) == 0)
        defer { chmod(scratch["above"], 0o700) }
        let found = FilePath.opening(path + "/file")
        #expect(found?.replacing("\(scratch.path)/", with: "") == command)
    }
}
