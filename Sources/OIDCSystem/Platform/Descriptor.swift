#if canImport(Darwin)
    internal import Darwin
#else
    internal import Glibc
#endif

/// The few calls on file descriptors that sending a body needs.
enum Descriptor {
    /// Whether `read` would return at once, with bytes, the end or an error.
    static func isReady(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return descriptor < 0 || poll(&entry, 1, 0) != 0
    }

    /// How many bytes were read, 0 at the end, nil for an error.
    static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        while true {
            #if canImport(Darwin)
                let count = Darwin.read(descriptor, buffer.baseAddress, buffer.count)
            #else
                let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            #endif
            if count >= 0 { return count }
            if errno != EINTR { return nil }
        }
    }

    /// What is left to read of a regular file; nil where only reading tells.
    static func remainingLength(_ descriptor: Int32) -> Int64? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let position = lseek(descriptor, 0, SEEK_CUR)
        guard position >= 0 else { return nil }
        return max(0, Int64(status.st_size) - Int64(position))
    }

    static func canRead(_ path: String) -> Bool {
        access(path, R_OK) == 0
    }

    static var lastProblem: String { problem(errno) }

    static func problem(_ number: Int32) -> String {
        strerror(number).map { String(cString: $0) } ?? "error \(number)"
    }

    /// Lets milliseconds pass; a signal may shorten it.
    static func sleep(milliseconds: Int32) {
        _ = poll(nil, 0, milliseconds)
    }
}
