import CPlatform

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// An open file, closed after its last use and never inherited by child processes.
package struct OpenFile: ~Copyable, Sendable {
    enum Purpose {
        case reading
        /// A file that the user named: links are followed.
        case readingLinked
        case directory
        /// A directory that others may enter; links are followed.
        case sharedDirectory
        /// Open for reading and writing; a new file gets mode 0600.
        case creating
        /// Open for reading and writing; the file must exist.
        case changing

        fileprivate var flags: Int32 {
            switch self {
            case .reading: O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW
            case .readingLinked: O_RDONLY | O_NONBLOCK | O_NOCTTY
            case .directory: O_RDONLY | O_DIRECTORY | O_NOFOLLOW
            case .sharedDirectory: O_RDONLY | O_DIRECTORY
            case .creating: O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW
            case .changing: O_RDWR | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW
            }
        }
    }

    private let descriptor: Int32

    init(_ path: String, for purpose: Purpose) throws(Errno) {
        descriptor = try Errno.check { open(path, purpose.flags | O_CLOEXEC, 0o600) }
    }

    init(_ name: String, in directory: borrowing OpenFile, for purpose: Purpose) throws(Errno) {
        let parent = directory.descriptor
        descriptor = try Errno.check { openat(parent, name, purpose.flags | O_CLOEXEC, 0o600) }
    }

    deinit { _ = close(descriptor) }
}

extension OpenFile {
    func status() throws(Errno) -> FileStatus {
        var raw = stat()
        _ = try Errno.check { fstat(descriptor, &raw) }
        return FileStatus(raw)
    }

    func setPermissions(_ permissions: UInt32) throws(Errno) {
        _ = try Errno.check { fchmod(descriptor, mode_t(permissions)) }
    }

    /// Removes the content. What is written next starts the file, whatever was read before.
    func makeEmpty() throws(Errno) {
        _ = try Errno.check { ftruncate(descriptor, 0) }
        _ = try Errno.check { Int32(truncatingIfNeeded: lseek(descriptor, 0, SEEK_SET)) }
    }

    /// Waits until the content is on the disk, so a later rename does not reach the disk before it.
    func synchronize() throws(Errno) {
        #if canImport(Darwin)
            // On Darwin, `fsync` leaves the content in the drive's cache. It is still used for file systems
            // that have no F_FULLFSYNC.
            if fcntl(descriptor, F_FULLFSYNC) != -1 { return }
        #endif
        _ = try Errno.check { fsync(descriptor) }
    }

    func write(_ bytes: [UInt8]) throws(Errno) {
        try FileDescriptor(rawValue: descriptor).writeAll(bytes)
    }

    /// Reads the whole content; returns nil if it is larger than `limit`. A correct `expected` size saves a
    /// system call.
    func readAll(expected: Int, limit: Int) throws(Errno) -> [UInt8]? {
        try FileDescriptor(rawValue: descriptor).readAll(expected: expected, limit: limit)
    }

    /// Tries to lock this open file; returns false if another one holds the lock. Closing the file or the end
    /// of the process releases it.
    func tryLock() throws(Errno) -> Bool {
        do {
            _ = try Errno.check { flock(descriptor, LOCK_EX | LOCK_NB) }
            return true
        } catch {
            guard error.code == EWOULDBLOCK else { throw error }
            return false
        }
    }

    func unlock() { _ = flock(descriptor, LOCK_UN) }

    /// Waits for the lock, regardless of signals. Returns 0, or the error number.
    func waitForLock() -> Int32 {
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { return errno }
        }
        return 0
    }
}

/// Operations on names in an open directory, which cannot be replaced by another directory meanwhile.
extension OpenFile {
    func status(of name: String) throws(Errno) -> FileStatus {
        var raw = stat()
        _ = try Errno.check { fstatat(descriptor, name, &raw, AT_SYMLINK_NOFOLLOW) }
        return FileStatus(raw)
    }

    /// Returns whether the file can be read but not replaced: it is a mount point, or an attribute protects
    /// it.
    func isFixed(_ name: String) -> Bool { oidc_is_fixed(descriptor, name) != 0 }

    package func rename(_ old: String, to new: String) throws(Errno) {
        _ = try Errno.check { renameat(descriptor, old, descriptor, new) }
    }

    package func remove(_ name: String) throws(Errno) {
        _ = try Errno.check { unlinkat(descriptor, name, 0) }
    }

    func setPermissions(of name: String, _ permissions: UInt32) throws(Errno) {
        _ = try Errno.check { fchmodat(descriptor, name, mode_t(permissions), 0) }
    }

    /// Returns the names in the directory, unordered.
    package func names() throws(Errno) -> [String] {
        let copy = try Errno.check { openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard let stream = fdopendir(copy) else {
            let error = Errno.last
            _ = close(copy)
            throw error
        }
        defer { _ = closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
