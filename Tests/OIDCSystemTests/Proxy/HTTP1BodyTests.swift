@testable import LoopbackHTTP
import OIDCCore
import Testing

@Suite("bodies of HTTP/1.1 requests that are passed on")
struct HTTP1BodyTests {
    private func framing(_ fields: [(String, String)], minor: Int = 1) throws -> HTTP1.BodyFraming {
        try HTTP1.BodyFraming(
            of: HTTPServerRequest(.post, "/", minorVersion: minor, headers: HTTPHeaders(fields)))
    }

    @Test("the framing is one length or chunked, and anything else is refused")
    func framings() throws {
        #expect(try framing([]) == .length(0))
        #expect(try framing([("content-length", "12")]) == .length(12))
        #expect(try framing([("Transfer-Encoding", "Chunked")]) == .chunked)
        let refused: [([(String, String)], Int)] = [
            ([("Content-Length", "1"), ("Content-Length", "1")], 400),
            ([("Content-Length", "1"), ("Content-Length", "2")], 400), ([("Content-Length", "1, 1")], 400),
            ([("Content-Length", "+1")], 400), ([("Content-Length", "-1")], 400),
            ([("Content-Length", "0x1")], 400),
            ([("Content-Length", "")], 400), ([("Content-Length", "9999999999999999999")], 400),
            ([("Content-Length", "1"), ("Transfer-Encoding", "chunked")], 400),
            ([("Transfer-Encoding", "gzip, chunked")], 501), ([("Transfer-Encoding", "identity")], 501),
            ([("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")], 501),
            ([("Transfer-Encoding", "\u{b}chunked")], 501),
        ]
        for (fields, status) in refused {
            do {
                let found = try framing(fields)
                Issue.record("\(fields): \(found)")
            } catch {
                #expect((error as? HTTP1.Rejection)?.status == status, "\(fields)")
            }
        }
        #expect(throws: HTTP1.Rejection.self) { try framing([("Transfer-Encoding", "chunked")], minor: 0) }
    }

    /// Decodes in pieces of a size; returns the content and what is left after the body.
    private func decode(_ text: String, pieces: Int) throws -> (
        content: String, rest: String, isComplete: Bool
    ) {
        var decoder = HTTP1.ChunkedDecoder()
        var (content, rest): ([UInt8], [UInt8]) = ([], [])
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            var piece = Array(bytes.prefix(pieces))
            bytes = bytes.dropFirst(pieces)
            guard !decoder.isComplete else {
                rest += piece
                continue
            }
            let (count, used) = try piece.withUnsafeMutableBytes { try decoder.decode($0) }
            content += piece[..<count]
            rest += piece[used...]
        }
        return (
            String(decoding: content, as: UTF8.self), String(decoding: rest, as: UTF8.self),
            decoder.isComplete
        )
    }

    @Test(
        "chunks are decoded in pieces of any size, and what follows is left", arguments: [1, 2, 3, 7, 1_000])
    func chunks(pieces: Int) throws {
        let text = "5\r\nhello\r\n00a\r\n0123456789\r\n0\r\nX-Trailer: dropped\r\n\r\nGET / HTTP/1.1\r\n"
        let found = try decode(text, pieces: pieces)
        #expect(found.content == "hello0123456789" && found.rest == "GET / HTTP/1.1\r\n" && found.isComplete)
        #expect(try !decode("5\r\nhello\r\n", pieces: pieces).isComplete)
    }

    @Test(
        "extensions of chunks and leading zeros of their sizes are ignored (RFC 9112 §7.1.1)",
        arguments: [1, 2, 1_000])
    func extensions(pieces: Int) throws {
        let text =
            "5;e\r\nhello\r\n0000000000000001;a=\"b ; c\";d\r\n \r\n05 \t; e=f\r\nworld\r\n"
            + "00000000000000000000;last\r\n\r\nGET"
        let found = try decode(text, pieces: pieces)
        #expect(found.content == "hello world" && found.rest == "GET" && found.isComplete)
    }

    @Test("extensions may be as long as the content, but not far longer (RFC 9112 §7.1.1)")
    func manyExtensions() throws {
        let mark = String(repeating: "e", count: 900)
        func body(_ content: String) -> String {
            let size = String(content.utf8.count, radix: 16)
            return String(repeating: "\(size);\(mark)\r\n\(content)\r\n", count: 100) + "0\r\n\r\n"
        }
        #expect(try decode(body(String(repeating: "c", count: 900)), pieces: 1_000).isComplete)
        let rejection = #expect(throws: HTTP1.Rejection.self) { try decode(body("c"), pieces: 1_000) }
        #expect(rejection?.status == 400)
    }

    @Test(
        "malformed chunks are refused",
        arguments: [
            "5;e=\u{1}\r\nhello\r\n0\r\n\r\n", "5;e=1\nhello\r\n", ";e\r\n", "5 6\r\nhello\r\n",
            "5 \r\nhello\r\n", "\r\n", "x\r\n", "0x5\r\nhello\r\n", "-1\r\n",
            "5\nhello\r\n",
            "5\r\nhelloX\r\n", "5\r\nhello\n", "5\r\nhell\r\n0\r\n\r\n", "10000000000000000\r\n", "5\rhello",
            "0\r\nA\nB\r\n",
            "0\r\n\u{1}: x\r\n\r\n", "0\r\n\rx",
        ])
    func malformed(text: String) {
        for pieces in [1, 1_000] {
            #expect(throws: HTTP1.Rejection.self) { try decode(text, pieces: pieces) }
        }
        for line in [String(repeating: "0", count: 2_000), "5;" + String(repeating: "e", count: 2_000)] {
            #expect(throws: HTTP1.Rejection.self) { try decode(line, pieces: 4_096) }
        }
        #expect(throws: HTTP1.Rejection.self) {
            try decode("0\r\n" + String(repeating: "A: b\r\n", count: 2_000), pieces: 4_096)
        }
    }

    @Test("a request is returned before its body, and the bytes after its head are left")
    func streamed() {
        var parser = HTTP1.RequestParser(leavesBody: true)
        parser.feed(Array("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999\r\n\r\nabc".utf8))
        guard case .request(let request) = parser.next() else {
            Issue.record("no request")
            return
        }
        #expect(request.target == "/x" && request.body.isEmpty)
        #expect(parser.takeUnread() == Array("abc".utf8) && parser.isIdle)
    }
}
