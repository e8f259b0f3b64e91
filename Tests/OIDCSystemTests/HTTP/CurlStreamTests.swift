@testable import CurlHTTP
import Foundation
import OIDCCore
@testable import Posix
import TestSupport
import Testing

@Suite("a streamed request", .serialized, .waiting)
struct CurlStreamTests {
    /// What arrived, in order.
    final class Received {
        var statuses: [Int] = []
        var headers = HTTPHeaders()
        var bytes = 0
        var text = ""
        var largestPiece = 0
    }

    private func stream(
        _ request: HTTPRequest, body: RequestBody? = nil,
        _ configuration: CurlConfiguration = CurlConfiguration()
    ) throws(OIDCError) -> Received {
        let received = Received()
        try CurlTransport(configuration).stream(request, body: body) { (status, headers) throws(OIDCError) in
            received.statuses.append(status)
            received.headers = headers
        } onBody: { (bytes) throws(OIDCError) in
            received.bytes += bytes.count
            received.largestPiece = max(received.largestPiece, bytes.count)
            if received.text.utf8.count < 100 { received.text += String(decoding: bytes, as: UTF8.self) }
        }
        return received
    }

    @Test("a body of any size passes through in small pieces")
    func large() throws {
        let size = 20 * 1_048_576
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: \(size)\r\n\r\n")
            let piece = [UInt8](repeating: 0x61, count: 1_048_576)
            for _ in 1...20 { peer.write(piece) }
        }
        let received = try stream(.json(server.url()))
        #expect(received.statuses == [200])
        #expect(received.headers["x-a"] == "b")
        #expect(received.bytes == size)
        #expect(received.largestPiece <= 65_536)
    }

    @Test("a redirect is an answer, and not followed")
    func redirect() throws {
        let server = try ScriptedServer.answering(answer("302 Found", "Location: /x", body: "moved"))
        let received = try stream(.json(server.url()))
        #expect(received.statuses == [302])
        #expect(received.text == "moved")
        #expect(server.requests.count == 1)
    }

    @Test("a request to an unavailable server is not repeated")
    func noRepeat() throws {
        let server = try ScriptedServer.answering(answer("503 X"))
        #expect(try stream(.json(server.url())).statuses == [503])
        #expect(server.requests.count == 1)
    }

    @Test("a compressed body stays as it is")
    func compressed() throws {
        let server = try ScriptedServer.answering(
            answer("200 OK", "Content-Encoding: gzip", body: "as it is"))
        #expect(try stream(.json(server.url())).text == "as it is")
        #expect(server.requests.first?.contains("Accept-Encoding") == false)
    }

    @Test("a file is sent with its length, from its current offset")
    func file() throws {
        let path = NSTemporaryDirectory() + "oidc-stream-\(UInt64.random(in: 0 ... .max))"
        try Data("skip0123456789".utf8).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        lseek(descriptor, 4, SEEK_SET)
        let server = try ScriptedServer.answering(answer("200 OK"))
        _ = try stream(
            HTTPRequest(.put, server.url()), body: .descriptor(FileDescriptor(rawValue: descriptor)))
        let sent = try #require(server.requests.first)
        #expect(sent.hasPrefix("PUT / HTTP/1.1\r\n"))
        #expect(sent.contains("Content-Length: 10\r\n"))
        #expect(sent.hasSuffix("\r\n\r\n0123456789"))
    }

    @Test("a pipe is sent in chunks, as it comes; its silence is not the server's")
    func pipeBody() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        Thread.detachNewThread {
            for piece in ["one", "two"] {
                usleep(700_000)
                _ = piece.utf8CString.withUnsafeBytes { write(writing, $0.baseAddress, 3) }
            }
            close(writing)
        }
        let server = try ScriptedServer.answering(answer("200 OK"))
        var configuration = CurlConfiguration()
        configuration.httpTimeout = .milliseconds(500)
        let received = try stream(
            HTTPRequest(.post, server.url()), body: .descriptor(FileDescriptor(rawValue: reading)),
            configuration)
        #expect(received.statuses == [200])
        #expect(server.requests.first?.contains("Transfer-Encoding: chunked\r\n") == true)
        #expect(server.requests.first?.hasSuffix("3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n") == true)
    }

    @Test("a large body is sent completely")
    func largeBody() throws {
        let server = try ScriptedServer.answering(answer("200 OK"))
        let body = [UInt8](repeating: 0x62, count: 3_000_000)
        #expect(try stream(HTTPRequest(.post, server.url(), body: body)).statuses == [200])
        #expect(server.requests.first?.hasSuffix(String(repeating: "b", count: 3_000_000)) == true)
    }

    @Test("an unreadable body is a fault of this machine")
    func unreadable() throws {
        let server = try ScriptedServer.answering(answer("200 OK"))
        let error = #expect(throws: OIDCError.self) {
            try stream(HTTPRequest(.post, server.url()), body: .descriptor(FileDescriptor(rawValue: -1)))
        }
        #expect(error?.kind == .failed)
        #expect(error?.message.hasPrefix("resource: the body to send cannot be read: ") == true)
    }

    @Test("a consumer that fails ends the transfer with its own error", arguments: [true, false])
    func consumer(inHead: Bool) throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while peer.write("5\r\nhello\r\n") {}
        }
        let own = OIDCError(.failed, "standard output is closed")
        #expect(throws: own) {
            try CurlTransport().stream(.json(server.url())) { (_, _) throws(OIDCError) in
                if inHead { throw own }
            } onBody: { (_) throws(OIDCError) in
                throw own
            }
        }
    }

    @Test("silence ends a request, slowness does not")
    func silence() throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
            for _ in 1...10 {
                peer.write("a")
                usleep(100_000)
            }
            peer.waitForEnd()
        }
        var configuration = CurlConfiguration()
        configuration.httpTimeout = .milliseconds(500)
        let start = ContinuousClock.now
        #expect(
            throws: OIDCError(
                .unreachable, "resource: nothing came from 127.0.0.1:\(server.port) for 500 ms",
                hint: .advice(.raiseHTTPTimeout), stage: .resource)
        ) { try stream(.json(server.url()), body: nil, configuration) }
        #expect(ContinuousClock.now - start > .seconds(1))
    }

    @Test(
        "a header that never ends is bounded like silence, however often a piece of it comes",
        arguments: ["X-Line: a\r\n", "\r\nHTTP/1.1 102 Processing\r\n"])
    func endlessHeader(piece: String) throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write(piece.hasPrefix("X") ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 102 Processing\r\n")
            for _ in 1...100 where peer.write(piece) { usleep(100_000) }
        }
        var configuration = CurlConfiguration()
        configuration.httpTimeout = .milliseconds(500)
        #expect(
            throws: OIDCError(
                .unreachable, "resource: nothing came from 127.0.0.1:\(server.port) for 500 ms",
                hint: .advice(.raiseHTTPTimeout), stage: .resource)
        ) { try stream(.json(server.url()), body: nil, configuration) }
    }

    @Test("an endless stream is interrupted at once")
    func interrupted() throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            while peer.write(String(repeating: "a", count: 65_536)) {}
        }
        let start = ContinuousClock.now
        var configuration = CurlConfiguration()
        configuration.isCancelled = { ContinuousClock.now - start > .milliseconds(200) }
        let error = #expect(throws: OIDCError.self) {
            try stream(.json(server.url()), body: nil, configuration)
        }
        #expect(error?.kind == .interrupted)
        #expect(ContinuousClock.now - start < .seconds(2))
    }
}
