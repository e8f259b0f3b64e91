public import OIDCCore

/// One entry of a store.
public struct StoredSession: Sendable {
    /// The name in the store, without a file name extension.
    public let name: String
    /// The path or name of the entry.
    public let location: String
    /// The session, or the error of a damaged entry.
    public let content: Result<Session, OIDCError>
    /// The key of a session that this machine has seen, and the store does not show, or shows damaged.
    package var hiddenKey: SessionKey?
    /// The key of a session that cannot be read: that of the session that this machine has seen under the name, or the one
    /// that the record names, if such a session has this name. The record is not proven to be that session.
    package var namedKey: SessionKey?
    /// Whether the entry stands for the names that were left out, as there are too many. Its content is the error.
    package var isOmission = false

    /// Creates an entry.
    public init(name: String, location: String, content: Result<Session, OIDCError>) {
        self.name = name
        self.location = location
        self.content = content
    }

    /// Whether the entry is damaged.
    package var isDamaged: Bool {
        if case .failure(let error) = content { return error.code == .damagedSession }
        return false
    }

    /// The session; nil if the entry is damaged.
    public var session: Session? { try? content.get() }
}
