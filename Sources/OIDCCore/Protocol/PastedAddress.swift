/// The address to which the browser was sent, as a user pastes it: whole, whatever its scheme, or its query.
struct PastedAddress {
    /// What stands before the query; empty where the query alone was pasted.
    let place: String
    let pairs: [FormEncoding.Pair]

    init(_ pasted: String) throws(OIDCError) {
        let text = PastedAddress.unwrapped(pasted)
        guard text.utf8.count <= 65_536 else {
            throw .usage("the pasted address is longer than 65536 characters")
        }
        let beforeFragment = text.prefix { $0 != "#" }
        let query: Substring
        var place: Substring = ""
        if let mark = beforeFragment.firstIndex(of: "?") {
            query = beforeFragment[beforeFragment.index(after: mark)...]
            place = beforeFragment[..<mark]
        } else if let equals = beforeFragment.firstIndex(of: "="), !beforeFragment[..<equals].contains(":") {
            query = beforeFragment
        } else {
            throw PastedAddress.withoutQuery(text)
        }
        guard let pairs = FormEncoding.decode(query) else {
            throw .usage("the pasted address holds a broken escape (%)", hint: PastedAddress.hint)
        }
        if pairs.contains(where: { $0.name == "response_type" || $0.name == "code_challenge" }) {
            throw .usage(
                "the pasted address is the one that was opened, not the one after it",
                hint: PastedAddress.hint)
        }
        self.place = String(place)
        self.pairs = pairs
    }

    /// Scheme, host, port and path are those of the redirect address; browsers show an address without its
    /// scheme, or with a slash in place of no path.
    func leads(to redirectURI: String) -> Bool {
        guard !place.isEmpty else { return true }
        guard let expected = WebURL(redirectURI) else {
            return ASCII.lowercased(place) == ASCII.lowercased(redirectURI.prefix { $0 != "?" })
        }
        let whole = place.includes("://") ? place : "\(expected.scheme)://\(place)"
        guard let found = WebURL(whole) else { return false }
        return found.origin == expected.origin
            && (found.path.isEmpty ? "/" : found.path) == (expected.path.isEmpty ? "/" : expected.path)
    }

    static let hint: Hint = "paste the whole address that the browser was sent to at the end of the sign-in"

    /// Without blanks, quotes and angle brackets around it, and without the line ends at which a terminal or
    /// a mail wrapped it.
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
        if text.isEmpty { return .usage("no address was given", hint: hint) }
        if text.contains("#") {
            return .usage(
                "the pasted address has its answer after #, where a code does not belong",
                hint: .set(.responseMode, to: "query"))
        }
        return .usage("the pasted text has no code and state in it", hint: hint)
    }
}
