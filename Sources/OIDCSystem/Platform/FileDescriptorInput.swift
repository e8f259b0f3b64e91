#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What sending a body from a descriptor needs to know of it.
extension FileDescriptor {
    /// Whether `read` would return at once, with bytes, the end or an error.
    var isReadyToRead: Bool {
        guard rawValue >= 0 else { return true }
        var interests = [Poll.Interest(rawValue, .reading)]
        return Poll.wait(&interests, until: .now())
    }

    /// What is left to read of a regular file; nil where only reading tells.
    var remainingLength: Int64? {
        var status = stat()
        guard fstat(rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let position = lseek(rawValue, 0, SEEK_CUR)
        guard position >= 0 else { return nil }
        return max(0, Int64(status.st_size) - Int64(position))
    }
}
