@testable import CurlHTTP
import OIDCCore
import TestSupport
import Testing

@Suite("a request whose status and headers suffice")
struct CurlHeadTests {
    private func send(_ server: ScriptedServer, _ transport: CurlTransport) throws -> HTTPResponse {
        var request = HTTPRequest.json(server.url())
        request.needsOnlyHead = true
        return try transport.send(request, stage: .resource)
    }

    private static let heads = [
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n",
        "HTTP/1.1 401 Unauthorized\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n",
        "HTTP/1.1 200 OK\r\n", "HTTP/1.1 404 Not Found\r\nContent-Length: 70000\r\n",
    ]

    @Test("a body that may never end is not waited for", arguments: heads)
    func stream(head: String) throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("\(head)X-A: b\r\n\r\n: ping\n\n")
            // Ends when the client does.
            _ = peer.readRequest()
        }
        let response = try send(server, CurlTransport())
        #expect(
            response.status == (Int(head.split(separator: " ")[1]) ?? 0) && response.headers["X-A"] == "b")
    }

    @Test("an answer that breaks off or is too large is one, all the same")
    func broken() throws {
        let size = CurlTransport.bodyLimit + 1
        for body in [
            "1\r\na\r\nzz",
            String(repeating: "8000\r\n\(String(repeating: "a", count: 32_768))\r\n", count: 40),
        ] {
            let server = try ScriptedServer { peer in
                guard peer.readRequest() != nil else { return }
                peer.write("HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n\(body)")
            }
            let response = try send(server, CurlTransport())
            #expect(response.status == 401 && response.headers["X-A"] == "b" && response.body.count < size)
        }
    }

    @Test("a short body is read, so the connection serves the next request")
    func reused() throws {
        let server = try ScriptedServer { peer in
            while peer.readRequest() != nil { peer.write(answer("401 Unauthorized", "X-A: b", body: "no")) }
        }
        let transport = CurlTransport()
        for _ in 1...2 { #expect(try send(server, transport).body == Array("no".utf8)) }
        #expect(server.connectionCount == 1)
    }

    @Test("a body that a server sends after HEAD is not the answer to the next request (RFC 9112 §6.3)")
    func strayBody() throws {
        let server = try ScriptedServer { peer in
            var stray = ""
            while let request = peer.readRequest() {
                let isHead = request.hasPrefix("HEAD ")
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 43\r\n\r\n"
                peer.write(isHead ? head : stray + answer("200 OK", body: "hello"))
                stray = isHead ? answer("200 OK", body: "stray") : ""
            }
        }
        let transport = CurlTransport()
        for method in [HTTPMethod("HEAD"), .get] {
            let response = try transport.send(HTTPRequest(method, server.url()), stage: .resource)
            #expect(String(decoding: response.body, as: UTF8.self) == (method == .get ? "hello" : ""))
        }
        #expect(server.connectionCount == 2)
    }

    @Test("without a head there is no answer")
    func noHead() throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nX-A")
        }
        #expect(throws: OIDCError.self) { try send(server, CurlTransport()) }
    }
}
