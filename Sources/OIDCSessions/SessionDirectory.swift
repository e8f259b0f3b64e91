package import OIDCCore
package import Posix

/// A directory with one file per session or other record, and its lock and temporary file beside it.
package struct SessionDirectory: Sendable {
    let path: String
    let ending: String
    /// The word for the file in messages.
    let noun: String

    package init(path: String, ending: String, noun: String = "session file") {
        self.path = FilePath.trimmed(path)
        self.ending = ending
        self.noun = noun
    }

    package func location(_ name: String) -> String { FilePath.join(path, name + ending) }

    /// Returns the content of a file; nil if there is none. It takes no lock and lists no files, as returning
    /// a fresh token must be fast.
    package func read(_ name: String) throws(OIDCError) -> [UInt8]? {
        guard let directory = try PrivateDirectory.open(path) else { return nil }
        return try read(name, in: directory)
    }

    private func read(_ name: String, in directory: PrivateDirectory) throws(OIDCError) -> [UInt8]? {
        do {
            return try AtomicFile.read(name + ending, in: directory)
        } catch {
            throw error.storeError(location(name), noun: noun)
        }
    }

    /// Replaces a file with what `content` returns. Returns whether it was written.
    ///
    /// `content` gets the current bytes, or nil if there is no file. It may throw, or return nil to leave the
    /// file unchanged.
    @discardableResult
    package func replace(
        _ name: String, survivesPowerFailure: Bool = true,
        with content: ([UInt8]?) throws(OIDCError) -> [UInt8]?
    ) throws(OIDCError) -> Bool {
        let directory = try PrivateDirectory.create(path)
        return try AtomicFile.write(
            to: name + ending, temporary: name + SessionDirectory.leftoverEnding, in: directory,
            survivesPowerFailure: survivesPowerFailure
        ) { () throws(OIDCError) in
            try content(try existing(name, in: directory))
        }
    }

    private static let reservedEnding = ".reserved"

    /// Checks that `replace` would succeed, and returns an object that holds `byteCount` bytes for the new content until
    /// released. Leaves nothing behind except the directory, and does not touch what a killed writer left.
    @discardableResult
    package func reserve(
        _ name: String, byteCount: Int = 32_768, survivesPowerFailure: Bool = true
    ) throws(OIDCError) -> AnyObject {
        let directory = try PrivateDirectory.create(path)
        _ = try existing(name, in: directory)
        try AtomicFile.checkReplaceable(
            name + ending, temporary: name + SessionDirectory.leftoverEnding, in: directory, noun: noun)
        return try AtomicFile.reserve(
            name + SessionDirectory.reservedEnding, in: directory, byteCount: byteCount,
            survivesPowerFailure: survivesPowerFailure)
    }

    /// Checks that files could be written, and leaves nothing behind.
    package func checkWritable() throws(OIDCError) {
        if try PrivateDirectory.open(path) == nil { return try PrivateDirectory.checkWritable(path) }
        try reserve("probe")
    }

    /// Why no file could be written; nil if one could.
    package var failure: OIDCError? {
        do throws(OIDCError) {
            try checkWritable()
            return nil
        } catch {
            return error
        }
    }

    /// What becomes of a file that is to be removed.
    package enum Removal {
        case removed
        /// The file is renamed, so its content is kept until the next removal. It is never read or listed.
        case setAside
        /// The file is not changed.
        case refused
    }

    /// Removes a file, and what belongs to it, as `removal` says for its content. An unreadable file is removed
    /// unchecked. Returns false if that was refused.
    @discardableResult
    package func remove(
        _ name: String, _ removal: ([UInt8]) -> Removal = { _ in .removed }
    ) throws(OIDCError) -> Bool {
        guard let directory = try PrivateDirectory.open(path) else { return true }
        try? directory.file.remove(name + SessionDirectory.damagedEnding)
        return try AtomicFile.remove(
            name + ending, temporary: name + SessionDirectory.leftoverEnding, in: directory
        ) {
            let bytes = (try? existing(name, in: directory)) ?? nil
            switch bytes.map(removal) ?? .removed {
            case .refused: return false
            case .setAside: setAside(name)
            case .removed: break
            }
            try? directory.file.remove(name + SessionDirectory.reservedEnding)
            return true
        }
    }

    /// Removes a killed writer's leftover that no writer of this user can be using, as it belongs to another one or is a
    /// link.
    package func removeForeignLeftover(_ name: String) {
        guard let directory = try? PrivateDirectory.open(path) else { return }
        AtomicFile.removeForeign(name + SessionDirectory.leftoverEnding, in: directory)
    }

    private static let damagedEnding = ".damaged"

    /// Sets a file aside. Called under the writers' lock.
    func setAside(_ name: String) {
        guard let directory = try? PrivateDirectory.open(path) else { return }
        try? directory.file.rename(name + ending, to: name + SessionDirectory.damagedEnding)
    }

    /// Returns the content of a file; nil if there is none. A file that is too large is returned as empty, as
    /// both count as damaged.
    private func existing(_ name: String, in directory: PrivateDirectory) throws(OIDCError) -> [UInt8]? {
        do {
            return try AtomicFile.read(name + ending, in: directory)
        } catch {
            guard error != .tooLarge else { return [] }
            throw error.storeError(location(name), noun: noun)
        }
    }

    /// Returns the names of all files, or of those with another ending, sorted and without it.
    package func names(_ other: String? = nil) throws(OIDCError) -> [String] {
        let ending = other ?? ending
        guard let directory = try PrivateDirectory.open(path) else { return [] }
        let files: [String]
        do { files = try directory.file.names() } catch { throw .store(DisplayText.clean(path), error) }
        return files.filter { $0.hasSuffix(ending) && !$0.hasPrefix(".") }.sorted().map {
            String($0.dropLast(ending.utf8.count))
        }
    }

    /// Runs `body` while holding `<name>.lock`, or `<name>.sign-in.lock` for a sign-in.
    func withLock<Value>(
        _ name: String, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        let directory = try PrivateDirectory.create(path)
        let file =
            switch purpose {
            case .tokens: name + ".lock"
            case .signIn: name + ".sign-in.lock"
            }
        let lock = try FileLock.acquire(file, in: directory, wait)
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }

    package static let leftoverEnding = ".tmp"

    /// Renames a killed writer's leftover to the session's file if it is the successor of the stored content.
    /// Called under the session's lock.
    package func adoptLeftover(
        _ name: String, if isSuccessor: (_ stored: [UInt8]?, _ leftover: Leftover) -> Bool
    ) {
        guard let directory = try? PrivateDirectory.open(path) else { return }
        AtomicFile.adopt(
            name + SessionDirectory.leftoverEnding, as: name + ending, in: directory, if: isSuccessor)
    }

    /// Throws if a killed writer's leftover cannot be adopted because its mode or owner was changed, or that of the file.
    /// If `besideFile`, one without a file does not count.
    package func checkLeftover(_ name: String, besideFile: Bool) throws(OIDCError) {
        guard let directory = try PrivateDirectory.open(path) else { return }
        guard !besideFile || (try? FilePath.status(location(name))) != nil else { return }
        let hasLeftover = try AtomicFile.checkLeftover(
            name + SessionDirectory.leftoverEnding, in: directory, noun: "unfinished \(noun)")
        if hasLeftover { _ = try existing(name, in: directory) }
    }

    /// The names of the leftovers.
    package var leftovers: [String] { (try? names(SessionDirectory.leftoverEnding)) ?? [] }

    /// Removes the leftovers of writers that were killed before the session's file existed, and returns their
    /// content. Removes damaged files that were set aside, too. If `name` is nil, removes those of all names.
    func takeLeftovers(
        of name: String?, if isMeant: (_ name: String, _ content: [UInt8]) -> Bool
    ) throws(OIDCError) -> [(name: String, content: [UInt8])] {
        guard let directory = try PrivateDirectory.open(path) else { return [] }
        let files: Set<String>
        do { files = Set(try directory.file.names()) } catch { throw .store(DisplayText.clean(path), error) }
        var taken: [(name: String, content: [UInt8])] = []
        for file in files.sorted() where file.hasSuffix(SessionDirectory.leftoverEnding) {
            let stem = String(file.dropLast(SessionDirectory.leftoverEnding.utf8.count))
            // A leftover beside a session, of this store or another one, is removed with that session.
            guard name == nil || name == stem, !stem.isEmpty, !stem.hasPrefix("."),
                !files.contains(stem + ".json"), !files.contains(stem + ".sealed"),
                let content = try AtomicFile.takeLeftover(file, in: directory, if: { isMeant(stem, $0) })
            else { continue }
            taken.append((stem, content))
        }
        for file in files where file.hasSuffix(SessionDirectory.damagedEnding) {
            let stem = String(file.dropLast(SessionDirectory.damagedEnding.utf8.count))
            if name == nil || name == stem, isMeant(stem, []) { try? directory.file.remove(file) }
        }
        return taken
    }
}
