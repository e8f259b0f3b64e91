@testable import LoopbackHTTP
import OIDCCore
import Testing

@Suite("HTTP/1.1 requests")
struct HTTP1Tests {
    private func parse(_ bytes: [UInt8], pieces: Int) -> [HTTP1.RequestParser.Outcome] {
        var parser = HTTP1.RequestParser()
        var outcomes: [HTTP1.RequestParser.Outcome] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            parser.feed(Array(rest.prefix(pieces)))
            rest = rest.dropFirst(pieces)
            reading: while true {
                let outcome = parser.next()
                if case .needsMore = outcome { break reading }
                outcomes.append(outcome)
                if case .rejected = outcome { return outcomes }
            }
        }
        return outcomes
    }

    private func parse(_ text: String) -> [HTTP1.RequestParser.Outcome] {
        parse(Array(text.utf8), pieces: .max)
    }

    private func status(_ text: String) -> Int? {
        if case .rejected(let rejection) = parse(text).last { rejection.status } else { nil }
    }

    static let callback = "GET /callback?code=a&state=b HTTP/1.1\r\nHost: 127.0.0.1:1\r\nX-A:  b c \t\r\n\r\n"

    @Test("a request is its parts, exactly as sent")
    func request() throws {
        let expected = HTTPServerRequest(
            .get, "/callback?code=a&state=b", headers: HTTPHeaders([("Host", "127.0.0.1:1"), ("X-A", "b c")]))
        #expect(parse(HTTP1Tests.callback) == [.request(expected)])
        #expect(expected.path == "/callback")
        #expect(expected.query == "code=a&state=b")
        #expect(HTTPServerRequest(.get, "/%2e%2e/?").path == "/%2e%2e/")
        #expect(HTTPServerRequest(.get, "/x?").query == "")
        #expect(HTTPServerRequest(.get, "/x").query == nil)
        #expect(
            expected.request(to: "http://127.0.0.1:1")?.url.text
                == "http://127.0.0.1:1/callback?code=a&state=b")
    }

    @Test("a body is as long as Content-Length says, and the next request starts after it")
    func body() {
        let text =
            "POST /callback HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\na=b&cGET / HTTP/1.0\r\n\r\n"
        let headers = HTTPHeaders([("Host", "a"), ("Content-Length", "5")])
        #expect(
            parse(text) == [
                .request(HTTPServerRequest(.post, "/callback", headers: headers, body: Array("a=b&c".utf8))),
                .request(HTTPServerRequest(.get, "/", minorVersion: 0)),
            ])
    }

    @Test("a few empty lines before a request are passed over, many are not")
    func emptyLines() {
        #expect(parse("\r\n\r\n" + HTTP1Tests.callback).count == 1)
        #expect(status("\r\n\r\n\r\n\r\n\r\n" + HTTP1Tests.callback) == 400)
    }

    @Test(
        "a malformed request is rejected",
        arguments: [
            ("bare LF in the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", 400),
            ("bare LF in a header", "GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
            ("bare LF at the end", "GET / HTTP/1.1\r\nHost: a\r\n\n", 400),
            ("bare CR", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400),
            ("NUL in the target", "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("NUL in a header", "GET / HTTP/1.1\r\nHost: a\0\r\n\r\n", 400),
            ("escape in a header", "GET / HTTP/1.1\r\nHost: a\u{1B}\r\n\r\n", 400),
            ("tab in the request line", "GET /\tHTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("non-ASCII target", "GET /é HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("space at the end", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
            ("no version", "GET /\r\nHost: a\r\n\r\n", 400),
            ("another version", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 400),
            ("long version", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400),
            ("version in lower case", "GET / http/1.1\r\nHost: a\r\n\r\n", 400),
            ("method with a colon", "G:T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("empty method", " / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("endless method", String(repeating: "G", count: 40) + " / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("absolute form", "GET http://127.0.0.1/callback HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("authority form", "CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("asterisk form", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("fragment", "GET /#x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
            ("TLS hello", "\u{16}\u{03}\u{01}\u{02}\0", 400),
            ("no Host", "GET / HTTP/1.1\r\n\r\n", 400),
            ("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", 400),
            ("two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n", 400),
            ("space before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
            ("header without a colon", "GET / HTTP/1.1\r\nHost\r\n\r\n", 400),
            ("header without a name", "GET / HTTP/1.1\r\n: a\r\n\r\n", 400),
            ("folded header", "GET / HTTP/1.1\r\nHost: a\r\n b: c\r\n\r\n", 400),
            ("folded first header", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
            ("chunked", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
            (
                "chunked with a length",
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                411
            ),
            ("chunked in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
            (
                "two lengths",
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\naa", 400
            ),
            (
                "one length twice",
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", 400
            ),
            ("list of lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na", 400),
            ("signed length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na", 400),
            ("hexadecimal length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na", 400),
            ("empty length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", 400),
            (
                "huge length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
                400
            ),
            ("long body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", 413),
            ("unknown expectation", "GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417),
        ] as [(String, String, Int)])
    func malformed(name: String, text: String, status expected: Int) {
        #expect(status(text) == expected, "\(name)")
        #expect(
            parse(Array(text.utf8), pieces: 1) == parse(Array(text.utf8), pieces: .max),
            "\(name), byte by byte")
    }

    @Test("lines, headers and their number are bounded, before they end")
    func bounds() {
        let long = String(repeating: "a", count: 16_384)
        #expect(status("GET /\(long)") == 414)
        #expect(status("GET /\(long.dropLast(14)) HTTP/1.1\r\nHost: a\r\n\r\n") == nil)
        let head = "GET / HTTP/1.1\r\nHost: a\r\n"
        let wide = String(repeating: "a", count: 65_536)
        #expect(status("\(head)Cookie: \(wide)") == 431)
        #expect(status("\(head)Cookie: \(wide.dropLast(30))\r\n\r\n") == nil)
        let many = { (count: Int) in String(repeating: "A: b\r\n", count: count) }
        #expect(status("\(head)\(many(100))") == 431)
        #expect(status("\(head)\(many(99))\r\n") == nil)
    }

    @Test("headers from a size on must be allowed by those before, in any segments", arguments: [1, 7, .max])
    func longHeaders(pieces: Int) {
        func status(_ value: Int, _ fields: String...) -> Int? {
            let fields = fields.map { "\($0)\r\n" }.joined()
            let long = "A: \(String(repeating: "a", count: value))\r\n"
            let text = "GET /a HTTP/1.1\r\n\(fields)\(long)Known: x\r\n\r\n"
            var limits = HTTP1.Limits()
            limits.shortHeaders = 100
            limits.headerBytes = 200
            var asked: [String] = []
            var parser = HTTP1.RequestParser(limits: limits) { request in
                asked.append(request.target)
                return request.headers["Known"] != nil
            }
            var outcome = HTTP1.RequestParser.Outcome.needsMore
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty, outcome == .needsMore {
                parser.feed(Array(rest.prefix(pieces)))
                rest = rest.dropFirst(pieces)
                outcome = parser.next()
            }
            #expect(asked.allSatisfy { $0 == "/a" } && asked.count <= 1)
            switch outcome {
            case .needsMore: return nil
            case .request: return 200
            case .rejected(let rejection): return rejection.status
            }
        }
        #expect(status(70, "Host: a") == 200)
        #expect(status(90, "Host: a") == 431)
        #expect(status(90, "Host: a", "Known: x") == 200)
        #expect(status(200, "Host: a", "Known: x") == 431)
    }

    @Test("the fields that list options are short", arguments: ["Connection", "Upgrade"])
    func options(name: String) {
        let line = { (count: Int) in "\(name): \(String(repeating: "a,", count: count / 2))\r\n" }
        let head = "GET / HTTP/1.1\r\nHost: a\r\n"
        #expect(status("\(head)\(line(1_024))\r\n") == nil)
        #expect(status("\(head)\(line(1_026))\r\n") == 431)
        #expect(status("\(head)\(line(512))\(line(514))\r\n") == 431)
    }

    @Test("what comes after a rejected request is not read")
    func rejectedIsFinal() {
        var parser = HTTP1.RequestParser()
        parser.feed(Array("GET\r\n\(HTTP1Tests.callback)".utf8))
        let first = parser.next()
        parser.feed(Array(HTTP1Tests.callback.utf8))
        #expect(parser.next() == first)
    }

    @Test("a request with any byte changed does not crash, and is read the same in any segments")
    func flippedBytes() {
        let original = Array(
            (HTTP1Tests.callback + "POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na=b").utf8)
        for index in original.indices {
            for bit in 0..<8 {
                var bytes = original
                bytes[index] ^= 1 << bit
                let whole = parse(bytes, pieces: .max)
                #expect(parse(bytes, pieces: 1) == whole)
                #expect(parse(bytes, pieces: 7) == whole)
            }
        }
    }

    @Test("a truncated request waits for more, or was complete before")
    func cutOff() {
        let bytes = Array(HTTP1Tests.callback.utf8)
        for count in 0..<bytes.count {
            #expect(parse(Array(bytes[..<count]), pieces: .max) == [])
        }
    }
}

@Suite("HTTP/1.1 answers")
struct HTTP1AnswerTests {
    @Test("the server sets length and connection")
    func answer() throws {
        let response = HTTPResponse(
            status: 200,
            headers: HTTPHeaders([("X-A", "b"), ("content-length", "9"), ("Connection", "upgrade")]),
            body: Array("hi".utf8))
        let text = String(decoding: try HTTP1.serialize(response, closes: true), as: UTF8.self)
        #expect(text == "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
        let head = String(decoding: try HTTP1.serialize(response, toHead: true, closes: false), as: UTF8.self)
        #expect(head == "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n")
    }

    @Test("an answer without content has no body")
    func noContent() throws {
        let response = HTTPResponse(status: 204, body: [1])
        #expect(
            String(decoding: try HTTP1.serialize(response, closes: true), as: UTF8.self)
                == "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
    }

    @Test(
        "a header that would end early is refused",
        arguments: [
            ("X-A", "b\r\nSet-Cookie: c"), ("X-A", "b\nc"), ("X-A", "b\rc"), ("X-A", "\0"), ("X A", "b"),
            ("", "b"),
        ])
    func injectedHeader(name: String, value: String) {
        let response = HTTPResponse(status: 200, headers: HTTPHeaders([(name, value)]))
        #expect(throws: OIDCError.self) { try HTTP1.serialize(response, closes: true) }
    }

    @Test("an impossible status is refused", arguments: [0, 99, 100, 600, -1])
    func impossibleStatus(status: Int) {
        #expect(throws: OIDCError.self) { try HTTP1.serialize(HTTPResponse(status: status), closes: true) }
    }
}
