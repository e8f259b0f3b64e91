import Foundation
import Synchronization

/// One process of the program.
package final class Run: @unchecked Sendable {
    // `Process` and its pipes are set up before the run is shared; what changes is behind `collected`.
    private let process = Process()
    private let input = Pipe()
    private let collected = Mutex<(output: Data, errorOutput: Data)>((Data(), Data()))
    private let readers = DispatchGroup()

    init(
        _ executable: String, _ arguments: [String], input source: Program.Input,
        environment: [String: String], in directory: URL
    ) throws {
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        process.environment = environment
        process.currentDirectoryURL = directory
        let (output, errorOutput) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errorOutput
        if case .none = source {
            process.standardInput = FileHandle.nullDevice
        } else {
            process.standardInput = input
        }
        try process.run()
        collect(output) { $0.output.append($1) }
        collect(errorOutput) { $0.errorOutput.append($1) }
        if case .text(let text) = source {
            try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
            try? input.fileHandleForWriting.close()
        }
    }

    private func collect(
        _ pipe: Pipe, _ add: @escaping @Sendable (inout (output: Data, errorOutput: Data), Data) -> Void
    ) {
        let handle = pipe.fileHandleForReading
        readers.enter()
        let thread = Thread { [self] in
            while true {
                let data = handle.availableData
                guard !data.isEmpty else { break }
                collected.withLock { add(&$0, data) }
            }
            readers.leave()
        }
        thread.start()
    }

    package var identifier: Int32 { process.processIdentifier }
    package var isRunning: Bool { process.isRunning }

    package func type(_ text: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    package func closeInput() {
        try? input.fileHandleForWriting.close()
    }

    package func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    package var errorOutput: String {
        String(decoding: collected.withLock { $0.errorOutput }, as: UTF8.self)
    }

    private var output: String {
        String(decoding: collected.withLock { $0.output }, as: UTF8.self)
    }

    /// Waits until `pick` finds something in stderr; nil after that time or the program's end.
    package func errorOutput<Found>(within seconds: Double = 60, where pick: (String) -> Found?) -> Found? {
        wait(within: seconds) { pick(errorOutput) }
    }

    /// Waits until `pick` finds something in stdout; nil after that time or the program's end.
    package func output<Found>(within seconds: Double = 60, where pick: (String) -> Found?) -> Found? {
        wait(within: seconds) { pick(output) }
    }

    private func wait<Found>(within seconds: Double, for pick: () -> Found?) -> Found? {
        let end = Date().addingTimeInterval(seconds)
        while Date() < end {
            if let found = pick() { return found }
            if !process.isRunning { return pick() }
            usleep(5_000)
        }
        return nil
    }

    /// The URL that a sign-in prints.
    package var address: String? {
        errorOutput { text in
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
                .first { line in
                    ["code_challenge=", "request_uri=", "request="].contains(where: line.contains)
                }
                .map { (line: String) -> String in
                    let event = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                    return event?["url"] as? String ?? line
                }
        }
    }

    /// Waits for the program to exit; one that hangs is killed, and its status is -1.
    package func finish(within seconds: Double = 180) -> Program.Outcome {
        let end = Date().addingTimeInterval(seconds)
        while process.isRunning, Date() < end { usleep(2_000) }
        let hangs = process.isRunning
        if hangs { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        readers.wait()
        let (output, errorOutput) = collected.withLock { $0 }
        return Program.Outcome(
            status: hangs ? -1 : process.terminationStatus, output: String(decoding: output, as: UTF8.self),
            errorOutput: String(decoding: errorOutput, as: UTF8.self))
    }
}
