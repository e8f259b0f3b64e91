/// The URL that the browser was redirected to, as a user pastes it: all of it, or only its query.
struct PastedURL {
    /// The part before the query; empty if only the query was pasted.
    let beforeQuery: String
    let pairs: [FormEncoding.Pair]

    init(_ pasted: String) throws(OIDCError) {
        let text = PastedURL.unwrapped(pasted)
        guard text.utf8.count <= 65_536 else {
            throw .usage("the pasted URL is longer than 65536 characters")
        }
        let beforeFragment = text.prefix { $0 != "#" }
        let query: Substring
        var beforeQuery: Substring = ""
        if let mark = beforeFragment.firstIndex(of: "?") {
            query = beforeFragment[beforeFragment.index(after: mark)...]
            beforeQuery = beforeFragment[..<mark]
        } else if let equals = beforeFragment.firstIndex(of: "="), !beforeFragment[..<equals].contains(":") {
            query = beforeFragment
        } else {
            throw PastedURL.withoutQuery(text)
        }
        guard let pairs = FormEncoding.decode(query) else {
            throw .usage("the pasted URL has an invalid percent-encoding", hint: PastedURL.hint)
        }
        if pairs.contains(where: { $0.name == "response_type" || $0.name == "code_challenge" }) {
            throw .usage(
                "the pasted URL is the one to open, not the one your browser was redirected to",
                hint: PastedURL.hint)
        }
        self.beforeQuery = String(beforeQuery)
        self.pairs = pairs
    }

    /// Returns whether scheme, host, port and path are those of the redirect URL. Browsers may show a URL
    /// without its scheme, or with a slash as its path.
    func leads(to redirectURI: String) -> Bool {
        guard !beforeQuery.isEmpty else { return true }
        guard let expected = WebURL(redirectURI) else {
            return ASCII.lowercased(beforeQuery) == ASCII.lowercased(redirectURI.prefix { $0 != "?" })
        }
        let whole = beforeQuery.includes("://") ? beforeQuery : "\(expected.scheme)://\(beforeQuery)"
        guard let found = WebURL(whole) else { return false }
        return found.origin == expected.origin
            && (found.path.isEmpty ? "/" : found.path) == (expected.path.isEmpty ? "/" : expected.path)
    }

    static let hint: Hint = "paste the whole URL that your browser was redirected to"

    /// Removes blanks, quotes and angle brackets around the URL, and the line ends at which a terminal or an
    /// email program wrapped it.
    private static func unwrapped(_ pasted: String) -> String {
        var text = ASCII.trimmed(
            String(decoding: pasted.utf8.filter { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self))
        let marks: [(Character, Character)] = [("\"", "\""), ("'", "'"), ("<", ">"), ("`", "`"), ("“", "”")]
        for (open, close) in marks where text.first == open && text.last == close && text.count > 1 {
            text = ASCII.trimmed(text.dropFirst().dropLast())
        }
        return text
    }

    private static func withoutQuery(_ text: String) -> OIDCError {
        if text.isEmpty { return .usage("no URL was pasted", hint: hint) }
        if text.contains("#") {
            return .usage(
                "the pasted URL has its answer after #, where no code is accepted",
                hint: .set(.responseMode, to: "query"))
        }
        return .usage("the pasted text has no code and state in it", hint: hint)
    }
}
