import Foundation
import Glibc
import Synchronization

/// The program on a terminal of a given size, which it has to itself.
package final class TerminalRun: @unchecked Sendable {
    // The process is set up before the run is shared; what it wrote is behind `written`.
    private let process = Process()
    private let master: Int32
    private let written = Mutex(Data())
    private let reader = DispatchGroup()

    /// Runs a program of util-linux, which gives the process its terminal.
    package static let launcher = "/usr/bin/setsid"

    package init(
        _ program: Program, _ arguments: [String], columns: UInt16 = 80, rows: UInt16 = 24,
        _ variables: [String: String] = [:]
    ) throws {
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var isLocked: Int32 = 0
        var number: UInt32 = 0
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard ioctl(master, 0x4004_5431, &isLocked) == 0, ioctl(master, 0x8004_5430, &number) == 0,
            ioctl(master, UInt(TIOCSWINSZ), &size) == 0
        else { throw CocoaError(.fileReadUnknown) }
        let slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        let handle = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
        process.executableURL = URL(fileURLWithPath: TerminalRun.launcher)
        process.arguments = ["--ctty", "--wait", Program.path] + arguments
        process.environment = program.environment.merging(["TERM": "xterm"]) { $1 }.merging(variables) { $1 }
        process.currentDirectoryURL = program.home
        process.standardInput = handle
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
        try handle.close()
        reader.enter()
        Thread { [self] in
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while case let count = read(master, &buffer, buffer.count), count > 0 {
                written.withLock { $0.append(contentsOf: buffer[..<count]) }
            }
            reader.leave()
        }.start()
    }

    deinit { close(master) }

    /// Whether the terminal shows what is typed.
    package var echoes: Bool {
        var modes = termios()
        return tcgetattr(master, &modes) == 0 && modes.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Sets the modes that a shell sets for itself when it stops the program. Returns whether it did.
    package func resetModes() -> Bool {
        var modes = termios()
        guard tcgetattr(master, &modes) == 0 else { return false }
        modes.c_lflag |= tcflag_t(ECHO | ICANON)
        return tcsetattr(master, TCSANOW, &modes) == 0
    }

    package var isRunning: Bool { process.isRunning }

    /// Everything that was written, with the terminal's line ends made plain.
    package var text: String {
        String(decoding: written.withLock { $0 }, as: UTF8.self).replacingOccurrences(of: "\r\n", with: "\n")
    }

    package func type(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
    }

    /// Waits until the text holds what `pick` looks for; nil after that time or the program's end.
    package func wait<Found>(within seconds: Double = 20, for pick: (String) -> Found?) -> Found? {
        let end = Date().addingTimeInterval(seconds)
        while Date() < end {
            if let found = pick(text) { return found }
            guard isRunning else { return pick(text) }
            usleep(5_000)
        }
        return nil
    }

    /// Waits for the end; a program that hangs is killed, and its status is -1.
    package func finish(within seconds: Double = 60) -> (status: Int32, text: String) {
        let end = Date().addingTimeInterval(seconds)
        while process.isRunning, Date() < end { usleep(2_000) }
        let hangs = process.isRunning
        if hangs { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        reader.wait()
        return (hangs ? -1 : process.terminationStatus, text)
    }
}

extension String {
    /// The rows that a terminal of that width shows last, without escape sequences.
    package func lastRows(_ count: Int, columns: Int) -> [String] {
        var rows: [String] = []
        for line in split(separator: "\n", omittingEmptySubsequences: false) {
            // What a carriage return leaves is overwritten by what follows it.
            var shown = Array(line.split(separator: "\r").last ?? "")[...]
            if let escape = shown.firstIndex(of: "\u{1B}"), shown.first != "\u{1B}" {
                shown = shown[..<escape]
            }
            repeat {
                rows.append(String(shown.prefix(columns)))
                shown = shown.dropFirst(columns)
            } while !shown.isEmpty
        }
        return Array(rows.suffix(count))
    }
}
