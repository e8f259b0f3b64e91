package import OIDCCore

extension HTTPResponse {
    /// Returns the answer to a request that nobody waits for: short, and without text from outside.
    package static func stranger(status: Int = 404) -> HTTPResponse {
        var headers = HTTPHeaders.ofPage(styleNonce: nil)
        headers["Content-Type"] = "text/plain; charset=utf-8"
        return HTTPResponse(
            status: status, headers: headers, body: Array("This URL does not exist.\n".utf8))
    }
}

extension HTTPHeaders {
    /// Returns the headers of a page, which forbid loading, framing, caching, content sniffing and referrers.
    package static func ofPage(styleNonce: String?) -> HTTPHeaders {
        let style = styleNonce.map { "style-src 'nonce-\($0)'; img-src data:; " } ?? ""
        return HTTPHeaders([
            (
                "Content-Security-Policy",
                "default-src 'none'; \(style)frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
            ),
            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
        ])
    }
}
