@testable import CurlHTTP
import Foundation
import OIDCCore
@testable import OIDCProxy
import TestSupport
import Testing

/// A server that speaks HTTP/1.1 over TLS. In the answer to `/excess…`, another one follows within the last TLS record. That
/// to `/false…` claims to be of another version.
private final class ExcessServer: Sendable {
    let url: WebURL
    private let server: PythonServer

    init() throws {
        let servers = try #require(TLSServers.shared)
        server = try PythonServer(ExcessServer.script, [servers.folder])
        url = try #require(WebURL("https://127.0.0.1:\(server.firstLine)/"))
    }

    /// The number of connections so far.
    var connectionCount: Int { server.output.count }

    private static let script = #"""
        import gzip, socket, ssl, sys, threading, time
        extra = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
        text = b"a" * 12000
        def chunked(body): return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        def talk(raw):
            try:
                with context.wrap_socket(raw, server_side=True) as s:
                    print("connection", flush=True)
                    while True:
                        head = b""
                        while b"\r\n\r\n" not in head:
                            more = s.recv(65536)
                            if not more: return
                            head += more
                        path = head.split()[1]
                        end = extra if b"/excess" in path or b"/false" in path else b""
                        version = b"HTTP/2" if b"/false" in head else b"HTTP/1.1"
                        def send(head, body, pause):
                            s.sendall(version + b" 200 OK\r\n" + head + b"\r\n\r\n" + (b"" if pause else body))
                            if pause:
                                time.sleep(0.05)
                                s.sendall(body)
                        if b"length" in path: send(b"Content-Length: 12000", text + end, True)
                        elif b"chunked" in path: send(b"Transfer-Encoding: chunked", chunked(text) + end, True)
                        elif b"once" in path: send(b"Content-Length: 12000", text + end, False)
                        elif b"zipped" in path:
                            body = gzip.compress(text)
                            send(b"Content-Encoding: gzip\r\nContent-Length: %d" % len(body), body[:-4], True)
                            time.sleep(0.05)
                            s.sendall(body[-4:] + end)
                        else: send(b"Content-Length: 5", b"hello", False)
            except OSError: pass
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1] + "/good.pem", sys.argv[1] + "/good.key")
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        def serve():
            while True: threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()
        threading.Thread(target=serve, daemon=True).start()
        sys.stdin.read()
        """#
}

@Suite(
    "bytes that a server sends over TLS after its answer", .serialized, .waitingLong,
    .enabled(if: TLSServers.areAvailable, "needs python3 and openssl to play the server"))
struct ProxyTLSTests {
    private static let kinds = ["length", "once", "chunked", "zipped"]

    private var curl: CurlConfiguration {
        get throws {
            var curl = CurlConfiguration()
            curl.caFile = CurlConfiguration.CertificateAuthorities(
                path: try #require(TLSServers.shared).path("ca.pem"))
            curl.isCancelled = { false }
            return curl
        }
    }

    private func world(_ server: ExcessServer) throws -> ProxyWorld {
        let authorities = try curl.caFile
        return try ProxyWorld([server.url]) { $0.curl.caFile = authorities }
    }

    @Test("they are not the answer to the next caller (RFC 9112 §9.2)", arguments: kinds)
    func excess(kind: String) throws {
        let server = try ExcessServer()
        let world = try world(server)
        for _ in 0..<3 {
            let reply = try world.exchange("GET", "excess-\(kind)")
            #expect(reply.hasPrefix("HTTP/1.1 200 ") && !reply.contains("poison"))
            #expect(try world.exchange("GET", "next").hasSuffix("\r\n\r\nhello"))
        }
    }

    @Test("they are not the answer to the program's next call", arguments: kinds)
    func call(kind: String) throws {
        let server = try ExcessServer()
        let transport = CurlTransport(try curl)
        for _ in 0..<3 {
            let url = try #require(WebURL("\(server.url.text)excess-\(kind)"))
            #expect(try transport.send(HTTPRequest(.get, url), stage: .discovery).body.count == 12_000)
            let next = try transport.send(HTTPRequest(.get, server.url), stage: .discovery)
            #expect(String(decoding: next.body, as: UTF8.self) == "hello")
        }
    }

    @Test(
        "an answer that claims to be of HTTP/2 on a connection of HTTP/1.1 is refused (RFC 9112 §2.3)",
        arguments: kinds + ["short"])
    func falseVersion(kind: String) throws {
        let server = try ExcessServer()
        let world = try world(server)
        let transport = CurlTransport(try curl)
        let url = try #require(WebURL("\(server.url.text)false-\(kind)"))
        for _ in 0..<3 {
            let reply = try world.exchange("GET", "false-\(kind)")
            #expect(reply.hasPrefix("HTTP/1.1 502 ") && reply.contains("does not answer with HTTP"))
            #expect(try world.exchange("GET", "next").hasSuffix("\r\n\r\nhello"))
            let error = #expect(throws: OIDCError.self) {
                try transport.send(HTTPRequest(.get, url), stage: .discovery)
            }
            #expect(error?.message == "discovery: \(url.hostAndPort) does not answer with HTTP")
            let next = try transport.send(HTTPRequest(.get, server.url), stage: .discovery)
            #expect(String(decoding: next.body, as: UTF8.self) == "hello")
        }
    }

    @Test("without them, the connection is used again", arguments: kinds + ["short"])
    func kept(kind: String) throws {
        let server = try ExcessServer()
        let world = try world(server)
        for _ in 0..<5 { _ = try world.exchange("GET", kind) }
        #expect(server.connectionCount == 1)
        let transport = CurlTransport(try curl)
        let url = try #require(WebURL("\(server.url.text)\(kind)"))
        for _ in 0..<5 { _ = try transport.send(HTTPRequest(.get, url), stage: .discovery) }
        #expect(server.connectionCount == 2)
    }
}
