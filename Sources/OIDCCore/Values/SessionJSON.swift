extension Session {
    /// The version of the stored form; sessions of a newer version are left alone.
    public static let formatVersion: Int64 = 1

    /// The reason why a stored session cannot be used.
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
        "issued_token_type", "extra", "subject", "display_name", "nonce", "dpop_key", "certificate_bound",
        "derived", "kept", "ended",
    ]

    /// Parses the stored form of the session with `key`; returns nil if it is a session of another key.
    public init?(stored bytes: [UInt8], for key: SessionKey) throws(Damage) {
        let json = try Session.parse(bytes)
        guard let text = json["key"]?.string, ExactText.isSame(text, key.text) else { return nil }
        try self.init(json, key: key)
    }

    /// Parses the stored form, with the key that it contains.
    public init(stored bytes: [UInt8]) throws(Damage) {
        let json = try Session.parse(bytes)
        guard let text = json["key"]?.string, let key = SessionKey(text: text),
            ExactText.isSame(key.text, text)
        else { throw Damage.member("key") }
        try self.init(json, key: key)
    }

    private static func parse(_ bytes: [UInt8]) throws(Damage) -> JSONValue {
        let json: JSONValue
        do { json = try JSONValue(parsing: bytes) } catch { throw Damage.notJSON(error.inFile) }
        guard let version = json["version"]?.integer else { throw Damage.member("version") }
        guard version <= formatVersion else { throw Damage.newerVersion(version) }
        return json
    }

    private init(_ json: JSONValue, key: SessionKey) throws(Damage) {
        func text(_ name: String) throws(Damage) -> String? {
            guard let value = json[name] else { return nil }
            guard let text = value.string else { throw Damage.member(name) }
            return text
        }
        func flag(_ name: String) throws(Damage) -> Bool? {
            guard let value = json[name] else { return nil }
            guard let flag = value.bool else { throw Damage.member(name) }
            return flag
        }
        func url(_ name: String) throws(Damage) -> WebURL? {
            guard let text = try text(name) else { return nil }
            guard let url = WebURL(text) else { throw Damage.member(name) }
            return url
        }
        guard let createdAt = json["created_at"]?.integer else { throw Damage.member("created_at") }
        guard let token = try url("token_endpoint") else { throw Damage.member("token_endpoint") }
        guard var access = json["access"].flatMap(AccessToken.init(json:)) else {
            throw Damage.member("access")
        }
        let requestedScope = try text("requested_scope").map { Scope($0) }
        // Version 0.1.0 stored scopes unchanged, even if they were separated by commas.
        if let requestedScope { access.scope = access.scope?.separated(as: requestedScope) }
        guard let requestedResources = (json["requested_resource"] ?? []).strings else {
            throw Damage.member("requested_resource")
        }
        guard let extra = (json["extra"] ?? .object(JSONObject())).object else {
            throw Damage.member("extra")
        }
        let derived = (json["derived"] ?? []).array?.map(DerivedToken.init(json:))
        guard let derived, !derived.contains(where: { $0 == nil }) else { throw Damage.member("derived") }
        self.init(
            key: key,
            endpoints: Endpoints(
                issuer: try text("issuer"), token: token, refresh: try url("refresh_endpoint"),
                userInfo: try url("userinfo_endpoint"), keys: try url("jwks_uri"),
                revocation: try url("revocation_endpoint"),
                introspection: try url("introspection_endpoint"), endSession: try url("end_session_endpoint")),
            clientAuthentication: try text("client_auth"),
            createdAt: Instant(secondsSinceEpoch: createdAt),
            requestedScope: requestedScope,
            requestedResources: requestedResources, sendsResources: try flag("sends_resource"),
            tokens: TokenSet(
                access: access, refreshToken: try text("refresh_token").map { Redacted($0) },
                idToken: try text("id_token").map { Redacted($0) },
                issuedTokenType: try text("issued_token_type"), extra: extra),
            subject: try text("subject"), displayName: try text("display_name"),
            dpopKey: try text("dpop_key").map { Redacted($0) }, derived: derived.compactMap { $0 })
        nonce = try text("nonce")
        ended = json["ended"].flatMap(End.init(json:))
        bindsOpaqueTokens = try flag("certificate_bound") ?? false
        // One that cannot be read is obtained again.
        kept = json["kept"]?.array?.compactMap { KeptCredential($0) } ?? []
        unknownMembers = JSONObject(of: json, except: Session.knownMembers)
    }
}

extension SessionKey {
    /// Parses the form that `text` has.
    init?(text: String) {
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
