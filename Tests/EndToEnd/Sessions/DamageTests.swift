import DemoProvider
import Foundation
import OIDCCore
import OIDCSessions
import TestSupport
import Testing

@Suite("something else in place of a session file", .serialized, .waiting)
struct DamageTests {
    /// Text to find in the error, and in its hint.
    struct Case: Sendable, CustomStringConvertible {
        let description: String
        let message: String
        let hint: String
        /// Whether `login` may replace it.
        let isRepaired: Bool
        let damage: @Sendable (SessionWorld, URL) throws -> Void
    }

    static let cases: [Case] = [
        Case(description: "truncated", message: "damaged", hint: "oidc login", isRepaired: true) {
            try $0.put($0.bytes.prefix(200))
            _ = $1
        },
        Case(description: "empty", message: "damaged", hint: "oidc login", isRepaired: true) {
            try $0.put(Data())
            _ = $1
        },
        Case(description: "no JSON", message: "damaged", hint: "oidc login", isRepaired: true) {
            try $0.put(Data("hello".utf8))
            _ = $1
        },
        Case(description: "foreign JSON", message: "damaged", hint: "oidc login", isRepaired: true) {
            try $0.put(Data(#"{"version":1,"name":"something"}"#.utf8))
            _ = $1
        },
        Case(description: "without a token", message: "damaged", hint: "oidc login", isRepaired: true) {
            try $0.edit { $0["access"] = nil }
            _ = $1
        },
        Case(
            description: "a newer version", message: "newer", hint: "newer version of oidc", isRepaired: false
        ) {
            try $0.edit { $0["version"] = 2 }
            _ = $1
        },
        Case(description: "another key", message: "another session", hint: "mv ", isRepaired: false) {
            try $0.edit { object in
                object["key"] = (object["key"] as? String)?.replacingOccurrences(of: "demo", with: "other")
            }
            _ = $1
        },
        Case(description: "a wide mode", message: "0644", hint: "chmod 600", isRepaired: false) {
            try $0.put($0.bytes, mode: 0o644)
            _ = $1
        },
        Case(description: "a symbolic link", message: "symbolic link", hint: "mv ", isRepaired: false) {
            let target = $0.program.home.appendingPathComponent("elsewhere.json")
            try FileManager.default.moveItem(at: $1, to: target)
            try FileManager.default.createSymbolicLink(at: $1, withDestinationURL: target)
        },
        Case(description: "a directory", message: "directory", hint: "mv ", isRepaired: false) {
            _ = $0
            try FileManager.default.removeItem(at: $1)
            try FileManager.default.createDirectory(at: $1, withIntermediateDirectories: false)
        },
        Case(description: "another owner", message: "another user", hint: "chown ", isRepaired: false) {
            try $0.shell(#"chown 12345 "$1""#, [$1.path])
        },
    ]

    /// What is there, seen without following links.
    private func look(_ file: URL) -> String {
        let attributes = (try? FileManager.default.attributesOfItem(atPath: file.path)) ?? [:]
        let content = (try? Data(contentsOf: file)) ?? Data()
        return "\(attributes[.type] ?? "") \(attributes[.posixPermissions] ?? "") "
            + "\(attributes[.ownerAccountID] ?? "") \(content.base64EncodedString())"
    }

    @Test("is a clear error with a hint; nothing is sent, nothing is overwritten", arguments: cases)
    func complaint(damage: Case) throws {
        guard damage.description != "another owner" || getuid() == 0 else { return }
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let file = try world.file
        try damage.damage(world, file)
        let before = look(file)
        // All of them load the session alike, so one kind of damage is tried with all.
        let others = damage.description == "truncated" ? [["token", "--refresh"], ["userinfo"]] : []
        for command in [["token"], ["status"]] + others {
            let outcome = try world.program.start(command).finish()
            #expect(outcome.status == (damage.isRepaired ? 3 : 1), "\(command): \(outcome.errorOutput)")
            #expect(outcome.output == "")
            #expect(outcome.error?.contains(damage.message) == true, "\(outcome.errorOutput)")
            #expect(outcome.errorOutput.contains("  try: "))
            #expect(outcome.errorOutput.contains(damage.hint), "\(outcome.errorOutput)")
        }
        #expect(look(file) == before)
        #expect(world.refreshes == 0)
        let login = try world.program.signIn(at: world.provider)
        if damage.isRepaired {
            #expect(login.status == 0, "\(login.errorOutput)")
            #expect(try world.program.run("token").status == 0)
            #expect(look(aside(file)) == before, "it is kept")
            #expect(try world.program.run("logout").status == 0)
            #expect(!FileManager.default.fileExists(atPath: aside(file).path))
        } else {
            #expect(login.status == 1)
            #expect(!login.errorOutput.contains("code_challenge"), "nobody is asked in vain")
            #expect(look(file) == before)
        }
    }

    private func aside(_ file: URL) -> URL {
        file.deletingPathExtension().appendingPathExtension("damaged")
    }

    @Test("logout removes a damaged file, with and without --all, and leaves the target of a link")
    func removable() throws {
        for damage in DamageTests.cases
        where ["truncated", "empty", "a newer version", "a wide mode", "a symbolic link"].contains(
            damage.description)
        {
            // All kinds are removed alike, so the options are tried with one of them.
            let others = damage.description == "truncated" ? [["--all"], ["--local"]] : []
            for options in [[]] + others {
                let world = try SessionWorld.signedIn()
                defer { world.remove() }
                let file = try world.file
                try damage.damage(world, file)
                let outcome = try world.program.start(["logout"] + options).finish()
                // Nothing could be revoked, which is an error only if revocation was requested.
                let status: Int32 = options == ["--local"] ? 0 : 4
                #expect(outcome.status == status, "\(damage) \(options): \(outcome.errorOutput)")
                #expect(outcome.errorOutput.contains("warning: "))
                #expect(!FileManager.default.fileExists(atPath: file.path))
                #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: file.path)) == nil)
                if damage.description == "a symbolic link" {
                    #expect(world.program.files(in: "").contains { $0.lastPathComponent == "elsewhere.json" })
                }
                #expect(try world.program.run("token").status == 3)
                let isKept = ["truncated", "empty"].contains(damage.description)
                let path = aside(file).path
                #expect(FileManager.default.fileExists(atPath: path) == isKept, "\(damage) \(options)")
                let mode = try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == (isKept ? 0o600 : nil))
                #expect(try world.program.run("status", "--all").output == "")
                #expect(try world.program.run("logout").status == 0)
                #expect(!FileManager.default.fileExists(atPath: path), "the next one removes it")
            }
        }
    }

    @Test("what a killed refresh left with another mode stops refresh and sign-out, and doctor says so")
    func leftover() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let file = try world.file
        let left = file.deletingPathExtension().appendingPathExtension("tmp")
        try FileManager.default.copyItem(at: file, to: left)
        #expect(chmod(left.path, 0o644) == 0)
        for command in [["token", "--refresh"], ["logout"], ["logout", "--all"], ["doctor", "--offline"]] {
            let outcome = try world.program.start(command).finish()
            let text = outcome.output + outcome.errorOutput
            #expect(outcome.status == 1 && text.contains("chmod 600 "), "\(command): \(outcome)")
        }
        #expect(world.refreshes == 0)
        expectSuccess(try world.program.start(["token"]).finish())
        // Beside a session that cannot be read, no sign-out removes it either.
        #expect(chmod(file.path, 0o644) == 0)
        for command in [["logout"], ["logout", "--all"]] {
            let outcome = try world.program.start(command).finish()
            let isLeft = FileManager.default.fileExists(atPath: left.path)
            #expect(
                outcome.status == 1 && outcome.errorOutput.contains("chmod 600 ") && isLeft,
                "\(command): \(outcome)")
        }
        #expect(chmod(file.path, 0o600) == 0)
        #expect(try world.program.start(["logout", "--local"]).finish().status == 0)
        #expect(!FileManager.default.fileExists(atPath: left.path))
    }

    @Test("no refresh token is presented while the session's file is a mount, which cannot be replaced")
    func mounted() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let preparation = """
            FILE='\(try world.file.path)'; export FILE
            unshare -rm true 2>/dev/null || exit 77
            exec unshare -rm sh -c 'mount --bind "$FILE" "$FILE" || exit 77; exec "$PROGRAM" "$@"' sh "$@"
            """
        let refused = try world.runBelowShell(preparation, ["token", "--refresh"])
        // Not every machine lets a user mount.
        guard refused.status != 77 else { return }
        #expect(refused.status == 1 && refused.output == "", "\(refused)")
        #expect(refused.errorOutput.contains("mounted by itself"), "\(refused)")
        #expect(world.refreshes == 0)
        #expect(try world.program.run("token", "--refresh").status == 0)
    }

    @Test("a state directory that others may enter, or that is a link, is refused with a hint")
    func directory() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let path = world.directory.path
        try world.shell(#"chmod 755 "$1""#, [path])
        let wide = try world.program.run("token")
        #expect(wide.status == 1)
        #expect(wide.errorOutput.contains("chmod 700"))
        try world.shell(#"chmod 700 "$1"; mv "$1" "$1.real"; ln -s "$1.real" "$1""#, [path])
        let linked = try world.program.run("token")
        #expect(linked.status == 1)
        #expect(linked.errorOutput.contains("symbolic link"))
        #expect(world.refreshes == 0)
    }

    @Test("status and status --all report a damaged session")
    func listed() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let damaged = world.directory.appendingPathComponent("damaged-0000000000000000.json")
        try world.shell(#"cp "$1" "$2"; echo x > "$2"; chmod 600 "$2""#, [world.file.path, damaged.path])
        let outcome = try world.program.run("status", "--all", "-o", "json")
        #expect(outcome.status == 0)
        #expect(outcome.errorOutput.contains(damaged.path))
        let list = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [Any]
        #expect(list?.count == 1)
    }

    @Test("the hint about a listed session is for that one, and not for the command line's")
    func listedHints() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let issuer = "\"issuer\":\"\(world.provider.origin)\""
        let file = world.program.home.appendingPathComponent("two.json")
        try Data(
            "{\"profiles\":{\"work\":{\(issuer),\"client_id\":\"w\"},\"b\":{\(issuer),\"client_id\":\"demo\"}}}"
                .utf8
        ).write(to: file)
        let other = world.directory.appendingPathComponent("other.json").path
        let work = SessionStore(directory: world.directory.path)
            .location(of: SessionKey(provider: world.provider.origin, clientID: "w"))
        try world.shell(
            #"chmod 600 "$1"; cp "$2" "$3"; cp "$2" "$4"; sed -i 's/"version":[0-9]*/"version":99/' "$3" "$4""#,
            [file.path, world.file.path, work, other])
        let none = ["OIDC_ISSUER": "", "OIDC_CLIENT_ID": ""]
        func hints(_ words: [String]) throws -> String {
            try world.program.start(["status", "--all", "--config", file.path] + words, none).finish()
                .errorOutput
        }
        let newer = try hints(["-p", "b"])
        #expect(
            newer.contains("or forget the session: oidc logout --config \(file.path) -p work --local"),
            "\(newer)")
        #expect(newer.contains("or move it away: mv \(other) \(other).old"), "\(newer)")
        #expect(try hints(["-p", "work"]).contains("oidc logout -p work --config \(file.path) --local"))
        try world.shell(#"echo x > "$1"; echo x > "$2""#, [work, other])
        let damaged = try hints(["-p", "b"])
        #expect(damaged.contains("(oidc login --config \(file.path) -p work)"), "\(damaged)")
        #expect(damaged.contains("(move it away: mv \(other) \(other).old)"), "\(damaged)")
    }
}
