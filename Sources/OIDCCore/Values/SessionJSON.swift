extension Session {
    /// The version of the stored form; sessions of a newer version are left alone.
    public static let formatVersion: Int64 = 1

    /// The reason why a stored session cannot be used.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum Damage: Error, Hashable, Sendable {
        case notJSON(String)
        case newerVersion(Int64)
        case member(String)
    }

    /// The stored form, which starts with the whole key.
    public var json: JSONValue {
        var object = JSONObject()
        object["version"] = JSONValue(Session.formatVersion)
        object["key"] = .string(key.text)
        object["created_at"] = JSONValue(createdAt.secondsSinceEpoch)
        object["issuer"] = endpoints.issuer.map { .string($0) }
        object["token_endpoint"] = .string(endpoints.token.text)
        for (name, url) in endpoints.optional { object[name] = url.map { .string($0.text) } }
        object["client_auth"] = clientAuthentication.map { .string($0) }
        object["requested_scope"] = requestedScope.map { .string($0.text) }
        if !requestedResources.isEmpty {
            object["requested_resource"] = .array(requestedResources.map { .string($0) })
        }
        object["sends_resource"] = sendsResources.map { .bool($0) }
        object["access"] = tokens.access.json
        object["refresh_token"] = tokens.refreshToken.map { .string($0.revealed) }
        object["id_token"] = tokens.idToken.map { .string($0.revealed) }
        object["issued_token_type"] = tokens.issuedTokenType.map { .string($0) }
        if !tokens.extra.isEmpty { object["extra"] = .object(tokens.extra) }
        object["subject"] = subject.map { .string($0) }
        object["display_name"] = displayName.map { .string($0) }
        object["nonce"] = nonce.map { .string($0) }
        object["sign_in"] = signInID.map { .string($0) }
        object["replaced_token"] = replacedToken.map { .string($0) }
        object["dpop_key"] = dpopKey.map { .string($0.revealed) }
        if bindsOpaqueTokens { object["certificate_bound"] = true }
        if !kept.isEmpty { object["kept"] = .array(kept.map(\.json)) }
        if !derived.isEmpty { object["derived"] = .array(derived.map(\.json)) }
        object["ended"] = ended?.json
        object.add(unknownMembers)
        return .object(object)
    }

    private static let knownMembers = [
        "version", "key", "created_at", "issuer", "token_endpoint", "refresh_endpoint", "userinfo_endpoint",
        "jwks_uri", "revocation_endpoint", "introspection_endpoint", "end_session_endpoint", "client_auth",
        "requested_scope", "requested_resource", "sends_resource", "access", "refresh_token", "id_token",
        "issued_token_type", "extra", "subject", "display_name", "nonce", "sign_in", "replaced_token",
        "dpop_key", "certificate_bound", "derived", "kept", "ended",
    ]

    /// Parses the stored form of the session with `key`; returns nil if it is a session of another key.
    public init?(stored bytes: [UInt8], for key: SessionKey) throws(Damage) {
        let reader = try Session.reader(bytes)
        guard let text = reader["key"]?.string, ExactText.isSame(text, key.text) else { return nil }
        try self.init(reader, key: key)
    }

    /// Parses the stored form, with the key that it contains.
    public init(stored bytes: [UInt8]) throws(Damage) {
        let reader = try Session.reader(bytes)
        guard let text = reader["key"]?.string, let key = SessionKey(text: text),
            ExactText.isSame(key.text, text)
        else { throw Damage.member("key") }
        try self.init(reader, key: key)
    }

    private static func reader(_ bytes: [UInt8]) throws(Damage) -> JSONReader<Damage> {
        try JSONReader(stored: bytes, version: formatVersion)
    }

    private init(_ stored: JSONReader<Damage>, key: SessionKey) throws(Damage) {
        let createdAt = try stored.required("created_at", stored.integer)
        let token = try stored.required("token_endpoint", stored.url)
        guard var access = stored["access"].flatMap(AccessToken.init(json:)) else {
            throw Damage.member("access")
        }
        let requestedScope = try stored.string("requested_scope").map { Scope($0) }
        // Version 0.1.0 stored scopes unchanged, even if they were separated by commas.
        if let requestedScope { access.scope = access.scope?.separated(as: requestedScope) }
        let requestedResources = try stored.strings("requested_resource") ?? []
        let extra = try stored.object("extra") ?? JSONObject()
        let derived = try stored.array("derived")?.map(DerivedToken.init(json:)) ?? []
        guard !derived.contains(where: { $0 == nil }) else { throw Damage.member("derived") }
        self.init(
            key: key,
            endpoints: Endpoints(
                issuer: try stored.string("issuer"), token: token,
                refresh: try stored.url("refresh_endpoint"),
                userInfo: try stored.url("userinfo_endpoint"), keys: try stored.url("jwks_uri"),
                revocation: try stored.url("revocation_endpoint"),
                introspection: try stored.url("introspection_endpoint"),
                endSession: try stored.url("end_session_endpoint")),
            clientAuthentication: try stored.string("client_auth"),
            createdAt: Instant(secondsSinceEpoch: createdAt),
            requestedScope: requestedScope,
            requestedResources: requestedResources, sendsResources: try stored.bool("sends_resource"),
            tokens: TokenSet(
                access: access, refreshToken: try stored.string("refresh_token").map { Redacted($0) },
                idToken: try stored.string("id_token").map { Redacted($0) },
                issuedTokenType: try stored.string("issued_token_type"), extra: extra),
            subject: try stored.string("subject"), displayName: try stored.string("display_name"),
            dpopKey: try stored.string("dpop_key").map { Redacted($0) }, derived: derived.compactMap { $0 })
        nonce = try stored.string("nonce")
        signInID = try stored.string("sign_in")
        replacedToken = try stored.string("replaced_token")
        ended = stored["ended"].flatMap(End.init(json:))
        bindsOpaqueTokens = try stored.bool("certificate_bound") ?? false
        // A credential that cannot be read is obtained again.
        kept = stored["kept"]?.array?.compactMap { KeptCredential($0) } ?? []
        unknownMembers = JSONObject(of: .object(stored.members), except: Session.knownMembers)
    }
}

extension JSONReader<Session.Damage> {
    /// Reads a stored object, unless its version is newer than `version`.
    package init(
        stored bytes: [UInt8], version: Int64, named member: String = "version"
    ) throws(Session.Damage) {
        let json: JSONValue
        do { json = try JSONValue(parsing: bytes) } catch { throw .notJSON(error.inFile) }
        self.init(json.object ?? JSONObject()) { name, _, _ in .member(name) }
        let found = try required(member, integer)
        guard found <= version else { throw .newerVersion(found) }
    }
}

extension SessionKey {
    /// Parses the form that `text` has.
    package init?(text: String) {
        guard let json = try? JSONValue(parsing: text), let provider = json["provider"]?.string,
            let clientID = json["client_id"]?.string, let grant = json["grant"]?.string
        else { return nil }
        self.init(
            provider: provider, clientID: clientID, grant: GrantType(rawValue: grant),
            audience: json["audience"]?.string, account: json["account"]?.string,
            scope: json["scope"]?.string.map { Scope($0) },
            resources: json["resource"]?.array?.compactMap(\.string) ?? [], subject: json["subject"]?.string)
    }
}

extension Session.Endpoints {
    fileprivate var optional: [(String, WebURL?)] {
        [
            ("refresh_endpoint", refresh), ("userinfo_endpoint", userInfo), ("jwks_uri", keys),
            ("revocation_endpoint", revocation),
            ("introspection_endpoint", introspection), ("end_session_endpoint", endSession),
        ]
    }
}

extension JSONObject {
    /// Creates an object from the members that are not in `known`.
    fileprivate init(of json: JSONValue, except known: [String]) {
        self.init()
        for member in json.object?.members ?? [] where !known.contains(member.name) {
            self[member.name] = member.value
        }
    }

    /// Adds the members whose names are not in the object yet.
    fileprivate mutating func add(_ others: JSONObject) {
        for member in others.members where self[member.name] == nil { self[member.name] = member.value }
    }
}

extension AccessToken {
    /// The placeholder for a token that was revoked and dropped, as version 0.1.0 treats a session without a
    /// token as damaged.
    private static let revoked = "revoked"
    private static let knownMembers = ["token", "token_type", "obtained_at", "expires_at", "scope"]

    fileprivate var json: JSONValue {
        var object = JSONObject()
        object["token"] = .string(token.revealed.isEmpty ? AccessToken.revoked : token.revealed)
        object["token_type"] = .string(type.name)
        object["obtained_at"] = JSONValue(obtainedAt.secondsSinceEpoch)
        object["expires_at"] = expiresAt.map { JSONValue($0.secondsSinceEpoch) }
        object["scope"] = scope.map { .string($0.text) }
        object.add(unknownMembers)
        return .object(object)
    }

    fileprivate init?(json: JSONValue) {
        guard let token = json["token"]?.string, let type = json["token_type"]?.string,
            let obtainedAt = json["obtained_at"]?.integer,
            json["expires_at"] == nil || json["expires_at"]?.integer != nil,
            json["scope"] == nil || json["scope"]?.string != nil,
            // Both are sent in a header.
            !token.isEmpty, (token + type).utf8.allSatisfy({ ASCII.isPrintable($0) })
        else { return nil }
        let isRevoked = json["expires_at"]?.integer == obtainedAt && token == AccessToken.revoked
        self.init(
            token: Redacted(isRevoked ? "" : token), type: TokenType(type),
            obtainedAt: Instant(secondsSinceEpoch: obtainedAt),
            expiresAt: json["expires_at"]?.integer.map { Instant(secondsSinceEpoch: $0) },
            scope: json["scope"]?.string.map { Scope($0) })
        unknownMembers = JSONObject(of: json, except: AccessToken.knownMembers)
    }
}

extension Session.DerivedToken {
    fileprivate var json: JSONValue {
        var object = JSONObject()
        object["requested_scope"] = requestedScope.map { .string($0.text) }
        object["resource"] = resources.isEmpty ? nil : .array(resources.map { .string($0) })
        object["access"] = access.json
        object.add(unknownMembers)
        return .object(object)
    }

    fileprivate init?(json: JSONValue) {
        guard let access = json["access"].flatMap(AccessToken.init(json:)),
            let resources = (json["resource"] ?? []).strings,
            json["requested_scope"] == nil || json["requested_scope"]?.string != nil
        else { return nil }
        self.init(
            requestedScope: json["requested_scope"]?.string.map { Scope($0) }, resources: resources,
            access: access)
        unknownMembers = JSONObject(of: json, except: ["requested_scope", "resource", "access"])
    }
}
