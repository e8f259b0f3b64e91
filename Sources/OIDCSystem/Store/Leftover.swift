import OIDCCore

/// The temporary files that killed writers leave. All writers of a session's file use the same one, so a
/// leftover contains what was written last.
extension AtomicFile {
    /// Completes the write of a killed process: renames its temporary file to `name` if `isSuccessor` returns
    /// true.
    ///
    /// The temporary file must certainly be ours: a regular file of this user with mode 0600, not empty, not
    /// older than the file it replaces, and not locked by a running writer, which renames it itself.
    static func adopt(
        _ temporary: String, as name: String, in directory: PrivateDirectory,
        if isSuccessor: (_ stored: [UInt8], _ leftover: [UInt8]) -> Bool
    ) {
        guard let status = try? directory.file.status(of: temporary), status.kind == .regular,
            !status.isSomeoneElses, status.permissions == 0o600, status.size > 0,
            let current = try? directory.file.status(of: name), !status.isOlder(than: current),
            let stored = (try? read(name, in: directory)) ?? nil
        else { return }
        do throws(FileFault) {
            let file = try FileFault.checking(try OpenFile(temporary, in: directory.file, for: .changing))
            guard let lock = try FileLock.take(file, temporary, in: directory),
                let leftover = try FileFault.checking(
                    try lock.file.readAll(expected: Int(clamping: status.size), limit: sizeLimit)),
                isSuccessor(stored, leftover)
            else { return }
            try FileFault.checking(try lock.file.synchronize())
            try FileFault.checking(try directory.file.rename(temporary, to: name))
            try FileFault.checking(try directory.file.synchronize())
        } catch {
            // The leftover stays; the next writer reuses it.
        }
    }

    /// Waits for a running writer, then removes the leftover and returns its content. Returns nil if there is
    /// none, or if `isMeant` returns false for it.
    static func takeLeftover(
        _ temporary: String, in directory: PrivateDirectory, if isMeant: ([UInt8]) -> Bool
    ) throws(OIDCError) -> [UInt8]? {
        guard (try? directory.file.status(of: temporary)) != nil else { return nil }
        let lock = try FileLock.acquire(
            temporary, in: directory, LockWait(limit: writersWait, isCancelled: { false }), noun: "file")
        defer { withExtendedLifetime(lock) {} }
        let content = (try? lock.file.readAll(expected: 0, limit: sizeLimit)) ?? nil
        guard isMeant(content ?? []) else { return nil }
        do {
            try directory.file.remove(temporary)
        } catch {
            guard !error.isAbsent else { return content }
            do throws(Errno) { try lock.file.makeEmpty() } catch {
                throw FileFault.system(error).storeError(directory.path(of: temporary), noun: "file")
            }
        }
        return content
    }
}

extension SessionDirectory {
    private static let leftoverEnding = ".tmp"

    /// Renames a killed writer's leftover to the session's file if it is the successor of the stored content.
    /// Called under the session's lock.
    func adoptLeftover(_ name: String, if isSuccessor: (_ stored: [UInt8], _ leftover: [UInt8]) -> Bool) {
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
