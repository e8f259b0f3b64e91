import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import Posix
import TestSupport
import Testing

#if canImport(Glibc)
    private let fileSizeLimit = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
#endif

@Suite("files that are written completely or not at all")
struct AtomicFileTests {
    let scratch = ScratchDirectory()
    var stem: String { SessionKey.example.fileStem }

    @Test("the modes are 0600 and 0700 with any umask", .waiting, arguments: [0, 0o022, 0o277, 0o777])
    func modes(_ mask: UInt32) async {
        let path = scratch.path
        await #expect(processExitsWith: .success) { [path = path as String, mask = mask as UInt32] in
            givePrivilegesUp(path)
            umask(mode_t(mask))
            let store = SessionStore(directory: path + "/a/oidc")
            try store.withLock(.example, LockWait(limit: .zero)) { () throws(OIDCError) in
                try store.save(.example(), replacingDamaged: false)
            }
            #expect(try store.load(.example) == .example())
            let stem = SessionKey.example.fileStem
            #expect(mode(path + "/a") == 0o700)
            #expect(mode(path + "/a/oidc") == 0o700)
            #expect(mode(path + "/a/oidc/\(stem).json") == 0o600)
            #expect(mode(path + "/a/oidc/\(stem).lock") == 0o600)
        }
    }

    @Test("sessions in a directory that is not writable stay, and the error says so", .waiting)
    func readOnly() async {
        let path = scratch.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            givePrivilegesUp(path)
            let store = SessionStore(directory: path)
            try store.save(.example(), replacingDamaged: false)
            chmod(path, 0o500)
            let stem = SessionKey.example.fileStem
            let expected = { (kind: String, name: String) in
                OIDCError(
                    .failed, "the \(kind) \(path)/\(stem)\(name): Permission denied",
                    hint: .text("chmod 700 \(path)"), stage: .store, code: .notWritable)
            }
            #expect(
                failure { () throws(OIDCError) in try store.save(.example("at-2"), replacingDamaged: true) }
                    == expected("file", ".tmp"))
            #expect(
                failure { () throws(OIDCError) in try store.probe(.example) }
                    == expected("file", ".reserved")
            )
            chmod(path + "/\(stem).json", 0o400)
            #expect(
                failure { () throws(OIDCError) in try store.remove(.example) } == expected("file", ".json"))
            #expect(try store.load(.example) == .example())
            chmod(path, 0o700)
        }
    }

    @Test("a session in a directory that is not writable is removed by overwriting it", .waiting)
    func removedInPlace() async {
        let path = scratch.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            givePrivilegesUp(path)
            let store = SessionStore(directory: path)
            try store.save(.example(), replacingDamaged: false)
            let file = store.location(of: .example)
            let temporary = path + "/\(SessionKey.example.fileStem).tmp"
            _ = FileManager.default.createFile(atPath: temporary, contents: Data("secret".utf8))
            chmod(temporary, 0o600)
            chmod(path, 0o500)
            try store.remove(.example)
            #expect(try store.load(.example) == nil && store.all().isEmpty)
            #expect(FileManager.default.contents(atPath: file) == Data("null\n".utf8))
            #expect(FileManager.default.contents(atPath: temporary) == Data())
            try store.remove(.example)
            chmod(path, 0o700)
            try store.save(.example(), replacingDamaged: false)
            #expect(try store.load(.example) == .example())
        }
    }

    @Test(
        "a file or directory of this user that it may not read names the mode", .waiting,
        arguments: [0, 0o200])
    func unreadable(_ permissions: mode_t) async {
        let path = scratch.path
        await #expect(processExitsWith: .success) {
            [path = path as String, permissions = permissions as mode_t] in
            givePrivilegesUp(path)
            let store = SessionStore(directory: path)
            try store.save(.example(), replacingDamaged: false)
            let file = store.location(of: .example)
            chmod(file, permissions)
            let expected = OIDCError(
                .failed,
                "the session file \(file) is not readable: expected mode 0600, found 0"
                    + (permissions == 0 ? "000" : "200"), hint: "chmod 600 \(file)", stage: .store)
            #expect(failure { () throws(OIDCError) in try store.load(.example) } == expected)
            #expect(
                failure { () throws(OIDCError) in try store.save(.example(), replacingDamaged: true) }
                    == expected)
            chmod(path, permissions)
            #expect(
                failure { () throws(OIDCError) in try store.load(.example) }?.hint
                    == .text("chmod 700 \(path)"))
            chmod(path, 0o700)
            try store.remove(.example)
        }
    }

    @Test("a disk that is full leaves the old session and no temporary", .waiting)
    func fullDisk() async {
        let path = scratch.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            let store = SessionStore(directory: path)
            try store.save(.example(), replacingDamaged: false)
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 10_000, rlim_max: 10_000)
            #expect(setrlimit(fileSizeLimit, &limit) == 0)
            let stem = SessionKey.example.fileStem
            let expected = { (ending: String) in
                OIDCError(
                    .failed, "the file \(path)/\(stem)\(ending): File too large",
                    hint: .advice(.freeSpace), stage: .store)
            }
            let large = Session.example(String(repeating: "x", count: 20_000))
            #expect(
                failure { () throws(OIDCError) in try store.save(large, replacingDamaged: true) }
                    == expected(".tmp"))
            #expect(failure { () throws(OIDCError) in try store.probe(.example) } == expected(".reserved"))
            #expect(
                failure { () throws(OIDCError) in _ = try store.reserveSpace(for: .example) }
                    == expected(".reserved"))
            #expect(try store.load(.example) == .example())
            #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["\(stem).json"])
        }
    }
}

/// Root may write everywhere, so the process becomes the user `nobody`, who owns the directory.
func givePrivilegesUp(_ path: String) {
    guard geteuid() == 0 else { return }
    chown(path, 65_534, 65_534)
    #expect(setgid(65_534) == 0 && setuid(65_534) == 0)
}
