package import OIDCCore

/// A simulated browser with a user: it follows redirects, keeps cookies, and presses the buttons of plain
/// forms.
///
/// It only decides which request to send next; the caller sends it. It understands pages like those of
/// `DemoProvider`, in which each button is a form of its own.
package struct BrowserStandIn: Sendable {
    package enum Choice: Sendable {
        /// Press the button of each page's first form.
        case approve
        /// Press the button of the form with the id `deny` if the page has one.
        case deny
    }

    package var choice: Choice
    /// The values to type instead of a form's own, by field name.
    package var typed: [String: String]
    private var cookies: [String: [String: String]] = [:]
    private var requestsLeft = 0

    package init(_ choice: Choice = .approve, typing typed: [String: String] = [:]) {
        self.choice = choice
        self.typed = typed
    }

    /// Opens a URL, with the cookies of earlier visits.
    package mutating func open(_ url: WebURL) -> HTTPRequest {
        requestsLeft = 20
        return withCookies(HTTPRequest(.get, url))
    }

    /// Returns the request that follows an answer, by redirect or form; nil if there is none, or after twenty
    /// requests.
    package mutating func next(after response: HTTPResponse, to request: HTTPRequest) -> HTTPRequest? {
        keepCookies(response, request.url)
        requestsLeft -= 1
        guard requestsLeft > 0 else { return nil }
        if (300..<400).contains(response.status), let location = response.headers["Location"] {
            guard let url = absolute(location, request.url) else { return nil }
            return withCookies(HTTPRequest(.get, url))
        }
        let page = String(decoding: response.body, as: UTF8.self)
        guard let form = chosen(HTMLForm.all(in: page)), let url = absolute(form.action, request.url) else {
            return nil
        }
        let pairs = form.fields.map { FormEncoding.Pair($0.name, typed[$0.name] ?? $0.value) }
        return withCookies(.form(url, pairs))
    }

    private func chosen(_ forms: [HTMLForm]) -> HTMLForm? {
        let denying = forms.first { $0.id == "deny" }
        return choice == .deny ? denying ?? forms.first : forms.first
    }

    private func absolute(_ text: String, _ base: WebURL) -> WebURL? {
        text.hasPrefix("/") ? WebURL("\(base.origin)\(text)") : WebURL(text)
    }

    private func withCookies(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        let known = (cookies[request.url.origin] ?? [:]).sorted { $0.key < $1.key }
        if !known.isEmpty {
            request.headers["Cookie"] = known.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
        }
        return request
    }

    private mutating func keepCookies(_ response: HTTPResponse, _ url: WebURL) {
        for header in response.headers.values("Set-Cookie") {
            let pair = header.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            cookies[url.origin, default: [:]][String(pair[0])] = String(pair[1])
        }
    }
}

/// A form of a page, with the data to submit it.
package struct HTMLForm {
    package var id: String?
    package var action: String
    package var fields: [FormEncoding.Pair]

    package static func all(in page: String) -> [HTMLForm] {
        page.pieces(between: "<form ").dropFirst().map { rest in
            let whole = rest.pieces(between: "</form>").first ?? rest
            let head = whole.prefix { $0 != ">" }
            let fields = whole.pieces(between: "<input ").dropFirst().compactMap { field in
                let tag = field.prefix { $0 != ">" }
                return attribute("name", tag).map { FormEncoding.Pair($0, attribute("value", tag) ?? "") }
            }
            return HTMLForm(
                id: attribute("id", head), action: attribute("action", head) ?? "", fields: Array(fields))
        }
    }

    private static func attribute(_ name: String, _ tag: Substring) -> String? {
        let parts = " \(tag)".pieces(between: " \(name)=\"")
        return parts.count > 1 ? unescaped(parts[1].prefix { $0 != "\"" }) : nil
    }

    private static func unescaped(_ text: Substring) -> String {
        let entities = [
            ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&"),
        ]
        var plain = ""
        var rest = text
        while let character = rest.first {
            if let (entity, meaning) = entities.first(where: { rest.hasPrefix($0.0) }) {
                plain += meaning
                rest = rest.dropFirst(entity.count)
            } else {
                plain.append(character)
                rest = rest.dropFirst()
            }
        }
        return plain
    }
}
