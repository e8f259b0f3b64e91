import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// A peer on loopback that sends any bytes.
package final class RawConnection: Sendable {
    private let descriptor: Int32
    private let port: UInt16

    /// Nil if nothing listens on the port, or no more connections are accepted. `address` is 127.0.0.1, or another
    /// one of 127.0.0.0/8.
    package init?(port: UInt16, address host: UInt32 = 0x7F00_0001) {
        self.port = port
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = host.bigEndian
        address.sin_port = port.bigEndian
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        var flag: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &flag, socklen_t(MemoryLayout<Int32>.size))
        // `deinit` closes it.
        guard isConnected else { return nil }
    }

    /// At a Unix socket; nil if nothing listens there.
    package init?(socket path: String) {
        port = 0
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        // `deinit` closes it.
        guard isConnected else { return nil }
    }

    deinit { Glibc.close(descriptor) }

    /// Returns false if the other side has closed the connection, or takes nothing for two seconds.
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&entry, 1, 2_000) > 0 else { return false }
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(
                    descriptor, $0.baseAddress, $0.count,
                    Int32(MSG_NOSIGNAL) | Int32(truncatingIfNeeded: MSG_DONTWAIT))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    package func finishSending() { Glibc.shutdown(descriptor, Int32(SHUT_WR)) }

    /// What comes until the other side closes, or the time is over.
    package func received(within seconds: Double = 5) -> String {
        String(decoding: receivedBytes(within: seconds), as: UTF8.self)
    }

    package func receivedBytes(within seconds: Double = 5) -> [UInt8] {
        let end = Date().addingTimeInterval(seconds)
        var bytes: [UInt8] = []
        while true {
            let left = end.timeIntervalSinceNow
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&entry, 1, Int32(left * 1_000)) > 0 else { break }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }

    package enum End: Sendable {
        case closed, reset, none
    }

    /// Reads until the other side ends the connection, and returns how it did.
    package func waitForEnd(within seconds: Double) -> End {
        let end = Date().addingTimeInterval(seconds)
        while true {
            let left = end.timeIntervalSinceNow
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&entry, 1, Int32(left * 1_000)) > 0 else { return .none }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { return count == 0 ? .closed : .reset }
        }
    }

    /// The bytes that come first; nil if the other side closed, empty if none came in time.
    package func receivedOnce(within seconds: Double) -> String? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, Int32(seconds * 1_000)) > 0 else { return "" }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }

    /// The status of an answer.
    package static func status(_ answer: String) -> Int? {
        guard answer.hasPrefix("HTTP/1.1 ") else { return nil }
        return Int(answer.dropFirst(9).prefix(3))
    }

    /// The page at the end of a sign-in, to which the answer to a callback leads.
    package func page(within seconds: Double = 20) -> String {
        let answer = received(within: seconds)
        guard let path = RawConnection.redirect(of: answer) else { return answer }
        return RawConnection.exchange(
            port: port, "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n",
            within: seconds)
    }

    /// The path of the same server that an answer redirects to.
    package static func redirect(of answer: String) -> String? {
        let mark = "\r\nlocation: /"
        guard status(answer) == 303, let start = answer.range(of: mark, options: .caseInsensitive) else {
            return nil
        }
        return "/" + answer[start.upperBound...].prefix { $0 != "\r\n" }
    }

    /// One request with `Connection: close` in it, and the page that its answer is or leads to.
    package static func exchange(port: UInt16, _ text: String, within seconds: Double = 5) -> String {
        guard let connection = RawConnection(port: port) else { return "" }
        connection.send(text)
        return connection.page(within: seconds)
    }
}
