#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Operations on the descriptors of request bodies and logs.
extension FileDescriptor {
    /// Whether `read` would return immediately, with bytes, the end or an error.
    package var isReadyToRead: Bool {
        rawValue < 0 || Poll.isReady(rawValue, .reading)
    }

    /// The number of unread bytes in a regular file; nil for anything else.
    package var remainingLength: Int64? {
        var status = stat()
        guard fstat(rawValue, &status) == 0, FileStatus(status).kind == .regular else { return nil }
        let position = lseek(rawValue, 0, SEEK_CUR)
        guard position >= 0 else { return nil }
        return max(0, Int64(status.st_size) - Int64(position))
    }

    /// Opens a file for reading, to be closed by the caller; throws for a directory.
    package static func open(reading path: String) throws(Errno) -> FileDescriptor {
        let file = FileDescriptor(
            rawValue: try Errno.check { openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY) })
        var status = stat()
        guard fstat(file.rawValue, &status) == 0, FileStatus(status).kind != .directory else {
            file.close()
            throw Errno(EISDIR)
        }
        return file
    }

    /// Opens a file to append to, to be closed by the caller. A new file gets mode 0600; a link is not
    /// followed.
    package static func open(appendingTo path: String) throws(Errno) -> FileDescriptor {
        // With O_NONBLOCK, a pipe without a reader is an error instead of a wait.
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK
        return FileDescriptor(rawValue: try Errno.check { openat(AT_FDCWD, path, flags, 0o600) })
    }

    /// The read position; nil if the descriptor cannot seek.
    package var position: Int64? {
        let position = lseek(rawValue, 0, SEEK_CUR)
        return position >= 0 ? Int64(position) : nil
    }

    package func seek(to position: Int64) throws(Errno) {
        _ = try Errno.check { lseek(rawValue, off_t(position), SEEK_SET) }
    }
}
