@testable import CurlHTTP
import Foundation
import OIDCCore
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("answers that want to hurt", .serialized, .waiting)
struct CurlHostileTests {
    private func failure(_ server: ScriptedServer, _ configuration: CurlConfiguration = CurlConfiguration())
        -> OIDCError?
    {
        #expect(throws: OIDCError.self) {
            try CurlTransport(configuration).send(.json(server.url("/?secret")), stage: .discovery)
        }
    }

    private func refused(_ message: String, hint: Hint? = nil) -> OIDCError {
        OIDCError(.refused, "discovery: \(message)", hint: hint, stage: .discovery)
    }

    /// Framings of a body of any size.
    enum Framing: String, CaseIterable {
        case length, chunked, untilClose
    }

    @Test("a body of 1 MiB is accepted, one byte more is refused", arguments: Framing.allCases, [0, 1])
    func cap(framing: Framing, excess: Int) throws {
        let size = 1_048_576 + excess
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            let body = [UInt8](repeating: 0x61, count: size)
            switch framing {
            case .length: peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            case .chunked:
                peer.write(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(String(size, radix: 16))\r\n")
            case .untilClose: peer.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            }
            peer.write(body)
            if framing == .chunked { peer.write("\r\n0\r\n\r\n") }
        }
        if excess == 0 {
            #expect(try CurlTransport().send(.json(server.url()), stage: .discovery).body.count == size)
        } else {
            #expect(
                failure(server) == refused("the answer of 127.0.0.1:\(server.port) is larger than 1024 KiB"))
        }
    }

    @Test("an endless body is cut off")
    func endless() throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while peer.write("400\r\n" + String(repeating: "a", count: 1_024) + "\r\n") {}
        }
        #expect(failure(server) == refused("the answer of 127.0.0.1:\(server.port) is larger than 1024 KiB"))
    }

    @Test("a compressed answer is decompressed")
    func compressed() throws {
        // "hello" through gzip.
        let gzip: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0, 0x86, 0xA6, 0x10, 0x36, 5,
            0, 0, 0,
        ]
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(gzip.count)\r\n\r\n")
            peer.write(gzip)
        }
        let response = try CurlTransport().send(.json(server.url()), stage: .discovery)
        #expect(response.body == Array("hello".utf8))
        #expect(server.requests.first?.contains("Accept-Encoding: gzip, deflate\r\n") == true)
    }

    @Test("a compression bomb is cut off at 1 MiB of what it unfolds to", arguments: [1, 3])
    func bomb(layers: Int) throws {
        let bomb = DeflateBomb.gzip(repeats: 200_000)
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            let encodings = Array(repeating: "gzip", count: layers).joined(separator: ", ")
            let body =
                layers == 1 ? bomb : (1..<layers).reduce(bomb) { inner, _ in DeflateBomb.stored(inner) }
            peer.write(
                "HTTP/1.1 200 OK\r\nContent-Encoding: \(encodings)\r\nContent-Length: \(body.count)\r\n\r\n")
            peer.write(body)
        }
        #expect(bomb.count < 400_000)
        #expect(failure(server) == refused("the answer of 127.0.0.1:\(server.port) is larger than 1024 KiB"))
    }

    @Test("an answer that only claims to be compressed is refused")
    func damaged() throws {
        let server = try ScriptedServer.answering(
            answer("200 OK", "Content-Encoding: gzip", body: "{\"a\":1}"))
        #expect(failure(server) == refused("the answer of 127.0.0.1:\(server.port) cannot be decompressed"))
    }

    /// Header blocks without an end.
    enum Flood: String, CaseIterable {
        case longLine, manyLines, interim, folded
    }

    @Test("an endless header is cut off", arguments: Flood.allCases)
    func headerFlood(flood: Flood) throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            if flood != .interim { peer.write("HTTP/1.1 200 OK\r\nX: ") }
            let piece =
                switch flood {
                case .longLine: String(repeating: "a", count: 4_096)
                case .manyLines: "a\r\nX-\(String(repeating: "b", count: 999)): "
                case .interim: "HTTP/1.1 103 Early Hints\r\nX: \(String(repeating: "a", count: 999))\r\n\r\n"
                case .folded: "a\r\n " + String(repeating: "b", count: 999)
                }
            while peer.write(piece) {}
        }
        var configuration = CurlConfiguration()
        configuration.httpTimeout = .seconds(20)
        #expect(failure(server, configuration) == refused("the header of the answer is too large"))
    }

    @Test(
        "a TLS handshake of messages that count for nothing is ended (RFC 5246 §7.4.1.1)",
        arguments: [4_096, 1])
    func handshakeFlood(messages: Int) throws {
        // Records of HelloRequest messages, which OpenSSL passes over until the server's part of the handshake comes.
        let payload = [UInt8](repeating: 0, count: 4 * messages)
        let record = [0x16, 3, 3, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
        let block = Array(repeating: record, count: 65_536 / record.count).flatMap { $0 }
        let most = 64 << 20
        let sent = Mutex(0)
        let server = try ScriptedServer { peer in
            while sent.withLock({ $0 }) < most, peer.write(block) { sent.withLock { $0 += block.count } }
        }
        let url = try #require(WebURL("https://127.0.0.1:\(server.port)/"))
        let error = #expect(throws: OIDCError.self) {
            try CurlTransport().send(.json(url), stage: .discovery)
        }
        #expect(error?.kind == .unreachable, "\(String(describing: error))")
        #expect(sent.withLock { $0 } < most)
    }

    @Test(
        "messages after a TLS handshake that are no part of an answer end the connection if there are many",
        .enabled(if: TLSServers.areAvailable, "needs python3 and openssl to play the server"),
        arguments: [(2, true), (200, true), (3_000, false)])
    func ticketFlood(count: Int, isAnswered: Bool) throws {
        let servers = try #require(TLSServers.shared)
        let script = #"""
            import socket, ssl, sys, threading
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.load_cert_chain(sys.argv[1] + "/good.pem", sys.argv[1] + "/good.key")
            context.num_tickets = int(sys.argv[2])
            listener = socket.create_server(("127.0.0.1", 0))
            print(listener.getsockname()[1], flush=True)
            def serve():
                while True:
                    try:
                        with context.wrap_socket(listener.accept()[0], server_side=True) as s:
                            s.recv(65536)
                            s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                        print("answered", flush=True)
                    except OSError: print("cut", flush=True)
            threading.Thread(target=serve, daemon=True).start()
            sys.stdin.read()
            """#
        let server = try PythonServer(script, [servers.folder, String(count)])
        let url = try #require(WebURL("https://127.0.0.1:\(server.firstLine)/"))
        var configuration = CurlConfiguration()
        configuration.caFile = CurlConfiguration.CertificateAuthorities(
            path: servers.path("ca.pem"), name: "ca_file")
        // On the next connection, which resumes the session, the server sends one ticket.
        #expect(try CurlTransport(configuration).send(.json(url), stage: .discovery).status == 200)
        let end = MonotonicTime.now().adding(seconds: 60)
        while server.output.isEmpty, MonotonicTime.now() < end {
            Poll.sleep(until: .now().adding(milliseconds: 10))
        }
        #expect(server.output.first == (isAnswered ? "answered" : "cut"))
    }

    @Test("an answer with a transfer coding that no request asks for is refused (RFC 9112 §7.4)")
    func transferCoding() throws {
        let server = try ScriptedServer.answering(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")
        #expect(failure(server) == refused("the answer has a transfer coding that was not requested"))
    }

    @Test("no cipher is offered whose key exchange can be as slow as the server likes (RFC 9325 §4.1)")
    func slowCiphers() throws {
        let hello = Mutex<[UInt8]>([])
        let server = try ScriptedServer { peer in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(peer.descriptor, &buffer, buffer.count, 0)
            hello.withLock { $0 = Array(buffer[..<max(count, 0)]) }
        }
        let url = try #require(WebURL("https://127.0.0.1:\(server.port)/"))
        #expect(throws: OIDCError.self) { try CurlTransport().send(.json(url), stage: .discovery) }
        let bytes = hello.withLock { $0 }
        // RFC 5246 §7.4.1.2: the record's and the message's header, version, random, session ID, ciphers.
        try #require(bytes.count > 80 && bytes[0] == 22 && bytes[5] == 1)
        let start = 44 + Int(bytes[43])
        let end = start + 2 + Int(bytes[start]) << 8 + Int(bytes[start + 1])
        let ciphers = stride(from: start + 2, to: end, by: 2).map { Int(bytes[$0]) << 8 + Int(bytes[$0 + 1]) }
        #expect(ciphers.contains(0x1301) && ciphers.contains(0xC02F), "\(ciphers)")
        // DHE_RSA with AES, CAMELLIA, ARIA and ChaCha20.
        let slow = [0x33, 0x39, 0x45, 0x67, 0x6B, 0x88, 0x9E, 0x9F, 0xC052, 0xC053, 0xC09E, 0xC09F, 0xCCAA]
        #expect(ciphers.allSatisfy { !slow.contains($0) }, "\(ciphers)")
    }

    @Test(
        "an answer that is not HTTP is refused",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n", "220 mail.example ESMTP\r\n", "{\"issuer\":\"x\"}",
            "\u{15}\u{3}\u{3}\0\u{2}\u{2}F",
            "HTTP/1.1 abc OK\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1\r\n\r\n", "\r\n\r\n\r\n",
        ])
    func notHTTP(text: String) throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write(text)
        }
        #expect(
            failure(server)
                == refused(
                    "127.0.0.1:\(server.port) does not answer with HTTP",
                    hint: "check the host and the port"))
    }

    @Test(
        "an answer that ends in its header is incomplete: a later attempt may succeed",
        arguments: ["HTTP/1.1 200 OK\r\nContent-Ty", "HTTP/1.1 200 OK\r\n"])
    func cutHeader(text: String) throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write(text)
        }
        #expect(
            failure(server)
                == OIDCError(
                    .unreachable, "discovery: the answer from 127.0.0.1:\(server.port) is incomplete",
                    hint: .tryAgain(seconds: nil), stage: .discovery))
    }

    @Test("an empty answer to a GET counts as no answer")
    func empty() throws {
        let server = try ScriptedServer { peer in _ = peer.readRequest() }
        #expect(
            failure(server)
                == OIDCError(
                    .unreachable,
                    "discovery: 127.0.0.1:\(server.port) closed the connection without answering",
                    hint: .tryAgain(seconds: nil), stage: .discovery))
    }

    @Test(
        "a silent or slow answer ends with the request's time",
        arguments: ["", "HTTP/1.1 200 OK\r\n", "drip"])
    func slow(start: String) throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            if start != "drip" {
                peer.write(start)
                return peer.waitForEnd()
            }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while peer.write("a") { usleep(20_000) }
        }
        var configuration = CurlConfiguration()
        configuration.httpTimeout = .milliseconds(500)
        let begin = ContinuousClock.now
        #expect(
            failure(server, configuration)
                == OIDCError(
                    .unreachable, "discovery: no complete answer from 127.0.0.1:\(server.port) within 500 ms",
                    hint: .advice(.raiseHTTPTimeout), stage: .discovery))
        #expect(ContinuousClock.now - begin < .seconds(5))
    }

    @Test("a POST that got no answer in time may have been acted on")
    func slowPost() throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.waitForEnd()
        }
        var configuration = CurlConfiguration()
        configuration.httpTimeout = .milliseconds(500)
        #expect(
            throws: OIDCError(
                .unreachable,
                "token: no complete answer from 127.0.0.1:\(server.port) within 500 ms after the request was sent; "
                    + "the provider may have acted on it",
                hint: .advice(.raiseHTTPTimeout), stage: .token)
        ) { try CurlTransport(configuration).send(.form(server.url(), []), stage: .token) }
    }

    @Test("the deadline of the sign-in ends a request with its own kind of error")
    func deadline() throws {
        let server = try ScriptedServer { peer in peer.waitForEnd() }
        let transport = CurlTransport().bounded(by: .now().adding(milliseconds: 200))
        let expected = OIDCError(
            .timedOut, "token: timed out waiting for 127.0.0.1:\(server.port)",
            stage: .token)
        #expect(throws: expected) { try transport.send(.form(server.url(), []), stage: .token) }
        let count = server.connectionCount
        #expect(throws: expected) { try transport.send(.form(server.url(), []), stage: .token) }
        #expect(server.connectionCount == count)
    }

    @Test("an interrupted request ends at once, and nothing more is sent")
    func cancelled() throws {
        let server = try ScriptedServer { peer in peer.waitForEnd() }
        let start = ContinuousClock.now
        var configuration = CurlConfiguration()
        configuration.isCancelled = { ContinuousClock.now - start > .milliseconds(200) }
        let transport = CurlTransport(configuration)
        let expected = OIDCError(
            .interrupted, "token: interrupted while waiting for 127.0.0.1:\(server.port)", stage: .token)
        #expect(throws: expected) { try transport.send(.form(server.url(), []), stage: .token) }
        #expect(ContinuousClock.now - start < .seconds(2))
        #expect(throws: expected) { try transport.send(.form(server.url(), []), stage: .token) }
        #expect(server.connectionCount == 1)
    }

    @Test("a pause before a repeat is interrupted too")
    func cancelledPause() throws {
        let server = try ScriptedServer.answering(answer("503 X", "Retry-After: 5"))
        let start = ContinuousClock.now
        var configuration = CurlConfiguration()
        configuration.isCancelled = { ContinuousClock.now - start > .milliseconds(200) }
        #expect(failure(server, configuration)?.kind == .interrupted)
        #expect(ContinuousClock.now - start < .seconds(2))
    }

    @Test("a host that does not exist is reported as not found")
    func noHost() throws {
        var configuration = CurlConfiguration()
        configuration.pause = { _ in }
        configuration.proxy = .none
        let url = try #require(WebURL("https://nobody.invalid/x?secret"))
        #expect(
            throws: OIDCError(
                .unreachable, "discovery: cannot resolve host nobody.invalid",
                hint: "check the name, and this machine's network and DNS", stage: .discovery)
        ) { try CurlTransport(configuration).send(.json(url), stage: .discovery) }
    }
}
