package import OIDCCore
import Posix

/// Records in files: `<name>.json` or `<name>.sealed`, its lock and temporary file beside it, and `<name>.failure`, so
/// the session's file stays unchanged.
package struct FileRecords: OwnRecordStore {
    private let directory: SessionDirectory

    /// Creates the records; the directory is created when it is first needed.
    package init(directory path: String, ending: String) {
        directory = SessionDirectory(path: path, ending: ending)
    }

    package var description: String { directory.path }

    package func location(of stem: String) -> String { directory.location(stem) }

    package func error(_ fault: StoreFault, in stem: String) -> OIDCError {
        let path = directory.location(stem)
        let word = ShellWord.quoted(path)
        return fault.error(
            about: "the session file \(DisplayText.clean(path))",
            hint: .text("move it away: mv \(word) \(word).old"))
    }

    package func read(_ name: RecordName) throws(OIDCError) -> Record? {
        guard name.kind == .session else { return try failure(name.stem) }
        return try directory.read(name.stem).map { Record(bytes: $0) }
    }

    package func write(
        _ bytes: [UInt8], to name: RecordName, replacing current: Record?, lifetime: Duration?
    ) throws(OIDCError) -> Bool {
        guard name.kind == .session else { return try writeFailure(bytes, name.stem, replacing: current) }
        return try directory.replace(name.stem) { existing in
            guard existing == current?.bytes else { return nil }
            if current?.isDamaged == true { directory.setAside(name.stem) }
            return bytes
        }
    }

    package func remove(_ name: RecordName, ifStill current: Record?) throws(OIDCError) -> Bool {
        guard name.kind == .session else {
            try? PrivateDirectory.open(directory.path)?.file.remove(name.stem + FileRecords.failureEnding)
            return true
        }
        return try directory.remove(name.stem) { existing in
            guard let current else { return .removed }
            guard existing == current.bytes else { return .refused }
            return current.isDamaged ? .setAside : .removed
        }
    }

    package func names(_ kind: RecordName.Kind) throws(OIDCError) -> [RecordName] {
        try directory.names(kind == .session ? nil : FileRecords.failureEnding).map { RecordName(kind, $0) }
    }

    package func withLock<Value>(
        _ name: RecordName, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try directory.withLock(name.stem, for: purpose, wait, body)
    }

    package func probe(_ name: RecordName, byteCount: Int) throws(OIDCError) {
        _ = try directory.reserve(name.stem, byteCount: byteCount, survivesPowerFailure: true)
    }

    package func checkWaiting(_ name: RecordName) throws(OIDCError) {
        try directory.checkLeftover(name.stem, besideFile: true)
    }

    package func reserve(_ name: RecordName, byteCount: Int) throws(OIDCError) -> AnyObject? {
        try checkWaiting(name)
        return try directory.reserve(name.stem, byteCount: byteCount, survivesPowerFailure: false)
    }

    package func adoptLeftover(
        _ name: RecordName, if isSuccessor: (_ stored: Record, _ leftover: Record, _ isOlder: Bool) -> Bool
    ) {
        directory.adoptLeftover(name.stem) { stored, leftover in
            guard let stored else { return false }
            return isSuccessor(Record(bytes: stored), Record(bytes: leftover.content), leftover.isOlder)
        }
    }

    package func takeLeftovers(
        of stem: String?, if isMeant: (Record) -> Bool
    ) throws(OIDCError) -> [(stem: String, record: Record)] {
        try directory.takeLeftovers(of: stem) { isMeant(Record(bytes: $1)) }
            .map { ($0.name, Record(bytes: $0.content)) }
    }

    private static let failureEnding = ".failure"

    private func failure(_ stem: String) throws(OIDCError) -> Record? {
        guard let directory = try PrivateDirectory.open(directory.path) else { return nil }
        do {
            return try AtomicFile.read(stem + FileRecords.failureEnding, in: directory).map {
                Record(bytes: $0)
            }
        } catch {
            return .unreadable
        }
    }

    /// Writes a failure, which need not survive a power failure. An unreadable file is replaced.
    private func writeFailure(
        _ bytes: [UInt8], _ stem: String, replacing current: Record?
    ) throws(OIDCError) -> Bool {
        guard let directory = try PrivateDirectory.open(directory.path) else { return true }
        let file = stem + FileRecords.failureEnding
        return try AtomicFile.write(
            to: file, temporary: file + ".tmp", in: directory, survivesPowerFailure: false
        ) { () throws(OIDCError) in
            if current == .unreadable { return bytes }
            return (try? AtomicFile.read(file, in: directory)) ?? nil == current?.bytes ? bytes : nil
        }
    }
}
