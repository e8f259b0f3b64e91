import Foundation
import OIDCCore
@testable import Posix
import Testing

@Suite("a file that the user named")
struct UserFileTests {
    private let directory = ScratchDirectory()

    @Test("a regular file is read whole, and refused if it is larger than the limit")
    func regular() throws {
        for size in [0, 1, 100, 70_000] {
            directory.put(String(repeating: "a", count: size), "file")
            let file = try #require(try UserFile.read(directory["file"], limit: max(size, 1), named: "x"))
            #expect(file.bytes.count == size && file.permissions == 0o600)
        }
        let error = #expect(throws: OIDCError.self) {
            try UserFile.read(directory["file"], limit: 69_999, named: "x")
        }
        #expect(error?.kind == .usage && error?.message.hasSuffix("it is larger than 69999 bytes") == true)
        // Its size is 0, as that of all files there.
        #expect(try UserFile.read("/proc/self/stat", limit: 10_000, named: "x")?.bytes.isEmpty == false)
    }

    @Test(
        "a directory in which others could replace the file is found, also behind links; not one with the sticky bit"
    )
    func openDirectory() throws {
        directory.put("{}", "file")
        #expect(UserFile.openDirectory(of: directory["file"]) == nil)
        for name in ["open", "sticky", "own"] { try #require(mkdir(directory[name], 0o700) == 0) }
        for (name, mode) in [("open", 0o777), ("sticky", 0o1777), ("own", 0o755)] as [(String, mode_t)] {
            directory.put("{}", "\(name)/file")
            try #require(chmod(directory[name], mode) == 0)
        }
        #expect(UserFile.openDirectory(of: directory["open/file"]) == directory["open"])
        #expect(UserFile.openDirectory(of: directory["sticky/file"]) == nil)
        #expect(UserFile.openDirectory(of: directory["own/file"]) == nil)
        try #require(chmod(directory["open"], 0o770) == 0)
        #expect(UserFile.openDirectory(of: directory["open/file"]) == directory["open"])
        // The link is safe, what it leads to is not; and the other way around.
        try #require(symlink("../open/file", directory["own/link"]) == 0)
        #expect(UserFile.openDirectory(of: directory["own/link"]) == directory["own/../open"])
        try #require(symlink("../own/file", directory["open/link"]) == 0)
        #expect(UserFile.openDirectory(of: directory["open/link"]) == directory["open"])
    }

    @Test("a named pipe to which nothing is written is given up, not waited for without end")
    func silentPipe() {
        mkfifo(directory["pipe"], 0o600)
        for (isOpen, reason) in [
            (false, "no program has this pipe open for writing"),
            (true, "nothing was written to it within 0 s"),
        ] {
            let writer = isOpen ? open(directory["pipe"], O_RDWR) : -1
            defer { if isOpen { close(writer) } }
            let error = #expect(throws: OIDCError.self) {
                try UserFile.read(directory["pipe"], limit: 100, named: "configuration", patience: 20)
            }
            #expect(error?.kind == .usage)
            #expect(
                error?.message.hasSuffix("pipe cannot be read: \(reason)") == true,
                "\(String(describing: error))")
        }
    }

    @Test("only a file is rewritten: a pipe and a link to nothing stay what they are")
    func rewrittenKinds() throws {
        try #require(mkfifo(directory["pipe"], 0o600) == 0)
        try #require(symlink("nothing", directory["link"]) == 0)
        try #require(symlink("pipe", directory["led"]) == 0)
        for (name, kind) in [("pipe", "a pipe"), ("link", "a symbolic link"), ("led", "a pipe")] {
            let error = #expect(throws: OIDCError.self) {
                try UserFile.rewrite(directory[name], named: "x") { Array("new".utf8) }
            }
            #expect(
                error?.message.hasSuffix("cannot be written: it is \(kind)") == true,
                "\(String(describing: error))")
        }
        #expect(try FilePath.status(directory["pipe"]).kind == .pipe)
        #expect(!UserFile.isThere(directory["nothing"]))
        // What is told to replace the link does so.
        try UserFile.rewrite(directory["link"], followingLinks: false, named: "x") { Array("new".utf8) }
        #expect(try FilePath.status(directory["link"]).kind == .regular)
    }

    @Test("a terminal is not read: only a sign-in asks its user")
    func terminal() throws {
        // The other end of a terminal is one itself.
        let error = #expect(throws: OIDCError.self) {
            try UserFile.read("/dev/ptmx", limit: 100, named: "configuration")
        }
        #expect(error?.message.hasSuffix("cannot be read: it is a terminal") == true)
    }

    @Test("what is written to a pipe, as by <(...) in a shell, is read to its end")
    func pipe() throws {
        let pipe = try FileDescriptor.pipe()
        defer { pipe.reading.close() }
        let text = String(repeating: "a", count: 60_000)
        try pipe.writing.writeAll(Array(text.utf8))
        pipe.writing.close()
        let path = "/dev/fd/\(pipe.reading.rawValue)"
        #expect(try UserFile.read(path, limit: 60_000, named: "x")?.bytes == Array(text.utf8))
    }
}
