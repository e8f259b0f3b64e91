package import OIDCCore
package import Posix

/// The listening sockets of one port.
package struct LoopbackListener {
    let host: LoopbackAddress.Host
    package let port: UInt16
    package private(set) var descriptors: [FileDescriptor]

    package static let backlog: Int32 = 1024

    package init(_ address: LoopbackAddress) throws(OIDCError) {
        host = address.host
        var failure: (port: UInt16, reason: Errno)?
        for candidate in address.ports.candidates {
            do throws(Errno) {
                (descriptors, port) = try LoopbackListener.bind(address.host, port: candidate)
                return
            } catch {
                failure = (candidate, error)
                if error != .addressInUse { break }
            }
        }
        guard let failure else {
            throw OIDCError(.usage, "there is no port to listen on", stage: .settings)
        }
        throw LoopbackListener.error(address, failure.port, failure.reason)
    }

    /// Returns whether every port of an address is in use.
    static func areInUse(_ address: LoopbackAddress) -> Bool {
        address.ports.candidates.allSatisfy { port in
            do throws(Errno) {
                for descriptor in try bind(address.host, port: port).0 { descriptor.close() }
                return false
            } catch {
                return error == .addressInUse
            }
        }
    }

    /// Takes over sockets that another process of this program has bound.
    package init(_ descriptors: [FileDescriptor], _ host: LoopbackAddress.Host, port: UInt16) {
        self.host = host
        self.port = port
        self.descriptors = descriptors
    }

    mutating func close() {
        for descriptor in descriptors { descriptor.close() }
        descriptors = []
    }

    /// Binds all addresses to one port. If the port that the system chose for the first address is in use on
    /// the second, the system chooses again.
    private static func bind(
        _ host: LoopbackAddress.Host, port: UInt16
    ) throws(Errno) -> ([FileDescriptor], UInt16) {
        var attempts = port == 0 ? 20 : 1
        while true {
            attempts -= 1
            do throws(Errno) {
                return try bindAll(host.addresses, port: port)
            } catch {
                guard error == .addressInUse, attempts > 0 else { throw error }
            }
        }
    }

    /// Binds all addresses, except those that this machine lacks; at least one must be bound.
    private static func bindAll(
        _ addresses: [NumericAddress], port: UInt16
    ) throws(Errno) -> ([FileDescriptor], UInt16) {
        var descriptors: [FileDescriptor] = []
        var port = port
        var missing: Errno?
        for address in addresses {
            do throws(Errno) {
                let bound = try LoopbackSocket.listen(address, port: port, backlog: backlog)
                descriptors.append(bound.descriptor)
                port = bound.port
            } catch {
                guard error == .familyNotSupported || error == .addressNotAvailable else {
                    for descriptor in descriptors { descriptor.close() }
                    throw error
                }
                missing = error
            }
        }
        if let missing, descriptors.isEmpty { throw missing }
        return (descriptors, port)
    }

    static func error(
        _ address: LoopbackAddress, _ port: UInt16, _ reason: Errno
    ) -> OIDCError {
        let host = address.host.text
        guard reason == .addressInUse else {
            let isMissing = reason == .addressNotAvailable || reason == .familyNotSupported
            return OIDCError(
                .failed,
                isMissing
                    ? "this machine has no address \(host) to listen on"
                    : "cannot listen on port \(port) of \(host): \(reason)",
                hint: isMissing && address.host == .ipv4 ? .advice(.useOtherLoopback) : nil)
        }
        let ports = address.ports.candidates
        let isOne = ports.count == 1
        let list = ports.map(String.init).joined(separator: ", ")
        return OIDCError(
            .failed,
            isOne
                ? "port \(port) on \(host) is in use by another program"
                : "ports \(list) on \(host) are all in use by other sign-ins or programs",
            hint: .advice(.choosePort), code: .portsInUse)
    }
}
