import OIDCCore
import Posix

/// The mounts of this process, to find the other paths of a directory: a home may be mounted in two places.
struct MountTable {
    private struct Mount {
        let device: String
        /// The path within the file system that is mounted.
        let root: String
        let point: String
    }

    private let mounts: [Mount]

    /// The mounts in `/proc/self/mountinfo`; none if that cannot be read.
    static var current: MountTable {
        let limit = 4 << 20
        let contents = try? UserFile.read("/proc/self/mountinfo", limit: limit, named: "mountinfo")
        return MountTable(String(decoding: contents?.bytes ?? [], as: UTF8.self))
    }

    init(_ text: String) {
        mounts = text.split(separator: "\n").compactMap { line in
            let columns = line.split(separator: " ")
            guard columns.count > 5 else { return nil }
            return Mount(
                device: String(columns[2]), root: MountTable.plain(columns[3]),
                point: MountTable.plain(columns[4]))
        }
    }

    /// Returns a path without the kernel's escapes, such as `\040` for a space.
    private static func plain(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3).compactMap { (0x30...0x37).contains($0) ? Int($0) - 0x30 : nil }
            guard byte == 0x5C, digits.count == 3 else {
                bytes.append(byte)
                continue
            }
            bytes.append(UInt8(truncatingIfNeeded: digits[0] * 64 + digits[1] * 8 + digits[2]))
            rest = rest.dropFirst(3)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the other existing paths of the same file as a path without links.
    func otherPaths(of path: String) -> [String] {
        // If a path has several mounts, the last one is visible.
        let own = mounts.last { mount in
            MountTable.rest(of: path, under: mount.point) != nil
                && !mounts.contains { other in
                    other.point.utf8.count > mount.point.utf8.count
                        && MountTable.rest(of: path, under: other.point) != nil
                }
        }
        guard let own, let inside = MountTable.rest(of: path, under: own.point),
            let status = try? FilePath.status(path)
        else { return [] }
        let place = MountTable.joined(own.root, inside)
        return mounts.compactMap { mount in
            guard mount.device == own.device, let rest = MountTable.rest(of: place, under: mount.root) else {
                return nil
            }
            let other = MountTable.joined(mount.point, rest)
            guard other != path, let found = try? FilePath.status(other), found.isSameFile(as: status) else {
                return nil
            }
            return other
        }
    }

    /// Returns what follows a directory in a path, without a slash at the start; nil if the path is not in it.
    private static func rest(of path: String, under directory: String) -> String? {
        if directory == "/" { return String(path.dropFirst()) }
        guard path.hasPrefix(directory) else { return nil }
        let rest = path.dropFirst(directory.count)
        return rest.isEmpty ? "" : rest.first == "/" ? String(rest.dropFirst()) : nil
    }

    private static func joined(_ directory: String, _ rest: String) -> String {
        rest.isEmpty ? directory : FilePath.join(directory, rest)
    }
}
