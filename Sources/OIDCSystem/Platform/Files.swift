#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// An error number of a file operation.
struct FileSystemError: Error, Hashable, Sendable {
    let number: Int32

    var text: String { String(cString: strerror(number)) }
    var isAbsent: Bool { number == ENOENT }
    var isNoDirectory: Bool { number == ENOTDIR }
    var isLink: Bool { number == ELOOP || isTooManyLinks }
    var isDenied: Bool { number == EACCES || number == EPERM }
    var isReadOnly: Bool { number == EROFS }
    var isFull: Bool { number == ENOSPC || number == EDQUOT || number == EFBIG }
    var isExisting: Bool { number == EEXIST }
    var isUnsupported: Bool { number == EINVAL || number == ENOTSUP || number == ENOSYS || number == ENOLCK }

    /// What some BSDs report for a link that is not to be followed.
    private var isTooManyLinks: Bool { number == EMLINK }

    /// Repeats a call that a signal interrupted; -1 is the failure that `errno` names.
    static func check<Count: SignedInteger>(_ call: () -> Count) throws(FileSystemError) -> Count {
        while true {
            let result = call()
            guard result == -1 else { return result }
            let number = errno
            guard number == EINTR else { throw FileSystemError(number: number) }
        }
    }
}

/// What a file is, as far as trust in it depends on that.
struct FileStatus: Hashable, Sendable {
    enum Kind: String, Sendable {
        case regular = "a file"
        case directory = "a directory"
        case symbolicLink = "a symbolic link"
        case other = "no regular file"
    }

    var kind: Kind
    var owner: UInt32
    var permissions: UInt32
    var size: Int64
    var device: UInt64
    var inode: UInt64
    var modifiedSeconds: Int64
    var modifiedNanoseconds: Int64

    init(_ raw: stat) {
        switch raw.st_mode & S_IFMT {
        case S_IFREG: kind = .regular
        case S_IFDIR: kind = .directory
        case S_IFLNK: kind = .symbolicLink
        default: kind = .other
        }
        owner = raw.st_uid
        permissions = UInt32(raw.st_mode) & 0o7777
        size = Int64(raw.st_size)
        device = UInt64(truncatingIfNeeded: raw.st_dev)
        inode = UInt64(truncatingIfNeeded: raw.st_ino)
        #if canImport(Darwin)
            let modified = raw.st_mtimespec
        #else
            let modified = raw.st_mtim
        #endif
        modifiedSeconds = Int64(modified.tv_sec)
        modifiedNanoseconds = Int64(modified.tv_nsec)
    }

    var isSomeoneElses: Bool { owner != geteuid() }
    var isOpenToOthers: Bool { permissions & 0o077 != 0 }

    func isSameFile(as other: FileStatus) -> Bool { inode == other.inode && device == other.device }

    static var currentUser: UInt32 { geteuid() }
}

/// An open file, closed with its last use and never inherited by a program that we start.
struct OpenFile: ~Copyable, Sendable {
    enum Purpose {
        case reading
        case directory
        /// For reading and writing, with mode 0600 where it is new.
        case creating

        fileprivate var flags: Int32 {
            switch self {
            case .reading: O_RDONLY | O_NONBLOCK | O_NOCTTY
            case .directory: O_RDONLY | O_DIRECTORY
            case .creating: O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY
            }
        }
    }

    private let descriptor: Int32

    init(_ path: String, for purpose: Purpose) throws(FileSystemError) {
        descriptor = try FileSystemError.check {
            open(path, purpose.flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
        }
    }

    init(_ name: String, in directory: borrowing OpenFile, for purpose: Purpose) throws(FileSystemError) {
        let parent = directory.descriptor
        descriptor = try FileSystemError.check {
            openat(parent, name, purpose.flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
        }
    }

    deinit { _ = close(descriptor) }
}

extension OpenFile {
    func status() throws(FileSystemError) -> FileStatus {
        var raw = stat()
        _ = try FileSystemError.check { fstat(descriptor, &raw) }
        return FileStatus(raw)
    }

    func setPermissions(_ permissions: UInt32) throws(FileSystemError) {
        _ = try FileSystemError.check { fchmod(descriptor, mode_t(permissions)) }
    }

    func makeEmpty() throws(FileSystemError) {
        _ = try FileSystemError.check { ftruncate(descriptor, 0) }
    }

    /// Until it is on the disk, so that a rename that follows cannot overtake the content.
    func synchronize() throws(FileSystemError) {
        _ = try FileSystemError.check { fsync(descriptor) }
    }

    func write(_ bytes: [UInt8]) throws(FileSystemError) {
        var written = 0
        while written < bytes.count {
            written += try FileSystemError.check {
                bytes.withUnsafeBytes { buffer in
                    #if canImport(Darwin)
                        Darwin.write(
                            descriptor, buffer.baseAddress?.advanced(by: written), bytes.count - written)
                    #else
                        Glibc.write(
                            descriptor, buffer.baseAddress?.advanced(by: written), bytes.count - written)
                    #endif
                }
            }
        }
    }

    /// The whole content; nil when there is more than `limit`. `expected` is a guess that saves a call.
    func readAll(expected: Int, limit: Int) throws(FileSystemError) -> [UInt8]? {
        var bytes: [UInt8] = []
        var room = min(max(expected, 0), limit) + 1
        while true {
            let start = bytes.count
            bytes.append(contentsOf: repeatElement(0, count: room))
            let count = try FileSystemError.check {
                bytes.withUnsafeMutableBytes { buffer in
                    read(descriptor, buffer.baseAddress?.advanced(by: start), room)
                }
            }
            bytes.removeLast(room - count)
            guard bytes.count <= limit else { return nil }
            if count == 0 { return bytes }
            if count < room, start == 0, count == expected { return bytes }
            room = 65_536
        }
    }

    /// A lock of this open file: gone when it is closed or its process dies, however it dies. False when
    /// another has it.
    func tryLock() throws(FileSystemError) -> Bool {
        do {
            _ = try FileSystemError.check { flock(descriptor, LOCK_EX | LOCK_NB) }
            return true
        } catch {
            guard error.number == EWOULDBLOCK else { throw error }
            return false
        }
    }
}

/// Operations on names in an open directory: nobody can put another directory in its place meanwhile.
extension OpenFile {
    func status(of name: String) throws(FileSystemError) -> FileStatus {
        var raw = stat()
        _ = try FileSystemError.check { fstatat(descriptor, name, &raw, AT_SYMLINK_NOFOLLOW) }
        return FileStatus(raw)
    }

    func rename(_ old: String, to new: String) throws(FileSystemError) {
        _ = try FileSystemError.check { renameat(descriptor, old, descriptor, new) }
    }

    func remove(_ name: String) throws(FileSystemError) {
        _ = try FileSystemError.check { unlinkat(descriptor, name, 0) }
    }

    func setPermissions(of name: String, _ permissions: UInt32) throws(FileSystemError) {
        _ = try FileSystemError.check { fchmodat(descriptor, name, mode_t(permissions), 0) }
    }

    /// The names in the directory, in no order.
    func names() throws(FileSystemError) -> [String] {
        let copy = try FileSystemError.check { openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard let stream = fdopendir(copy) else {
            let number = errno
            _ = close(copy)
            throw FileSystemError(number: number)
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

/// Operations on paths, for what comes before a directory is open.
enum FilePath {
    static func status(_ path: String) throws(FileSystemError) -> FileStatus {
        var raw = stat()
        _ = try FileSystemError.check { lstat(path, &raw) }
        return FileStatus(raw)
    }

    static func createDirectory(_ path: String) throws(FileSystemError) {
        _ = try FileSystemError.check { mkdir(path, 0o700) }
    }

    static func setPermissions(_ path: String, _ permissions: UInt32) throws(FileSystemError) {
        _ = try FileSystemError.check { chmod(path, mode_t(permissions)) }
    }
}

/// Time that no one can set back, for waiting.
enum Waiting {
    static func now() -> Duration {
        var time = timespec()
        _ = clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    /// A signal may end it early.
    static func pause(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        _ = nanosleep(&time, nil)
    }
}
