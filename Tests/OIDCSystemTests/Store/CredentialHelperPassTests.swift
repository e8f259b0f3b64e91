import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import Posix
import Testing

private let programs = ["docker-credential-pass", "pass", "gpg", "gpgconf"]
private let areInstalled = programs.allSatisfy { name in
    (try? Executable.find(name, in: ProcessEnvironment.current)) != nil
}

@Suite("docker-credential-pass, the program itself", .enabled(if: areInstalled, "it is not installed"))
struct CredentialHelperPassTests {
    let scratch = ScratchDirectory()

    private var environment: Variables {
        [
            "PATH": ProcessEnvironment.current["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
            "HOME": scratch.path,
            "GNUPGHOME": scratch["gnupg"], "PASSWORD_STORE_DIR": scratch["pass"],
        ]
    }

    private var store: SessionStore {
        SessionStore(
            helper: "pass", directory: scratch["oidc"], environment: environment, milliseconds: 60_000)
    }

    private func run(_ command: String...) throws {
        var child = ChildProcess(command, environment: environment)
        child.errorOutput = .captured
        child.milliseconds = 60_000
        let outcome = try child.run()
        let words = String(decoding: outcome.output + outcome.errorOutput, as: UTF8.self)
        #expect(outcome.status.isSuccess, "\(command): \(words)")
    }

    @Test("pass stores the key of a session: probe, save, load, refresh, list, remove")
    func wholeLife() throws {
        mkdir(scratch["gnupg"], 0o700)
        defer { try? run("gpgconf", "--kill", "all") }
        try run(
            "gpg", "--batch", "--passphrase", "", "--quick-generate-key", "oidc@test.invalid",
            "ed25519/cert+sign",
            "default", "never")
        try run("gpg", "--batch", "--passphrase", "", "--quick-add-key", try fingerprint(), "cv25519")
        try run("pass", "init", "oidc@test.invalid")
        try store.probe(.example)
        let large = Session.example(String(repeating: "large-token", count: 2_000))
        try store.save(large, replacingDamaged: false)
        #expect(try store.load(.example) == large)
        let later = store
        #expect(try later.load(.example) == large)
        try later.save(.example("at-2"), replacingDamaged: false)
        #expect(try store.all().map(\.session) == [.example("at-2")])
        try store.remove(.example)
        #expect(try store.load(.example) == nil)
        try store.remove(.example)
        let kept = FileManager.default.enumerator(atPath: scratch["pass"])?.compactMap { $0 as? String } ?? []
        #expect(kept.filter { $0.hasSuffix("oidc.gpg") } == [])
    }

    @Test("without a password store the probe fails before the sign-in starts")
    func notInitialized() {
        let message = failure { () throws(OIDCError) in try store.probe(.example) }?.message
        #expect(
            message?.hasPrefix("docker-credential-pass store exited with 1: pass not initialized") == true,
            "\(message ?? "no error")")
    }

    private func fingerprint() throws -> String {
        let outcome = try ChildProcess(
            ["gpg", "--batch", "--with-colons", "--list-keys", "oidc@test.invalid"], environment: environment
        ).run()
        let line = String(decoding: outcome.output, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix("fpr:") }
        return try #require(line.flatMap { $0.split(separator: ":").last.map(String.init) })
    }
}
