package import OIDCCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Errors of file operations.
extension Errno {
    var isAbsent: Bool { self == .noSuchFile }
    var isDenied: Bool { self == .permissionDenied || self == .notPermitted }
    var isReadOnly: Bool { code == EROFS }
    var isFull: Bool { self == .noSpace || code == EDQUOT || code == EFBIG }
    var isExisting: Bool { self == .exists }
    var isUnsupported: Bool { code == EINVAL || code == ENOTSUP || code == ENOSYS || code == ENOLCK }

    /// Runs a system call, and repeats it if a signal interrupted it. If it returns -1, throws the error in
    /// `errno`.
    static func check<Count: SignedInteger>(_ call: () -> Count) throws(Errno) -> Count {
        while true {
            let result = call()
            guard result == -1 else { return result }
            let error = Errno.last
            guard error == .interrupted else { throw error }
        }
    }
}

/// The properties of a file that decide whether to trust it.
package struct FileStatus: Hashable, Sendable {
    package enum Kind: String, Sendable {
        case regular = "a file"
        case directory = "a directory"
        case symbolicLink = "a symbolic link"
        case socket = "a socket"
        case pipe = "a pipe"
        case device = "a device"
        case other = "a special file"
    }

    package var kind: Kind
    var owner: UInt32
    var permissions: UInt32
    var size: Int64
    var device: UInt64
    var inode: UInt64
    private var modifiedSeconds: Int64
    private var modifiedNanoseconds: Int64

    init(_ raw: stat) {
        switch raw.st_mode & S_IFMT {
        case S_IFREG: kind = .regular
        case S_IFDIR: kind = .directory
        case S_IFLNK: kind = .symbolicLink
        case S_IFSOCK: kind = .socket
        case S_IFIFO: kind = .pipe
        case S_IFCHR, S_IFBLK: kind = .device
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

    package var isSomeoneElses: Bool { owner != geteuid() }
    /// Whether this user or root owns the file.
    var isTrusted: Bool { owner == geteuid() || owner == 0 }
    var isOpenToOthers: Bool { permissions & 0o077 != 0 }

    /// Returns the seconds since the content was written.
    package func age(at now: Instant) -> Int64 {
        now.seconds(since: Instant(secondsSinceEpoch: modifiedSeconds))
    }

    /// Returns whether the content was written before that of the other file.
    func isOlder(than other: FileStatus) -> Bool {
        (modifiedSeconds, modifiedNanoseconds) < (other.modifiedSeconds, other.modifiedNanoseconds)
    }

    /// A text that changes if the file is replaced or written.
    var version: String { "\(device) \(inode) \(size) \(modifiedSeconds) \(modifiedNanoseconds)" }

    package func isSameFile(as other: FileStatus) -> Bool { inode == other.inode && device == other.device }

    package static var currentUser: UInt32 { geteuid() }
}
