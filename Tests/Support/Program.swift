package import Foundation
import OIDCCore

/// The built `oidc`, run as a user would: a home of its own, nothing of the machine's environment.
package struct Program: Sendable {
    package let home: URL
    package var environment: [String: String]

    /// The exit status and output of a run.
    package struct Outcome: Sendable {
        package let status: Int32
        package let output: String
        package let errorOutput: String

        package init(status: Int32, output: String, errorOutput: String) {
            self.status = status
            self.output = output
            self.errorOutput = errorOutput
        }

        /// The last line that starts with `error: `.
        package var error: String? {
            errorOutput.split(separator: "\n").last { $0.hasPrefix("error: ") }.map {
                String($0.dropFirst(7))
            }
        }
    }

    package init(_ variables: [String: String] = [:]) throws {
        home = FileManager.default.temporaryDirectory.appendingPathComponent("oidc-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        environment = [
            "HOME": home.path, "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
            "LANG": "C.UTF-8",
        ]
        environment.merge(Program.sanitizerOptions) { $1 }
        environment.merge(variables) { $1 }
    }

    /// For a client of a provider.
    package init(_ provider: ProviderServer, client: String = "demo", _ variables: [String: String] = [:])
        throws
    {
        try self.init(
            ["OIDC_ISSUER": provider.origin, "OIDC_CLIENT_ID": client].merging(variables) { $1 })
    }

    /// If the tests run under a sanitizer, so does the program, which needs the sanitizer's options.
    package static let sanitizerOptions = ProcessInfo.processInfo.environment.filter {
        ["ASAN_OPTIONS", "TSAN_OPTIONS"].contains($0.key)
    }

    /// A sanitized program hangs below a shifted clock, and starts with other limits.
    package static let isSanitized = !sanitizerOptions.isEmpty

    /// The thread sanitizer writes a file and changes signals before `main`.
    package static let isThreadSanitized = sanitizerOptions["TSAN_OPTIONS"] != nil

    package func remove() {
        try? FileManager.default.removeItem(at: home)
    }

    /// Beside the test bundle, where the build puts it.
    package static var path: String {
        var directory = Bundle.main.bundleURL
        for _ in 0..<6 {
            let candidate = directory.appendingPathComponent("oidc")
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate.path }
            directory.deleteLastPathComponent()
        }
        return "oidc"
    }

    /// `executable` is another program that calls this one, such as a shell.
    package func start(
        _ arguments: [String], input: Input = .none, _ variables: [String: String] = [:],
        executable: String = Program.path
    ) throws -> Run {
        try Run(
            executable, arguments, input: input, environment: environment.merging(variables) { $1 }, in: home)
    }

    @discardableResult
    package func run(
        _ arguments: String..., input: String? = nil, variables: [String: String] = [:]
    ) throws -> Outcome {
        try start(arguments, input: input.map { .text($0) } ?? .none, variables).finish()
    }

    package enum Input: Sendable {
        case none
        case text(String)
        /// A pipe that stays open; see `Run.type`.
        case open
    }

    /// Every session file.
    package var sessionFiles: [URL] {
        files(in: ".local/state/oidc").filter { $0.pathExtension == "json" }
    }

    package func files(in path: String) -> [URL] {
        let directory = home.appendingPathComponent(path)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.sorted().map { directory.appendingPathComponent($0) }
    }
}
