public import OIDCCore

/// The page that a browser shows at the end of a sign-in.
public enum ResultPage {
    /// The answer to what is not ours: short, and without a word from outside.
    public static func stranger(status: Int = 404) -> HTTPResponse {
        var headers = securityHeaders(styleNonce: nil)
        headers["Content-Type"] = "text/plain; charset=utf-8"
        return HTTPResponse(
            status: status, headers: headers, body: Array("This is not an address of this program.\n".utf8))
    }

    /// Nothing may be loaded, framed, kept, guessed or told on.
    static func securityHeaders(styleNonce: String?) -> HTTPHeaders {
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
