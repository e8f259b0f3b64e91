import OIDCCore
import Posix
import Synchronization

/// The answers of credential helpers that this process keeps while `ProgramRule` says so.
enum HelperAnswers {
    private static let kept = Mutex<[[String]: CredentialHelper.Entry]>([:])

    /// Returns the kept entry, once no helper is run any more.
    static func entry(_ serverURL: String, of program: String) -> CredentialHelper.Entry? {
        ProgramRule.hasOnlyKeptAnswers ? kept.withLock { $0[[program, serverURL]] } : nil
    }

    /// Forgets an entry that is of no use any more. Returns whether it was kept.
    @discardableResult
    static func forget(_ serverURL: String, of program: String) -> Bool {
        kept.withLock { $0.removeValue(forKey: [program, serverURL]) != nil }
    }

    static func note(_ entry: CredentialHelper.Entry, of program: String) {
        if ProgramRule.keepsAnswers { kept.withLock { $0[[program, entry.serverURL]] = entry } }
    }
}
