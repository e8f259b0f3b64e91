public import OIDCCore

/// Where sessions are kept. Every fault is an `OIDCError` with its remedy; nothing falls back silently.
public protocol SessionStoring: Sendable {
    /// What `status` and messages call it: a path, or the name of a program.
    var description: String { get }

    /// Where the session of that key is, or would be.
    func location(of key: SessionKey) -> String

    /// The session; nil when there is none. A file that holds another key is an error, as is a damaged one.
    func load(_ key: SessionKey) throws(OIDCError) -> Session?

    /// Keeps the session. What is there is replaced when it is the same key's, or when it is damaged and
    /// `replacingDamaged` says that a user signed in again; never when it is another key's or a newer version.
    func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError)

    /// Keeps the session that was made of `current`, or of none. False, and nothing is changed, when another one
    /// is there by now, or none any more: somebody signed in or out meanwhile.
    func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool

    /// Forgets the session, a damaged one too; there need not be one.
    func remove(_ key: SessionKey) throws(OIDCError)

    /// Every session and every damaged entry, by the order of their names.
    func all() throws(OIDCError) -> [StoredSession]

    /// Forgets what `all` listed.
    func remove(_ stored: StoredSession) throws(OIDCError)

    /// Runs `body` while no other process does so for that key and purpose.
    func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value

    /// The failure that was last left for that key; nil if there is none.
    func failure(of key: SessionKey) -> SharedFailure?

    /// Leaves a failure for other processes, or removes the one that is there; best effort. With `id`, only if
    /// the failure that is there has it.
    func leave(_ failure: SharedFailure?, for key: SessionKey, replacing id: String?)

    /// Fails when a session of that key could not be saved after a sign-in; asked before a user is.
    func probe(_ key: SessionKey) throws(OIDCError)

    /// Fails when a session that is there could not be replaced: asked before a refresh token that can be used
    /// once is used, as what comes in its place would be lost.
    func checkReplaceable(_ key: SessionKey) throws(OIDCError)
}

extension SessionStoring {
    /// Runs `body` while no other process reads and replaces the tokens of that key.
    public func withLock<Value>(
        _ key: SessionKey, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try withLock(key, for: .tokens, wait, body)
    }

    /// A session in memory can always be replaced.
    public func checkReplaceable(_ key: SessionKey) throws(OIDCError) {}

    /// A store that no other process uses shares nothing.
    public func failure(of key: SessionKey) -> SharedFailure? { nil }
    /// Shares nothing.
    public func leave(_ failure: SharedFailure?, for key: SessionKey, replacing id: String?) {}
}

/// What a lock of a session is held for. The two do not exclude each other: tokens can be refreshed and read
/// while a user is asked to sign in again.
public enum LockPurpose: Hashable, Sendable {
    /// Replacing the session's tokens; held for the length of one request.
    case tokens
    /// Asking a user to sign in; held for as long as that takes.
    case signIn
}

/// One entry of a store.
public struct StoredSession: Sendable {
    /// The name in the store, without an ending.
    public let name: String
    /// Where the entry is.
    public let location: String
    /// The session, or what is wrong with the entry.
    public let content: Result<Session, OIDCError>

    /// Makes an entry.
    public init(name: String, location: String, content: Result<Session, OIDCError>) {
        self.name = name
        self.location = location
        self.content = content
    }

    /// The session; nil if the entry is damaged.
    public var session: Session? { try? content.get() }
}

/// The setting `store`: `file`, `none` or `helper:NAME`.
package enum SessionStoreChoice: Hashable, Sendable {
    case file
    case none
    /// The credential helper `docker-credential-NAME`.
    case helper(String)

    package init(setting: String) throws(OIDCError) {
        if setting == "file" {
            self = .file
        } else if setting == "none" {
            self = .none
        } else if setting.hasPrefix("helper:"), SessionStoreChoice.isHelperName(setting.dropFirst(7)) {
            self = .helper(String(setting.dropFirst(7)))
        } else {
            throw .usage(
                "store: expected file, none or helper:NAME, found "
                    + "“\(DisplayText.distinct(setting, from: ["file", "none"]))”",
                hint: "helper:NAME runs docker-credential-NAME, say helper:secretservice or helper:pass")
        }
    }

    package var setting: String {
        switch self {
        case .file: "file"
        case .none: "none"
        case .helper(let name): "helper:\(name)"
        }
    }

    /// Letters, digits, `-`, `_` and `.`: a name, never a path. `docker-credential-oidc` is this program, which
    /// keeps nothing for others.
    private static func isHelperName(_ name: Substring) -> Bool {
        !name.isEmpty && name != "oidc" && name.first != "." && name.first != "-"
            && name.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "-_.".utf8.contains($0) }
    }
}
