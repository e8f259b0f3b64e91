import Foundation
import Synchronization
import TestSupport

#if canImport(Glibc)
    import Glibc
#endif

/// A server that reads each request to its end as RFC 9112 says, and may answer before that. All bodies consist of
/// `a`, so whatever else is in one is another request.
///
/// A target with `early=STATUS` is answered once its head has arrived, all others at the end of their bodies.
final class StrictUpstream: Sendable {
    private struct Findings: Error { let text: String }

    private final class Record: Sendable {
        let requests = Mutex<[String]>([])
        let faults = Mutex<[String]>([])
    }

    private let record = Record()
    let server: ScriptedServer

    /// The method and target of each request.
    var requests: [String] { record.requests.withLock { $0 } }
    /// What arrived where it does not belong.
    var faults: [String] { record.faults.withLock { $0 } }

    init() throws {
        let record = record
        server = try ScriptedServer { peer in
            var reader = Reader(peer: peer)
            do {
                while try StrictUpstream.serve(&reader, record) {}
            } catch let fault as Findings {
                record.faults.withLock { $0.append(fault.text) }
            } catch {
                // The connection ended in the middle of a request.
            }
        }
    }

    private struct End: Error {}

    private struct Reader {
        let peer: Peer
        var buffer: [UInt8] = []

        mutating func fill() throws {
            var part = [UInt8](repeating: 0, count: 65_536)
            let count = recv(peer.descriptor, &part, part.count, 0)
            guard count > 0 else { throw End() }
            buffer += part[..<count]
        }

        mutating func line() throws -> String {
            while true {
                if let end = buffer.firstIndex(of: 10) {
                    defer { buffer.removeFirst(end + 1) }
                    guard end > 0, buffer[end - 1] == 13 else { throw Findings(text: "a bare LF") }
                    return String(decoding: buffer[..<(end - 1)], as: UTF8.self)
                }
                try fill()
            }
        }

        mutating func content(_ length: Int) throws {
            var missing = length
            while missing > 0 {
                if buffer.isEmpty { try fill() }
                let part = buffer.prefix(missing)
                guard part.allSatisfy({ $0 == 0x61 }) else {
                    throw Findings(text: "in a body: \(String(decoding: part, as: UTF8.self).prefix(300))")
                }
                missing -= part.count
                buffer.removeFirst(part.count)
            }
        }

        mutating func chunks() throws {
            while true {
                let size = try line()
                guard let length = Int(size, radix: 16) else {
                    throw Findings(text: "in a chunked body: \(size)")
                }
                try content(length)
                let end = try line()
                guard end.isEmpty else { throw Findings(text: "after a chunk: \(end)") }
                if length == 0 { return }
            }
        }
    }

    private static func serve(_ reader: inout Reader, _ record: Record) throws -> Bool {
        let words = try reader.line().split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 3, words[2] == "HTTP/1.1" else {
            throw Findings(text: "no request line: \(words.joined(separator: " "))")
        }
        record.requests.withLock { $0.append("\(words[0]) \(words[1])") }
        var fields: [String: String] = [:]
        while true {
            let line = try reader.line()
            guard !line.isEmpty else { break }
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            guard parts.count == 2, fields.updateValue(parts[1], forKey: parts[0].lowercased()) == nil else {
                throw Findings(text: "a field: \(line)")
            }
        }
        guard fields["authorization"]?.hasPrefix(" Bearer token-") == true else {
            throw Findings(text: "the fields of \(words[1]): \(fields)")
        }
        let early = words[1].range(of: "early=").map { String(words[1][$0.upperBound...].prefix(3)) }
        if let early { reader.peer.write(reply(early)) }
        if let length = fields["content-length"] {
            try reader.content(Int(length.dropFirst()) ?? 0)
        } else if fields["transfer-encoding"] != nil {
            try reader.chunks()
        }
        return early == nil ? reader.peer.write(reply("200")) : true
    }

    private static func reply(_ status: String) -> String {
        let challenge = status == "401" ? "WWW-Authenticate: Bearer\r\n" : ""
        let hasBody = status != "204" && status != "304"
        return "HTTP/1.1 \(status) Answer\r\n\(challenge)"
            + (hasBody ? "Content-Length: 5\r\n\r\nhello" : "\r\n")
    }
}
