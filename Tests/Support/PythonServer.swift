import Foundation
import Synchronization

/// A server written in Python, for what we do not write ourselves, such as TLS. Its first line of output says that it
/// is ready; it ends when its standard input does, which is when this object is gone.
package final class PythonServer: Sendable {
    /// The interpreter itself: some machines have a `python3` in PATH that searches for it in many small steps.
    package static let interpreter: String? = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", "import ssl, sys; print(sys.executable)"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        let line = nextLine(of: output.fileHandleForReading)
        process.waitUntilExit()
        return process.terminationStatus == 0 && !line.isEmpty ? line : nil
    }()

    package let firstLine: String
    private let input: FileHandle
    private let lines = Mutex<[String]>([])

    package init(_ script: String, _ arguments: [String]) throws {
        guard let interpreter = PythonServer.interpreter else { throw CocoaError(.fileNoSuchFile) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: interpreter)
        process.arguments = ["-c", script] + arguments
        let (stdin, stdout) = (Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = stdout
        try process.run()
        input = stdin.fileHandleForWriting
        let output = stdout.fileHandleForReading
        firstLine = PythonServer.nextLine(of: output)
        Thread { [weak self] in
            while case let line = PythonServer.nextLine(of: output), !line.isEmpty {
                self?.lines.withLock { $0.append(line) }
            }
        }.start()
    }

    deinit { try? input.close() }

    package func send(_ line: String) {
        try? input.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// The lines that it has printed after the first one.
    package var output: [String] { lines.withLock { $0 } }

    private static func nextLine(of output: FileHandle) -> String {
        var line = Data()
        while let byte = try? output.read(upToCount: 1), byte != Data([0x0A]), !byte.isEmpty { line += byte }
        return String(decoding: line, as: UTF8.self)
    }
}
