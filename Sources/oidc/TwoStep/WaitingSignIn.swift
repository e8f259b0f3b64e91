import OIDCCore
import OIDCCrypto
import OIDCSessions
import Posix

/// A sign-in between its two steps: what the user needs, what the second step needs, and at the end its
/// result.
struct WaitingSignIn {
    enum Phase: String {
        /// The user has not answered yet.
        case waiting
        /// One process is redeeming the answer. The secrets are gone from the file, so no other one does.
        case redeeming
        case finished
        /// It was finished, and the user has signed out of its session since. The result is forgotten with the session.
        case signedOut = "signed_out"
        /// Nobody answered in time. The file is kept for a day, to distinguish an expired sign-in from an
        /// unknown one.
        case expired
    }

    /// The longest time that a sign-in waits, in seconds.
    static let longest: Int64 = 900
    private static let formatVersion: Int64 = 1

    /// The identifier, the same for each sign-in of an account, so a new first step replaces only the
    /// account's last one.
    let id: String
    /// The session's key as text.
    let key: String
    /// The URL that the user asked to sign in to.
    let askedURL: WebURL?
    var phase = Phase.waiting
    /// The end of the wait.
    let end: Instant
    /// The time until which the URL can be opened, which may be earlier: a pushed request lives a minute at
    /// Keycloak.
    var expiresAt: Instant
    var authorizationURL: WebURL?
    var redirectURI: String?
    var verificationURI: WebURL?
    var verificationURIComplete: WebURL?
    var userCode: String?
    /// The data that the second step needs to continue, without secrets.
    var plan: JSONValue
    /// The secrets that the second step needs, in the form of the session's store; nil once they are used.
    var secrets: [UInt8]?
    /// Whether the waiting process has all that it needs.
    var isReady = false
    /// The answer to the second step.
    var result: JSONValue?

    init(of key: SessionKey, askedURL: WebURL?, until end: Instant, plan: JSONValue) throws(OIDCError) {
        id = try WaitingSignIn.id(of: key)
        self.key = key.text
        self.askedURL = askedURL
        self.end = end
        expiresAt = end
        self.plan = plan
    }

    /// A digest that binds the secrets to the plan.
    var planDigest: String {
        let digest = try? Digest.hash(plan.bytes, .sha256)
        return Base64URL.encode(digest ?? [])
    }

    /// A hash that distinguishes the secrets of this first step from those of another one.
    var fingerprint: String { FNV1a.digits(secrets.map { Base64URL.encode($0) } ?? "") }

    /// Returns the first 128 bits of the key's SHA-256 hash as hexadecimal digits. A resource chooses a part of the key,
    /// and with a weaker hash could choose the sign-in that it replaces.
    static func id(of key: SessionKey) throws(OIDCError) -> String {
        let hash: [UInt8]
        do throws(CryptoError) { hash = try Digest.hash(Array(key.text.utf8), .sha256) } catch {
            throw OIDCError(error)
        }
        return ASCII.hexDigits(hash.prefix(16))
    }

    /// Returns whether it has ended at a time. An end in the far future means that the clock was set back.
    func hasEnded(at now: Instant) -> Bool {
        phase == .expired || now >= end || end.seconds(since: now) > WaitingSignIn.longest + 60
    }

    /// Returns whether the user may still answer.
    func isOpen(at now: Instant) -> Bool { phase == .waiting && !hasEnded(at: now) }

    /// The page for the user.
    var page: WebURL? { authorizationURL ?? verificationURIComplete ?? verificationURI }

    /// Returns a hint about the waiting sign-in, for a command that needs its session.
    func line(at now: Instant) -> Hint {
        guard now < expiresAt else {
            // A pushed request has ended before the sign-in.
            return .words(.text("the URL of the sign-in that waits has expired: "), .run("login", "--start"))
        }
        let time = TimeWords.clock(expiresAt, now: now).map { "until \($0)" } ?? "for now"
        let shown = authorizationURL == nil ? userCode.flatMap { DeviceCodeText.isUsual($0) ? $0 : nil } : nil
        let code = shown.map { " (code \($0))" } ?? ""
        return .words(
            .text("a sign-in is waiting, \(time)\(code): "),
            page.map { .open($0) } ?? .run("login", "--finish"))
    }

    /// Returns the document of the first step. `isWaiting` is whether a process waits for the answer.
    func document(isWaiting: Bool) -> JSONValue {
        [
            "id": .string(id), "authorization_url": JSONValue(authorizationURL?.text),
            "redirect_uri": JSONValue(redirectURI), "verification_uri": JSONValue(verificationURI?.text),
            "verification_uri_complete": JSONValue(verificationURIComplete?.text),
            "user_code": JSONValue(userCode), "expires_at": JSONValue(expiresAt.secondsSinceEpoch),
            "waiting": .bool(isWaiting),
        ]
    }

    /// Returns the document for a command that is about its session.
    func document(in context: CommandContext) -> JSONValue {
        document(isWaiting: WaitingSignIns(context.environment)?.isHeld(id) ?? false)
    }

    /// Returns the sign-in without its secrets, once they are used.
    func without(secretsIn next: Phase) -> WaitingSignIn {
        var other = self
        (other.phase, other.secrets, other.isReady, other.result) = (next, nil, false, nil)
        // A process that is killed while it redeems may have stored the session.
        if next != .redeeming { other.plan = .null }
        (other.authorizationURL, other.redirectURI, other.userCode) = (nil, nil, nil)
        (other.verificationURI, other.verificationURIComplete) = (nil, nil)
        return other
    }
}

/// The form in which it is stored.
extension WaitingSignIn {
    var bytes: [UInt8] {
        var object = JSONObject()
        object["version"] = JSONValue(WaitingSignIn.formatVersion)
        object["id"] = .string(id)
        object["key"] = .string(key)
        object["asked_url"] = askedURL.map { .string($0.text) }
        object["phase"] = .string(phase.rawValue)
        object["end"] = JSONValue(end.secondsSinceEpoch)
        object["expires_at"] = JSONValue(expiresAt.secondsSinceEpoch)
        object["authorization_url"] = authorizationURL.map { .string($0.text) }
        object["redirect_uri"] = redirectURI.map { .string($0) }
        object["verification_uri"] = verificationURI.map { .string($0.text) }
        object["verification_uri_complete"] = verificationURIComplete.map { .string($0.text) }
        object["user_code"] = userCode.map { .string($0) }
        object["plan"] = plan
        object["secrets"] = secrets.map { .string(Base64URL.encode($0)) }
        if isReady { object["ready"] = true }
        object["result"] = result
        return JSONValue.object(object).bytes
    }

    init?(stored bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes), let id = json["id"]?.string,
            json["version"]?.integer == WaitingSignIn.formatVersion, let key = json["key"]?.string,
            let phase = json["phase"]?.string.flatMap(Phase.init), let end = json["end"]?.integer,
            let expiresAt = json["expires_at"]?.integer
        else { return nil }
        func url(_ name: String) -> WebURL? { json[name]?.string.flatMap { WebURL($0) } }
        self.id = id
        self.key = key
        askedURL = url("asked_url")
        self.phase = phase
        self.end = Instant(secondsSinceEpoch: end)
        self.expiresAt = Instant(secondsSinceEpoch: expiresAt)
        authorizationURL = url("authorization_url")
        redirectURI = json["redirect_uri"]?.string
        verificationURI = url("verification_uri")
        verificationURIComplete = url("verification_uri_complete")
        userCode = json["user_code"]?.string
        plan = json["plan"] ?? .null
        secrets = json["secrets"]?.string.flatMap { Base64URL.decode($0) }
        isReady = json["ready"]?.bool ?? false
        result = json["result"]
    }
}
