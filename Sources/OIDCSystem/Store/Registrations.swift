package import OIDCCore

/// A client that registered itself at a server (RFC 7591), with what a sign-in needs of it.
package struct RegisteredRecord: Hashable, Sendable {
    package var clientID: String
    package var clientSecret: Redacted<String>?
    /// When the secret expires; nil if it does not.
    package var secretExpiresAt: Instant?
    /// The scope that was registered; nil if none was named.
    package var scope: Scope?
    /// Settings of the client: its authentication, and the redirect URLs that are registered.
    package var settings: JSONObject
    /// Whether the server no longer knows it. Sessions of it are still revoked with its secret.
    package var isRetired = false

    package init(
        clientID: String, clientSecret: Redacted<String>? = nil, secretExpiresAt: Instant? = nil,
        scope: Scope? = nil, settings: JSONObject = JSONObject()
    ) {
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.secretExpiresAt = secretExpiresAt
        self.scope = scope
        self.settings = settings
    }

    init?(_ json: JSONValue) {
        guard let clientID = json["client_id"]?.string,
            clientID.utf8.count <= RegisteredClient.clientIDLimit
        else { return nil }
        self.init(
            clientID: clientID, clientSecret: json["client_secret"]?.string.map { Redacted($0) },
            secretExpiresAt: json["client_secret_expires_at"]?.integer.map {
                Instant(secondsSinceEpoch: $0)
            },
            scope: json["scope"]?.string.map { Scope($0) },
            settings: json["settings"]?.object ?? JSONObject())
        isRetired = json["retired"]?.bool ?? false
    }

    var json: JSONValue {
        var object = JSONObject()
        object["client_id"] = .string(clientID)
        object["client_secret"] = clientSecret.map { .string($0.revealed) }
        object["client_secret_expires_at"] = secretExpiresAt.map { JSONValue($0.secondsSinceEpoch) }
        object["scope"] = scope.map { .string($0.text) }
        object["settings"] = .object(settings)
        if isRetired { object["retired"] = true }
        return .object(object)
    }

    /// Returns whether a sign-in may use it.
    package func isUsable(at now: Instant) -> Bool {
        !isRetired && (secretExpiresAt.map { $0 > now } ?? true)
    }

    /// Returns whether it was registered for a scope.
    package func allows(_ scope: Scope) -> Bool { self.scope.map { scope.isSubset(of: $0) } ?? true }
}

/// The clients that registered themselves: one file for each issuer and redirect URL.
package struct Registrations: Sendable {
    private static let formatVersion: Int64 = 1
    /// How many clients a file keeps: the newest, and those of earlier sessions.
    private static let limit = 16

    private let directory: SessionDirectory

    /// Uses a directory below the one for sessions.
    package init(state path: String) {
        directory = SessionDirectory(
            path: "\(StateDirectories.trimmed(path))/registrations", ending: ".json",
            noun: "registration file")
    }

    /// Returns the name of the file for an issuer and the redirect URLs to register there.
    package static func name(issuer: String, redirects: [String]) -> String {
        FileName.of(
            WebURL.ofIssuer(issuer)?.host ?? "server",
            hashing: JSONValue.array(([issuer] + redirects).map { .string($0) }).compact)
    }

    /// Returns the clients of a file, newest first.
    package func clients(_ name: String, issuer: String) throws(OIDCError) -> [RegisteredRecord] {
        guard let bytes = try directory.read(name) else { return [] }
        return Registrations.clients(bytes, issuer: issuer)
    }

    /// Returns a client by its ID, wherever it is kept.
    package func client(_ clientID: String, issuer: String) throws(OIDCError) -> RegisteredRecord? {
        for name in try directory.names() {
            guard let found = try? clients(name, issuer: issuer) else { continue }
            if let client = found.first(where: { $0.clientID == clientID }) { return client }
        }
        return nil
    }

    /// Adds a client, or replaces the one of its ID.
    package func keep(_ client: RegisteredRecord, as name: String, issuer: String) throws(OIDCError) {
        try change(name, issuer) { clients in
            clients.removeAll { $0.clientID == client.clientID }
            clients.insert(client, at: 0)
            return true
        }
    }

    /// Notes that the server no longer knows a client, so the next sign-in registers another one.
    package func retire(_ clientID: String, in name: String, issuer: String) throws(OIDCError) {
        try change(name, issuer) { clients in
            guard let index = clients.firstIndex(where: { $0.clientID == clientID && !$0.isRetired }) else {
                return false
            }
            clients[index].isRetired = true
            return true
        }
    }

    /// Runs `body` while no other process registers a client under this name.
    package func withLock<Value>(
        _ name: String, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try directory.withLock(name, for: .tokens, wait, body)
    }

    private func change(
        _ name: String, _ issuer: String, _ body: (inout [RegisteredRecord]) -> Bool
    ) throws(OIDCError) {
        try directory.replace(name) { existing in
            var clients = existing.map { Registrations.clients($0, issuer: issuer) } ?? []
            guard body(&clients) else { return nil }
            let document: JSONValue = [
                "version": JSONValue(Registrations.formatVersion), "issuer": .string(issuer),
                "clients": .array(clients.prefix(Registrations.limit).map(\.json)),
            ]
            return document.bytes
        }
    }

    /// Reads a file's clients. Those of another issuer are not used: a secret goes only where it came from.
    private static func clients(_ bytes: [UInt8], issuer: String) -> [RegisteredRecord] {
        guard let json = try? JSONValue(parsing: bytes), let found = json["issuer"]?.string,
            ExactText.isSame(found, issuer), let version = json["version"]?.integer, version <= formatVersion
        else { return [] }
        return (json["clients"]?.array ?? []).compactMap { RegisteredRecord($0) }
    }
}
