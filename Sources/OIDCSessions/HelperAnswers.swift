import OIDCCore
import Synchronization

/// The answers of credential helpers that this process keeps, so that it runs none beside an isolated command: that could
/// change what a helper calls, loads and reads.
package enum HelperAnswers {
    private struct Kept {
        var entries: [[String]: CredentialHelper.Entry] = [:]
        var areComplete = false
    }

    private static let kept = Mutex<Kept?>(nil)

    /// Keeps the entries that helpers return from now on.
    package static func keep() { kept.withLock { $0 = Kept() } }

    /// Runs no helper from now on.
    package static func runNothingMore() { kept.withLock { $0?.areComplete = true } }

    static var areComplete: Bool { kept.withLock { $0?.areComplete == true } }

    /// Returns the kept entry, once no helper is run any more.
    static func entry(_ serverURL: String, of program: String) -> CredentialHelper.Entry? {
        kept.withLock { $0?.areComplete == true ? $0?.entries[[program, serverURL]] : nil }
    }

    /// Forgets an entry that is of no use any more. Returns whether it was kept.
    @discardableResult
    static func forget(_ serverURL: String, of program: String) -> Bool {
        kept.withLock { $0?.entries.removeValue(forKey: [program, serverURL]) != nil }
    }

    static func note(_ entry: CredentialHelper.Entry, of program: String) {
        kept.withLock { $0?.entries[[program, entry.serverURL]] = entry }
    }
}
