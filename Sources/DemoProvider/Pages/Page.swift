package import OIDCCore

/// A page for users, with text from outside escaped and without external resources.
package struct Page {
    var title: String
    /// The content as HTML, already escaped.
    var content: String
    var status = 200
    /// The page's script, which runs only with the page's nonce.
    var script: String?

    /// Returns the page as a response. `nonce` is fresh for every page, so text in it cannot add a script or
    /// style.
    func response(nonce: String) -> HTTPResponse {
        let scriptPolicy = script == nil ? "" : " script-src 'nonce-\(nonce)';"
        // No form-action: browsers also apply it to redirects after a form, which lead to the client.
        let policy =
            "default-src 'none'; style-src 'nonce-\(nonce)';\(scriptPolicy) img-src data:; base-uri 'none'; "
            + "frame-ancestors 'none'"
        return HTTPResponse(
            status: status,
            headers: HTTPHeaders([
                ("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", policy),
                ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"),
                ("X-Frame-Options", "DENY"),
            ]),
            body: Array(markup(nonce: nonce).utf8))
    }

    private func markup(nonce: String) -> String {
        let scriptElement = script.map { "<script nonce=\"\(nonce)\">\($0)</script>\n" } ?? ""
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(Page.escaped(title))</title>
            <link rel="icon" href="\(Page.icon)">
            <style nonce="\(nonce)">\(Page.style)</style>
            </head>
            <body>
            <main>
            <p class="brand">\(Page.mark) Demo provider</p>
            \(content)
            </main>
            <footer>Part of <b>oidc</b>, on this machine only. No real account, no password.</footer>
            \(scriptElement)</body>
            </html>

            """
    }

    static func escaped(_ text: some StringProtocol) -> String {
        HTMLText.escaped(text)
    }

    /// Returns a form with one button, which works without scripts.
    package static func form(
        id: String, action: String, hidden: [FormEncoding.Pair], fields: String = "", button: String,
        style: String = "primary"
    ) -> String {
        let inputs = hidden.map {
            "<input type=\"hidden\" name=\"\(escaped($0.name))\" value=\"\(escaped($0.value))\">"
        }
        return """
            <form id="\(id)" method="post" action="\(escaped(action))">
            \((inputs + [fields]).filter { !$0.isEmpty }.joined(separator: "\n"))
            <button class="\(style)" type="submit">\(escaped(button))</button>
            </form>
            """
    }

    private static let icon =
        "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E"
        + "%3Crect width='32' height='32' rx='9' fill='%234f5bd5'/%3E%3Ccircle cx='16' cy='13' r='5' "
        + "fill='white'/%3E%3Cpath d='M14.4 15h3.2l1.6 9h-6.4z' fill='white'/%3E%3C/svg%3E"

    private static let mark =
        "<svg viewBox=\"0 0 32 32\" aria-hidden=\"true\"><rect width=\"32\" height=\"32\" rx=\"9\"/>"
        + "<circle cx=\"16\" cy=\"13\" r=\"5\"/><path d=\"M14.4 15h3.2l1.6 9h-6.4z\"/></svg>"
}
