import OIDCCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Operations on paths.
package enum FilePath {
    /// Returns a path relative to a directory; an absolute one is unchanged.
    package static func join(_ directory: String, _ path: String) -> String {
        path.hasPrefix("/") ? path : directory == "/" ? "/\(path)" : "\(directory)/\(path)"
    }

    /// Returns a path without final slashes, as the system follows a symbolic link before a slash.
    package static func trimmed(_ path: String) -> String {
        var bytes = Array(path.utf8)[...]
        while bytes.count > 1, bytes.last == .slash { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Splits a path into directory and name.
    package static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: .slash) else { return (".", path) }
        let name = String(path[path.utf8.index(after: slash)...])
        return (slash == path.startIndex ? "/" : String(path[..<slash]), name)
    }

    /// Returns the command that opens the first directory on the way to a path that this user has closed to themselves; nil if
    /// there is none. The last one that exists must be readable and writable, too.
    package static func opening(_ path: String) -> String? {
        var (last, command): (String?, String?) = (nil, nil)
        var place = path
        while true {
            if let status = try? status(place), status.kind == .directory {
                last = last ?? place
                let needed: UInt32 = place == last ? 0o700 : 0o100
                if !status.isSomeoneElses, status.permissions & needed != needed {
                    let mode = status.isOpenToOthers ? "u+rwx" : "700"
                    command = "chmod \(mode) \(ShellWord.quoted(place))"
                }
            }
            let parent = split(place).directory
            guard parent != place else { return command }
            place = parent
        }
    }

    /// Returns false if a parent in the path is not a directory, so the path cannot exist.
    package static func isPossible(_ path: String) -> Bool {
        do { _ = try status(path) } catch { return error != .notADirectory }
        return true
    }

    /// Returns whether this user may add and remove files in a directory.
    package static func isWritable(_ directory: String) -> Bool { access(directory, W_OK) == 0 }

    /// Returns the names in a directory, which may be of any user and mode, or a link to one.
    package static func names(in directory: String) throws(Errno) -> [String] {
        try OpenFile(directory, for: .sharedDirectory).names()
    }

    package static func status(_ path: String) throws(Errno) -> FileStatus {
        var raw = stat()
        _ = try Errno.check { lstat(path, &raw) }
        return FileStatus(raw)
    }

    /// Returns whether a file or pipe is open in this process in a way that a program it starts inherits, as one named
    /// `/dev/stdin` is.
    package static func isInherited(_ path: String) -> Bool {
        var file = stat()
        guard stat(path, &file) == 0, [S_IFREG, S_IFIFO].contains(file.st_mode & S_IFMT) else { return false }
        return (0..<1024).contains { (descriptor: Int32) in
            var other = stat()
            let flags = fcntl(descriptor, F_GETFD)
            return flags >= 0 && flags & FD_CLOEXEC == 0 && fstat(descriptor, &other) == 0
                && other.st_dev == file.st_dev && other.st_ino == file.st_ino
        }
    }

    /// Returns a text that changes if a file is replaced or written; links are followed. It is not opened, as it may be a
    /// pipe. Without a file, returns the path.
    package static func version(_ path: String) -> String {
        var raw = stat()
        return stat(path, &raw) == 0 ? "\(path)\n\(FileStatus(raw).version)" : path
    }

    /// Returns the path that a symbolic link contains; nil if it cannot be read.
    package static func target(ofLink path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress, case let count = readlink(path, start, buffer.count),
                count > 0, count < buffer.count
            else { return nil }
            return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    static func createDirectory(_ path: String) throws(Errno) {
        _ = try Errno.check { mkdir(path, 0o700) }
    }

    package static func remove(_ path: String) throws(Errno) {
        _ = try Errno.check { unlink(path) }
    }

    static func setPermissions(_ path: String, _ permissions: UInt32) throws(Errno) {
        _ = try Errno.check { chmod(path, mode_t(permissions)) }
    }
}
