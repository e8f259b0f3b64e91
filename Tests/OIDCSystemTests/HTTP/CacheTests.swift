@testable import CurlHTTP
import Foundation
import OIDCCore
import Testing

private let now = Instant(secondsSinceEpoch: 1_700_000_000)

@Suite("how long an answer may be cached")
struct CacheLifetimeTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let fields: [(String, String)]
        let seconds: Int64?
        var testDescription: String { fields.map { "\($0.0): \($0.1)" }.joined(separator: ", ") }

        init(_ fields: [(String, String)], _ seconds: Int64?) {
            self.fields = fields
            self.seconds = seconds
        }
    }

    @Test(
        "by Cache-Control, then Expires, then an hour; a day at most",
        arguments: [
            Case([], 3_600),
            Case([("Cache-Control", "max-age=300")], 300),
            Case([("cache-control", "public, Max-Age=\"300\", must-revalidate")], 300),
            Case([("Cache-Control", "private"), ("Cache-Control", "max-age=300")], 300),
            Case([("Cache-Control", "max-age=300, max-age=20")], 20),
            Case([("Cache-Control", "max-age=0")], 0),
            Case([("Cache-Control", "max-age=90000")], 86_400),
            Case([("Cache-Control", "max-age=99999999999999999999999")], 86_400),
            Case([("Cache-Control", "max-age=-1")], 0),
            Case([("Cache-Control", "max-age=1e3")], 0),
            Case([("Cache-Control", "max-age=soon")], 0),
            Case([("Cache-Control", "max-age")], 0),
            Case([("Cache-Control", "s-maxage=5, public")], 3_600),
            Case([("Cache-Control", "no-store, max-age=300")], nil),
            Case([("Cache-Control", "max-age=300"), ("Cache-Control", "NO-STORE")], nil),
            Case([("Cache-Control", "no-cache, max-age=300")], 0),
            Case([("Cache-Control", "no-cache=\"x, y\", max-age=300")], 0),
            Case([("Cache-Control", "ext=\"a, no-store, \\\" no-store\", max-age=300")], 300),
            Case([("Cache-Control", ", ,=,max-age=300,")], 300),
            Case([("Cache-Control", "max-age=300"), ("Age", "100")], 200),
            Case([("Cache-Control", "max-age=300"), ("Age", "400")], 0),
            Case([("Cache-Control", "max-age=300"), ("Age", "99999999999999999999")], 0),
            Case([("Cache-Control", "max-age=300"), ("Age", "old")], 300),
            Case([("Age", "600")], 3_000),
            Case([("Expires", "Tue, 14 Nov 2023 22:23:20 GMT")], 600),
            Case(
                [("Expires", "Tue, 14 Nov 2023 22:23:20 GMT"), ("Date", "Tue, 14 Nov 2023 22:22:20 GMT")], 60),
            Case([("Expires", "Tue, 14 Nov 2023 22:23:20 GMT"), ("Cache-Control", "max-age=5")], 5),
            Case([("Expires", "Mon, 13 Nov 2023 22:23:20 GMT")], 0),
            Case([("Expires", "Fri, 31 Dec 9999 23:59:59 GMT")], 86_400),
            Case([("Expires", "Mon, 13 Nov 2023 22:23:20 GMT"), ("Age", "9223372036854775807")], 0),
            Case([("Expires", "0")], 0),
            Case([("Expires", "")], 0),
            Case([("Vary", "*"), ("Cache-Control", "max-age=300")], 0),
            Case([("Vary", "Accept"), ("Cache-Control", "max-age=300")], 300),
        ])
    func lifetime(_ example: Case) {
        let response = HTTPResponse(status: 200, headers: HTTPHeaders(example.fields))
        #expect(HTTPCacheLifetime.seconds(for: response, at: now) == example.seconds)
    }

    @Test(
        "the three forms of RFC 9110 §5.6.7 are one date, and nothing else is one",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 29 Feb 2023 00:00:00 GMT", nil),
            ("Sun, 06 Nov 1994 08:49:37 CET", nil), ("Sun, 06 Nov 1994 24:00:00 GMT", nil),
            ("Sun, 31 Nov 1994 08:49:37 GMT", nil), ("Sun, 00 Nov 1994 08:49:37 GMT", nil),
            ("Sun, 06 Nov 94949 08:49:37 GMT", nil), ("1994-11-06T08:49:37Z", nil), ("-1", nil),
        ] as [(String, Int64?)])
    func dates(_ text: String, seconds: Int64?) {
        #expect(HTTPDate.instant(text)?.secondsSinceEpoch == seconds)
    }

    @Test("a date is written in the first of these forms", arguments: [784_111_777, 1_709_164_800, 0, -1])
    func writtenDate(seconds: Int64) {
        let text = HTTPDate.text(Instant(secondsSinceEpoch: seconds))
        #expect(HTTPDate.instant(text)?.secondsSinceEpoch == seconds && text.hasSuffix(" GMT"))
        if seconds == 784_111_777 { #expect(text == "Sun, 06 Nov 1994 08:49:37 GMT") }
    }
}

@Suite("metadata and keys cached in files")
struct CacheTests {
    let scratch = ScratchDirectory()
    let url = WebURL("https://op.example/.well-known/openid-configuration")!
    var cache: MetadataCache { MetadataCache(directory: scratch["cache/oidc"]) }
    var file: String? { try? FileManager.default.contentsOfDirectory(atPath: scratch["cache/oidc"]).first }

    private func answer(_ body: String, _ control: String? = nil, status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: HTTPHeaders(control.map { [("Cache-Control", $0)] } ?? []),
            body: Array(body.utf8))
    }

    @Test("an answer is found until it is stale, by its whole URL, in a private file")
    func lookup() throws {
        #expect(cache.lookup(url, at: now) == nil)
        #expect(scratch.names == [])
        cache.keep(answer("{}", "max-age=60"), from: url, at: now)
        #expect(cache.lookup(url, at: now) == Array("{}".utf8))
        #expect(cache.lookup(url, at: now.adding(59)) == Array("{}".utf8))
        #expect(cache.lookup(url, at: now.adding(60)) == nil)
        #expect(cache.lookup(url, at: now.adding(-1)) == nil)
        #expect(cache.lookup(WebURL(url.text + "?a")!, at: now) == nil)
        let name = try #require(file)
        #expect(name.hasPrefix("op.example-openid-configuration-"))
        #expect(mode(scratch["cache/oidc"]) == 0o700)
        #expect(mode(scratch["cache/oidc/\(name)"]) == 0o600)
        cache.forget(url)
        #expect(cache.lookup(url, at: now) == nil)
    }

    @Test(
        "an answer that may not be cached removes the cached one",
        arguments: [("no-store", 200), ("no-cache", 200), ("max-age=0", 200), ("max-age=60", 404)])
    func notKept(_ control: String, status: Int) {
        cache.keep(answer("old"), from: url, at: now)
        cache.keep(answer("new", control, status: status), from: url, at: now)
        #expect(cache.lookup(url, at: now) == nil)
        #expect(file == nil)
    }

    @Test("a body that is not UTF-8 is not cached")
    func notText() {
        cache.keep(HTTPResponse(status: 200, body: [0xFF]), from: url, at: now)
        #expect(file == nil)
    }

    @Test(
        "a damaged entry, and one of another URL or version, is ignored",
        arguments: [
            "", "{", "[]", #"{"version":1}"#,
            #"{"version":2,"url":"URL","fetched_at":1700000000,"fresh_until":1700000060,"body":"x"}"#,
            #"{"version":1,"url":"https://other.example","fetched_at":1700000000,"fresh_until":1700000060,"body":"x"}"#,
            #"{"version":1,"url":"URL","fetched_at":1700000000,"fresh_until":1800000000,"body":"x"}"#,
            #"{"version":1,"url":"URL","fetched_at":-9223372036854775808,"fresh_until":9223372036854775807,"body":"x"}"#,
            #"{"version":1,"url":"URL","fetched_at":1700000060,"fresh_until":1600000060,"body":"x"}"#,
            #"{"version":1,"url":"URL","fetched_at":1700000000,"fresh_until":1700000060,"body":7}"#,
        ])
    func damaged(_ text: String) throws {
        cache.keep(answer("{}"), from: url, at: now)
        let name = "cache/oidc/\(try #require(file))"
        let whole = #"{"version":1,"url":"URL","fetched_at":1700000000,"fresh_until":1700000060,"body":"x"}"#
        let filled = { (text: String) in text.replacingOccurrences(of: "URL", with: url.text) }
        scratch.put(filled(whole), name)
        #expect(cache.lookup(url, at: now) == Array("x".utf8))
        scratch.put(filled(text), name)
        #expect(cache.lookup(url, at: now) == nil)
    }

    @Test("a file or directory that others may change is ignored silently")
    func untrusted() throws {
        cache.keep(answer("{}"), from: url, at: now)
        let path = scratch["cache/oidc/\(try #require(file))"]
        chmod(path, 0o644)
        #expect(cache.lookup(url, at: now) == nil)
        chmod(path, 0o600)
        #expect(cache.lookup(url, at: now) != nil)
        chmod(scratch["cache/oidc"], 0o755)
        #expect(cache.lookup(url, at: now) == nil)
        cache.keep(answer("new"), from: url, at: now)
        chmod(scratch["cache/oidc"], 0o700)
        #expect(cache.lookup(url, at: now) == Array("{}".utf8))
    }

    @Test("a cache that cannot be written is not an error")
    func unusable() {
        scratch.put("x", "cache")
        cache.keep(answer("{}"), from: url, at: now)
        #expect(cache.lookup(url, at: now) == nil)
        cache.forget(url)
        #expect(scratch.text("cache") == "x")
    }
}
