import OIDCCore
import OIDCSessions
import Posix
import Synchronization

/// The newest versions of records that a process has seen, in any of its stores.
package final class SharedVersions: Sendable {
    /// The versions that this process has seen.
    package static let ofProcess = SharedVersions()
    private let newest = Mutex<[String: Int64]>([:])

    package init() {}

    /// The newest version of a record; 0 if none was seen.
    subscript(_ record: String) -> Int64 { newest.withLock { $0[record] } ?? 0 }

    func note(_ version: Int64, of record: String) {
        newest.withLock { $0[record] = max($0[record] ?? 0, version) }
    }
}

/// The newest versions of records that this machine has seen, for processes that start later.
struct VersionFiles: Sendable {
    private let directory: SessionDirectory

    /// Creates access to the files in `versions` below a state directory.
    init(state path: String) {
        directory = SessionDirectory(
            path: "\(FilePath.trimmed(path))/versions", ending: ".version",
            noun: "version of a session")
    }

    /// The newest version of a record; 0 if none was seen or the file cannot be read.
    subscript(_ name: String) -> Int64 {
        (try? directory.read(name)).flatMap(VersionFiles.version) ?? 0
    }

    /// Stores a version if it is newer. A failure is harmless: the next version is stored.
    func note(_ version: Int64, of name: String) {
        _ = try? directory.replace(name, survivesPowerFailure: false) { earlier in
            VersionFiles.version(earlier) ?? 0 < version ? Array(String(version).utf8) : nil
        }
    }

    /// The greatest version that is believed, far beyond any clock. A later one must still be possible.
    private static let greatest: Int64 = 1 << 53

    private static func version(_ bytes: [UInt8]?) -> Int64? {
        let number = bytes.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
        return number.flatMap { (1...VersionFiles.greatest).contains($0) ? $0 : nil }
    }
}
