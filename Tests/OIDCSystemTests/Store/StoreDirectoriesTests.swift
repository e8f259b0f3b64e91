import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import Posix
import Testing

@Suite("the directories of sessions, cache and configuration")
struct StoreDirectoriesTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let environment: Variables
        let state: String?
        let cache: String?
        let configuration: String?
        var testDescription: String {
            environment.names().map { "\($0)=\(environment[$0] ?? "")" }.joined(separator: " ")
        }
    }

    @Test(
        "OIDC_… first, then XDG, then HOME; empty ones and relative ones of XDG count as unset, nothing is guessed",
        arguments: [
            Case(
                environment: ["HOME": "/home/a"], state: "/home/a/.local/state/oidc",
                cache: "/home/a/.cache/oidc", configuration: "/home/a/.config/oidc/config.json"),
            Case(
                environment: [
                    "HOME": "/home/a", "XDG_STATE_HOME": "/s/", "XDG_CACHE_HOME": "/c",
                    "XDG_CONFIG_HOME": "/f",
                ], state: "/s/oidc", cache: "/c/oidc", configuration: "/f/oidc/config.json"),
            Case(
                environment: [
                    "XDG_STATE_HOME": "/s", "OIDC_STATE_DIR": "/mine//", "OIDC_CACHE_DIR": "/cache",
                    "OIDC_CONFIG": "my.json",
                ], state: "/mine", cache: "/cache", configuration: "my.json"),
            Case(
                environment: [
                    "HOME": "/home/a", "XDG_STATE_HOME": "relative", "XDG_CACHE_HOME": "",
                    "OIDC_STATE_DIR": "",
                ], state: "/home/a/.local/state/oidc", cache: "/home/a/.cache/oidc",
                configuration: "/home/a/.config/oidc/config.json"),
            Case(
                environment: ["HOME": "/home/a", "OIDC_STATE_DIR": "here", "OIDC_CACHE_DIR": "./there"],
                state: UserFile.absolute("here"), cache: UserFile.absolute("./there"),
                configuration: "/home/a/.config/oidc/config.json"),
            Case(
                environment: [
                    "HOME": "/home/a", "OIDC_STATE_DIR": "~/s", "OIDC_CACHE_DIR": "~/",
                    "OIDC_CONFIG": "~/c.json",
                ], state: "/home/a/s", cache: "/home/a", configuration: "/home/a/c.json"),
            Case(
                environment: ["HOME": "/"], state: "/.local/state/oidc", cache: "/.cache/oidc",
                configuration: "/.config/oidc/config.json"),
            Case(environment: ["HOME": ""], state: nil, cache: nil, configuration: nil),
            Case(environment: ["HOME": "home"], state: nil, cache: nil, configuration: nil),
            Case(environment: [:], state: nil, cache: nil, configuration: nil),
        ])
    func resolution(_ example: Case) {
        let found = StateDirectories(environment: example.environment)
        #expect(found.state == example.state)
        #expect(found.cache == example.cache)
        #expect(found.configuration == example.configuration)
    }

    @Test(
        "the directory of a configuration is ours only under our name",
        arguments: [
            ("/home/a/.config/oidc/config.json", "/home/a/.config/oidc"), ("/f/oidc/other.json", "/f/oidc"),
            ("/work/config.json", nil), ("config.json", nil), ("/oidc", nil),
        ] as [(String, String?)])
    func ownDirectory(path: String, directory: String?) {
        #expect(StateDirectories.ownDirectory(ofConfiguration: path) == directory)
    }
}

@Suite("a directory for this user only")
struct StorePrivateDirectoryTests {
    let scratch = ScratchDirectory()

    @Test("missing directories are created with mode 0700, parents too")
    func created() throws {
        _ = try PrivateDirectory.create(scratch["a/b/c/"])
        #expect(["a", "a/b", "a/b/c"].map { mode(scratch[$0]) } == [0o700, 0o700, 0o700])
    }

    @Test("opening makes nothing")
    func opening() throws {
        #expect(try PrivateDirectory.open(scratch["none"]) == nil)
        #expect(scratch.names == [])
    }

    @Test(
        "a mode that lets others in is refused, and left as it is",
        arguments: [0o701, 0o710, 0o750, 0o755, 0o777])
    func wideMode(_ permissions: UInt32) {
        mkdir(scratch["wide"], 0o700)
        chmod(scratch["wide"], mode_t(permissions))
        let path = scratch["wide"]
        #expect(
            failure { () throws(OIDCError) in try PrivateDirectory.create(path) }
                == OIDCError(
                    .failed,
                    "the directory \(path) is open to others: expected mode 0700, found 0"
                        + String(permissions, radix: 8),
                    hint: "chmod 700 \(path)", stage: .store))
        #expect(mode(path) == permissions)
    }

    @Test(
        "a directory that others use is refused with advice to use one below it, not to close it",
        arguments: [
            (0o1777, "x.json", false), (0o755, "passwd", false), (0o777, "versions", true),
            (0o777, "x.sealed", true),
        ] as [(mode_t, String, Bool)])
    func sharedDirectory(_ permissions: mode_t, _ name: String, isOurs: Bool) throws {
        let path = scratch["shared"]
        mkdir(path, 0o700)
        try Data().write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        chmod(path, permissions)
        let error = failure { () throws(OIDCError) in try PrivateDirectory.create(path) }
        #expect(error?.hint == (isOurs ? .text("chmod 700 \(path)") : .keepSessions(in: "\(path)/oidc")))
        // The hint works.
        if !isOurs { _ = try PrivateDirectory.create("\(path)/oidc") }
    }

    @Test(
        "a directory that need not be usable is refused only if another user can change it, or if it is a link",
        arguments: [
            (nil, nil, false), (0o700, nil, false), (0o500, nil, false), (0o755, nil, false),
            (0o777, nil, true),
            (0o775, nil, true), (0o1777, nil, false), (0o700, 65_534, true), (0o777, 65_534, true),
        ] as [(mode_t?, uid_t?, Bool)])
    func trusted(_ permissions: mode_t?, _ owner: uid_t?, isRefused: Bool) {
        // Only root can give a directory away.
        guard owner == nil || geteuid() == 0 else { return }
        let path = scratch["state"]
        if let permissions {
            mkdir(path, 0o700)
            chmod(path, permissions)
        }
        if let owner { chown(path, owner, owner) }
        let error = failure { () throws(OIDCError) in try PrivateDirectory.checkTrusted(path) }
        let expected = failure { () throws(OIDCError) in _ = try PrivateDirectory.open(path) }
        #expect(error == (isRefused ? expected : nil) && !(isRefused && error == nil))
    }

    @Test("a link in place of a directory that need not be usable is refused, a file is not")
    func trustedLink() {
        mkdir(scratch["real"], 0o700)
        symlink(scratch["real"], scratch["link"])
        scratch.put("x", "file")
        let error = failure { () throws(OIDCError) in try PrivateDirectory.checkTrusted(scratch["link"] + "/")
        }
        #expect(error?.hint == .advice(.useRealDirectory))
        #expect(
            failure { () throws(OIDCError) in try PrivateDirectory.checkTrusted(scratch["file"]) } == nil)
        #expect(
            failure { () throws(OIDCError) in try PrivateDirectory.checkTrusted(scratch["file/x"]) } == nil)
    }

    @Test(
        "a directory of root's that only root can write is not refused, as nobody here can use it",
        .enabled(if: geteuid() != 0, "root can write everywhere"))
    func trustedRoot() {
        #expect(failure { () throws(OIDCError) in try PrivateDirectory.checkTrusted("/usr") } == nil)
    }

    @Test("a symbolic link in its place is refused, also with a slash at the end", arguments: ["", "/"])
    func symbolicLink(_ ending: String) {
        mkdir(scratch["real"], 0o700)
        symlink(scratch["real"], scratch["link"])
        #expect(
            failure { () throws(OIDCError) in try PrivateDirectory.create(scratch["link"] + ending) }
                == OIDCError(
                    .failed, "\(scratch["link"]) is a symbolic link, expected a directory",
                    hint: .advice(.useRealDirectory), stage: .store))
    }

    @Test("a symbolic link above it is followed")
    func symbolicLinkAbove() throws {
        mkdir(scratch["real"], 0o700)
        symlink(scratch["real"], scratch["link"])
        _ = try PrivateDirectory.create(scratch["link/oidc"])
        #expect(mode(scratch["real/oidc"]) == 0o700)
    }

    @Test("a file in its place, or in place of a parent, is an error")
    func fileInPlace() {
        scratch.put("x", "file")
        #expect(
            failure { () throws(OIDCError) in try PrivateDirectory.create(scratch["file"]) }
                == OIDCError(
                    .failed, "\(scratch["file"]) is a file, expected a directory",
                    hint: .advice(.moveDirectoryAway), stage: .store))
        #expect(
            failure { () throws(OIDCError) in try PrivateDirectory.create(scratch["file/oidc"]) }
                == OIDCError(
                    .failed, "the directory \(scratch["file/oidc"]): a part of this path is not a directory",
                    hint: .advice(.correctDirectory), stage: .store))
    }

    @Test("another user's directory is refused", .enabled(if: geteuid() == 0, "only root can give it away"))
    func otherOwner() {
        mkdir(scratch["theirs"], 0o700)
        chown(scratch["theirs"], 65_534, 65_534)
        #expect(
            failure { () throws(OIDCError) in try PrivateDirectory.create(scratch["theirs"]) }
                == OIDCError(
                    .failed,
                    "the directory \(scratch["theirs"]) belongs to another user (id 65534, this is 0)",
                    hint: .keepSessions(in: scratch["theirs/oidc"]), stage: .store))
    }
}
