import OIDCCore
import OIDCSessions
import Posix
import Synchronization

/// What was seen of one record.
struct SeenRecord: Equatable, Sendable {
    /// The newest version; 0 if none was seen.
    var newest: Int64 = 0
    /// The sign-in of the session that was seen last, by `Session.signIn`.
    var latest: String?
    /// The key of that session, as text.
    var key: String?
    /// The sign-ins that were seen before it: a server that lost data may show one again.
    var former: [String] = []
    /// The sign-ins that were signed out of, the last one at the end.
    var ended: [String] = []

    mutating func add(_ other: SeenRecord) {
        newest = max(newest, other.newest)
        let earlier = [latest].compactMap { $0 == other.latest || other.latest == nil ? nil : $0 }
        former = SeenRecord.joined(former, other.former + earlier)
        latest = other.latest ?? latest
        key = other.key ?? key
        ended = SeenRecord.joined(ended, other.ended)
    }

    private static func joined(_ signIns: [String], _ others: [String]) -> [String] {
        (signIns + others.filter { !signIns.contains($0) }).suffix(limit)
    }

    /// The number of sign-ins that are kept of each kind.
    private static let limit = 32
}

/// What a process has seen of records, in any of its stores.
package final class SharedVersions: Sendable {
    /// What this process has seen.
    package static let ofProcess = SharedVersions()
    private let seen = Mutex<[String: SeenRecord]>([:])

    package init() {}

    subscript(_ record: String) -> SeenRecord { seen.withLock { $0[record] } ?? SeenRecord() }

    func note(_ news: SeenRecord, of record: String) {
        seen.withLock { $0[record, default: SeenRecord()].add(news) }
    }
}

/// What this machine has seen of records, for all its processes.
struct VersionFiles: Sendable {
    private let directory: SessionDirectory

    /// Creates access to the files in `versions` below a state directory.
    init(state path: String) {
        directory = SessionDirectory(
            path: "\(FilePath.trimmed(path))/versions", ending: ".version",
            noun: "version of a session")
    }

    /// What was seen of a record; nothing if the file cannot be read.
    subscript(_ name: String) -> SeenRecord { SeenRecord(stored: try? directory.read(name)) }

    /// Why nothing could be noted; nil if it could.
    var failure: OIDCError? { directory.failure }

    /// The names of the records that were seen.
    var names: [String] { (try? directory.names()) ?? [] }

    /// Stores what is new.
    func note(_ news: SeenRecord, of name: String) throws(OIDCError) {
        try directory.replace(name, survivesPowerFailure: false) { stored in
            let earlier = SeenRecord(stored: stored)
            var all = earlier
            all.add(news)
            return all == earlier ? nil : all.bytes
        }
    }
}

/// The form in a file: the version, `=` with the latest sign-in, `@` with its key in base64url, each former sign-in with
/// `~`, and the sign-ins that have ended, separated by spaces.
extension SeenRecord {
    init(stored bytes: [UInt8]?) {
        let words = String(decoding: bytes ?? [], as: UTF8.self).split(separator: " ")
        let version = words.first.flatMap { Int64($0) } ?? 0
        guard (1...SealedRecord.greatestVersion).contains(version) else { return }
        newest = version
        latest = words.first { $0.hasPrefix("=") }.map { String($0.dropFirst()) }
        key = words.first { $0.hasPrefix("@") }.flatMap { Base64URL.decode($0.dropFirst()) }
            .map { String(decoding: $0, as: UTF8.self) }
        former = words.filter { $0.hasPrefix("~") }.map { String($0.dropFirst()) }
        ended = words.dropFirst().filter { word in !["=", "@", "~"].contains { word.hasPrefix($0) } }
            .map(String.init)
    }

    var bytes: [UInt8] {
        let last = [latest.map { "=\($0)" }, key.map { "@\(Base64URL.encode(Array($0.utf8)))" }]
        let words = [String(newest)] + last.compactMap { $0 } + former.map { "~\($0)" } + ended
        return Array(words.joined(separator: " ").utf8)
    }
}

/// What this machine has seen of one server's sessions. A server that lost data, an outdated replica, or somebody who
/// restored an old record is noticed by it.
final class RecordVersions: Sendable {
    private let server: String
    private let process: SharedVersions
    /// Nil if this machine has no directory for them.
    private let files: VersionFiles?
    private let fault = Mutex<OIDCError?>(nil)

    init(of server: String, _ process: SharedVersions, _ files: VersionFiles?) {
        self.server = server
        self.process = process
        self.files = files
    }

    private static let noDirectory = OIDCError.store("there is no state directory")

    /// Why nothing could be noted for other processes; nil if it could.
    var failure: OIDCError? { files.map(\.failure) ?? RecordVersions.noDirectory }

    /// Why this process has not noted all that it saw for others; nil if it has.
    var noteFailure: OIDCError? { files == nil ? RecordVersions.noDirectory : fault.withLock { $0 } }

    /// Returns what this machine has seen of a session. The file is read each time, as another process may have seen
    /// more.
    func seen(_ stem: String) -> SeenRecord {
        let record = location(stem)
        if let stored = files?[fileName(stem)] { process.note(stored, of: record) }
        return process[record]
    }

    /// Returns the version of the newest record that this machine has seen; 0 if it has seen none.
    func newest(_ stem: String) -> Int64 { seen(stem).newest }

    func note(_ news: SeenRecord, _ stem: String) {
        let earlier = seen(stem)
        var all = earlier
        all.add(news)
        guard all != earlier else { return }
        process.note(news, of: location(stem))
        do throws(OIDCError) { try files?.note(news, of: fileName(stem)) } catch {
            // A later version will be noted, but maybe not a sign-out.
            fault.withLock { $0 = error }
        }
    }

    /// Returns the sign-ins of a session's key that were signed out of here, whatever the settings called the server then:
    /// each is named by its nonce and time, so it is the same one. Versions are each server's own.
    func ended(_ stem: String) -> [String] {
        var ended = seen(stem).ended
        guard let files else { return ended }
        let own = fileName(stem)
        for name in files.names where name != own && name.hasPrefix("\(stem)-") {
            ended = files[name].ended.filter { !ended.contains($0) } + ended
        }
        return ended
    }

    /// Returns the sign-in of the session that was seen last under the name that a server had then.
    func latest(inFile name: String) -> String? { files?[name].latest }

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
    func fileName(_ stem: String) -> String { RecordVersions.fileName(stem, of: server) }

    static func fileName(_ stem: String, of server: String) -> String { "\(stem)-\(FNV1a.digits(server))" }

    func location(_ stem: String) -> String { "\(server), record \(RecordName(.session, stem))" }
}
