import OIDCCore

/// A request to the program that lends a session: a JSON object, posted to a socket. The answer is a JSON
/// object too.
///
/// Both sides are this program, so no library needs to know the format. Neither side trusts the other with
/// more than a token: requests and answers are bounded, and each member is read by its type.
struct LendRequest: Sendable {
    enum Matter: Sendable {
        /// The terms: what is lent, and until when. The answer contains no token.
        case terms
        case accessToken(
            scope: Scope?, minimumValidity: Int64, isRenewed: Bool, refused: Redacted<String>?)
        case idToken(minimumValidity: Int64, isRenewed: Bool)
        /// A proof for a request with a token that was handed out (RFC 9449 §4.2).
        case proof(method: HTTPMethod, url: WebURL, nonce: String?, token: Redacted<String>)
    }

    /// A caller's claims about itself, which cannot be verified.
    struct Claim: Hashable, Sendable {
        var user: String
        var host: String
        var command: String

        /// The claims for messages, in quotes and without quotes of their own.
        var text: String { Claim.quoted("\(user)@\(host), oidc \(command)", limit: 200) }

        static func quoted(_ text: String, limit: Int) -> String {
            // A mark that follows makes a quote another character.
            DisplayText.quoted(String(text.unicodeScalars.filter { $0 != "\"" }), limit: limit)
        }
    }

    /// The lender's name for the profile; nil for the first one that is lent.
    let profile: String?
    let claim: Claim
    let matter: Matter

    /// Whether the caller says that it executes another program next. The question shows the same words, so the user agrees
    /// to what counts; only the exact name of a command that stays is taken for that.
    var isOnce: Bool {
        claim.command.lowercased().includes(LendRequest.executing) && claim.command != LendRequest.staying
    }

    /// The command that executes another program, with a token and without staying.
    static let executing = "exec"
    /// The same command while it stays as a proxy.
    static let staying = "exec --proxy"

    static let path = "/"
    static let mediaType = "application/json"
    static let host = "localhost"
    /// The size limits of a request and of an answer.
    static let requestLimit = 65_536
    static let answerLimit = 1 << 20
}

extension LendRequest {
    private static let version: Int64 = 1

    var json: JSONValue {
        var object = JSONObject()
        object["version"] = JSONValue(LendRequest.version)
        object["profile"] = profile.map { .string($0) }
        object["user"] = .string(claim.user)
        object["host"] = .string(claim.host)
        object["command"] = .string(claim.command)
        switch matter {
        case .terms: object["ask"] = "terms"
        case .accessToken(let scope, let minimumValidity, let isRenewed, let refused):
            object["ask"] = "access_token"
            object["scope"] = scope.map { .string($0.text) }
            object["min_valid"] = JSONValue(minimumValidity)
            object["renew"] = .bool(isRenewed)
            object["refused"] = refused.map { .string($0.revealed) }
        case .idToken(let minimumValidity, let isRenewed):
            object["ask"] = "id_token"
            object["min_valid"] = JSONValue(minimumValidity)
            object["renew"] = .bool(isRenewed)
        case .proof(let method, let url, let nonce, let token):
            object["ask"] = "proof"
            object["method"] = .string(method.name)
            object["url"] = .string(url.text)
            object["nonce"] = nonce.map { .string($0) }
            object["token"] = .string(token.revealed)
        }
        return .object(object)
    }

    /// Parses a request. Text that is shown later is cleaned.
    init(parsing bytes: [UInt8]) throws(OIDCError) {
        let json: JSONValue
        do { json = try JSONValue(parsing: bytes) } catch {
            throw .usage("the request is not valid JSON (\(error.inFile))")
        }
        guard let members = json.object else { throw .usage("the request is not a JSON object") }
        let reader = JSONReader(members) { name, expected, _ in
            OIDCError.usage("the request's member \(name) is not \(expected)")
        }
        let version = try reader.integer("version")
        guard version == LendRequest.version else {
            throw .usage(
                "the request is of another version of this program",
                hint: "install the same version of oidc on both sides")
        }
        profile = try reader.string("profile")
        func claimed(_ name: String) throws(OIDCError) -> String {
            let text = DisplayText.clean(try reader.string(name) ?? "", limit: 64)
            return text.isEmpty ? "?" : text
        }
        claim = Claim(
            user: try claimed("user"), host: try claimed("host"), command: try claimed("command"))
        let minimumValidity = min(max(0, try reader.integer("min_valid") ?? 60), 604_800)
        let isRenewed = try reader.bool("renew") ?? false
        switch try reader.string("ask") {
        case "terms": matter = .terms
        case "access_token":
            let scope = try reader.string("scope").map { Scope($0) }
            guard scope?.isWellFormed != false else {
                throw .usage("the request's member scope is not a scope")
            }
            matter = .accessToken(
                scope: scope, minimumValidity: minimumValidity, isRenewed: isRenewed,
                refused: try reader.string("refused").map { Redacted($0) })
        case "id_token": matter = .idToken(minimumValidity: minimumValidity, isRenewed: isRenewed)
        case "proof":
            guard let method = try reader.string("method"), !method.isEmpty, method.utf8.count <= 64,
                method.utf8.allSatisfy({ ASCII.isTokenCharacter($0) }),
                let url = try reader.string("url").flatMap({ WebURL($0) }),
                let token = try reader.string("token")
            else { throw .usage("the request for a proof names no method, URL or token") }
            matter = .proof(
                method: HTTPMethod(method), url: url, nonce: try reader.string("nonce"),
                token: Redacted(token))
        default: throw .usage("the request asks for something unknown")
        }
    }
}

/// A profile as it is lent: what the far side needs to use its tokens, and to show whose they are.
struct LentTerms: Sendable {
    /// The profile's name at the lender's.
    var profile: String
    /// The names of all profiles that are lent here.
    var profiles: [String]
    /// The lender, as `user@host`.
    var lender: String
    /// The settings that the far side uses: those of `LentTerms.settings`.
    var settings = JSONObject()
    var issuer: String?
    var tokenEndpoint: WebURL
    var userInfoEndpoint: WebURL?
    var keysEndpoint: WebURL?
    var subject: String?
    var displayName: String?
    var scope: Scope?
    var tokenType = TokenType.bearer
    /// The seconds that the stored token is still valid; nil if that is unknown. Seconds, as clocks differ.
    var tokenSeconds: Int64?
    /// Whether a token is available without signing in at the lender's.
    var isUsable: Bool
    /// The seconds for which the profile is still lent.
    var secondsLeft: Int64
    var givesIDTokens: Bool

    /// The settings that a lender hands over. None names a file, a program, a store or a weaker check.
    static let settings: [Setting] =
        [.issuer, .tokenEndpoint, .clientID, .account, .audience, .resource] + Setting.tools
        + [.keyringHosts]

    var json: JSONValue {
        var object = JSONObject()
        object["profile"] = .string(profile)
        object["profiles"] = .array(profiles.map { .string($0) })
        object["lender"] = .string(lender)
        object["settings"] = .object(settings)
        object["issuer"] = issuer.map { .string($0) }
        object["token_endpoint"] = .string(tokenEndpoint.text)
        object["userinfo_endpoint"] = userInfoEndpoint.map { .string($0.text) }
        object["jwks_uri"] = keysEndpoint.map { .string($0.text) }
        object["subject"] = subject.map { .string($0) }
        object["display_name"] = displayName.map { .string($0) }
        object["scope"] = scope.map { .string($0.text) }
        object["token_type"] = .string(tokenType.name)
        object["token_seconds"] = tokenSeconds.map { JSONValue($0) }
        object["usable"] = .bool(isUsable)
        object["seconds_left"] = JSONValue(secondsLeft)
        object["id_tokens"] = .bool(givesIDTokens)
        return .object(object)
    }

    /// The number of profiles that a lender may name.
    private static let profileLimit = 64

    /// Parses a lender's answer. `named` are the provider's URLs in this side's settings: only they, and not
    /// the lender, can allow services of this machine or at private addresses.
    init(_ reader: JSONReader<OIDCError>, named: [WebURL]) throws(OIDCError) {
        func missing(_ name: String) -> OIDCError { LentTerms.fault("\(name) is missing") }
        guard let profile = try reader.string("profile"), DisplayText.isClean(profile), !profile.isEmpty
        else { throw missing("profile") }
        self.profile = profile
        var names: [String] = []
        for name in try reader.strings("profiles") ?? [profile]
        where DisplayText.isClean(name) && !names.contains(name) && names.count < LentTerms.profileLimit {
            names.append(name)
        }
        profiles = names
        lender = DisplayText.clean(try reader.string("lender") ?? "?", limit: 130)
        issuer = try reader.string("issuer")
        if let url = issuer.flatMap({ WebURL($0) }) { try LentTerms.checkReach(of: url, named) }
        func endpoint(_ name: String) throws(OIDCError) -> WebURL? {
            guard let text = try reader.string(name) else { return nil }
            guard let url = WebURL(text), url.fragment == nil, url.isSecure || url.isLoopback else {
                throw LentTerms.fault("\(name) is not an https URL")
            }
            try LentTerms.checkReach(of: url, named)
            return url
        }
        guard let token = try endpoint("token_endpoint") else { throw missing("token_endpoint") }
        tokenEndpoint = token
        userInfoEndpoint = try endpoint("userinfo_endpoint")
        keysEndpoint = try endpoint("jwks_uri")
        subject = try reader.string("subject")
        displayName = try reader.string("display_name")
        scope = try reader.string("scope").map { Scope($0) }
        tokenType = TokenType(try reader.string("token_type") ?? TokenType.bearer.name)
        tokenSeconds = try reader.integer("token_seconds").map(LentTerms.bounded)
        isUsable = try reader.bool("usable") ?? false
        secondsLeft = max(0, LentTerms.bounded(try reader.integer("seconds_left") ?? 0))
        givesIDTokens = try reader.bool("id_tokens") ?? false
        let given = try reader.object("settings") ?? JSONObject()
        for setting in LentTerms.settings {
            guard let value = given[setting.name] else { continue }
            guard let normalized = setting.kind.normalized(value) else {
                throw LentTerms.fault("settings: \(setting.name) is not \(setting.kind.expectation)")
            }
            settings[setting.name] = try LentTerms.reachable(normalized, setting, named)
        }
    }

    /// The limit of a lender's times in seconds, ten years, in either direction.
    static let longest: Int64 = 315_360_000

    static func bounded(_ seconds: Int64) -> Int64 { min(max(-longest, seconds), longest) }

    /// Returns a setting for this machine. Services on this machine are left out of lists, and a provider on
    /// this machine or at a private address is an error, unless this side's settings allow them. Other
    /// services at private addresses are called only if the user names them.
    private static func reachable(
        _ value: JSONValue, _ setting: Setting, _ named: [WebURL]
    ) throws(OIDCError) -> JSONValue {
        if let text = value.string {
            guard let url = WebURL(text) else { return value }
            // No request is sent to an audience, but it must not name this machine either.
            let isAsked = if case .url = setting.kind { true } else { setting == .issuer }
            guard isMeant(url, named) || !url.leadsToThisMachine && !(isAsked && url.isPrivateAddress) else {
                throw notHere(url)
            }
            return value
        }
        guard let items = value.array else { return value }
        return .array(
            items.filter { item in
                let text = item.string ?? item["url"]?.string ?? item["host"]?.string ?? ""
                let url = WebURL(text) ?? WebURL("https://\(text)")
                return url.map { isMeant($0, named) || !$0.leadsToThisMachine } ?? true
            })
    }

    private static func isMeant(_ url: WebURL, _ named: [WebURL]) -> Bool {
        named.contains { $0.mayLead(to: url) }
    }

    private static func checkReach(of url: WebURL, _ named: [WebURL]) throws(OIDCError) {
        guard url.isElsewhere || isMeant(url, named) else { throw notHere(url) }
    }

    /// Returns the error for a provider on this machine or at a private address, which only this side may name.
    private static func notHere(_ url: WebURL) -> OIDCError {
        let place = url.leadsToThisMachine ? "which is on this machine" : "a private address"
        return OIDCError(
            .refused,
            "the lender names \(DisplayText.clean(url.origin)), \(place), and nothing here does",
            hint: "if that is meant, name it here, with --issuer URL or --set token_endpoint=URL",
            stage: .token)
    }

    init(
        profile: String, profiles: [String], lender: String, tokenEndpoint: WebURL, isUsable: Bool,
        secondsLeft: Int64, givesIDTokens: Bool
    ) {
        self.profile = profile
        self.profiles = profiles
        self.lender = lender
        self.tokenEndpoint = tokenEndpoint
        self.isUsable = isUsable
        self.secondsLeft = secondsLeft
        self.givesIDTokens = givesIDTokens
    }

    /// Returns the error for an answer that does not follow the rules.
    static func fault(_ message: String) -> OIDCError {
        OIDCError(
            .refused, "the lender's answer is not usable: \(message)",
            hint: "install the same version of oidc on both sides", stage: .token)
    }
}

/// An access token as it is lent. Times are seconds from now, as the clocks of two machines differ.
extension AccessToken {
    func lent(at now: Instant) -> JSONValue {
        var object = JSONObject()
        object["token"] = .string(token.revealed)
        object["token_type"] = .string(type.name)
        object["age"] = JSONValue(max(0, now.seconds(since: obtainedAt)))
        object["seconds"] = expiresAt.map { JSONValue($0.seconds(since: now)) }
        object["scope"] = scope.map { .string($0.text) }
        return .object(object)
    }

    /// Reads a token that is lent.
    init(lent members: JSONObject, at now: Instant) throws(OIDCError) {
        let reader = JSONReader(members) { name, expected, _ in
            LentTerms.fault("\(name) is not \(expected)")
        }
        guard let token = try reader.string("token"), !token.isEmpty,
            // RFC 6749 appendix A.12: it is sent in a header.
            token.utf8.allSatisfy({ ASCII.isVisible($0) })
        else { throw LentTerms.fault("token is not printable ASCII") }
        let type = try reader.string("token_type") ?? ""
        guard !type.isEmpty, type.utf8.allSatisfy({ ASCII.isTokenCharacter($0) }) else {
            throw LentTerms.fault("token_type is not a token type")
        }
        let age = max(0, LentTerms.bounded(try reader.integer("age") ?? 0))
        self.init(
            token: Redacted(token), type: TokenType(type), obtainedAt: now.adding(-age),
            expiresAt: try reader.integer("seconds").map { now.adding(LentTerms.bounded($0)) },
            scope: try reader.string("scope").map { Scope($0) })
    }
}

/// An error as the lender hands it over: without its hint, which is for the lender's machine.
extension OIDCError {
    var lent: JSONValue {
        var object = JSONObject()
        object["kind"] = .string(kind.rawValue)
        object["message"] = .string(DisplayText.clean(message, limit: 900))
        object["oauth_error"] = oauthError.map { .string($0) }
        object["retry_after"] = retryAfter.map { JSONValue(Int64($0)) }
        return .object(object)
    }

    init(lent members: JSONObject) {
        let kind = members["kind"]?.string.flatMap(Kind.init(rawValue:)) ?? .failed
        self.init(
            kind == .interrupted ? .unreachable : kind,
            DisplayText.clean(members["message"]?.string ?? "the lender gave no reason", limit: 900),
            stage: .token, oauthError: members["oauth_error"]?.string.map { DisplayText.clean($0) },
            retryAfter: members["retry_after"]?.integer.map { Int(clamping: min(max(0, $0), 86_400)) })
    }
}
