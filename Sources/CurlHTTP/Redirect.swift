public import OIDCCore

/// The handling of redirects: a GET follows them within its origin, at most three times; other requests are
/// not sent again (RFC 9700 §4.12).
struct Redirect {
    static let limit = 3

    let request: HTTPRequest
    let stage: Stage

    /// Returns the next URL, or nil if the answer is not a redirect.
    func next(after response: HTTPResponse, count: Int) throws(OIDCError) -> WebURL? {
        guard [301, 302, 303, 307, 308].contains(response.status), let location = response.headers["Location"]
        else { return nil }
        let from = request.url
        guard let target = from.resolving(location) else {
            throw refused("\(from.hostAndPort) redirects to an invalid URL", hint: nil)
        }
        let hint: Hint = "if \(target.origin) is the right server, name it in the settings"
        guard request.method == .get else {
            throw refused(
                "\(from.hostAndPort) answers the \(request.method) with a redirect to \(target.origin), "
                    + "which is not followed", hint: hint)
        }
        guard target.origin == from.origin else {
            throw refused(
                "\(from.origin) redirects to another origin, \(target.origin), which is not followed",
                hint: hint)
        }
        guard count < Redirect.limit else {
            throw refused("\(from.hostAndPort) redirects more than \(Redirect.limit) times", hint: nil)
        }
        return target
    }

    private func refused(_ message: String, hint: Hint?) -> OIDCError {
        OIDCError(.refused, "\(stage.title): \(message)", hint: hint, stage: stage)
    }
}

extension WebURL {
    /// Returns the URL of a reference relative to this one (RFC 3986 §5.2); nil if it is not a URL.
    public func resolving(_ reference: String) -> WebURL? {
        let reference = String(reference[..<(reference.utf8.firstIndex(of: .hash) ?? reference.endIndex)])
        let delimiter = reference.utf8.first { $0 == .colon || $0 == .slash || $0 == .questionMark }
        if delimiter == .colon { return WebURL(reference) }
        if reference.hasPrefix("//") { return WebURL("\(scheme):\(reference)") }
        let base = "\(scheme)://\(hostAndPort)"
        if reference.isEmpty { return WebURL("\(base)\(path)\(query.map { "?\($0)" } ?? "")") }
        if reference.hasPrefix("?") { return WebURL("\(base)\(path)\(reference)") }
        let end = reference.utf8.firstIndex(of: .questionMark) ?? reference.endIndex
        let folder = path.utf8.lastIndex(of: .slash).map { path[...$0] } ?? "/"
        let steps = String(reference[..<end])
        let whole = steps.hasPrefix("/") ? steps : folder + steps
        return WebURL("\(base)\(WebURL.withoutDots(whole))\(reference[end...])")
    }

    /// Returns a path without `.` and `..` segments (RFC 3986 §5.2.4).
    private static func withoutDots(_ path: String) -> String {
        guard path.includes("/.") else { return path }
        let segments = path.utf8.split(separator: .slash, omittingEmptySubsequences: false).dropFirst()
            .map(Substring.init)
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}
