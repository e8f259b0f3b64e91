import Foundation
import Synchronization
import Testing

/// A forward proxy that connects every `CONNECT` to one port of this machine, for any host.
final class TunnelProxy: Sendable {
    let port: UInt16
    private let listener: Int32
    private let seen = Mutex<Set<String>>([])

    /// The hosts, with their ports, that were asked for.
    var hosts: Set<String> { seen.withLock { $0 } }

    init(to target: UInt16) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = TunnelProxy.address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutableBytes(of: &address) { bytes -> Bool in
            guard let raw = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            return bind(listener, raw, length) == 0 && listen(listener, 64) == 0
                && getsockname(listener, raw, &length) == 0
        }
        try #require(isListening)
        port = UInt16(bigEndian: address.sin_port)
        let thread = Thread { [self] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                Thread.detachNewThread { [self] in serve(client, target) }
            }
        }
        thread.start()
    }

    func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private func serve(_ client: Int32, _ target: UInt16) {
        defer { close(client) }
        guard let host = head(of: client) else { return }
        seen.withLock { _ = $0.insert(host) }
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(server) }
        let address = TunnelProxy.address(target)
        let isConnected = withUnsafeBytes(of: address) { bytes in
            connect(
                server, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
                == 0
        }
        guard isConnected, write(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8), to: client) else {
            return
        }
        while true {
            var ends = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&ends, 2, -1) > 0 else { return }
            for (from, to) in [(0, server), (1, client)] where ends[from].revents != 0 {
                guard let bytes = read(ends[from].fd), write(bytes, to: to) else { return }
            }
        }
    }

    /// The host of a request to connect; nil for anything else.
    private func head(of client: Int32) -> String? {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) {
            guard head.count < 8_192, let bytes = read(client, 1) else { return nil }
            head += bytes
        }
        let words = String(decoding: head, as: UTF8.self).split(separator: " ")
        return words.count > 2 && words[0] == "CONNECT" ? String(words[1]) : nil
    }

    private func read(_ descriptor: Int32, _ limit: Int = 65_536) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = recv(descriptor, &buffer, limit, 0)
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    private func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
