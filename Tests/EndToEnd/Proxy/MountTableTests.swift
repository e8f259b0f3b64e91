import Foundation
import TestSupport
import Testing

@testable import oidc

@Suite("the mounts of this process")
struct MountTableTests {
    @Test("a directory that is mounted twice has another path, also with a space, and others have none")
    func otherPaths() throws {
        let folder =
            FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path
            + "/oidc-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let home = folder + "/home/me"
        try FileManager.default.createDirectory(
            atPath: home + "/.config", withIntermediateDirectories: true)
        // A link stands for the second mount: it leads to the same file.
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/other place", withDestinationPath: folder + "/home")
        let escaped = folder + "/other\\040place"
        let table = MountTable(
            """
            20 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
            21 20 8:2 /users \(folder)/home rw - ext4 /dev/sda2 rw
            22 20 8:2 /users \(escaped) rw - ext4 /dev/sda2 rw
            23 20 8:3 /users /mnt rw - ext4 /dev/sda3 rw
            24 20 8:2 /elsewhere /srv rw - ext4 /dev/sda2 rw
            """)
        #expect(table.otherPaths(of: home + "/.config") == [folder + "/other place/me/.config"])
        #expect(table.otherPaths(of: home) == [folder + "/other place/me"])
        #expect(table.otherPaths(of: folder).isEmpty)
        #expect(MountTable("nonsense\n").otherPaths(of: home).isEmpty)
        #expect(MountTable.current.otherPaths(of: "/proc").isEmpty)
    }
}
