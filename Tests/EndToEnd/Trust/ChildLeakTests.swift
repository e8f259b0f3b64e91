import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("what children and other processes can see, in the built program", .serialized, .waiting)
struct ChildLeakTests {
    /// Notes what `/proc` says of the process itself, its arguments and environment, in a file of its own.
    private static let witness = """
        #!/bin/sh
        mkdir -p "$HOME/seen"; note=$(mktemp "$HOME/seen/XXXXXX")
        cat /proc/$$/environ /proc/$$/cmdline > "$note"
        """

    /// A keychain that is a directory.
    private static let helper =
        witness + """

            mkdir -p "$HOME/keychain"; read -r question
            name=$(printf %s "$question" | grep -o 'https\\{0,1\\}://[^",]*' | head -n 1 | tr -c 'A-Za-z0-9' _)
            case "$1" in
            store) printf %s "$question" > "$HOME/keychain/$name" ;;
            get) [ -f "$HOME/keychain/$name" ] && exec cat "$HOME/keychain/$name"
                echo "credentials not found in native keychain"; exit 1 ;;
            erase) rm -f "$HOME/keychain/$name" ;;
            esac

            """

    private func install(_ name: String, _ script: String, in program: Program) throws {
        let file = program.home.appendingPathComponent("bin/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try ExecutableScript.write(script, to: file)
    }

    private func everyStep(_ provider: ProviderServer, _ program: Program) throws {
        let login = try program.signIn(at: provider)
        try #require(login.status == 0, "\(login.errorOutput)")
        for arguments in [["token", "--refresh"], ["userinfo"], ["token", "--type", "id"], ["logout"]] {
            let outcome = try program.start(arguments).finish()
            #expect(outcome.status == 0, "\(arguments): \(outcome.errorOutput)")
        }
    }

    /// What a CI job may have in its environment.
    private static let identityTokens = [
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "planted-identity-of-the-job-1",
        "OIDC_ID_TOKEN": "planted-identity-of-the-job-2", "MY_IDENTITY": "planted-identity-of-the-job-3",
        "OIDC_SUBJECT_TOKEN_ENV": "MY_IDENTITY",
    ]

    private func expectClean(_ provider: ProviderServer, _ program: Program, more: [String] = []) throws {
        var secrets = try PlantedSecrets.all(provider, program)
        for index in 1...3 { secrets["identity \(index)"] = "planted-identity-of-the-job-\(index)" }
        for (index, secret) in more.enumerated() { secrets["secret \(index) of the keychain"] = secret }
        #expect(secrets.count >= 6, "\(secrets.keys)")
        let notes = program.files(in: "seen")
        #expect(notes.count >= 3)
        for note in notes {
            let text = String(decoding: try Data(contentsOf: note), as: UTF8.self)
            #expect(text.contains("HOME=") && text.contains("/bin/"), "\(text)")
            PlantedSecrets.expectNone(of: secrets, in: text, "a child's arguments or environment")
        }
    }

    @Test("a credential helper finds no secret in its arguments and environment")
    func credentialHelper() throws {
        var (provider, program) = try PlantedSecrets.world()
        defer { program.remove() }
        try install("docker-credential-witness", Self.helper, in: program)
        program.environment["OIDC_STORE"] = "helper:witness"
        program.environment.merge(Self.identityTokens) { $1 }
        program.environment["PATH"] = "\(program.home.path)/bin:/usr/local/bin:/usr/bin:/bin"
        let login = try program.signIn(at: provider)
        try #require(login.status == 0, "\(login.errorOutput)")
        let keys = try program.files(in: "keychain").compactMap {
            try JSONValue(parsing: Array(try Data(contentsOf: $0)))["Secret"]?.string
        }
        #expect(keys.count == 1 && keys.allSatisfy { $0.utf8.count > 20 })
        try everyStep(provider, program)
        try expectClean(provider, program, more: keys)
    }

    @Test("client_secret_command finds no secret in its arguments and environment")
    func secretCommand() throws {
        var (provider, program) = try PlantedSecrets.world([:])
        defer { program.remove() }
        try install("secret", Self.witness + "\necho \(PlantedSecrets.clientSecret)\n", in: program)
        program.environment.merge(Self.identityTokens) { $1 }
        program.environment["OIDC_CLIENT_SECRET_COMMAND"] = "[\"\(program.home.path)/bin/secret\"]"
        try everyStep(provider, program)
        try expectClean(provider, program)
    }

    /// A process of this user without the privileges that let root read every process.
    private func unprivileged(_ words: [String], _ environment: [String: String] = [:]) -> (Process, Pipe) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = (geteuid() == 0 ? ["setpriv", "--bounding-set=-all"] : ["env"]) + words
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let complaints = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = complaints
        return (process, complaints)
    }

    private func isReadable(_ file: String, of process: Process) throws -> Bool {
        let (reader, complaints) = unprivileged(
            ["head", "-c", "1", "/proc/\(process.processIdentifier)/\(file)"], ["LC_ALL": "C"])
        try reader.run()
        let text = String(decoding: complaints.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        reader.waitUntilExit()
        return !text.contains("Permission denied")
    }

    @Test(
        "another process of the same user cannot read its environment or memory, nor trace it",
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/mem")),
        arguments: ["environ", "mem", "maps", "auxv"])
    func unreadable(file: String) throws {
        let (provider, program) = try PlantedSecrets.world()
        defer { program.remove() }
        let (other, _) = unprivileged(["sleep", "60"])
        let (signIn, complaints) = unprivileged(
            [Program.path, "login", "--flow", "browser", "--no-browser"], program.environment)
        try other.run()
        try signIn.run()
        defer {
            other.terminate()
            signIn.terminate()
            withExtendedLifetime(provider) {}
        }
        #expect(!complaints.fileHandleForReading.availableData.isEmpty)
        // Some systems let no process read the memory of another.
        #expect(try file == "mem" || isReadable(file, of: other))
        #expect(try !isReadable(file, of: signIn))
    }
}
