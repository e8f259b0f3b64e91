import Posix

/// The bytes that are still to be sent to a peer. Small parts are collected and sent at the end of a round.
struct HTTP1Output {
    private var bytes: [UInt8] = []
    private var start = 0
    /// Whether the peer accepts no bytes for now.
    private(set) var isBlocked = false

    /// The number of bytes up to which parts are collected.
    private static let limit = 16_384

    var isEmpty: Bool { start == bytes.count }

    mutating func collect(_ part: [UInt8]) { bytes += part }

    /// Collects a small part, or sends a large one and copies only the bytes that the peer does not accept.
    /// Returns whether it accepted any.
    mutating func pass(
        _ prefix: String, _ part: UnsafeRawBufferPointer, _ suffix: String, to descriptor: FileDescriptor
    ) throws(Errno) -> Bool {
        let isSmall = bytes.count - start + part.count <= Self.limit
        bytes += prefix.utf8
        guard !isSmall, !isBlocked else {
            bytes += part
            bytes += suffix.utf8
            return false
        }
        let suffix = Array(suffix.utf8)
        do throws(Errno) {
            keep(part, suffix, after: try send(part, suffix, to: descriptor))
            return true
        } catch {
            guard error == .wouldBlock else { throw error }
            keep(part, suffix, after: 0)
            return false
        }
    }

    private func send(
        _ part: UnsafeRawBufferPointer, _ suffix: [UInt8], to descriptor: FileDescriptor
    ) throws(Errno) -> Int {
        let result = bytes.withUnsafeBytes { collected in
            suffix.withUnsafeBytes { end in
                Result { () throws(Errno) in
                    try LoopbackSocket.send(
                        UnsafeRawBufferPointer(rebasing: collected[start...]), part, end, to: descriptor)
                }
            }
        }
        return try result.get()
    }

    /// Keeps the bytes that are left after `sent` of them were sent.
    private mutating func keep(_ part: UnsafeRawBufferPointer, _ suffix: [UInt8], after sent: Int) {
        let collected = bytes.count - start
        guard sent < collected + part.count + suffix.count else { return clear(keepsCapacity: true) }
        isBlocked = true
        start += min(sent, collected)
        bytes += part[min(max(0, sent - collected), part.count)...]
        bytes += suffix[max(0, sent - collected - part.count)...]
    }

    /// Sends as much as the peer accepts, and returns whether it accepted any bytes.
    mutating func flush(to descriptor: FileDescriptor, keepsCapacity: Bool) throws(Errno) -> Bool {
        let before = start
        while !isEmpty {
            do throws(Errno) {
                start += try LoopbackSocket.send(bytes[start...], to: descriptor)
            } catch {
                guard error == .wouldBlock else { throw error }
                isBlocked = true
                return start > before
            }
        }
        defer { clear(keepsCapacity: keepsCapacity) }
        return start > before
    }

    private mutating func clear(keepsCapacity: Bool) {
        bytes.removeAll(keepingCapacity: keepsCapacity && bytes.capacity <= 2 * Self.limit)
        start = 0
        isBlocked = false
    }
}
