import Foundation
package import OIDCCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// A server on loopback that plays a script with each connection, well-behaved or not.
package final class ScriptedServer: Sendable {
    package let port: Int
    private let listener: Int32
    private let seen = Mutex<[String]>([])
    private let accepted = Mutex(0)

    /// What each peer sent, in order of arrival.
    package var requests: [String] { seen.withLock { $0 } }
    package var origin: String { "http://127.0.0.1:\(port)" }
    package var connectionCount: Int { accepted.withLock { $0 } }

    /// The script runs on a thread of its own for each connection, which is closed after it.
    package init(ipv6: Bool = false, _ script: @escaping @Sendable (Peer) -> Void) throws {
        listener = socket(ipv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        port = try ScriptedServer.bindToLoopback(listener, ipv6: ipv6)
        let (listener, seen) = (listener, self.seenBox)
        Thread.detachNewThread { [weak self] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else {
                    close(listener)
                    return
                }
                guard let self else {
                    close(descriptor)
                    return
                }
                let number = self.accepted.withLock { count in
                    count += 1
                    return count
                }
                let peer = Peer(descriptor: descriptor, number: number, note: seen)
                Thread.detachNewThread {
                    script(peer)
                    close(descriptor)
                }
            }
        }
    }

    /// Answers every request of a connection with the same bytes.
    package static func answering(_ answer: String, ipv6: Bool = false) throws -> ScriptedServer {
        try ScriptedServer(ipv6: ipv6) { peer in
            while peer.readRequest() != nil { peer.write(answer) }
        }
    }

    package static let hasIPv6 = (try? ScriptedServer(ipv6: true) { _ in }) != nil

    /// Closing is left to the thread: its number would be another's before `accept` returns.
    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    package func url(_ path: String = "/", host: String = "127.0.0.1") -> WebURL {
        WebURL("http://\(host):\(port)\(path)")!
    }

    private var seenBox: @Sendable (String) -> Void {
        { [weak self] request in self?.seen.withLock { $0.append(request) } }
    }

    private static func bindToLoopback(_ descriptor: Int32, ipv6: Bool) throws -> Int {
        var size = socklen_t(ipv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
        var storage = sockaddr_storage()
        let bound = withUnsafeMutablePointer(to: &storage) { pointer in
            if ipv6 {
                pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    $0.pointee.sin6_family = sa_family_t(AF_INET6)
                    $0.pointee.sin6_addr = in6addr_loopback
                }
            } else {
                pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    $0.pointee.sin_family = sa_family_t(AF_INET)
                    $0.pointee.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                }
            }
            return pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, address, &size) == 0
            }
        }
        guard bound else { throw POSIXError(.EADDRNOTAVAIL) }
        return withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                Int(UInt16(bigEndian: $0.pointee.sin_port))
            }
        }
    }
}

/// The other end of one connection.
package struct Peer: Sendable {
    package let descriptor: Int32
    /// 1 for the first connection of the server.
    package let number: Int
    let note: @Sendable (String) -> Void

    /// A request with its body, or nil at the end of the connection.
    package func readRequest() -> String? {
        var bytes: [UInt8] = []
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.range(of: "\r\n\r\n"), isWhole(text[..<end.lowerBound], text[end.upperBound...])
            {
                note(text)
                return text
            }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }

    /// Reads what comes of a request first. Returns false at the end of the connection.
    package func readPart() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        return recv(descriptor, &buffer, buffer.count, 0) > 0
    }

    private func isWhole(_ head: Substring, _ body: Substring) -> Bool {
        if head.lowercased().contains("transfer-encoding: chunked") { return body.hasSuffix("0\r\n\r\n") }
        guard let length = head.lowercased().range(of: "content-length: ") else { return true }
        return body.utf8.count >= Int(head.lowercased()[length.upperBound...].prefix { $0.isNumber }) ?? 0
    }

    @discardableResult
    package func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// Returns false if the other side has closed the connection.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Passes bytes on between this peer and a port of this machine, until either hangs up.
    package func relay(to port: Int) {
        let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(other) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(other, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        var entries = [descriptor, other].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while isConnected, poll(&entries, 2, 10_000) > 0 {
            for (from, to) in [(0, 1), (1, 0)] where entries[from].revents != 0 {
                var buffer = [UInt8](repeating: 0, count: 65_536)
                let count = recv(entries[from].fd, &buffer, buffer.count, 0)
                let target = Peer(descriptor: entries[to].fd, number: 0, note: { _ in })
                guard count > 0, target.write(Array(buffer[..<count])) else { return }
            }
        }
    }

    /// Until the other side hangs up.
    package func waitForEnd() {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while recv(descriptor, &buffer, buffer.count, 0) > 0 {}
    }

    /// Makes the following close a reset (RST) instead of an orderly end.
    package func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
}

/// A whole answer with its length.
package func answer(_ status: String, _ headers: String..., body: String = "") -> String {
    let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + headers
    return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
}

/// A port of this machine on which nothing listens.
package func closedPort() throws -> Int {
    try ScriptedServer { _ in }.port
}
