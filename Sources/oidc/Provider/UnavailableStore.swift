import OIDCCore
import OIDCSystem

/// The store if no state directory is available: finds nothing, and fails to save.
struct UnavailableStore: SessionStoring {
    let description = "nowhere"

    private static let failure = OIDCError(
        .failed,
        "no state directory is available: neither HOME nor XDG_STATE_HOME nor OIDC_STATE_DIR is set",
        hint: "set OIDC_STATE_DIR to a directory of yours, or OIDC_STORE=none", stage: .store)

    func location(of key: SessionKey) -> String { description }
    func load(_ key: SessionKey) throws(OIDCError) -> Session? { nil }
    func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError) { throw UnavailableStore.failure }
    func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool {
        throw UnavailableStore.failure
    }
    func remove(_ key: SessionKey) throws(OIDCError) {}
    func all() throws(OIDCError) -> [StoredSession] { [] }
    func remove(_ stored: StoredSession) throws(OIDCError) {}

    func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try body()
    }

    func probe(_ key: SessionKey) throws(OIDCError) { throw UnavailableStore.failure }
}
