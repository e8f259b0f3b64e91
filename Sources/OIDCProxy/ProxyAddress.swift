import CPlatform
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
        case .socket: host.map { ASCII.isSameIgnoringCase($0, "localhost") } ?? false
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
    /// The status of the Unix socket's file when it was made; no other file is removed.
    private let file: FileStatus?

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
            file = nil
        case .socket(let path):
            if let kind = try? FilePath.status(path).kind, kind != .socket {
                throw OIDCError(
                    .usage, "\(DisplayText.clean(path)) is \(kind.rawValue), not a socket",
                    hint: "choose another path")
            }
            do throws(Errno) {
                try ProxyListener.removeAbandoned(path)
                let result = oidc_listen_unix(path, LoopbackListener.backlog)
                guard result >= 0 else { throw Errno(-result) }
                descriptor = FileDescriptor(rawValue: result)
            } catch {
                throw OIDCError(
                    error == .addressInUse ? .failed : .usage,
                    "cannot listen on the socket \(DisplayText.clean(path)): \(error)",
                    hint: error == .addressInUse
                        ? "end the program that uses it, or choose another path"
                        : "choose a path in a directory of your own, of at most 100 characters")
            }
            address = .socket(path: path)
            file = try? FilePath.status(path)
        }
    }

    /// Removes a socket of this user that no program listens on, such as one left by a crash. Only a socket:
    /// `connect` is refused at a pipe or a device, too.
    private static func removeAbandoned(_ path: String) throws(Errno) {
        guard let status = try? FilePath.status(path) else { return }
        guard status.kind == .socket, !status.isSomeoneElses else { throw .addressInUse }
        let result = oidc_connect_unix(path)
        guard result < 0 else {
            FileDescriptor(rawValue: result).close()
            throw .addressInUse
        }
        guard Errno(-result) == .connectionRefused else { throw .addressInUse }
        try FilePath.remove(path)
    }

    /// Removes the file of the Unix socket.
    func remove() {
        guard case .socket(let path) = address, let file, let current = try? FilePath.status(path),
            current.isSameFile(as: file)
        else { return }
        try? FilePath.remove(path)
    }
}
