import OIDCCore
import OIDCSessions
import Posix

extension SessionStore {
    /// Creates the store if no state directory is available: finds nothing, and fails to save.
    static func unavailable(_ environment: Variables) -> SessionStore {
        SessionStore(UnavailableRecords(environment))
    }
}

/// The records if no state directory is available.
struct UnavailableRecords: OwnRecordStore {
    let description = "nowhere"

    let failure: OIDCError

    init(_ environment: Variables) {
        failure = OIDCError(
            .failed, "no state directory is available: \(UnavailableRecords.reason(environment))",
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

    var unavailability: OIDCError? { failure }
    func location(of stem: String) -> String { description }
    func read(_ name: RecordName) throws(OIDCError) -> Record? { nil }

    func write(
        _ bytes: [UInt8], to name: RecordName, replacing current: Record?, lifetime: Duration?
    ) throws(OIDCError) -> Bool {
        throw failure
    }

    func remove(_ name: RecordName, ifStill current: Record?) throws(OIDCError) -> Bool { true }
    func names(_ kind: RecordName.Kind) throws(OIDCError) -> [RecordName] { [] }

    func withLock<Value>(
        _ name: RecordName, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try body()
    }

    func checkSpace(for name: RecordName) throws(OIDCError) { throw failure }
}
