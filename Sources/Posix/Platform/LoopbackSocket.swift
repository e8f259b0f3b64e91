import CPlatform

/// Sockets on 127.0.0.1 and ::1, or on another address that a setting names. They do not block, and child processes
/// do not inherit them.
package enum LoopbackSocket {
    package enum Family: Hashable, Sendable {
        case ipv4, ipv6
    }

    /// Listens on a port of an address and returns it; 0 lets the system choose one.
    package static func listen(
        _ address: NumericAddress, port: UInt16, backlog: Int32
    ) throws(Errno) -> (descriptor: FileDescriptor, port: UInt16) {
        var bound = port
        let descriptor = try opened(oidc_listen(address.text, &bound, backlog))
        return (descriptor, bound)
    }

    /// Returns the address of our end of a connection.
    package static func ownAddress(_ descriptor: FileDescriptor) -> NumericAddress? {
        var text = [CChar](repeating: 0, count: 64)
        guard oidc_own_address(descriptor.rawValue, &text, text.count) == 0 else { return nil }
        return NumericAddress(String(terminated: text))
    }

    /// Returns whether the address of a connection's peer is not one of this machine or network namespace. A local
    /// program may connect to loopback from any address of the machine, so neither end may be on loopback either.
    package static func isPeerElsewhere(_ descriptor: FileDescriptor) -> Bool {
        oidc_is_peer_elsewhere(descriptor.rawValue) != 0
    }

    package static func connect(_ family: Family, port: UInt16) throws(Errno) -> FileDescriptor {
        try opened(oidc_connect_loopback(family == .ipv6 ? 1 : 0, port))
    }

    package static func accept(_ listener: FileDescriptor) throws(Errno) -> FileDescriptor {
        try opened(oidc_accept(listener.rawValue))
    }

    /// Sends bytes and returns how many were accepted. A closed connection is an error, regardless of the
    /// setting of SIGPIPE.
    package static func send(_ bytes: ArraySlice<UInt8>, to descriptor: FileDescriptor) throws(Errno) -> Int {
        let count = bytes.withUnsafeBytes { oidc_send(descriptor.rawValue, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw Errno(Int32(clamping: -count)) }
        return count
    }

    /// Sends three pieces as one; see `send`.
    package static func send(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, _ third: UnsafeRawBufferPointer,
        to descriptor: FileDescriptor
    ) throws(Errno) -> Int {
        let count = oidc_send_pieces(
            descriptor.rawValue, first.baseAddress, first.count, second.baseAddress, second.count,
            third.baseAddress, third.count)
        guard count >= 0 else { throw Errno(Int32(clamping: -count)) }
        return count
    }

    /// Receives available bytes; returns 0 at the end of the connection.
    package static func receive(
        into buffer: UnsafeMutableRawBufferPointer, from descriptor: FileDescriptor
    ) throws(Errno) -> Int {
        let count = oidc_receive(descriptor.rawValue, buffer.baseAddress, buffer.count)
        guard count >= 0 else { throw Errno(Int32(clamping: -count)) }
        return count
    }

    package static func shutdownSending(_ descriptor: FileDescriptor) {
        oidc_shutdown_sending(descriptor.rawValue)
    }

    /// Refuses connections from now on. A descriptor that is no longer a listener is left alone.
    package static func stopListening(_ descriptor: FileDescriptor) {
        oidc_stop_listening(descriptor.rawValue)
    }

    /// Returns the two ends of a connection, in the form in which `SocketTable` lists the peer's socket.
    package static func peerRoute(_ descriptor: FileDescriptor) -> String? {
        var text = [CChar](repeating: 0, count: 96)
        guard oidc_peer_route(descriptor.rawValue, &text, text.count) == 0 else { return nil }
        return String(terminated: text)
    }

    /// The number of bytes that are read at once.
    package static let readSize = 16_384
    /// The number of bytes that are discarded after the answer, before the connection is reset.
    package static let drainLimit = 1 << 20

    /// Returns the bytes that have arrived, or an empty array if the connection has ended; nil if there are
    /// none yet.
    package static func receive(from descriptor: FileDescriptor) -> [UInt8]? {
        do throws(Errno) {
            return try descriptor.read(limit: readSize)
        } catch {
            return error == .wouldBlock ? nil : []
        }
    }

    private static func opened(_ result: Int32) throws(Errno) -> FileDescriptor {
        guard result >= 0 else { throw Errno(-result) }
        return FileDescriptor(rawValue: result)
    }
}
