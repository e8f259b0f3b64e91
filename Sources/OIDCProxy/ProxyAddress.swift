import LoopbackHTTP
import OIDCCore
import Posix

/// The endpoint for a proxy to listen on.
package enum ProxyEndpoint: Hashable, Sendable {
    /// A port on 127.0.0.1; nil lets the system choose.
    case port(UInt16?)
    case socket(path: String)
}

/// A bound address.
enum ProxyAddress: Hashable, Sendable {
    case tcp(UInt16)
    case socket(path: String)

    /// Whether callers must send the secret; false for a socket, which only this user can open.
    var needsSecret: Bool { if case .tcp = self { true } else { false } }

    /// Returns whether a Host header is ours. Any other comes from a website whose DNS name points to this
    /// machine (DNS rebinding).
    func isOurs(_ host: String?) -> Bool {
        switch self {
        case .tcp(let port): HTTP1.isHost(host, port: port, among: ["127.0.0.1", "localhost"])
        case .socket: HTTP1.isHost(host, port: 80, among: ["localhost"])
        }
    }

    var origin: String {
        switch self {
        case .tcp(let port): "http://127.0.0.1:\(port)"
        case .socket: "http://localhost"
        }
    }
}

/// The listening socket of a proxy.
struct ProxyListener {
    let address: ProxyAddress
    let descriptor: FileDescriptor
    /// The listener of a Unix socket, whose file is removed at the end.
    private let socket: SocketListener?

    init(_ endpoint: ProxyEndpoint) throws(OIDCError) {
        switch endpoint {
        case .port(let port):
            let listener: LoopbackListener
            do throws(OIDCError) {
                listener = try LoopbackListener(LoopbackAddress(ports: port.map { .fixed($0) } ?? .any))
            } catch {
                throw OIDCError(error.kind, error.message, hint: .advice(.chooseProxyPort))
            }
            guard let first = listener.descriptors.first else {
                throw OIDCError(.failed, "cannot listen on 127.0.0.1")
            }
            address = .tcp(listener.port)
            descriptor = first
            socket = nil
        case .socket(let path):
            let listener = try SocketListener(path)
            address = .socket(path: path)
            descriptor = listener.descriptor
            socket = listener
        }
    }

    /// Removes the file of the Unix socket.
    func remove() { socket?.remove() }
}
