import OIDCCore
import OIDCSessions
import Posix

/// A request to a git credential helper (gitcredentials, git-credential(1)): one attribute per line.
struct GitCredential {
    let url: WebURL?
    let username: String?
    let password: Redacted<String>?

    static let limit = 65_536

    /// Parses the request strictly: a line end hidden in a URL would request another host's password
    /// (CVE-2020-5260, CVE-2024-52006).
    init(parsing bytes: [UInt8]) throws(OIDCError) {
        guard bytes.count <= GitCredential.limit, let text = String(validating: bytes, as: UTF8.self),
            text.utf8.allSatisfy({ $0 != 0 && $0 != .carriageReturn })
        else { throw GitCredential.malformed }
        var values: [String: String] = [:]
        for line in text.utf8.split(separator: .lineFeed, omittingEmptySubsequences: false) {
            if line.isEmpty { break }
            guard let equals = line.firstIndex(of: .equals), equals > line.startIndex else {
                throw GitCredential.malformed
            }
            let name = String(line[..<equals]) ?? ""
            guard !name.hasSuffix("[]") else { continue }
            let value = String(line[line.index(after: equals)...]) ?? ""
            guard values.updateValue(value, forKey: name) == nil else { throw GitCredential.malformed }
        }
        url = GitCredential.url(values)
        username = values["username"]
        password = values["password"].map { Redacted($0) }
    }

    /// Returns the URL of the request; nil if no token may be sent there: another protocol, plain http to
    /// another machine, or an invalid host.
    private static func url(_ values: [String: String]) -> WebURL? {
        guard let scheme = values["protocol"], let host = values["host"],
            scheme == "https" || scheme == "http", let url = WebURL("\(scheme)://\(host)"),
            url.path.isEmpty, url.query == nil, url.fragment == nil, url.isSecure || url.isLoopback
        else { return nil }
        return url
    }

    private static var malformed: OIDCError {
        .usage("stdin: expected git-credential attributes, one per line, each name once")
    }

    /// Returns the configured host that matches by host and, if both name one, by user name.
    func served(by hosts: [CredentialHost]) -> CredentialHost? {
        guard let url else { return nil }
        return hosts.first { host in
            host.serves(url) && (username == nil || host.username == nil || username == host.username)
        }
    }

    func answer(_ host: CredentialHost, _ token: CredentialToken) -> String {
        var lines = [
            "username=\(host.username ?? username ?? CredentialHost.usualName)",
            "password=\(token.text.revealed)",
        ]
        if let expiry = token.expiresAt { lines.append("password_expiry_utc=\(expiry.secondsSinceEpoch)") }
        return lines.joined(separator: "\n")
    }
}

extension Account {
    /// Marks a token as expired after a server refused it, so the next one is new. Does nothing if the
    /// session cannot be refreshed.
    func expire(_ token: Redacted<String>) throws(OIDCError) {
        // A token that is lent is replaced by its lender, once a server refuses it.
        guard provider.lent == nil, let stored = try load(), stored.holds(token), stored.canRefresh else {
            return
        }
        let wait = LockWait(limit: .seconds(30))
        try store.withLock(key, wait) { () throws(OIDCError) in
            guard let current = try store.load(key), current.holds(token) else { return }
            var expired = current
            expired.expire(token)
            _ = try store.replace(current, with: expired)
        }
    }
}

extension Session {
    fileprivate func holds(_ token: Redacted<String>) -> Bool {
        ([tokens.access] + derived.map(\.access)).contains { $0.token == token }
    }
}
