import CPlatform
import OIDCCore
package import Posix

/// A connection over TCP or to a socket file, without TLS.
package final class SocketWire: Wire {
    private let descriptor: FileDescriptor

    private init(_ descriptor: FileDescriptor) {
        self.descriptor = descriptor
    }

    deinit { descriptor.close() }

    package static func connect(
        socket path: String, until deadline: MonotonicTime
    ) throws(WireFault) -> SocketWire {
        var result = oidc_connect_unix(path)
        // On Linux, a non-blocking connect fails while the listener's queue is full.
        while result < 0, Errno(-result) == .wouldBlock {
            if Interruption.pending != nil { throw .interrupted }
            guard MonotonicTime.now() < deadline else { throw .slow }
            Poll.sleep(until: .now().adding(milliseconds: 20))
            result = oidc_connect_unix(path)
        }
        return try SocketWire(opened(result)).connected(until: deadline)
    }

    static func connect(_ host: SharedStoreURL.Host, until deadline: MonotonicTime) throws(WireFault)
        -> SocketWire
    {
        // `localhost` always means this machine, whatever a resolver says (RFC 8252 §8.3).
        let addresses =
            host.name == "localhost"
            ? ["127.0.0.1", "::1"] : try SocketWire.addresses(of: host.name, until: deadline)
        guard !addresses.isEmpty else { throw .broken("cannot resolve host \(host.name)") }
        var last = WireFault.slow
        for address in addresses {
            do throws(WireFault) {
                return try SocketWire(opened(oidc_connect_address(address, host.port))).connected(
                    until: deadline)
            } catch {
                guard case .broken = error else { throw error }
                last = error
            }
        }
        throw last
    }

    /// Resolves a name on a separate thread, because a resolver may be slow and ignores signals.
    static func addresses(
        of name: String, until deadline: MonotonicTime,
        by lookUp: @escaping @Sendable (String) -> [String] = { HostLookup.addresses(of: $0) }
    ) throws(WireFault) -> [String] {
        guard NumericAddress(name) == nil, let lookup = try? BackgroundResult({ lookUp(name) }) else {
            return lookUp(name)
        }
        while true {
            if let addresses = lookup.value { return addresses }
            if Interruption.pending != nil { throw .interrupted }
            guard MonotonicTime.now() < deadline else { throw .slow }
            Poll.sleep(until: min(deadline, .now().adding(milliseconds: 2)))
        }
    }

    /// The user whose program listens on the socket, as the kernel names it; nil if it does not say.
    package var peerUser: UInt32? {
        var user: UInt32 = 0
        var process: Int32 = 0
        return oidc_unix_peer(descriptor.rawValue, &user, &process) == 0 ? user : nil
    }

    private static func opened(_ result: Int32) throws(WireFault) -> FileDescriptor {
        guard result >= 0 else { throw .broken(Errno(-result).description) }
        return FileDescriptor(rawValue: result)
    }

    private func connected(until deadline: MonotonicTime) throws(WireFault) -> SocketWire {
        try wait(.writing, until: deadline)
        let code = oidc_connection_error(descriptor.rawValue)
        guard code == 0 else { throw .broken(Errno(code).description) }
        return self
    }

    private func wait(_ direction: Poll.Direction, until deadline: MonotonicTime) throws(WireFault) {
        try WireWait.wait(for: descriptor.rawValue, direction, until: deadline)
    }

    package func send(_ bytes: [UInt8], until deadline: MonotonicTime) throws(WireFault) {
        var rest = bytes[...]
        while !rest.isEmpty {
            do throws(Errno) {
                rest = rest.dropFirst(try LoopbackSocket.send(rest, to: descriptor))
            } catch {
                guard error == .wouldBlock else { throw .broken(error.description) }
                try wait(.writing, until: deadline)
            }
        }
    }

    package func receive(until deadline: MonotonicTime) throws(WireFault) -> [UInt8] {
        while true {
            try wait(.reading, until: deadline)
            let bytes: [UInt8]
            do throws(Errno) {
                bytes = try descriptor.read()
            } catch {
                guard error == .wouldBlock else { throw .broken(error.description) }
                continue
            }
            guard !bytes.isEmpty else { throw .broken("closed the connection") }
            return bytes
        }
    }
}
