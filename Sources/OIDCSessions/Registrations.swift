package import OIDCCore
import OIDCCrypto
import Posix

/// A client that registered itself at a server (RFC 7591), as it is stored for sign-ins.
package struct RegisteredRecord: StoredRecord {
    package var clientID: String
    package var clientSecret: Redacted<String>?
    /// The time at which the secret expires; nil if it does not.
    package var secretExpiresAt: Instant?
    /// The scope that was registered; nil if none was.
    package var scope: Scope?
    /// The client's settings: its authentication method and its registered redirect URLs.
    package var settings: JSONObject
    /// Whether the server no longer knows the client. Its secret is kept to revoke the sessions that it
    /// signed in.
    package var isRetired = false
    private var registrationClientURI: WebURL?
    private var registrationAccessToken: Redacted<String>?

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
        registrationClientURI = json["registration_client_uri"]?.string.flatMap { WebURL($0) }
        registrationAccessToken = json["registration_access_token"]?.string.map { Redacted($0) }
    }

    var json: JSONValue {
        var object = JSONObject()
        object["client_id"] = .string(clientID)
        object["client_secret"] = clientSecret.map { .string($0.revealed) }
        object["client_secret_expires_at"] = secretExpiresAt.map { JSONValue($0.secondsSinceEpoch) }
        object["scope"] = scope.map { .string($0.text) }
        object["settings"] = .object(settings)
        if isRetired { object["retired"] = true }
        object["registration_client_uri"] = registrationClientURI.map { .string($0.text) }
        object["registration_access_token"] = registrationAccessToken.map { .string($0.revealed) }
        return .object(object)
    }

    /// Returns the access to the registration (RFC 7592); nil if the provider gave none. A file may be older than
    /// the check of the URL.
    package func access(from server: WebURL) throws(OIDCError) -> RegistrationAccess? {
        guard let registrationClientURI, let registrationAccessToken else { return nil }
        return try RegistrationAccess(
            uri: registrationClientURI, token: registrationAccessToken, from: server)
    }

    /// Replaces the access to the registration.
    package mutating func keep(_ access: RegistrationAccess) {
        registrationClientURI = access.uri
        registrationAccessToken = access.token
    }

    /// Returns whether a sign-in may use the client.
    package func isUsable(at now: Instant) -> Bool {
        !isRetired && (secretExpiresAt.map { $0 > now } ?? true)
    }

    /// Returns whether the client may request a scope: it is part of the registered one, or none was
    /// registered.
    package func allows(_ scope: Scope) -> Bool { self.scope.map { scope.isSubset(of: $0) } ?? true }
}

/// The clients that registered themselves, in one file for each issuer, resource's origin and list of redirect URLs.
package struct Registrations: Sendable {
    private let list: RecordList<RegisteredRecord>

    /// The number of newest clients that a file keeps, in use or not.
    private static let newestLimit = 256

    /// Creates access to the files in `registrations` below a state directory. A file keeps the newest clients and those
    /// of earlier sessions.
    package init(state path: String) {
        list = RecordList(
            directory: SessionDirectory(
                path: "\(FilePath.trimmed(path))/registrations", ending: ".json", noun: "registration file"),
            ownerMember: "issuer", recordsMember: "clients", limit: 1_024)
    }

    /// Returns the name of the file for an issuer and the redirect URLs to register there. A resource on
    /// another origin has clients of its own, as the user's consent to one resource's client does not cover
    /// another resource.
    package static func name(issuer: String, resource: String? = nil, redirects: [String]) -> String {
        let server = WebURL.ofIssuer(issuer)
        let origin = resource.flatMap { WebURL($0)?.origin }.flatMap { $0 == server?.origin ? nil : $0 }
        let words = [issuer] + (origin.map { [$0] } ?? []) + redirects
        var text = JSONValue.array(words.map { .string($0) }).compact
        // A resource chooses its origin. If the hash were not cryptographic, it could choose one whose file
        // has the same name as another resource's. Without a cryptographic library, a sign-in does not get
        // this far.
        if origin != nil, let hash = try? Digest.hash(Array(text.utf8), .sha256) {
            text = Base64URL.encode(hash)
        }
        return FileName.of(server?.host ?? "server", hashing: text)
    }

    /// Returns the clients of a file, newest first.
    package func clients(_ name: String, issuer: String) throws(OIDCError) -> [RegisteredRecord] {
        try list.records(name, of: issuer)
    }

    /// Returns the client with an ID, from any file; nil if there is none.
    package func client(_ clientID: String, issuer: String) throws(OIDCError) -> RegisteredRecord? {
        for name in try list.directory.names() {
            guard let found = try? clients(name, issuer: issuer) else { continue }
            if let client = found.first(where: { $0.clientID == clientID }) { return client }
        }
        return nil
    }

    /// Adds a client, or replaces the one with the same ID. Older clients are kept only if `isUsed` returns
    /// true: without its client's secret, a session can be neither refreshed nor revoked.
    package func keep(
        _ client: RegisteredRecord, as name: String, issuer: String, isUsed: (_ clientID: String) -> Bool
    ) throws(OIDCError) {
        try list.change(name, of: issuer) { clients in
            clients.removeAll { $0.clientID == client.clientID }
            clients.insert(client, at: 0)
            let older = clients.dropFirst(Registrations.newestLimit).filter { isUsed($0.clientID) }
            clients = clients.prefix(Registrations.newestLimit) + older
            return true
        }
    }

    /// Removes a client, as its server no longer knows it or its user deletes it.
    package func remove(_ clientID: String, from name: String, issuer: String) throws(OIDCError) {
        try list.change(name, of: issuer) { clients in
            clients.removeAll { $0.clientID == clientID }
            return true
        }
    }

    /// Records that the server no longer knows a client, so the next sign-in registers another one.
    package func retire(_ clientID: String, in name: String, issuer: String) throws(OIDCError) {
        try list.change(name, of: issuer) { clients in
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
        try list.directory.withLock(name, for: .tokens, wait, body)
    }
}
