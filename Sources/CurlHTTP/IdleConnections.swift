import CLibcurl
import CPlatform
import Posix

/// The sockets of libcurl's idle HTTP/1.1 connections.
///
/// What a server sends on an idle connection must not become the answer to the next request (RFC 9112 §9.2), but
/// libcurl 7.88, which Debian 12 has, takes it for one.
final class IdleConnections {
    private var sockets: Set<Int32> = []
    /// The thread's CPU time when libcurl last closed a connection, idle or not; 0 if it has not in this call.
    var lastClose: Int64 = 0

    /// Makes libcurl report each connection of a handle that it closes; returns false if it cannot. This
    /// object must outlive the connections.
    func observe(_ easy: OpaquePointer) -> Bool {
        let context = Unmanaged.passUnretained(self).toOpaque()
        return CurlCode(oidc_curl_set_close_socket(easy, IdleConnections.onClose, context)) == .ok
    }

    func add(_ socket: Int32) {
        sockets.insert(socket)
    }

    /// Removes a connection that is used again.
    func remove(_ socket: Int32) {
        sockets.remove(socket)
    }

    /// Ends the connections on which something has arrived, so libcurl uses others. `isUsed` says which one libcurl has
    /// given to a transfer meanwhile.
    func endReadable(unless isUsed: (_ socket: Int32) -> Bool) {
        guard !sockets.isEmpty else { return }
        var interests = sockets.map { Poll.Interest($0, .reading) }
        Poll.wait(&interests, until: .now())
        for interest in interests where !interest.ready.isEmpty {
            sockets.remove(interest.descriptor)
            if !isUsed(interest.descriptor) { oidc_end_socket(interest.descriptor) }
        }
    }

    private static let onClose: oidc_curl_close_function = { context, socket in
        if let context {
            let connections = Unmanaged<IdleConnections>.fromOpaque(context).takeUnretainedValue()
            connections.sockets.remove(socket)
            connections.lastClose = oidc_curl_cpu_time()
        }
        FileDescriptor(rawValue: socket).close()
        return 0
    }
}
