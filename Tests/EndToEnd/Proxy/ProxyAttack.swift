import Foundation
import TestSupport
import Testing

/// A request that must not reach another origin, or must not reach the server at all.
struct ProxyAttack: CustomTestStringConvertible, Sendable {
    enum Outcome {
        /// The proxy answers so, and the server gets nothing.
        case refused(Int)
        /// The server gets a request for this path, and nothing that the attacker added.
        case forwarded(String)
    }

    let testDescription: String
    let outcome: Outcome
    let text: @Sendable (RunningProxy) -> String

    init(_ name: String, _ outcome: Outcome, _ text: @escaping @Sendable (RunningProxy) -> String) {
        (testDescription, self.outcome, self.text) = (name, outcome, text)
    }

    static let groups = [
        ("paths", paths), ("secrets", secrets), ("hosts and pages", hosts), ("headers", headers),
        ("framings", framings), ("methods", methods),
    ]

    private static func send(
        _ proxy: RunningProxy, _ method: String = "GET", to target: String? = nil, version: String = "1.1",
        _ fields: String..., body: String = ""
    ) -> String {
        let start = "\(method) \(target ?? proxy.prefix + "x") HTTP/\(version)"
        return ([start, "Host: 127.0.0.1:\(proxy.port)", "Connection: close"] + fields)
            .joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    private static let paths: [ProxyAttack] = [
        ProxyAttack("dots", .refused(400)) { $0.get("\($0.prefix)../x") },
        ProxyAttack("two slashes, as in $OIDC_PROXY_URL/x", .forwarded("/v1/x")) { $0.get("\($0.prefix)/x") },
        ProxyAttack("three slashes", .refused(400)) { $0.get("\($0.prefix)//x") },
        ProxyAttack("dots after two slashes", .refused(400)) { $0.get("\($0.prefix)/../x") },
        ProxyAttack("dots escaped in the escape", .refused(400)) { $0.get("\($0.prefix)%25%32%65%%32%65/x") },
        ProxyAttack("dots behind a segment", .refused(400)) { $0.get("\($0.prefix)a/../../x") },
        ProxyAttack("%2e%2e", .refused(400)) { $0.get("\($0.prefix)%2e%2e/x") },
        ProxyAttack("%2E with a plain dot", .refused(400)) { $0.get("\($0.prefix).%2E/x") },
        ProxyAttack("%252e%252e", .refused(400)) { $0.get("\($0.prefix)%252e%252e/x") },
        ProxyAttack("an encoded slash behind dots", .refused(400)) { $0.get("\($0.prefix)..%2fx") },
        ProxyAttack("dots with a parameter", .refused(400)) { $0.get("\($0.prefix)..;a/x") },
        ProxyAttack("a backslash", .refused(400)) { $0.get("\($0.prefix)..\\x") },
        ProxyAttack("an encoded backslash", .refused(400)) { $0.get("\($0.prefix)..%5cx") },
        ProxyAttack("//host below the route", .refused(400)) { $0.get("\($0.prefix)//evil.example/x") },
        ProxyAttack("//host instead of the route", .refused(403)) { $0.get("//evil.example/\($0.secret)/x") },
        ProxyAttack("dots before the secret", .refused(403)) { $0.get("/x/..\($0.prefix)x") },
        ProxyAttack("absolute form", .refused(400)) { $0.get("http://evil.example\($0.prefix)x") },
        ProxyAttack("absolute form with our own host", .refused(400)) {
            $0.get("http://127.0.0.1:\($0.port)\($0.prefix)x")
        },
        ProxyAttack("user information", .forwarded("/v1/@evil.example/x")) {
            $0.get("\($0.prefix)@evil.example/x")
        },
        ProxyAttack("a URL as the path", .forwarded("/v1/http://evil.example/x")) {
            $0.get("\($0.prefix)http://evil.example/x")
        },
        ProxyAttack("a fragment", .refused(400)) { $0.get("\($0.prefix)x#y") },
        ProxyAttack("an encoded line end", .refused(400)) {
            $0.get("\($0.prefix)x%0d%0aHost:%20evil.example")
        },
        ProxyAttack("NUL", .refused(400)) { $0.get("\($0.prefix)x\0") },
    ]

    private static let secrets: [ProxyAttack] = [
        ProxyAttack("no secret", .refused(403)) { $0.get("/x") },
        ProxyAttack("a wrong secret", .refused(403)) { $0.get("/\(String(repeating: "A", count: 43))/x") },
        ProxyAttack("a truncated secret", .refused(403)) { $0.get("/\($0.secret.dropLast())/x") },
        ProxyAttack("a longer secret", .refused(403)) { $0.get("/\($0.secret)A/x") },
        ProxyAttack("an encoded secret", .refused(403)) {
            $0.get("/%\(String($0.secret.utf8.first ?? 0x41, radix: 16))\($0.secret.dropFirst())/x")
        },
        ProxyAttack("the secret in the query", .refused(403)) { $0.get("/x?secret=\($0.secret)") },
        ProxyAttack("the secret as a cookie", .refused(403)) { $0.get("/x", "Cookie: secret=\($0.secret)") },
        ProxyAttack("the secret as a password", .refused(403)) {
            $0.get("/x", "Authorization: Basic \(Data("x:\($0.secret)".utf8).base64EncodedString())")
        },
        ProxyAttack("a wrong bearer secret", .refused(403)) { $0.get("/x", "Authorization: Bearer x") },
        ProxyAttack("two bearer secrets", .refused(403)) {
            $0.get("/x", "Authorization: Bearer \($0.secret)", "Authorization: Bearer x")
        },
        ProxyAttack("the bearer secret, rightly", .forwarded("/v1/x")) {
            $0.get("/x", "Authorization: Bearer \($0.secret)")
        },
    ]

    private static let hosts: [ProxyAttack] = [
        ProxyAttack("another Host, as after DNS rebinding", .refused(421)) {
            "GET \($0.prefix)x HTTP/1.1\r\nHost: evil.example:\($0.port)\r\n\r\n"
        },
        ProxyAttack("our Host without the port", .refused(421)) {
            "GET \($0.prefix)x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        },
        ProxyAttack("the server's own Host", .refused(421)) {
            "GET \($0.prefix)x HTTP/1.1\r\nHost: \($0.api.origin.dropFirst(7))\r\n\r\n"
        },
        ProxyAttack("two Hosts", .refused(400)) { $0.get("\($0.prefix)x", "Host: evil.example") },
        ProxyAttack("no Host", .refused(400)) { "GET \($0.prefix)x HTTP/1.1\r\n\r\n" },
        ProxyAttack("no Host in HTTP/1.0", .refused(421)) { "GET \($0.prefix)x HTTP/1.0\r\n\r\n" },
        ProxyAttack("a page's request", .refused(403)) {
            $0.get("\($0.prefix)x", "Origin: https://evil.example")
        },
        ProxyAttack("a page of ours", .refused(403)) {
            $0.get("\($0.prefix)x", "Origin: http://127.0.0.1:\($0.port)")
        },
        ProxyAttack("a sandboxed page", .refused(403)) { $0.get("\($0.prefix)x", "Origin: null") },
        ProxyAttack("an image in another site's page", .refused(403)) {
            $0.get("\($0.prefix)x", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors")
        },
        ProxyAttack("a frame in a page of another port", .refused(403)) {
            $0.get(
                "\($0.prefix)x", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate",
                "Sec-Fetch-Dest: iframe")
        },
        ProxyAttack("a worker, which would see other routes' pages", .refused(403)) {
            $0.get("\($0.prefix)x", "Sec-Fetch-Site: same-origin", "Service-Worker: script")
        },
        ProxyAttack("a page that another one loads in advance", .refused(403)) {
            $0.get(
                "\($0.prefix)x", "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate",
                "Sec-Fetch-Dest: document", "Sec-Purpose: prefetch")
        },
        ProxyAttack("a program with a field of the same name", .forwarded("/v1/x")) {
            $0.get("\($0.prefix)x", "Purpose: billing")
        },
        ProxyAttack("a link in another site's page", .forwarded("/v1/x")) {
            $0.get(
                "\($0.prefix)x", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate",
                "Sec-Fetch-Dest: document")
        },
        ProxyAttack("a form in another site's page, sent without Origin", .refused(403)) {
            send(
                $0, "POST", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate",
                "Sec-Fetch-Dest: document", "Content-Type: text/plain", "Content-Length: 1", body: "a")
        },
        ProxyAttack("a page's simple POST", .refused(403)) {
            send(
                $0, "POST", "Origin: https://evil.example", "Content-Type: text/plain", "Content-Length: 1",
                body: "a")
        },
        ProxyAttack("a preflight of a private network request", .refused(403)) {
            send(
                $0, "OPTIONS", "Origin: https://evil.example", "Access-Control-Request-Method: POST",
                "Access-Control-Request-Private-Network: true")
        },
    ]

    private static let headers: [ProxyAttack] = [
        ProxyAttack("Forwarded", .forwarded("/v1/x")) {
            $0.get("\($0.prefix)x", "Forwarded: host=evil.example")
        },
        ProxyAttack("X-Forwarded-Host", .forwarded("/v1/x")) {
            $0.get("\($0.prefix)x", "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: evil")
        },
        ProxyAttack("X-Original-URL", .forwarded("/v1/x")) {
            $0.get("\($0.prefix)x", "X-Original-URL: /evil")
        },
        ProxyAttack("an Authorization of the caller", .forwarded("/v1/x")) {
            $0.get("\($0.prefix)x", "Authorization: Bearer evil")
        },
        ProxyAttack("Proxy-Authorization", .forwarded("/v1/x")) {
            $0.get("\($0.prefix)x", "Proxy-Authorization: Basic evil", "Proxy-Connection: evil")
        },
        ProxyAttack("a Connection that names the token's header", .forwarded("/v1/x")) {
            $0.get("\($0.prefix)x", "Connection: Authorization, X-Evil", "X-Evil: evil")
        },
        ProxyAttack("a folded header", .refused(400)) { $0.get("\($0.prefix)x", "X: a\r\n evil") },
        ProxyAttack("a space before the colon", .refused(400)) { $0.get("\($0.prefix)x", "X : evil") },
        ProxyAttack("a bare CR in a header", .refused(400)) { $0.get("\($0.prefix)x", "X: a\rY: evil") },
        ProxyAttack("too many headers", .refused(431)) {
            $0.get("\($0.prefix)x").replacingOccurrences(
                of: "\r\n\r\n", with: "\r\n" + String(repeating: "X: evil\r\n", count: 300) + "\r\n")
        },
        ProxyAttack("headers of 100 KB", .refused(431)) {
            $0.get("\($0.prefix)x", "X: \(String(repeating: "a", count: 100_000))")
        },
        ProxyAttack("a target of 20 KB", .refused(414)) {
            $0.get("\($0.prefix)\(String(repeating: "a", count: 20_000))")
        },
    ]

    private static let framings: [ProxyAttack] = [
        ProxyAttack("a length and chunks", .refused(400)) {
            send(
                $0, "POST", "Content-Length: 5", "Transfer-Encoding: chunked",
                body: "0\r\n\r\n" + $0.get("/evil"))
        },
        ProxyAttack("two lengths", .refused(400)) {
            send($0, "POST", "Content-Length: 1", "Content-Length: 2", body: "ab")
        },
        ProxyAttack("the same length twice", .refused(400)) {
            send($0, "POST", "Content-Length: 1", "Content-Length: 1", body: "a")
        },
        ProxyAttack("a list of lengths", .refused(400)) {
            send($0, "POST", "Content-Length: 1, 2", body: "ab")
        },
        ProxyAttack("a signed length", .refused(400)) { send($0, "POST", "Content-Length: +1", body: "a") },
        ProxyAttack("a length beyond Int", .refused(400)) {
            send($0, "POST", "Content-Length: 99999999999999999999", body: "")
        },
        ProxyAttack("another coding", .refused(501)) {
            send($0, "POST", "Transfer-Encoding: gzip, chunked", body: "0\r\n\r\n")
        },
        ProxyAttack("a hidden coding", .refused(400)) {
            send($0, "POST", "Transfer-Encoding : chunked", body: "0\r\n\r\n")
        },
        ProxyAttack("a chunk extension that ends with a bare LF", .refused(400)) {
            send($0, "POST", "Transfer-Encoding: chunked", body: "1;a\n0\r\na\r\n0\r\n\r\n")
        },
        ProxyAttack("a chunk longer than its size", .refused(400)) {
            send($0, "POST", "Transfer-Encoding: chunked", body: "1\r\nab\r\n0\r\n\r\n")
        },
        ProxyAttack("an oversized chunk", .refused(400)) {
            send($0, "POST", "Transfer-Encoding: chunked", body: "ffffffffffffffff1\r\n")
        },
        ProxyAttack("bare LF in chunks", .refused(400)) {
            send($0, "POST", "Transfer-Encoding: chunked", body: "1\na\n0\n\n")
        },
        ProxyAttack("bare LF in the head", .refused(400)) {
            "GET \($0.prefix)x HTTP/1.1\nHost: 127.0.0.1:\($0.port)\n\n"
        },
        ProxyAttack("chunks in HTTP/1.0", .refused(400)) {
            send($0, "POST", version: "1.0", "Transfer-Encoding: chunked", body: "0\r\n\r\n")
        },
        ProxyAttack("a body of HEAD", .refused(400)) {
            send($0, "HEAD", "Content-Length: 30", body: "GET /evil HTTP/1.1\r\n")
        },
        ProxyAttack("another HTTP version", .refused(400)) { send($0, version: "2.0") },
    ]

    private static let methods: [ProxyAttack] = [
        ProxyAttack("CONNECT", .refused(400)) { send($0, "CONNECT", to: "evil.example:443") },
        ProxyAttack("CONNECT with a path", .refused(501)) { send($0, "CONNECT") },
        ProxyAttack("connect with a path", .refused(501)) { send($0, "connect") },
        ProxyAttack("TRACE, which echoes the token", .refused(405)) { send($0, "TRACE") },
        ProxyAttack("trace", .refused(405)) { send($0, "trace") },
        ProxyAttack("Track", .refused(405)) { send($0, "Track") },
        ProxyAttack("OPTIONS *", .refused(400)) { send($0, "OPTIONS", to: "*") },
        ProxyAttack("a WebSocket", .refused(501)) {
            $0.get("\($0.prefix)x", "Upgrade: websocket", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13")
        },
        ProxyAttack("HTTP/2 in the clear", .forwarded("/v1/x")) { $0.get("\($0.prefix)x", "Upgrade: h2c") },
        ProxyAttack("HTTP/2 at once", .refused(400)) { _ in "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
        ProxyAttack("TLS", .refused(400)) { _ in "\u{16}\u{3}\u{1}\r\n" },
    ]
}
