import OIDCCore

/// An API that the profile knows.
struct Resource {
    let title: String
    let url: WebURL
    let scope: Scope
    let method: HTTPMethod

    init?(_ record: JSONValue) {
        guard let title = record["title"]?.string, let url = record["url"]?.string.flatMap(WebURL.init) else {
            return nil
        }
        self.title = title
        self.url = url
        scope = Scope(record["scope"]?.string ?? "")
        method = HTTPMethod(record["method"]?.string ?? "GET")
    }

    /// Whether the session's scope covers what it needs; nil where the scope is not known.
    func isOpen(to session: Session?) -> Bool? {
        guard let session else { return false }
        if scope.isEmpty { return true }
        return session.grantedScope.map { scope.isSubset(of: $0) }
    }
}
