@testable import LoopbackHTTP
@testable import Posix
import TestSupport
import Testing

/// A peer of the server under test, on the same thread: what it sends waits in the kernel until the server runs.
struct LoopbackClient {
    let descriptor: FileDescriptor

    init(_ server: LoopbackServer, family: LoopbackSocket.Family = .ipv4) throws {
        descriptor = try LoopbackSocket.connect(family, port: server.port)
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        #expect(try LoopbackSocket.send(bytes[...], to: descriptor) == bytes.count)
    }

    /// Returns what was received so far; nil if the connection was reset, or closed without a byte.
    func received() -> String? {
        var bytes: [UInt8] = []
        while true {
            do throws(Errno) {
                let piece = try descriptor.read()
                if piece.isEmpty { return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self) }
                bytes += piece
            } catch {
                guard error == .wouldBlock else {
                    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
                }
                return String(decoding: bytes, as: UTF8.self)
            }
        }
    }

    /// The status of the only answer that has come.
    func status() -> Int? {
        received().flatMap { $0.split(separator: " ").dropFirst().first }.flatMap { Int($0) }
    }

    func close() { descriptor.close() }
}

extension RawConnection {
    /// Whether connections to a port are refused; a program that another test is starting may have the closed listener
    /// for a moment.
    static func isRefused(port: UInt16) -> Bool {
        for _ in 0..<10_000 {
            if RawConnection(port: port) == nil { return true }
            Poll.sleep(until: .now().adding(milliseconds: 1))
        }
        return false
    }
}
