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

/// The newest versions of records that this machine has seen, for all its processes.
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

    /// The names of the records that were seen.
    var names: [String] { (try? directory.names()) ?? [] }

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

/// The newest versions of one server's sessions that this machine has seen. A server that lost data, an outdated
/// replica, or somebody who restored an old record is noticed by them.
final class RecordVersions: Sendable {
    private let server: String
    private let process: SharedVersions
    /// Nil if this machine has no directory for them.
    private let files: VersionFiles?

    init(of server: String, _ process: SharedVersions, _ files: VersionFiles?) {
        self.server = server
        self.process = process
        self.files = files
    }

    /// Returns the version of the newest record that this machine has seen; 0 if it has seen none. The file is read each
    /// time, as another process may have seen a newer one.
    func newest(_ stem: String) -> Int64 {
        let record = location(stem)
        let known = process[record]
        guard let seen = files?[fileName(stem)], seen > known else { return known }
        process.note(seen, of: record)
        return seen
    }

    func note(_ version: Int64, _ stem: String) {
        guard version > newest(stem) else { return }
        process.note(version, of: location(stem))
        files?.note(version, of: fileName(stem))
    }

    /// The sessions that this machine has seen, by its files.
    var stems: [String] {
        let ending = fileName("")
        return (files?.names ?? []).filter { $0.hasSuffix(ending) }.map {
            String($0.dropLast(ending.utf8.count))
        }
    }

    /// Returns the version of a session's removal: the next one after the last, so the server cannot bring the old
    /// record back. Nil if this machine has seen none.
    func removal(_ stem: String) -> Int64? {
        let newest = newest(stem)
        return newest > 0 ? newest + 1 : nil
    }

    /// Returns the name of a session's local files. It includes a hash of the server's description.
    func fileName(_ stem: String) -> String { "\(stem)-\(FNV1a.digits(server))" }

    func location(_ stem: String) -> String { "\(server), record \(RecordName(.session, stem))" }
}
