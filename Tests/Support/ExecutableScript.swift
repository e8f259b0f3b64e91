package import Foundation
import Posix

/// A script that tests run.
package enum ExecutableScript {
    /// Writes a script by another process: a file that is open for writing cannot be run, and a child that another test
    /// starts at that moment would keep it open.
    package static func write(_ text: some StringProtocol, to file: URL) throws {
        var writer = ChildProcess(
            ["install", "-m", "700", "/dev/stdin", file.path], environment: ["PATH": "/usr/bin:/bin"])
        writer.input = Array(text.utf8)
        _ = try writer.run()
    }
}
