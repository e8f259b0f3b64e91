import OIDCCore

/// A user; every name is an account.
struct Account: Hashable, Sendable {
    let name: String

    /// Creates an account; an empty name means alice.
    init(_ text: String) {
        let cleaned = ASCII.trimmed(DisplayText.clean(text, limit: 64))
        name = cleaned.isEmpty ? "alice" : cleaned
    }

    /// The name before an @, as `login_hint` often is an email address.
    var user: String { ASCII.lowercased(name.split(separator: "@").first ?? "alice") }

    /// The `sub`: ASCII of at most 255 characters (OIDC Core §2).
    var subject: String {
        user.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "._-".utf8.contains($0) }
            ? user : "u-\(Base64URL.encode(Array(user.utf8)))"
    }

    var email: String { name.contains("@") ? name : "\(subject)@example.com" }
    var givenName: String { user.prefix(1).uppercased() + user.dropFirst() }
}

/// A browser's session, identified by a cookie.
struct BrowserSession: Sendable {
    let id: String
    var account: Account?
    var authenticatedAt: Instant?
    var acr: String?
    var lastSeen: Instant
}

/// An authorization request that waits for a user, bound to the browser that sent it.
struct Interaction: Sendable {
    let id: String
    let browser: String
    let request: AuthorizationCall
    var signedInHere = false
    let expiresAt: Instant
}

/// An issued code, kept after its redemption to detect a second one.
struct CodeRecord: Sendable {
    let request: AuthorizationCall
    let grant: Int
    let expiresAt: Instant
    var isRedeemed = false
}

/// A grant to a user or client. All tokens of one sign-in share it and end with it.
struct Grant: Sendable {
    var client: String
    var subject: String
    var account: Account?
    var scope: Scope
    var audience: [String] = []
    /// The granted authorization details (RFC 9396).
    var details: JSONValue?
    var nonce: String?
    var authenticatedAt: Instant?
    var acr: String?
    var session: String?
    var isRevoked = false
}

struct AccessRecord: Sendable {
    let grant: Int
    let scope: Scope
    let audience: [String]
    let issuedAt: Instant
    let expiresAt: Instant
    var binding = Binding()
    var isRevoked = false
}

struct RefreshRecord: Sendable {
    let grant: Int
    let expiresAt: Instant
    var binding = Binding()
    var usedAt: Instant?
}

/// The key or certificate that a token is bound to (RFC 9449 §6, RFC 8705 §3).
struct Binding: Hashable, Sendable {
    var keyThumbprint: String?
    var certificateThumbprint: String?

    var confirmation: JSONValue? {
        var members = JSONObject()
        members["jkt"] = keyThumbprint.map { .string($0) }
        members["x5t#S256"] = certificateThumbprint.map { .string($0) }
        return members.isEmpty ? nil : .object(members)
    }
}

/// The provider's whole state.
struct State: Sendable {
    var clients: [String: DemoClient] = [:]
    var browsers: [String: BrowserSession] = [:]
    var interactions: [String: Interaction] = [:]
    var consents: [String: Scope] = [:]
    var codes: [String: CodeRecord] = [:]
    var grants: [Int: Grant] = [:]
    var access: [String: AccessRecord] = [:]
    var refresh: [String: RefreshRecord] = [:]
    var pushed: [String: PushedRequest] = [:]
    var devices: [String: DeviceRecord] = [:]
    /// Identifiers of used assertions and proofs, until they expire.
    var usedIdentifiers: [String: Instant] = [:]
    var nonces: [String: Instant] = [:]
    var nextGrant = 1
    /// Dynamically registered clients, oldest first.
    var registrations: [String] = []
    /// Keys of the stored consents, oldest first.
    var consentOrder: [String] = []
    static let limits = Limits()

    /// The limits of the state, so a provider that runs for days stays small.
    struct Limits {
        var tokens = 20_000
        var others = 1_000
    }

    mutating func add(_ grant: Grant) -> Int {
        defer { nextGrant += 1 }
        grants[nextGrant] = grant
        return nextGrant
    }
}
