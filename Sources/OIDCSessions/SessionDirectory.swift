package import OIDCCore
import Posix

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

    func location(_ name: String) -> String { FilePath.join(path, name + ending) }

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
            to: name + ending, temporary: name + ".tmp", in: directory,
            survivesPowerFailure: survivesPowerFailure
        ) { () throws(OIDCError) in
            try content(try existing(name, in: directory))
        }
    }

    private static let reservedEnding = ".reserved"

    /// Checks that `replace` would succeed, and returns an object that holds space for the new content until
    /// released. Leaves nothing behind except the directory, and does not touch what a killed writer left.
    @discardableResult
    func reserve(
        _ name: String, survivesPowerFailure: Bool = true,
        checking check: ([UInt8]) throws(OIDCError) -> Void
    ) throws(OIDCError) -> AnyObject {
        let directory = try PrivateDirectory.create(path)
        let existing = try existing(name, in: directory)
        if let existing { try check(existing) }
        // The successor of a refresh token may be longer than the token.
        return try AtomicFile.reserve(
            name + SessionDirectory.reservedEnding, in: directory, byteCount: (existing?.count ?? 0) + 32_768,
            survivesPowerFailure: survivesPowerFailure)
    }

    /// Removes a file, unless `isDamaged` throws for its content; a damaged one is set aside. An unreadable file is
    /// removed unchecked. Returns false if there is no file.
    @discardableResult
    package func remove(
        _ name: String, unlessDamaged isDamaged: ([UInt8]) throws(OIDCError) -> Bool
    ) throws(OIDCError) -> Bool {
        guard let directory = try PrivateDirectory.open(path) else { return false }
        try? directory.file.remove(name + SessionDirectory.damagedEnding)
        var isSetAside = false
        let isRemoved = try AtomicFile.remove(name + ending, temporary: name + ".tmp", in: directory) {
            () throws(OIDCError) in
            if let bytes = try? existing(name, in: directory), try isDamaged(bytes) {
                setAside(name)
                isSetAside = true
            }
            leave(nil, name, replacing: nil)
            try? directory.file.remove(name + SessionDirectory.reservedEnding)
        }
        return isRemoved || isSetAside
    }

    private static let damagedEnding = ".damaged"

    /// Renames a damaged file, so what is left in it is not lost, until the next logout. It is never read or listed.
    /// Called under the session's lock.
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

    /// Returns the names of all files, sorted and without their ending.
    func names() throws(OIDCError) -> [String] {
        guard let directory = try PrivateDirectory.open(path) else { return [] }
        let files: [String]
        do { files = try directory.file.names() } catch { throw .store(DisplayText.clean(path), error) }
        return files.filter { $0.hasSuffix(ending) && !$0.hasPrefix(".") }.sorted().map {
            String($0.dropLast(ending.utf8.count))
        }
    }

    func entries(
        _ session: (String, [UInt8]) throws(OIDCError) -> Session
    ) throws(OIDCError) -> [StoredSession] {
        guard let directory = try PrivateDirectory.open(path) else { return [] }
        return try names().compactMap { name in
            do throws(OIDCError) {
                guard let bytes = try read(name, in: directory) else { return nil }
                return entry(name, .success(try session(name, bytes)))
            } catch {
                return entry(name, .failure(error))
            }
        }
    }

    private func entry(_ name: String, _ content: Result<Session, OIDCError>) -> StoredSession {
        StoredSession(name: name, location: location(name), content: content)
    }

    /// Runs `body` while holding `<name>.lock`, or `<name>.sign-in.lock` for a sign-in. The holder of the
    /// former first completes the write of a killed refresh, if `isSuccessor` returns true for it.
    func withLock<Value>(
        _ name: String, for purpose: LockPurpose, _ wait: LockWait,
        adoptingIf isSuccessor: ((_ stored: [UInt8], _ leftover: [UInt8]) -> Bool)? = nil,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        let directory = try PrivateDirectory.create(path)
        let file =
            switch purpose {
            case .tokens: name + ".lock"
            case .signIn: name + ".sign-in.lock"
            }
        let lock = try FileLock.acquire(file, in: directory, wait)
        defer { withExtendedLifetime(lock) {} }
        if let isSuccessor, purpose == .tokens { adoptLeftover(name, if: isSuccessor) }
        return try body()
    }
}

/// The shared failure, in a separate file, so the session's file stays unchanged.
extension SessionDirectory {
    private static let failureEnding = ".failure"

    /// Returns the stored failure; nil if there is none or it is unreadable.
    func failure(_ name: String) -> SharedFailure? {
        guard let directory = try? PrivateDirectory.open(path),
            let bytes = try? AtomicFile.read(name + SessionDirectory.failureEnding, in: directory)
        else { return nil }
        return SharedFailure(stored: bytes)
    }

    /// Stores the failure, or removes the stored one. It only saves requests, so it need not survive a power
    /// failure, and write errors are ignored.
    func leave(_ failure: SharedFailure?, _ name: String, replacing id: String?) {
        guard let directory = try? PrivateDirectory.open(path) else { return }
        let file = name + SessionDirectory.failureEnding
        if let failure {
            _ = try? AtomicFile.write(
                to: file, temporary: file + ".tmp", in: directory, survivesPowerFailure: false
            ) { () throws(OIDCError) in
                id == nil || self.failure(name)?.id == id ? failure.json.bytes : nil
            }
        } else {
            try? directory.file.remove(file)
        }
    }
}

extension SessionDirectory {
    private static let leftoverEnding = ".tmp"

    /// Renames a killed writer's leftover to the session's file if it is the successor of the stored content.
    /// Called under the session's lock.
    private func adoptLeftover(
        _ name: String, if isSuccessor: (_ stored: [UInt8], _ leftover: [UInt8]) -> Bool
    ) {
        guard let directory = try? PrivateDirectory.open(path) else { return }
        AtomicFile.adopt(
            name + SessionDirectory.leftoverEnding, as: name + ending, in: directory, if: isSuccessor)
    }

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

extension Session {
    /// Returns whether this session may be the result of a refresh of the other one: both are of the same
    /// sign-in and have a refresh token, and this one is not older. The other's refresh token may then be
    /// spent.
    func isRefreshed(from other: Session) -> Bool {
        key == other.key && createdAt == other.createdAt && self != other
            && tokens.refreshToken != nil && other.tokens.refreshToken != nil
            && tokens.access.obtainedAt >= other.tokens.access.obtainedAt
    }
}
