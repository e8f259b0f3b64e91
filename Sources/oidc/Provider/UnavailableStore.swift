import OIDCCore
import OIDCSessions
import Posix

/// The store if no state directory is available: finds nothing, and fails to save.
struct UnavailableStore: SessionStoring {
    let description = "nowhere"

    let failure: OIDCError

    init(_ environment: Variables) {
        failure = OIDCError(
            .failed, "no state directory is available: \(UnavailableStore.reason(environment))",
            hint: "set OIDC_STATE_DIR to a directory of your own, or OIDC_STORE=none", stage: .store)
    }

    /// Returns why no directory is available: which variable is missing or cannot be used.
    static func reason(_ environment: Variables) -> String {
        if let state = StateDirectories(environment: environment).state {
            return "a part of \(DisplayText.clean(state)) is not a directory"
        }
        let relative = ["XDG_STATE_HOME", "HOME"].filter {
            environment[$0]?.isEmpty == false
        }
        guard let first = relative.first else {
            return "neither HOME nor XDG_STATE_HOME nor OIDC_STATE_DIR is set"
        }
        return relative.count == 1
            ? "\(first) is not an absolute path"
            : "\(relative.joined(separator: " and ")) are not absolute paths"
    }

    func location(of key: SessionKey) -> String { description }
    func load(_ key: SessionKey) throws(OIDCError) -> Session? { nil }
    func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError) { throw failure }
    func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool {
        throw failure
    }
    func remove(_ key: SessionKey) throws(OIDCError) {}
    func all() throws(OIDCError) -> [StoredSession] { [] }
    func remove(_ stored: StoredSession) throws(OIDCError) {}

    func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try body()
    }

    func probe(_ key: SessionKey) throws(OIDCError) { throw failure }
}
