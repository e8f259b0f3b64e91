import LoopbackHTTP
package import OIDCCore
import OIDCCrypto

/// The page that a browser shows at the end of a sign-in: fixed text with escaped values, without external
/// resources.
package enum ResultPage {
    /// Returns the page for a successful sign-in. Show it only after the tokens were validated; `who` is nil
    /// if there is no ID token.
    package static func success(
        who: String?, provider: String, resource: String? = nil, program: String? = nil
    ) -> HTTPResponse {
        let facts = facts(("Account", who), ("Provider", provider), ("Resource", resource))
        let lead = program.map { "\(outside($0)) is signed in. You can return to your terminal." }
        return document(
            status: 200, tone: .good, title: "Signed in",
            content: """
                <p class="lead">\(lead ?? "You can return to the program that opened this page.")</p>
                \(facts)
                """, program: program)
    }

    /// Returns the page for the session of a successful sign-in.
    static func success(_ session: Session, program: String?) -> HTTPResponse {
        success(
            who: session.displayName ?? session.subject, provider: host(of: session.key.provider),
            resource: session.key.resources.first, program: program)
    }

    /// Returns the answer that redirects the browser to a URL reference, with a GET after any method (RFC 9110
    /// §15.4.4).
    static func redirect(to reference: String) -> HTTPResponse {
        var headers = HTTPHeaders.ofPage(styleNonce: nil)
        headers["Location"] = reference
        headers["Connection"] = "close"
        return HTTPResponse(status: 303, headers: headers)
    }

    /// Returns the page that the provider redirects to after a sign-out.
    package static func signedOut(program: String? = nil) -> HTTPResponse {
        document(
            status: 200, tone: .good, title: "Signed out",
            content: "<p class=\"lead\">Your session at the provider has ended.</p>", program: program)
    }

    /// Returns the page for a failure, with advice.
    package static func failure(
        title: String, message: String, advice: String, provider: String? = nil, program: String? = nil,
        status: Int = 400
    ) -> HTTPResponse {
        document(
            status: status, tone: .bad, title: title,
            content: """
                <p class="lead message">\(outside(message))</p>
                <h2>What to do next</h2>
                <p class="advice">\(outside(advice))</p>
                \(facts(("Program", program), ("Provider", provider)))
                """, program: program)
    }

    /// Returns the page for an error; `words` renders its hint.
    package static func failure(
        _ error: OIDCError, issuer: String? = nil, program: String? = nil, _ words: (Hint) -> String
    ) -> HTTPResponse {
        let advice =
            error.kind == .untrusted
            ? "Do not sign in here again before the provider's operator has looked at this."
            : "Go back to the program that opened this page, and sign in again."
        return failure(
            title: title(error.kind), message: error.message, advice: error.hint.map(words) ?? advice,
            provider: issuer.map(host), program: program)
    }

    /// Returns the page for a callback that does not belong to this sign-in; the sign-in continues.
    static func stray(status: Int, message: String, advice: String, program: String?) -> HTTPResponse {
        failure(
            title: "Not the answer to this sign-in", message: message, advice: advice, program: program,
            status: status)
    }

    /// Returns the page for an old tab after another one has answered.
    static func answered(program: String?) -> HTTPResponse {
        failure(
            title: "Already answered", message: "Another tab has answered in the meantime.",
            advice: "Close this tab.", program: program)
    }

    /// Returns the page for a browser that opened another URL of the listener.
    static func otherURL(status: Int, program: String?) -> HTTPResponse {
        failure(
            title: "Page not found", message: "This URL does not finish the sign-in.",
            advice: "Close this tab, and open the URL that your terminal shows.", program: program,
            status: status)
    }

    /// Returns the page for a sign-out redirect that does not belong to this sign-out.
    package static func otherSignOut(program: String) -> HTTPResponse {
        failure(
            title: "Not the answer to this sign-out",
            message: "The provider returned another state than the one of this sign-out, or none.",
            advice: "Check at the provider that you are signed out.", program: program)
    }

    private static func title(_ kind: OIDCError.Kind) -> String {
        switch kind {
        case .refused, .loginRequired: "Sign-in refused"
        case .untrusted: "Not trusted"
        case .unreachable: "Provider unreachable"
        case .timedOut: "Timed out"
        case .interrupted: "Sign-in stopped"
        case .failed, .usage: "Sign-in failed"
        }
    }
}

extension ResultPage {
    private enum Tone: String {
        case good, bad

        /// The SVG path of a tick or a cross.
        var path: String { self == .good ? "M15.5 25.2l6.4 6.3 11.1-13.4" : "M17 17l14 14M31 17L17 31" }

        /// The color, encoded for a `data:` URL.
        var iconColor: String { self == .good ? "%231d7f5a" : "%23b5472f" }
    }

    /// Returns the answer with the page. It includes the icon, as a browser would otherwise request one.
    private static func document(
        status: Int, tone: Tone, title: String, content: String, program: String?
    ) -> HTTPResponse {
        let nonce = Base64URL.encode(Random.bytes(16))
        var headers = HTTPHeaders.ofPage(styleNonce: nonce)
        headers["Content-Type"] = "text/html; charset=utf-8"
        headers["Connection"] = "close"
        let icon =
            "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 48 48'%3E"
            + "%3Crect width='48' height='48' rx='14' fill='\(tone.iconColor)'/%3E%3Cpath d='\(tone.path)' "
            + "fill='none' stroke='white' stroke-width='5' stroke-linecap='round' stroke-linejoin='round'/%3E"
            + "%3C/svg%3E"
        let html = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="robots" content="noindex">
            <title>\(outside(program.map { "\(title) – \($0)" } ?? title))</title>
            <link rel="icon" href="\(icon)">
            <style nonce="\(nonce)">\(palette)\(style)</style>
            </head>
            <body class="\(tone.rawValue)">
            <main>
            <svg class="mark" viewBox="0 0 48 48" aria-hidden="true">\
            <rect x="1" y="1" width="46" height="46" rx="14"/><path d="\(tone.path)"/></svg>
            <h1>\(outside(title))</h1>
            \(content)
            <p class="closing">You can close this tab.<i aria-hidden="true"></i></p>
            </main>
            </body>
            </html>

            """
        return HTTPResponse(status: status, headers: headers, body: Array(html.utf8))
    }

    /// Returns an HTML list of the facts that have a value.
    private static func facts(_ facts: (name: String, value: String?)...) -> String {
        let rows = facts.compactMap { fact in
            fact.value.map { "<div><dt>\(fact.name)</dt><dd>\(outside($0))</dd></div>" }
        }
        return rows.isEmpty ? "" : "<dl>\n\(rows.joined(separator: "\n"))\n</dl>"
    }

    private static func host(of issuer: String) -> String { WebURL.ofIssuer(issuer)?.hostAndPort ?? issuer }

    /// Returns text from outside as HTML: escaped, and without invisible and bidirectional characters.
    private static func outside(_ text: String) -> String {
        HTMLText.escaped(DisplayText.clean(text))
    }
}
