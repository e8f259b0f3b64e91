import DemoProvider
import Foundation
import OIDCCore
import Posix
import Synchronization
import TestSupport
import Testing

/// The built program beside its provider, with a session whose file can be aged, changed and compared.
struct SessionWorld {
    let provider: ProviderServer
    var program: Program

    init(
        _ variables: [String: String] = [:], _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = DemoConfiguration()
        change(&configuration)
        provider = try ProviderServer(configuration)
        program = try Program(provider, variables)
    }

    /// Returns a world with a session, and the counts at zero.
    static func signedIn(
        _ options: [String] = [], _ variables: [String: String] = [:],
        _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws -> SessionWorld {
        let world = try SessionWorld(variables, change)
        if options.isEmpty, variables.isEmpty {
            try world.program.storeSession(at: world.provider)
        } else {
            let outcome = try world.program.signIn(at: world.provider, options)
            try #require(outcome.status == 0, "\(outcome.errorOutput)")
        }
        world.provider.with { $0.resetCounts() }
        return world
    }

    var refreshes: Int { provider.requestCount(grant: "refresh_token") }

    var file: URL {
        get throws { try #require(program.sessionFiles.first) }
    }

    var directory: URL { program.home.appendingPathComponent(".local/state/oidc") }

    var bytes: Data {
        get throws { try Data(contentsOf: file) }
    }

    func stored() throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
    }

    func edit(_ change: (inout [String: Any]) -> Void) throws {
        var object = try stored()
        change(&object)
        try put(JSONSerialization.data(withJSONObject: object))
    }

    func put(_ data: Data, mode: Int = 0o600) throws {
        let file = try file
        try data.write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    }

    /// Makes the token, and those derived from it, old and just expired.
    func age() throws {
        let now = Int(Date().timeIntervalSince1970)
        let old = { (access: Any?) -> [String: Any] in
            var access = access as? [String: Any] ?? [:]
            access["obtained_at"] = now - 400
            access["expires_at"] = now - 100
            return access
        }
        try edit { object in
            object["access"] = old(object["access"])
            guard let derived = object["derived"] as? [[String: Any]] else { return }
            object["derived"] = derived.map { $0.merging(["access": old($0["access"])]) { $1 } }
        }
    }

    /// The file with the last failure, for other processes.
    var failureFile: URL? {
        get throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            return names.first { $0.hasSuffix(".failure") }.map { directory.appendingPathComponent($0) }
        }
    }

    /// Moves the time of the recorded failure.
    func moveFailure(by seconds: Int) throws {
        let file = try #require(try failureFile)
        var object = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
        for name in ["time", "shared_at"] {
            if let time = object[name] as? Int { object[name] = time + seconds }
        }
        try JSONSerialization.data(withJSONObject: object).write(to: file)
    }

    func point(toEndpoint url: String) throws {
        try edit { $0["token_endpoint"] = url }
    }

    /// Whether the provider answers a UserInfo request with this token.
    func accepts(_ token: String) -> Bool {
        guard let url = WebURL("\(provider.origin)/userinfo") else { return false }
        let request = HTTPRequest(
            .get, url, headers: HTTPHeaders([("Authorization", "Bearer \(token)")]))
        return provider.with { $0.handle(request, at: Clock.now()) }.status == 200
    }

    /// Runs so many processes at once, started by one shell.
    func crowd(
        _ count: Int, _ arguments: [String], _ variables: [String: String] = [:]
    ) throws -> [Program.Outcome] {
        let folder = program.home.appendingPathComponent("crowd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let script = """
            cd "$FOLDER"; i=0
            while [ $i -lt \(count) ]; do
                ("$PROGRAM" "$@" >o.$i 2>e.$i </dev/null; echo $? >s.$i) & i=$((i+1))
            done
            wait
            """
        let environment = program.environment.merging(variables) { $1 }
            .merging(["FOLDER": folder.path, "PROGRAM": Program.path]) { $1 }
        try shell(script, arguments, environment)
        let text = { (name: String) in
            (try? String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)) ?? ""
        }
        return (0..<count).map { index in
            Program.Outcome(
                status: Int32(text("s.\(index)").trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1,
                output: text("o.\(index)"), errorOutput: text("e.\(index)"))
        }
    }

    /// One run of the program below a shell that prepares what it finds.
    func runBelowShell(_ preparation: String, _ arguments: [String]) throws -> Program.Outcome {
        let outcome = try child(
            "\(preparation); exec \"$PROGRAM\" \"$@\"", arguments,
            program.environment.merging(["PROGRAM": Program.path]) { $1 })
        guard case .exited(let status) = outcome.status else {
            return Program.Outcome(status: -1, output: "", errorOutput: "\(outcome.status)")
        }
        return Program.Outcome(
            status: status, output: String(decoding: outcome.output, as: UTF8.self),
            errorOutput: String(decoding: outcome.errorOutput, as: UTF8.self))
    }

    private func child(
        _ script: String, _ arguments: [String], _ environment: [String: String]
    ) throws -> ChildProcess.Outcome {
        var child = ChildProcess(
            ["/bin/sh", "-c", script, "sh"] + arguments, environment: Variables(environment))
        child.errorOutput = .captured
        child.milliseconds = 120_000
        return try child.run()
    }

    func shell(_ script: String, _ arguments: [String] = [], _ environment: [String: String]? = nil) throws {
        let outcome = try child(script, arguments, environment ?? program.environment)
        #expect(outcome.status == .exited(0), "\(String(decoding: outcome.errorOutput, as: UTF8.self))")
    }

    /// Runs `body` once the next token request has arrived; the answer is held back until `body` has returned.
    func duringTokenRequest(_ start: () throws -> Run, _ body: (Run) throws -> Void) throws -> Run {
        let arrived = DispatchSemaphore(value: 0)
        provider.intercept { request in
            if request.url.path == "/token" { arrived.signal() }
            return nil
        }
        provider.delayTokens(milliseconds: 120_000)
        defer { provider.delayTokens(milliseconds: 0) }
        let run = try start()
        try #require(arrived.wait(timeout: .now() + 60) == .success)
        try body(run)
        return run
    }

    /// A script on PATH.
    func install(_ name: String, _ script: String) throws {
        let folder = program.home.appendingPathComponent("bin")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try ExecutableScript.write(script, to: folder.appendingPathComponent(name))
    }

    /// Removes the home; the provider answers until then.
    func remove() {
        withExtendedLifetime(provider) { program.remove() }
    }
}

extension Program.Outcome {
    var token: String { output.trimmingCharacters(in: .newlines) }
}
