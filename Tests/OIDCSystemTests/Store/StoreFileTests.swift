import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import Posix
import Testing

@Suite("sessions in files")
struct StoreFileTests {
    let scratch = ScratchDirectory()
    var store: SessionStore { SessionStore(directory: scratch["oidc"]) }
    var file: String { store.location(of: .example) }
    var fileName: String { SessionKey.example.fileStem + ".json" }

    @Test("what was saved is loaded, with mode 0600 in a 0700 directory and nothing beside it")
    func roundTrip() throws {
        #expect(try store.load(.example) == nil)
        try store.save(.example(), replacingDamaged: false)
        #expect(try store.load(.example) == .example())
        #expect(mode(file) == 0o600)
        #expect(mode(scratch["oidc"]) == 0o700)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch["oidc"]) == [fileName])
        try store.save(.example("at-2"), replacingDamaged: false)
        #expect(try store.load(.example)?.tokens.access.token.revealed == "at-2")
    }

    @Test("loading makes no directory and no file")
    func loadingMakesNothing() throws {
        #expect(try store.load(.example) == nil)
        #expect(try store.all().isEmpty)
        try store.remove(.example)
        #expect(scratch.names == [])
    }

    @Test("removing deletes the session and the temporary file of a killed writer")
    func removing() throws {
        try store.save(.example(), replacingDamaged: false)
        scratch.put("half", "oidc/\(SessionKey.example.fileStem).tmp")
        try store.remove(.example)
        #expect(try store.load(.example) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch["oidc"]) == [])
    }

    @Test(
        "the temporary file of a killed writer is replaced, with any mode",
        arguments: [0, 0o600])
    func leftOver(_ permissions: mode_t) throws {
        mkdir(scratch["oidc"], 0o700)
        scratch.put(
            String(repeating: "x", count: 100_000), "oidc/\(SessionKey.example.fileStem).tmp",
            mode: permissions)
        try store.save(.example(), replacingDamaged: false)
        #expect(try store.load(.example) == .example())
        #expect(mode(file) == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch["oidc"]) == [fileName])
    }

    struct Damage: CustomTestStringConvertible, Sendable {
        let name: String
        let text: String
        let reason: String
        var testDescription: String { name }
    }

    static let damages = [
        Damage(name: "empty", text: "", reason: "it is not valid JSON: it is empty"),
        Damage(
            name: "truncated", text: #"{"version":1,"key"#,
            reason:
                "it is not valid JSON: line 1, column 18: the file ends here, but a quote or bracket is still open"
        ),
        Damage(name: "foreign JSON", text: #"{"a":1}"#, reason: "its member version is missing or wrong"),
        Damage(name: "no key", text: #"{"version":1}"#, reason: "its member key is missing or wrong"),
    ]

    @Test(
        "a damaged file is an error, is replaced by a sign-in only, and forgotten by logout",
        arguments: damages)
    func damaged(_ damage: Damage) throws {
        mkdir(scratch["oidc"], 0o700)
        scratch.put(damage.text, "oidc/\(fileName)")
        let expected = OIDCError.damagedFile("the session file \(file) is damaged: \(damage.reason)")
        #expect(expected.kind == .loginRequired)
        #expect(failure { () throws(OIDCError) in try store.load(.example) } == expected)
        #expect(
            failure { () throws(OIDCError) in try store.save(.example(), replacingDamaged: false) }
                == expected)
        #expect(scratch.text("oidc/\(fileName)") == damage.text)
        #expect(failure { () throws(OIDCError) in _ = try store.reserveSpace(for: .example) } == expected)
        try store.probe(.example)
        try store.save(.example(), replacingDamaged: true)
        #expect(try store.load(.example) == .example())
        _ = try store.reserveSpace(for: .example)
        #expect(try store.load(.example) == .example())

        scratch.put(damage.text, "oidc/\(fileName)")
        try store.remove(.example)
        #expect(try store.load(.example) == nil)
    }

    @Test(
        "a machine's damaged file counts as none, and its next token replaces it",
        arguments: damages + [
            Damage(
                name: "too large", text: String(repeating: "x", count: 5 << 20), reason: "larger than 4 MiB")
        ])
    func damagedMachine(_ damage: Damage) throws {
        mkdir(scratch["oidc"], 0o700)
        scratch.put(damage.text, "oidc/\(SessionKey.machine.fileStem).json")
        #expect(try store.load(.machine) == nil)
        _ = try store.reserveSpace(for: .machine)
        #expect(try store.replace(nil, with: .example(key: .machine)))
        #expect(try store.load(.machine) == .example(key: .machine))
    }

    @Test("a newer version is neither used nor replaced, but can be removed")
    func newerVersion() throws {
        mkdir(scratch["oidc"], 0o700)
        scratch.put(#"{"version":2}"#, "oidc/\(fileName)")
        let expected = OIDCError(
            .failed,
            "the session file \(file) was written by a newer oidc: expected version 1 at most, found 2",
            hint: .advice(.useNewerVersion), stage: .store)
        #expect(failure { () throws(OIDCError) in try store.load(.example) } == expected)
        #expect(failure { () throws(OIDCError) in try store.probe(.example) } == expected)
        #expect(
            failure { () throws(OIDCError) in try store.save(.example(), replacingDamaged: true) } == expected
        )
        #expect(scratch.text("oidc/\(fileName)") == #"{"version":2}"#)
        try store.remove(.example)
        #expect(scratch.text("oidc/\(fileName)") == nil)
    }

    @Test("a file with another key is not used, overwritten or removed")
    func otherKey() throws {
        mkdir(scratch["oidc"], 0o700)
        let text = Session.example(key: .other).json.compact
        scratch.put(text, "oidc/\(fileName)")
        let expected = OIDCError(
            .failed,
            "the session file \(file) contains another session's key; it is neither used nor overwritten",
            hint: "move it away: mv \(file) \(file).old", stage: .store)
        #expect(failure { () throws(OIDCError) in try store.load(.example) } == expected)
        #expect(failure { () throws(OIDCError) in try store.probe(.example) } == expected)
        #expect(
            failure { () throws(OIDCError) in try store.save(.example(), replacingDamaged: true) } == expected
        )
        #expect(failure { () throws(OIDCError) in try store.remove(.example) } == expected)
        #expect(scratch.text("oidc/\(fileName)") == text)
    }

    @Test("a file that others may read is refused with a hint", arguments: [0o601, 0o640, 0o644, 0o666])
    func wideMode(_ permissions: mode_t) throws {
        try store.save(.example(), replacingDamaged: false)
        chmod(file, permissions)
        let expected = OIDCError(
            .failed,
            "the session file \(file) is open to others: expected mode 0600, found 0"
                + String(permissions, radix: 8), hint: "chmod 600 \(file)", stage: .store)
        #expect(failure { () throws(OIDCError) in try store.load(.example) } == expected)
        #expect(
            failure { () throws(OIDCError) in try store.save(.example("at-2"), replacingDamaged: true) }
                == expected)
        chmod(file, 0o600)
        #expect(try store.load(.example) == .example())
    }

    @Test("another user's file is refused", .enabled(if: geteuid() == 0, "only root can give it away"))
    func otherOwner() throws {
        try store.save(.example(), replacingDamaged: false)
        chown(file, 65_534, 65_534)
        let expected = OIDCError(
            .failed, "the session file \(file) belongs to another user (id 65534, this is 0)",
            hint: "let its owner give it away (chown 0 \(file)), or remove it", stage: .store)
        #expect(failure { () throws(OIDCError) in try store.load(.example) } == expected)
        #expect(
            failure { () throws(OIDCError) in try store.save(.example(), replacingDamaged: true) } == expected
        )
    }

    enum InPlace: String, CaseIterable { case link, directory, pipe }

    @Test(
        "a link, a directory or a pipe in place of the file is refused and stays", arguments: InPlace.allCases
    )
    func otherKind(_ kind: InPlace) throws {
        mkdir(scratch["oidc"], 0o700)
        scratch.put(Session.example().json.compact, "elsewhere")
        let found: String
        switch kind {
        case .link:
            symlink(scratch["elsewhere"], file)
            found = "a symbolic link"
        case .directory:
            mkdir(file, 0o700)
            found = "a directory"
        case .pipe:
            mkfifo(file, 0o600)
            found = "a pipe"
        }
        let expected = OIDCError(
            .failed, "the session file \(file) is \(found), expected a regular file",
            hint: "move it away: mv \(file) \(file).old", stage: .store)
        #expect(failure { () throws(OIDCError) in try store.load(.example) } == expected)
        #expect(
            failure { () throws(OIDCError) in try store.save(.example("at-2"), replacingDamaged: true) }
                == expected)
        #expect(failure { () throws(OIDCError) in try store.probe(.example) } == expected)
        #expect(scratch.text("elsewhere") == Session.example().json.compact)
        #expect(FileManager.default.fileExists(atPath: file))
    }

    @Test("a file beyond 4 MiB is not read")
    func tooLarge() throws {
        mkdir(scratch["oidc"], 0o700)
        scratch.put("", "oidc/\(fileName)")
        truncate(file, 4 << 20 + 1)
        #expect(
            failure { () throws(OIDCError) in try store.load(.example) }
                == .damagedFile("the session file \(file) is larger than 4 MiB"))
        try store.save(.example(), replacingDamaged: true)
        #expect(try store.load(.example) == .example())
    }

    @Test("all lists sessions and damaged files by name, and no lock, temporary or hidden file")
    func listing() throws {
        try store.save(.example(key: .other), replacingDamaged: false)
        try store.save(.example(), replacingDamaged: false)
        scratch.put("{", "oidc/zz.json")
        for name in ["a.lock", "a.tmp", ".hidden.json", "b.sealed"] { scratch.put("{", "oidc/\(name)") }
        let all = try store.all()
        #expect(all.map(\.name) == [SessionKey.example.fileStem, SessionKey.other.fileStem, "zz"])
        #expect(all.map(\.session) == [.example(), .example(key: .other), nil])
        #expect(throws: OIDCError.self) { try all[2].content.get() }
        for entry in all { try store.remove(entry) }
        #expect(try store.all().isEmpty)
    }

    @Test("2,000 sessions are listed")
    func manySessions() throws {
        mkdir(scratch["oidc"], 0o700)
        scratch.put(Session.example().json.compact, "oidc/s0.json")
        for number in 1..<2_000 { link(scratch["oidc/s0.json"], scratch["oidc/s\(number).json"]) }
        #expect(try store.all().filter { $0.session != nil }.count == 2_000)
    }

    @Test("the probe leaves the directory and nothing in it")
    func probing() throws {
        try store.probe(.example)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch["oidc"]) == [])
    }
}

@Suite("locks of a session's file")
struct StoreLockPurposeTests {
    @Test("a sign-in that waits for its user does not keep the session's tokens locked")
    func purposes() throws {
        let scratch = ScratchDirectory()
        let store = SessionStore(directory: scratch["oidc"])
        try store.withLock(.example, for: .signIn, LockWait(limit: .zero)) { () throws(OIDCError) in
            try store.withLock(.example, LockWait(limit: .zero)) {}
            let second = failure { () throws(OIDCError) in
                try store.withLock(.example, for: .signIn, LockWait(limit: .zero)) {}
            }
            #expect(second?.kind == .failed)
        }
    }
}
