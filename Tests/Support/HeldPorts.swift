#if canImport(Glibc)
    import Glibc
#endif

/// Ports that no other program gets from the system while this value lives, and at which the program under test can still
/// listen: a socket is bound to each, but does not listen (SO_REUSEADDR in ip(7), socket(7)).
package final class HeldPorts {
    private var descriptors: [Int32] = []

    package init() {}

    deinit { for descriptor in descriptors { close(descriptor) } }

    /// Returns another port, free at all IPv4 addresses; nil if there is none.
    package func next() -> UInt16? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        descriptors.append(descriptor)
        var flag: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &flag, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        return isBound ? UInt16(bigEndian: address.sin_port) : nil
    }
}
