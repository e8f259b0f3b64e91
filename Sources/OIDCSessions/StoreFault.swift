package import OIDCCore
import Posix

/// The reason why a session's record cannot be used.
package enum StoreFault: Error, Hashable, Sendable {
    case otherKey
    case newerVersion(found: Int64, known: Int64)
    case damaged(String)
    /// The record is not what was sealed; the string says why.
    case untrusted(String)
    /// The record is older than one that was seen before.
    case outdated(found: Int64, newest: Int64)
    /// The record was sealed with a key that this machine does not have.
    case unknownKey(String, known: [String])
    /// The record could not be opened, for example because the keychain is locked. Its content may be valid.
    case notOpened(OIDCError)

    package init(_ damage: Session.Damage, version: Int64 = Session.formatVersion) {
        switch damage {
        case .notJSON(let reason): self = .damaged("it is not valid JSON: \(reason)")
        case .newerVersion(let found): self = .newerVersion(found: found, known: version)
        case .member(let name): self = .damaged("its member \(name) is missing or wrong")
        }
    }

    /// Returns the fault of a record that has no key, or another session's.
    static func ofUnmatched(_ bytes: [UInt8]) -> StoreFault {
        let key = (try? JSONValue(parsing: bytes))?["key"]?.string
        return key == nil ? StoreFault(.member("key")) : .otherKey
    }

    /// Whether the content is useless to everybody, so a sign-in may replace it.
    package var isReplaceable: Bool {
        switch self {
        case .damaged, .untrusted, .outdated: true
        case .otherKey, .newerVersion, .unknownKey, .notOpened: false
        }
    }

    /// Returns whether a new session of this key may be requested. That includes a machine token that was
    /// sealed with an unknown key, but its record is not replaced, as other machines use it.
    func isReplaceable(of key: SessionKey) -> Bool {
        if case .unknownKey = self { !key.grant.needsUser } else { isReplaceable }
    }

    /// Returns the fault as an error. `hint` is the advice for a record of another session.
    package func error(about subject: String, hint: Hint?) -> OIDCError {
        switch self {
        case .otherKey:
            return .store(
                "\(subject) contains another session's key; it is neither used nor overwritten", hint: hint)
        case .newerVersion(let found, let known):
            return .store(
                "\(subject) was written by a newer oidc: expected version \(known) at most, found \(found)",
                hint: .advice(.useNewerVersion))
        case .damaged(let reason):
            return .damagedFile("\(subject) is damaged: \(reason)")
        case .untrusted(let reason):
            return .untrusted(.store, "\(subject) \(reason)", hint: .signIn)
        case .outdated(let found, let newest):
            return .untrusted(.store, "\(subject) has version \(found), after \(newest)", hint: .signIn)
        case .unknownKey(let id, let known):
            return OIDCError(
                .usage,
                "\(subject) was sealed with the key \(DisplayText.clean(id)), found "
                    + known.joined(separator: " and "), hint: .advice(.giveStoreKey), stage: .store,
                code: .unknownStoreKey)
        case .notOpened(let error):
            return error
        }
    }
}

extension OIDCError.Code {
    /// Another machine held a session's lease for too long.
    package static let leaseHeld = OIDCError.Code(rawValue: "lease_held")
}
