import Foundation

/// Another, unprivileged user of this machine, who can reach our loopback ports.
package enum OtherUser {
    private static let program = "/usr/bin/setpriv"

    /// Becoming another user takes root and util-linux.
    package static var isAvailable: Bool {
        geteuid() == 0 && FileManager.default.isExecutableFile(atPath: program)
    }

    /// Starts a process of the other user that sends the text to the port, and prints what comes back.
    package static func start(port: UInt16, _ text: String, host: String = "127.0.0.1") throws -> Answer {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [
            "--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c",
            "exec 3<>/dev/tcp/\(host)/\(port); cat >&3; cat <&3",
        ]
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try input.fileHandleForWriting.close()
        return Answer(process: process, output: output)
    }

    package struct Answer {
        fileprivate let process: Process
        fileprivate let output: Pipe

        /// Waits for the end of the connection.
        package func text() -> String {
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return String(decoding: data, as: UTF8.self)
        }
    }
}
