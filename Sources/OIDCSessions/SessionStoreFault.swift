package import OIDCCore
import Posix

/// The reason why a file's content is not the requested session.
package enum SessionFault: Hashable, Sendable {
    case otherKey
    case newerVersion(Int64)
    case damaged(String)

    package init(_ damage: Session.Damage) {
        switch damage {
        case .notJSON(let reason): self = .damaged("it is not valid JSON: \(reason)")
        case .newerVersion(let version): self = .newerVersion(version)
        case .member(let name): self = .damaged("its member \(name) is missing or wrong")
        }
    }

    /// Returns the fault of a file that has no key, or another session's.
    static func ofUnmatched(_ bytes: [UInt8]) -> SessionFault {
        let key = (try? JSONValue(parsing: bytes))?["key"]?.string
        return key == nil ? SessionFault(.member("key")) : .otherKey
    }

    func storeError(_ path: String) -> OIDCError {
        let subject = "the session file \(DisplayText.clean(path))"
        switch self {
        case .otherKey:
            return .store(
                "\(subject) contains another session's key; it is neither used nor overwritten",
                hint: "move it away: mv \(ShellWord.quoted(path)) \(ShellWord.quoted(path)).old")
        case .newerVersion(let version):
            return .store(
                "\(subject) was written by a newer oidc: expected version \(Session.formatVersion) at most,"
                    + " found \(version)",
                hint: .advice(.useNewerVersion))
        case .damaged(let reason):
            return .damagedFile("\(subject) is damaged: \(reason)")
        }
    }
}

extension SessionKey {
    /// Returns the result of `read`, but nil for a damaged session of a grant without a user, as the next
    /// token replaces it.
    func readIfWhole(_ read: () throws(OIDCError) -> Session?) throws(OIDCError) -> Session? {
        do throws(OIDCError) {
            return try read()
        } catch {
            guard !grant.needsUser, error.code == .damagedSession else { throw error }
            return nil
        }
    }
}
