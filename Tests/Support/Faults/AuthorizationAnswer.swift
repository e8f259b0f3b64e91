import DemoProvider
import OIDCCore

/// The parameters that an answer sends back to a client through the browser, taken out of a redirect or a form.
struct AuthorizationAnswer {
    enum Delivery { case query, fragment, form }

    let target: String
    var pairs: [FormEncoding.Pair]
    var delivery: Delivery

    /// Takes the parameters out of a response; nil for the provider's own pages, and for redirects to them.
    init?(_ response: HTTPResponse, from demo: DemoProvider) {
        if let location = response.headers["Location"] {
            guard !location.hasPrefix(demo.address("/")) else { return nil }
            let parts = location.split(separator: "?", maxSplits: 1)
            guard parts.count == 2, let pairs = FormEncoding.decode(String(parts[1])) else { return nil }
            (target, self.pairs, delivery) = (String(parts[0]), pairs, .query)
            return
        }
        let forms = HTMLForm.all(in: String(decoding: response.body, as: UTF8.self))
        guard let form = forms.first(where: { $0.id == "answer" }) else { return nil }
        (target, pairs, delivery) = (form.action, form.fields, .form)
    }

    mutating func replace(_ name: String, _ value: String?) {
        pairs.removeAll { $0.name == name }
        if let value { pairs.append(FormEncoding.Pair(name, value)) }
    }

    mutating func `repeat`(_ name: String) { pairs += pairs.filter { $0.name == name } }

    /// Returns the changed answer, with the headers of the original one.
    func response(like original: HTTPResponse) -> HTTPResponse {
        var response = original
        if delivery == .form {
            let page = String(decoding: original.body, as: UTF8.self)
            guard let start = page.firstRange(of: "<form "), let end = page.firstRange(of: "</form>") else {
                return original
            }
            let form = Page.form(id: "answer", action: target, hidden: pairs, button: "Continue")
            response.body = Array("\(page[..<start.lowerBound])\(form)\(page[end.upperBound...])".utf8)
            return response
        }
        response.status = 303
        let separator = pairs.isEmpty ? "" : delivery == .fragment ? "#" : "?"
        response.headers["Location"] = "\(target)\(separator)\(FormEncoding.encode(pairs))"
        response.body = []
        return response
    }
}
