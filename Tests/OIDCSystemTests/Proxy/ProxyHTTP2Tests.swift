@testable import CurlHTTP
import Foundation
import OIDCCore
@testable import OIDCProxy
import TestSupport
import Testing

@Suite(
    "the proxy and servers that speak HTTP/2", .serialized, .waitingLong,
    .enabled(if: TLSServers.areAvailable, "needs python3 and openssl to play the server"))
struct ProxyHTTP2Tests {
    typealias Step = HTTP2Server.Step

    private func world(
        _ server: HTTP2Server, _ change: (inout ProxyServer.Configuration) -> Void = { _ in }
    ) throws -> ProxyWorld {
        let authorities = try #require(TLSServers.shared).path("ca.pem")
        return try ProxyWorld([server.url]) {
            $0.curl.caFile = CurlConfiguration.CertificateAuthorities(path: authorities)
            change(&$0)
        }
    }

    private let ok = Step.fields([(":status", "200")])

    private func body(_ reply: String) -> String {
        reply.range(of: "\r\n\r\n").map { String(reply[$0.upperBound...]) } ?? ""
    }

    @Test("answers have a reason phrase and a framing of HTTP/1.1, and all their fields")
    func answer() throws {
        let server = try HTTP2Server([
            [
                .fields([(":status", "200"), ("content-length", "5"), ("x-one", "1"), ("set-cookie", "a=b")]),
                .data("hello", ends: true),
            ], [ok, .data("hel"), .data("lo", ends: true)],
            [ok, .data("hello"), .fields([("x-late", "1")], ends: true)],
            [.fields([(":status", "204")], ends: true)],
            [.fields([(":status", "404"), ("content-length", "0")], ends: true)],
        ])
        let world = try world(server)
        var reply = try world.exchange()
        #expect(reply.hasPrefix("HTTP/1.1 200 OK\r\n") && reply.hasSuffix("\r\n\r\nhello"), "\(reply)")
        #expect(reply.contains("x-one: 1\r\n") && reply.contains("Content-Length: 5\r\n"))
        for _ in 0..<2 {
            reply = try world.exchange()
            #expect(reply.contains("Transfer-Encoding: chunked\r\n"), "\(reply)")
            #expect(body(reply).hasSuffix("0\r\n\r\n") && !reply.contains("x-late"), "\(reply)")
        }
        #expect(try world.exchange().hasPrefix("HTTP/1.1 204 No Content\r\n"))
        #expect(try world.exchange().hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        #expect(server.count("connection") == 1)
    }

    @Test("interim answers are not passed on; an event of a stream is, as it comes")
    func stream() throws {
        let server = try HTTP2Server([
            [.fields([(":status", "103"), ("link", "</a>")]), ok, .data("one", ends: true)],
            [ok, .data("first")],
        ])
        let world = try world(server)
        let reply = try world.exchange()
        #expect(reply.hasPrefix("HTTP/1.1 200 OK\r\n") && !reply.contains("/a"), "\(reply)")
        func leaveAfterFirst() throws {
            let connection = try world.connect()
            connection.send(world.head("GET"))
            #expect(connection.received(until: "first").contains("5\r\nfirst\r\n"))
        }
        try leaveAfterFirst()
        // The server hears that the caller left.
        #expect(server.wait(for: "end"), "\(server.events)")
    }

    @Test(
        "an answer that breaks off is broken for the caller too",
        arguments: [
            [.reset(2)], [.reset(8)], [.close], [.goAway(handlesThis: true), .close],
            [.goAway(handlesThis: false), .close],
        ] as [[Step]])
    func brokenOff(end: [Step]) throws {
        for fields in [[(":status", "200")], [(":status", "200"), ("content-length", "9")]] {
            let server = try HTTP2Server([[.fields(fields), .data("part")] + end])
            let world = try world(server)
            let reply = try world.exchange()
            #expect(reply.contains("part") && !reply.hasSuffix("0\r\n\r\n"), "\(reply)")
            #expect(RawConnection.status(reply) == 200)
        }
    }

    @Test(
        "a stream that ends before the answer is 502; what may have been acted on is not sent twice",
        arguments: [[.reset(2)], [.close], [.goAway(handlesThis: true), .close]] as [[Step]])
    func noAnswer(end: [Step]) throws {
        let server = try HTTP2Server([end])
        let world = try world(server)
        let reply = try world.exchange("POST", "", ["Content-Length: 2"], body: "{}")
        #expect(RawConnection.status(reply) == 502, "\(reply)")
        #expect(server.count("request") == 1)
    }

    @Test("a request that the server refused to handle is sent again on another connection")
    func refused() throws {
        for end in [[Step.reset(7)], [.goAway(handlesThis: false), .close]] {
            let server = try HTTP2Server([end, [ok, .data("hello", ends: true)]])
            let world = try world(server)
            let reply = try world.exchange()
            #expect(reply.contains("hello"), "\(reply)")
            #expect(server.count("connection") == 2)
        }
    }

    @Test(
        "an answer with a length is broken too if its stream ends early without an error",
        arguments: [[.data("part"), .reset(0)], [.data("part", ends: true)]] as [[HTTP2Server.Step]])
    func early(steps: [HTTP2Server.Step]) throws {
        let server = try HTTP2Server([[.fields([(":status", "200"), ("content-length", "9")])] + steps])
        let world = try world(server)
        let reply = try world.exchange()
        // Less than the length says, even nothing if the end is seen with the header.
        let body = reply.components(separatedBy: "\r\n\r\n").last ?? ""
        #expect("part".hasPrefix(body) || RawConnection.status(reply) == 502, "\(reply)")
    }

    @Test(
        "fields that HTTP/2 does not allow are refused",
        arguments: [
            ("connection", "close"), ("transfer-encoding", "chunked"), ("x-a", "b\r\nset-cookie: c"),
            (":status", "101"),
        ])
    func malformed(name: String, value: String) throws {
        var fields = [(":status", "200"), (name, value)]
        if name == ":status" { fields.removeFirst() }
        let server = try HTTP2Server([[.fields(fields), .data("x", ends: true)]])
        let world = try world(server)
        let reply = try world.exchange()
        #expect(RawConnection.status(reply) == 502, "\(reply)")
        #expect(!reply.contains("set-cookie"))
    }

    @Test("after GOAWAY the answer is completed, and the next request has a connection of its own")
    func goAway() throws {
        let server = try HTTP2Server([
            [.goAway(handlesThis: true), ok, .data("one", ends: true)], [ok, .data("two", ends: true)],
        ])
        let world = try world(server)
        #expect(try world.exchange().contains("one"))
        #expect(try world.exchange().contains("two"))
        #expect(server.count("connection") == 2)
    }

    @Test("bodies of requests arrive as they were sent, with and without a length, however slowly")
    func upload() throws {
        let server = try HTTP2Server([[.request, ok, .data("got it", ends: true)]])
        let world = try world(server)
        let text = String(repeating: "x", count: 300_000)
        var reply = try world.exchange("PUT", "", ["Content-Length: \(text.utf8.count)"], body: text)
        #expect(reply.contains("got it"), "\(reply)")
        reply = try world.exchange(
            "POST", "", ["Transfer-Encoding: chunked"], body: "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")
        #expect(reply.contains("got it"), "\(reply)")
        let connection = try world.connect()
        connection.send(world.head("POST", "", "Transfer-Encoding: chunked"))
        #expect(server.wait(for: "request", times: 3))
        for part in ["3\r\nabc\r\n", "4\r\ndefg\r\n", "0\r\n\r\n"] {
            connection.send(part)
            usleep(20_000)
        }
        #expect(connection.received(until: "got it").contains("got it"))
        reply = try world.exchange("POST", "", ["Content-Length: 2", "Expect: 100-continue"], body: "{}")
        #expect(reply.contains("got it"), "\(reply)")
        #expect(
            server.events.filter { $0.hasPrefix("body") } == ["body 300000", "body 11", "body 7", "body 2"])
    }

    @Test(
        "a body that does not arrive whole is in no other request: each stream has its own",
        arguments: ["200", "417", "500"])
    func partialBody(status: String) throws {
        let early: [Step] = [
            .fields([(":status", status), ("content-length", "5")]), .data("early", ends: true),
        ]
        let server = try HTTP2Server([early, [.request, ok, .data("hello", ends: true)]])
        let world = try world(server)
        func leaveEarly() throws {
            let caller = try world.connect()
            caller.send(world.head("PUT", "x", "Content-Length: 100000", "Expect: 100-continue"))
            #expect(caller.received(until: "early").contains("early"))
            caller.send(String(repeating: "a", count: 50_000))
        }
        try leaveEarly()
        for _ in 0..<2 {
            #expect(try world.exchange("POST", "y", ["Content-Length: 2"], body: "{}").contains("hello"))
        }
        #expect(server.count("request") == 3)
        let bodies = server.events.filter { $0.hasPrefix("body") && $0 != "body 0" }
        #expect(bodies == ["body 2", "body 2"], "\(server.events)")
    }

    @Test("a body that the server has answered and takes no more of ends with the answer and leaves nothing")
    func answeredEarly() throws {
        let early: [Step] = [
            .fields([(":status", "200"), ("content-length", "5")]), .data("early", ends: true), .stall,
        ]
        let server = try HTTP2Server([early, early, early, [.request, ok, .data("hello", ends: true)]])
        let world = try world(server)
        let body = String(repeating: "a", count: 300_000)
        for number in 1...3 {
            let reply = try world.exchange("POST", "x", ["Content-Length: \(body.utf8.count)"], body: body)
            #expect(reply.hasSuffix("\r\n\r\nearly"), "\(reply)")
            #expect(reply.contains("Connection: close\r\n"), "the next request would be lost: \(reply)")
            // The connection is closed, and not kept for a body that nobody takes.
            #expect(server.wait(for: "end", times: number), "\(server.events)")
        }
        #expect(try world.exchange("POST", "y", ["Content-Length: 2"], body: "{}").contains("hello"))
    }

    @Test(
        "an error that is answered before the whole body was sent ends, although libcurl does not see its end",
        arguments: [
            ("413", []), ("413", [("content-length", "0")]), ("304", []), ("304", [("content-length", "5")]),
            ("401", []),
        ] as [(String, [(String, String)])])
    func earlyError(status: String, fields: [(String, String)]) throws {
        let server = try HTTP2Server([[.stall, .fields([(":status", status)] + fields, ends: true)]])
        let world = try world(server)
        // The second fits into what libcurl takes before it sends it.
        for (number, size) in [300_000, 100_000].enumerated() {
            let text = String(repeating: "a", count: size)
            let reply =
                number == 0
                ? try world.exchange("POST", "x", ["Content-Length: \(size)"], body: text)
                : try world.exchange(
                    "POST", "x", ["Transfer-Encoding: chunked"],
                    body: "\(String(size, radix: 16))\r\n\(text)\r\n0\r\n\r\n")
            #expect(RawConnection.status(reply) == Int(status), "\(reply)")
            #expect(body(reply).isEmpty && reply.contains("Connection: close\r\n"), "\(reply)")
        }
        #expect(server.wait(for: "end", times: 2), "\(server.events)")
    }

    @Test("a token that is refused before the whole body was sent is replaced, and the request sent again")
    func earlyRefusal() throws {
        let server = try HTTP2Server([
            [.stall, .fields([(":status", "401")], ends: true)],
            [.request, ok, .data("in", ends: true)],
        ])
        let world = try world(server)
        let caller = try world.connect()
        caller.send(world.head("POST", "x", "Content-Length: 10"))
        caller.send("01234")
        #expect(server.wait(for: "end"), "\(server.events)")
        caller.send("56789")
        #expect(caller.received(until: "in\r\n").contains("in\r\n"))
        #expect(server.events.contains("body 10"))
    }

    @Test("a server that gives up the connection after an early error does not cost the caller its answer")
    func earlyErrorThenClose() throws {
        let server = try HTTP2Server([
            [.stall, .fields([(":status", "413")]), .data("early"), .request, .close]
        ])
        let world = try world(server)
        let text = String(repeating: "a", count: 300_000)
        let caller = try world.connect()
        caller.send(world.head("POST", "x", "Content-Length: \(text.utf8.count)") + text)
        #expect(caller.received(until: "early").hasSuffix("early"))
        #expect(caller.waitForEnd(within: 60) == .closed)
    }

    @Test("an error with a body that is answered early is passed on whole")
    func earlyErrorBody() throws {
        let server = try HTTP2Server([
            [.stall, .fields([(":status", "413")]), .data("too", times: 2, ends: true)],
            [.stall, .fields([(":status", "413"), ("content-length", "6")]), .data("large!", ends: true)],
        ])
        let world = try world(server)
        let text = String(repeating: "a", count: 300_000)
        for expected in ["tootoo", "large!"] {
            let reply = try world.exchange("POST", "x", ["Content-Length: \(text.utf8.count)"], body: text)
            #expect(body(reply) == expected, "\(reply)")
        }
    }

    @Test(
        "a whole answer after which the server ends the stream without an error is whole (RFC 9113 §8.1)",
        arguments: ["200", "413"])
    func endedWithoutError(status: String) throws {
        func server(_ code: Int) throws -> HTTP2Server {
            try HTTP2Server([
                [.stall, .fields([(":status", status)]), .data("early", ends: true), .reset(code)]
            ])
        }
        let text = String(repeating: "a", count: 300_000)
        let fields = ["Content-Length: \(text.utf8.count)"]
        let (good, broken) = (try server(0), try server(1))
        let reply = try world(good).exchange("POST", "x", fields, body: text)
        #expect(body(reply).hasSuffix(status == "200" ? "5\r\nearly\r\n0\r\n\r\n" : "early"), "\(reply)")
        #expect(!body(try world(broken).exchange("POST", "x", fields, body: text)).hasSuffix("0\r\n\r\n"))
    }

    @Test(
        "an answer with all its bytes is whole if its stream is reset without an error, before or after END_STREAM",
        arguments: [
            ("200", "5", [.data("early")]), ("200", "5", [.data("early", ends: true)]),
            ("200", nil, [.data("early", ends: true)]), ("413", "0", []), ("413", nil, []), ("204", nil, []),
        ] as [(String, String?, [Step])])
    func resetWithoutError(status: String, length: String?, data: [Step]) throws {
        let fields = [(":status", status)] + (length.map { [("content-length", $0)] } ?? [])
        let answer = [Step.fields(fields, ends: data.isEmpty)] + data + [.reset(0)]
        let server = try HTTP2Server([answer, [.stall] + answer, [ok, .data("next", ends: true)]])
        let world = try world(server)
        let text = String(repeating: "a", count: 300_000)
        for sent in ["", text] {
            let reply =
                sent.isEmpty
                ? try world.exchange()
                : try world.exchange("POST", "x", ["Content-Length: \(sent.utf8.count)"], body: sent)
            #expect(RawConnection.status(reply) == Int(status), "\(reply)")
            let whole = data.isEmpty ? "" : "early"
            let chunked = (data.isEmpty ? "" : "5\r\nearly\r\n") + "0\r\n\r\n"
            #expect(body(reply) == (reply.contains("chunked") ? chunked : whole), "\(reply)")
        }
        #expect(try world.exchange("GET", "y").contains("next"))
    }

    @Test("a body whose last byte is not taken keeps no processor busy, and the next request is served")
    func lastByte() throws {
        let early: [Step] = [
            .stall, .fields([(":status", "200"), ("content-length", "2")]), .data("ok", ends: true),
        ]
        let server = try HTTP2Server([early, [ok, .data("next", ends: true)]])
        let world = try world(server) { $0.idleTimeout = 1_000 }
        let caller = try world.connect()
        let text = String(repeating: "a", count: 65_536)
        caller.send(world.head("POST", "x", "Transfer-Encoding: chunked"))
        caller.send("10000\r\n\(text)\r\n0\r\n\r\n")
        let reply = caller.received(until: "\r\n\r\nok")
        #expect(reply.hasSuffix("\r\n\r\nok"))
        // The answer may come before the proxy has the whole body.
        if reply.contains("Connection: close") {
            #expect(try world.exchange("GET", "y").contains("next"))
        } else {
            caller.send(world.head("GET", "y"))
            #expect(caller.received(until: "0\r\n\r\n", within: 5).contains("next"))
        }
        #expect(world.finish() == .idle && world.processorTime() < .milliseconds(500))
    }

    @Test(
        "the end of an answer that comes while the body is still sent is not overlooked",
        arguments: [5, 65_536])
    func endWhileSending(size: Int) throws {
        let server = try HTTP2Server([[ok, .data("early", ends: true)]])
        let world = try world(server)
        let text = String(repeating: "a", count: size)
        for _ in 0..<20 {
            let reply = try world.exchange("POST", "x", ["Content-Length: \(size)"], body: text)
            #expect(reply.hasSuffix("early\r\n0\r\n\r\n"), "\(reply)")
        }
    }

    @Test("an answer without a body, to a body that is not taken, ends soon")
    func answeredWithoutBody() throws {
        let server = try HTTP2Server([
            [.stall, .fields([(":status", "200"), ("content-length", "0")], ends: true)]
        ])
        let world = try world(server)
        let text = String(repeating: "a", count: 300_000)
        let reply = try world.exchange("POST", "x", ["Content-Length: \(text.utf8.count)"], body: text)
        #expect(reply.contains("Content-Length: 0\r\n") && body(reply).isEmpty, "\(reply)")
        #expect(server.wait(for: "end"), "\(server.events)")
    }

    @Test("a server that takes no body and does not answer costs no time of the processor until it does")
    func closedWindow() throws {
        let server = try HTTP2Server([[.stall, .request, ok, .data("done", ends: true)]])
        let world = try world(server) {
            $0.timeout = 2_000
            // From the proxy's start, too: a busy machine may take its time to connect.
            $0.idleTimeout = 3_000
        }
        let body = String(repeating: "a", count: 300_000)
        let reply = try world.exchange("POST", "x", ["Content-Length: \(body.utf8.count)"], body: body)
        #expect(RawConnection.status(reply) == 504, "\(reply)")
        #expect(world.finish() == .idle && world.processorTime() < .milliseconds(500))
    }

    @Test("an answer that does not say where it ends, to a body that is not taken, ends with the time limit")
    func answeredWithoutEnd() throws {
        let server = try HTTP2Server([[ok, .data("early"), .stall]])
        let world = try world(server) { $0.timeout = 500 }
        let body = String(repeating: "a", count: 300_000)
        let reply = try world.exchange("POST", "x", ["Content-Length: \(body.utf8.count)"], body: body)
        #expect(reply.contains("early") && !reply.hasSuffix("0\r\n\r\n"), "\(reply)")
        #expect(server.wait(for: "end"), "\(server.events)")
    }

    @Test(
        "nor is a caller held whose whole body libcurl has, although the server does not take its last byte")
    func answeredWithoutLength() throws {
        let server = try HTTP2Server([[.stall, ok, .data("early", ends: true)]])
        let world = try world(server) { $0.timeout = 500 }
        let body = String(repeating: "a", count: 65_536)
        let reply = try world.exchange("POST", "x", ["Content-Length: \(body.utf8.count)"], body: body)
        #expect(reply.contains("early"), "\(reply)")
        #expect(server.wait(for: "end"), "\(server.events)")
    }

    @Test("after HEAD the connection is used again: streams keep the answers apart")
    func head() throws {
        let server = try HTTP2Server([
            [.fields([(":status", "200"), ("content-length", "5")], ends: true)],
            [ok, .data("in", ends: true)],
        ])
        let world = try world(server)
        #expect(try world.exchange("HEAD").contains("Content-Length: 5\r\n"))
        #expect(try world.exchange().contains("in"))
        #expect(server.count("connection") == 1)
    }

    @Test("a refused token is replaced, and the request sent again on the same connection")
    func token() throws {
        let server = try HTTP2Server([
            [.fields([(":status", "401"), ("www-authenticate", "Bearer")], ends: true)],
            [ok, .data("in", ends: true)],
        ])
        let world = try world(server)
        #expect(try world.exchange().contains("in"))
        #expect(world.tokens.requests == 2 && server.count("connection") == 1)
    }

    @Test(
        "a server that sends frames without an end is given up, and the callers of others are served meanwhile",
        arguments: [
            (2, [0, 0, 0, 0, 16], false), (8, [0, 0, 0, 1], true), (10, [0, 0, 0x78], true),
            (99, [], false),
        ] as [(Int, [UInt8], Bool)])
    func flood(type: Int, payload: [UInt8], isOnUsedConnection: Bool) throws {
        let flood = [Step.flood(type: type, payload: payload)]
        let first = [ok, Step.data("one", ends: true)]
        let hostile = try HTTP2Server(isOnUsedConnection ? [first, flood] : [flood])
        let other = try HTTP2Server([[ok, .data("hello", ends: true)]])
        let authorities = try #require(TLSServers.shared).path("ca.pem")
        let world = try ProxyWorld([hostile.url, other.url]) {
            $0.curl.caFile = CurlConfiguration.CertificateAuthorities(path: authorities)
            // A server on a busy machine may be slower than the proxy: then its time is over.
            $0.timeout = 5_000
        }
        if isOnUsedConnection { #expect(try world.exchange().contains("one")) }
        let caller = try world.connect()
        caller.send(world.head("GET"))
        #expect(hostile.wait(for: "flood"))
        #expect(try world.exchange(route: 1, within: 30).contains("hello"))
        let reply = caller.received(until: "}", within: 60)
        #expect([502, 504].contains(RawConnection.status(reply)), "\(reply)")
    }

    @Test("a caller that does not read stops its own stream after a few MiB, and no other")
    func backPressure() throws {
        let piece = String(repeating: "x", count: 16_000)
        let server = try HTTP2Server([
            [ok, .data(piece, times: 4_000, ends: true)], [ok, .data("hello", ends: true)],
        ])
        let world = try world(server)
        let slow = try world.connect()
        slow.send(world.head("GET"))
        let first = slow.received(until: "200 OK")
        #expect(first.contains("200 OK"))
        for _ in 0..<20 { #expect(try world.exchange().contains("hello")) }
        // The window of the stream bounds what is taken, and the others have a connection of their own.
        #expect(server.count("done") == 20 && server.count("connection") == 2)
        var count = first.utf8.count
        while count < 64_000_000, let part = slow.receivedOnce(within: 60), !part.isEmpty {
            count += part.utf8.count
        }
        #expect(count >= 64_000_000)
    }
}
