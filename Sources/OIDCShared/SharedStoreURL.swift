package import CurlHTTP
package import OIDCCore

/// The URL of a shared store, as in the setting `store`.
package struct SharedStoreURL: Hashable, Sendable {
    package enum Engine: Hashable, Sendable { case redis, etcd }

    package struct Host: Hashable, Sendable {
        package var name: String
        package var port: UInt16

        /// `host:port`, with brackets around an IPv6 address.
        package var text: String { name.utf8.contains(.colon) ? "[\(name)]:\(port)" : "\(name):\(port)" }
        package var isLoopback: Bool {
            name == "localhost" || name == "::1"
                || (name.hasPrefix("127.") && !IPv4Host.looksLikeThisMachine(name))
        }

        /// Returns whether a byte may occur in a host name or an IP address.
        static func allows(_ byte: UInt8) -> Bool {
            ASCII.isAlphanumeric(byte) || "-._:".utf8.contains(byte)
        }
    }

    package var engine = Engine.redis
    package var isSecure = false
    /// The servers, tried in turn; empty for a socket.
    package var hosts: [Host] = []
    /// The path of a socket.
    package var socket: String?
    package var user: String?
    package var password: Redacted<String>?
    /// The number of the Redis database.
    package var database = 0
    /// The name of the master that Redis Sentinel watches; the hosts are then sentinels.
    package var master: String?
    /// The prefix of names in etcd, without the final slash.
    package var prefix = "oidc"
    /// Whether the store named the host, as one of its cluster.
    var isNamedByServer = false

    private static let schemes: [(scheme: String, engine: Engine, isSecure: Bool)] = [
        ("redis://", .redis, false), ("rediss://", .redis, true), ("etcd://", .etcd, false),
        ("etcds://", .etcd, true),
    ]
    private static let socketScheme = "redis+unix:"

    /// Returns whether a setting names a shared store, even with a mistake in the rest.
    package static func isSharedStore(_ setting: String) -> Bool {
        let word = ASCII.lowercased(setting)
        return word.hasPrefix("redis") || word.hasPrefix("etcd") || word.hasPrefix("valkey")
            || word.includes("://")
    }

    /// Parses the setting. Errors never quote it, as it may hold a password.
    package init(_ setting: String) throws(OIDCError) {
        if setting.hasPrefix(SharedStoreURL.socketScheme) {
            try takeSocket(setting.dropFirst(SharedStoreURL.socketScheme.utf8.count))
            return
        }
        guard
            let (scheme, engine, isSecure) = SharedStoreURL.schemes.first(where: {
                setting.hasPrefix($0.scheme)
            })
        else {
            throw SharedStoreURL.mistake("expected redis://, rediss://, redis+unix:, etcd:// or etcds://")
        }
        self.engine = engine
        self.isSecure = isSecure
        var rest = setting.dropFirst(scheme.utf8.count)
        let query = SharedStoreURL.cut(&rest, at: "?")
        let path = SharedStoreURL.cut(&rest, at: "/")
        if [path, query].contains(where: { $0?.utf8.contains(UInt8(ascii: "@")) == true }) {
            throw SharedStoreURL.mistake("percent-encode the password: %2F for a slash, %3F for ?, %40 for @")
        }
        try takeUser(&rest)
        for part in rest.split(separator: ",", omittingEmptySubsequences: false) {
            hosts.append(try host(part))
        }
        try takePath(path ?? "")
        try takeQuery(query)
    }

    private mutating func takeSocket(_ text: Substring) throws(OIDCError) {
        var rest = text
        let query = SharedStoreURL.cut(&rest, at: "?")
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let start = rest.firstIndex(of: "/") ?? rest.endIndex
            var authority = rest[..<start]
            try takeUser(&authority)
            guard authority.isEmpty else {
                throw SharedStoreURL.mistake("redis+unix: takes the path of a socket")
            }
            rest = rest[start...]
        }
        guard rest.hasPrefix("/"), rest.utf8.allSatisfy({ !ASCII.isControl($0) }) else {
            throw SharedStoreURL.mistake("redis+unix: takes the absolute path of a socket")
        }
        socket = String(rest)
        try takeQuery(query)
    }

    private static func cut(_ rest: inout Substring, at mark: String) -> Substring? {
        guard let (before, after) = rest.parts(around: mark) else { return nil }
        rest = before
        return after
    }

    private mutating func takeUser(_ rest: inout Substring) throws(OIDCError) {
        guard let end = rest.lastIndex(of: "@") else { return }
        var name = rest[..<end]
        rest = rest[rest.index(after: end)...]
        guard !name.utf8.contains(where: { "@,".utf8.contains($0) }) else {
            throw SharedStoreURL.mistake("percent-encode the password: %40 for @, %2C for a comma")
        }
        let secret = SharedStoreURL.cut(&name, at: ":")
        guard let user = SharedStoreURL.decoded(name), let password = SharedStoreURL.decoded(secret ?? "")
        else { throw SharedStoreURL.mistake("the user or the password contains a bad % escape") }
        self.user = user.isEmpty ? nil : user
        self.password = password.isEmpty ? nil : Redacted(password)
        guard engine == .redis || (self.user == nil) == (self.password == nil) else {
            throw SharedStoreURL.mistake("etcd takes a user and a password")
        }
    }

    private func host(_ text: Substring) throws(OIDCError) -> Host {
        guard let url = WebURL("http://\(text)"), url.path.isEmpty, url.text.utf8.last != .colon else {
            throw SharedStoreURL.mistake("expected HOST:PORT, or several with commas between them")
        }
        guard !IPv4Host.looksLikeThisMachine(url.host) else {
            throw SharedStoreURL.mistake("a host looks like an address of this machine, but is a name")
        }
        let usual: UInt16 = engine == .etcd ? 2379 : 6379
        return Host(name: url.host, port: url.port.flatMap { UInt16(exactly: $0) } ?? usual)
    }

    private mutating func takePath(_ path: Substring) throws(OIDCError) {
        let name = path.hasSuffix("/") ? path.dropLast() : path
        guard !name.isEmpty else { return }
        switch engine {
        case .redis:
            guard let number = Int(name), (0...65_535).contains(number) else {
                throw SharedStoreURL.mistake("expected a database number after the slash")
            }
            database = number
        case .etcd:
            guard name.utf8.allSatisfy({ ASCII.isAlphanumeric($0) || "-._/".utf8.contains($0) }) else {
                throw SharedStoreURL.mistake("the prefix takes letters, digits, - . _ and /")
            }
            prefix = String(name)
        }
    }

    private mutating func takeQuery(_ query: Substring?) throws(OIDCError) {
        guard let query, !query.isEmpty else { return }
        guard engine == .redis else { throw SharedStoreURL.mistake("an etcd URL takes no query") }
        for pair in query.split(separator: "&") {
            guard let (name, value) = pair.parts(around: "=") else {
                throw SharedStoreURL.mistake("after ?, expected sentinel=NAME or db=NUMBER")
            }
            if name == "db", socket != nil, let number = Int(value), (0...65_535).contains(number) {
                database = number
            } else if name == "sentinel", socket == nil, !value.isEmpty,
                value.utf8.allSatisfy({ ASCII.isAlphanumeric($0) || "-._".utf8.contains($0) })
            {
                master = String(value)
            } else {
                throw SharedStoreURL.mistake("after ?, expected sentinel=NAME, or db=NUMBER for a socket")
            }
        }
    }

    /// Decodes % escapes; returns nil for an invalid one or a control character.
    private static func decoded(_ text: Substring) -> String? {
        let decoded = FormEncoding.decodeComponent(Array(text.utf8)[...], plusIsSpace: false)
        return decoded.flatMap { $0.utf8.contains(where: ASCII.isControl) ? nil : $0 }
    }

    private static func mistake(_ message: String) -> OIDCError {
        OIDCError(
            .usage, "store: \(message)",
            hint:
                "give a URL such as redis://host:6379/0, redis+unix:/run/redis.sock or etcds://host:2379/prefix",
            stage: .store)
    }
}

extension SharedStoreURL {
    /// The URL without the password, to show.
    package var redacted: String {
        let account =
            user == nil && password == nil
            ? "" : "\(DisplayText.clean(user ?? ""))\(password == nil ? "" : ":(secret)")@"
        if let socket {
            let suffix = database == 0 ? "" : "?db=\(database)"
            return "redis+unix:\(account.isEmpty ? "" : "//\(account)")\(DisplayText.clean(socket))\(suffix)"
        }
        let scheme = (engine == .redis ? "redis" : "etcd") + (isSecure ? "s" : "")
        let path = engine == .redis ? String(database) : prefix
        let suffix = master.map { "?sentinel=\($0)" } ?? ""
        return "\(scheme)://\(account)\(hosts.map(\.text).joined(separator: ","))/\(path)\(suffix)"
    }

    /// The URL without user and password, for messages.
    package var server: String {
        var bare = self
        bare.user = nil
        bare.password = nil
        return isNamedByServer ? withoutPassword(bare.redacted) : bare.redacted
    }

    /// Returns the server's text with the store's secrets removed, so it can be shown. A Redis without AUTH quotes the
    /// words of the command that it does not know.
    package func withoutSecrets(_ text: String) -> String {
        // A short user name is likely to be a word of the text.
        let secrets = [user, isSecretShort ? nil : password?.revealed].compactMap { $0 }
        let shown = WithheldSecrets(secrets.filter { $0.utf8.count >= 8 }).removed(from: text)
        guard isSecretShort, let password, text.includes(password.revealed) else {
            return DisplayText.clean(shown, limit: 200)
        }
        return "(the server's words contain the password)"
    }

    /// Returns a name or message from the server with the store's password removed. Passwords under eight bytes stay, as
    /// they may be part of a name by chance. Names of hosts are in lowercase in URLs.
    package func withoutPassword(_ text: String) -> String {
        let secrets = [password?.revealed].compactMap { $0 }.filter { $0.utf8.count >= 8 }
        return WithheldSecrets(secrets + secrets.map { ASCII.lowercased($0) }).removed(from: text)
    }

    /// Whether the password is so short that removing it from a message would garble it.
    private var isSecretShort: Bool {
        guard let password else { return false }
        return (1..<8).contains(password.revealed.utf8.count)
    }

    /// Returns whether the user and the password may be sent to a server that another one named, by a redirect,
    /// as a master or as a member of its cluster. With TLS, its certificate is checked like that of any server; without,
    /// nothing is checked, so they do not leave this machine if the store is on it.
    func mayRedirect(to host: Host) -> Bool {
        isSecure || host.isLoopback || !hosts.allSatisfy(\.isLoopback)
    }

    /// Whether the connection leaves the machine unencrypted.
    package var isOpen: Bool { !isSecure && socket == nil && !hosts.allSatisfy(\.isLoopback) }
}

extension SharedStoreURL {
    /// Returns the engine that the URL names, without connecting it.
    package func connect(_ configuration: CurlConfiguration) -> any SharedEngine {
        switch engine {
        case .redis: RedisEngine(self, configuration)
        case .etcd: EtcdEngine(self, configuration)
        }
    }
}
