/// A grant type (RFC 6749 §4, RFC 8693, RFC 7523); an open set.
public struct GrantType: Hashable, Sendable, RawRepresentable {
    /// The name that settings use.
    public let rawValue: String

    /// Names a grant type.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A sign-in by a user, in a browser or on another device.
    public static let authorizationCode = GrantType(rawValue: "authorization_code")
    /// A token for the client itself (RFC 6749 §4.4).
    public static let clientCredentials = GrantType(rawValue: "client_credentials")
    /// A token in exchange for another one (RFC 8693).
    public static let tokenExchange = GrantType(rawValue: "token_exchange")
    /// A token for an assertion (RFC 7523).
    public static let jwtBearer = GrantType(rawValue: "jwt_bearer")
    /// Every grant type that has sessions.
    public static let all: [GrantType] = [.authorizationCode, .clientCredentials, .tokenExchange, .jwtBearer]

    /// Whether a user signs in for it; the others are repeated at will.
    public var needsPerson: Bool { self == .authorizationCode }
}

/// What a session is for. Two commands that ask for the same meet in one session, whatever their profiles.
public struct SessionKey: Hashable, Sendable {
    /// The issuer, or the token endpoint where no issuer is known.
    public var provider: String
    /// The client that signed in.
    public var clientID: String
    /// How the token is obtained.
    public var grant: GrantType
    /// The audience that was requested.
    public var audience: String?
    /// Keeps sessions of several users of the same client apart.
    public var account: String?
    /// The three that tell apart the tokens of grants without a user; nil and empty otherwise.
    public var scope: Scope?
    /// The resources that were requested.
    public var resources: [String]
    /// The subject of a token exchange.
    public var subject: String?

    /// Makes a key; what is nil or empty does not distinguish sessions.
    public init(
        provider: String, clientID: String, grant: GrantType = .authorizationCode, audience: String? = nil,
        account: String? = nil, scope: Scope? = nil, resources: [String] = [], subject: String? = nil
    ) {
        self.provider = provider
        self.clientID = clientID
        self.grant = grant
        self.audience = audience
        self.account = account
        self.scope = scope
        self.resources = resources
        self.subject = subject
    }

    /// The whole key as one line; it stands in the session's file and is compared to the letter.
    public var text: String {
        var object = JSONObject()
        object["provider"] = .string(provider)
        object["client_id"] = .string(clientID)
        object["grant"] = .string(grant.rawValue)
        object["audience"] = audience.map { .string($0) }
        object["account"] = account.map { .string($0) }
        object["scope"] = scope.map { .string(Scope.text(of: $0.tokens.sorted())) }
        object["resource"] = resources.isEmpty ? nil : .array(resources.sorted().map { .string($0) })
        object["subject"] = subject.map { .string($0) }
        return JSONValue.object(object).compact
    }

    /// `<readable part>-<64-bit hash of the key>`: the same for the same key, short, and safe as a file name.
    public var fileStem: String {
        let readable = (WebURL.ofIssuer(provider)?.host ?? provider) + "-" + clientID
        let kept = readable.utf8.prefix(100).map { byte -> UInt8 in
            ASCII.isAlphanumeric(byte) || byte == 0x2D || byte == 0x2E ? ASCII.lowercased(byte) : 0x5F
        }
        let safe = kept.first == 0x2E ? [0x5F] + kept.dropFirst() : kept
        return "\(String(decoding: safe, as: UTF8.self))-\(FNV1a.digits(text))"
    }
}
