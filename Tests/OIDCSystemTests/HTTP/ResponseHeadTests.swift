@testable import CurlHTTP
import OIDCCore
import Testing

/// Reads lines up to the first that is malformed or too large.
func head(_ lines: [String]) -> (head: ResponseHead, last: ResponseHead.Line) {
    var head = ResponseHead()
    var last = ResponseHead.Line.more
    for line in lines {
        last = Array("\(line)\r\n".utf8).withUnsafeBytes { head.take($0) }
        if last == .malformed || last == .tooLarge { break }
    }
    return (head, last)
}

@Suite("heads of answers")
struct ResponseHeadTests {
    @Test("a head is read byte for byte, without those of interim answers and without trailers")
    func heads() {
        let lines = ["HTTP/1.1 103 Early", "Link: x", "", "HTTP/1.1 200 Fine", "A:  b ", " c", ""]
        let (interim, first) = head(Array(lines[..<3]))
        #expect(first == .interim && interim.status == 103 && interim.interimCount == 1)
        #expect(interim.fields.map(\.name) == ["Link"] && !interim.isComplete)
        let (final, last) = head(lines)
        #expect(last == .complete && final.status == 200 && final.fields.map(\.text) == ["b c"])
        #expect(final.reason == Array("Fine".utf8) && final.isComplete && final.interimCount == 1)
        let (trailed, more) = head(lines + ["B: d", ""])
        #expect(more == .more && trailed.fields.map(\.name) == ["A"])

        var latin1 = ResponseHead()
        _ = Array("HTTP/1.1 200 x".utf8).withUnsafeBytes { latin1.take($0) }
        _ = (Array("A: ".utf8) + [0xE9, 0x0D, 0x0A]).withUnsafeBytes { latin1.take($0) }
        #expect(latin1.fields.map(\.value) == [[0xE9]] && latin1.fields.map(\.latin1) == ["é"])
    }

    @Test(
        "a line that no head has is reported",
        arguments: [
            ["HTTP/1.1 99 x"], ["HTTP/1.1 600 x"], ["HTTP/1.1 abc"], ["HTTP/1.1"], ["HTTP/1.1  200 x"],
            ["HTTP/1.1 200 x\u{1}"], ["HTTP/1.1 200 x", "no colon"], ["HTTP/1.1 200 x", "a b: c"],
            ["HTTP/1.1 200 x", ": c"], ["HTTP/1.1 200 x", "a: b\u{1}"], ["HTTP/1.1 200 x", " folded"],
            ["HTTP/1.1 200 x", "a: b", " \u{1}"], ["HTTP/1.1 200 x", "a: b", "HTTP/1.1 200 OK: x"], ["a: b"],
        ])
    func malformed(lines: [String]) {
        #expect(head(lines).last == .malformed)
    }

    @Test("what can be read of such a line is")
    func readable() {
        var head = ResponseHead()
        for line in ["HTTP/1.1  200 x", "no colon", "a b : c\u{1}", "d: e", ""] {
            _ = Array("\(line)\r\n".utf8).withUnsafeBytes { head.take($0) }
        }
        #expect(head.isComplete && head.status == 200)
        #expect(head.headers == HTTPHeaders([("a b", "c\u{1}"), ("d", "e")]))
    }

    @Test(
        "the size of all lines together and their number are limited, with interim answers and trailers",
        arguments: [
            ["a: " + String(repeating: "x", count: ResponseHead.byteLimit / 5 * 2)],
            Array(repeating: "a:", count: ResponseHead.lineLimit / 5 * 2),
        ])
    func size(lines: [String]) {
        let interim = ["HTTP/1.1 103 x"] + lines + [""]
        #expect(head(interim + interim).last == .interim)
        #expect(head(interim + interim + interim).last == .tooLarge)
        #expect(head(["HTTP/1.1 200 x", ""] + lines + lines).last == .more)
        #expect(head(["HTTP/1.1 200 x", ""] + lines + lines + lines).last == .tooLarge)
    }

    @Test(
        "a body that would be decoded, though nobody asked for that, is reported (RFC 9112 §7.4)",
        arguments: ["gzip", "gzip, chunked", "chunked, GZIP", "x", "deflate,gzip,chunked"])
    func encoded(codings: String) {
        let field = "transfer-encoding: \(codings)"
        #expect(head(["HTTP/1.1 200 x", field, ""]).last == .encoded)
        #expect(head(["HTTP/1.1 103 x", field, ""]).last == .encoded)
        #expect(head(["HTTP/1.1 200 x", "Transfer-Encoding: chunked", field, ""]).last == .encoded)
        #expect(head(["HTTP/1.1 200 x", "Transfer-Encoding:", " \(codings)", ""]).last == .encoded)
    }

    @Test("the framing of a body is no such coding", arguments: ["chunked", "Chunked", "identity", ""])
    func framed(codings: String) {
        let field = "Transfer-Encoding: \(codings)"
        #expect(head(["HTTP/1.1 200 x", field, ""]).last == .complete)
        #expect(head(["HTTP/1.1 200 x", field, field, ""]).last == .complete)
    }
}
