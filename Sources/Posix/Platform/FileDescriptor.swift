import CPlatform

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// An open file descriptor, to be closed by the code that opened it.
package struct FileDescriptor: Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let standardInput = FileDescriptor(rawValue: 0)
    package static let standardOutput = FileDescriptor(rawValue: 1)
    package static let standardError = FileDescriptor(rawValue: 2)

    package func close() {
        #if canImport(Darwin)
            _ = Darwin.close(rawValue)
        #else
            _ = Glibc.close(rawValue)
        #endif
    }

    /// Reads the available bytes, at most `limit`; returns none at the end of the input.
    package func read(limit: Int = 65_536) throws(Errno) -> [UInt8] {
        var failure: Errno?
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            while true {
                let received = systemRead(rawValue, buffer.baseAddress, limit)
                if received >= 0 {
                    count = received
                    return
                }
                guard Errno.last == .interrupted else { break }
            }
            failure = .last
            count = 0
        }
        if let failure { throw failure }
        return bytes
    }

    /// Reads all bytes to the end; nil if there are more than `limit`. The right `expected` size saves a system
    /// call.
    func readAll(expected: Int, limit: Int) throws(Errno) -> [UInt8]? {
        var room = min(max(expected, 0), limit) + 1
        var bytes = try read(limit: room)
        guard bytes.count == room || bytes.count != expected else { return bytes }
        room = 65_536
        while bytes.count <= limit {
            let part = try read()
            guard !part.isEmpty else { return bytes }
            bytes += part
        }
        return nil
    }

    /// Writes as many bytes as possible without waiting, and returns their number.
    package func write(_ bytes: ArraySlice<UInt8>) throws(Errno) -> Int {
        let written = bytes.withUnsafeBytes { buffer in
            while true {
                let count = systemWrite(rawValue, buffer.baseAddress, buffer.count)
                if count >= 0 || Errno.last != .interrupted { return count }
            }
        }
        guard written >= 0 else { throw .last }
        return written
    }

    /// Writes all bytes, waiting if necessary.
    package func writeAll(_ bytes: [UInt8]) throws(Errno) {
        var rest = bytes[...]
        while !rest.isEmpty {
            do throws(Errno) {
                rest = rest.dropFirst(try write(rest))
            } catch {
                guard error == .wouldBlock else { throw error }
                Poll.wait(for: rawValue, .writing, until: nil, isInterruptible: false)
            }
        }
    }

    package func setNonBlocking() throws(Errno) {
        let code = oidc_set_nonblocking(rawValue)
        guard code == 0 else { throw Errno(code) }
    }

    package var isTerminal: Bool { isatty(rawValue) == 1 }

    /// Creates a pipe that child processes do not inherit.
    package static func pipe() throws(Errno) -> (reading: FileDescriptor, writing: FileDescriptor) {
        var ends: (Int32, Int32) = (-1, -1)
        let code = withUnsafeMutableBytes(of: &ends) { bytes in
            oidc_pipe(bytes.bindMemory(to: Int32.self).baseAddress)
        }
        guard code == 0 else { throw Errno(code) }
        return (FileDescriptor(rawValue: ends.0), FileDescriptor(rawValue: ends.1))
    }
}

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    #if canImport(Darwin)
        Darwin.read(descriptor, buffer, count)
    #else
        Glibc.read(descriptor, buffer, count)
    #endif
}

private func systemWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    #if canImport(Darwin)
        Darwin.write(descriptor, buffer, count)
    #else
        Glibc.write(descriptor, buffer, count)
    #endif
}
