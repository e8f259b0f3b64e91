package import OIDCCore

/// Files that are replaced atomically and accessible only to this user.
package enum AtomicFile {
    static let sizeLimit = 4 << 20

    /// The longest wait for another writer of the same file, whose write takes milliseconds. A signal does
    /// not end the wait, as received data must be saved.
    private static let writersWait = Duration.seconds(10)

    /// The content that overwrites a file that cannot be removed; `read` returns nil for it.
    private static let removedContent = Array("null\n".utf8)

    /// Returns the content of a file; nil if it does not exist. It takes one open, one fstat and one read.
    package static func read(_ name: String, in directory: PrivateDirectory) throws(FileFault) -> [UInt8]? {
        guard let file = try open(name, in: directory) else { return nil }
        let status = try FileFault.checking(try file.status())
        guard status.kind == .regular else { throw .kind(status.kind) }
        guard !status.isSomeoneElses else { throw .owner(status.owner) }
        guard !status.isOpenToOthers else { throw .permissions(status.permissions) }
        let content = try FileFault.checking(
            try file.readAll(expected: Int(clamping: status.size), limit: sizeLimit))
        guard let content else { throw .tooLarge }
        return content == removedContent ? nil : content
    }

    private static func open(_ name: String, in directory: PrivateDirectory) throws(FileFault) -> OpenFile? {
        do {
            return try OpenFile(name, in: directory.file, for: .reading)
        } catch {
            if error.isAbsent { return nil }
            if error.isDenied, let status = try? directory.file.status(of: name), status.kind == .regular,
                !status.isSomeoneElses, status.permissions & 0o400 == 0
            {
                throw .unreadable(status.permissions)
            }
            throw FileFault(opening: name, in: directory, error)
        }
    }

    /// Replaces a file: writes a temporary file, syncs it, renames it, and syncs the directory. Returns
    /// whether the file was written.
    ///
    /// The temporary file has a fixed name and is locked while it is written, so a killed writer leaves at
    /// most this one file, which the next writer reuses. `content` is called under that lock and may read the
    /// current file. If it returns nil, the file stays unchanged.
    @discardableResult
    package static func write(
        to name: String, temporary: String, in directory: PrivateDirectory, survivesPowerFailure: Bool = true,
        _ content: () throws(OIDCError) -> [UInt8]?
    ) throws(OIDCError) -> Bool {
        var isWritten = false
        try withTemporary(temporary, in: directory) { file throws(OIDCError) in
            let bytes: [UInt8]?
            do throws(OIDCError) { bytes = try Interruption.postponed(content) } catch {
                removeIfEmpty(file, temporary, in: directory)
                throw error
            }
            guard let bytes else { return removeIfEmpty(file, temporary, in: directory) }
            if !holds(file, bytes) {
                try writing(temporary, in: directory) { () throws(Errno) in
                    try fill(file, bytes, survivesPowerFailure: false)
                }
            }
            // If this fails, as on a network's disk that is full, the temporary file is kept for `adopt`: it may be the only
            // copy of a token.
            do throws(Errno) {
                if survivesPowerFailure { try file.synchronize() }
                try directory.file.rename(temporary, to: name)
            } catch {
                throw FileFault.system(error).storeError(directory.path(of: name), noun: "file")
            }
            isWritten = true
        }
        guard survivesPowerFailure, isWritten else { return isWritten }
        do throws(Errno) { try synchronize(directory) } catch {
            throw .store(DisplayText.clean(directory.path), error)
        }
        return true
    }

    /// Returns whether the locked temporary file has this content, as after a write that was not completed.
    private static func holds(_ file: borrowing OpenFile, _ bytes: [UInt8]) -> Bool {
        guard let status = try? file.status(), status.size == bytes.count else { return false }
        return ((try? file.readAll(expected: bytes.count, limit: sizeLimit)) ?? nil) == bytes
    }

    /// Replaces the content of the locked temporary file.
    static func fill(
        _ file: borrowing OpenFile, _ bytes: [UInt8], survivesPowerFailure: Bool = true
    ) throws(Errno) {
        try file.makeEmpty()
        try file.write(bytes)
        if survivesPowerFailure { try file.synchronize() }
    }

    /// Checks that `write` will be able to use the temporary file and to rename it, before a token is obtained that cannot
    /// be obtained again. Changes nothing.
    package static func checkReplaceable(
        _ name: String, temporary: String, in directory: PrivateDirectory, noun: String
    ) throws(OIDCError) {
        if directory.file.isFixed(name) {
            throw FileFault.fixed.storeError(directory.path(of: name), noun: noun)
        }
        do throws(FileFault) {
            guard let file = try openTemporary(temporary, in: directory) else { return }
            let end = MonotonicTime.now().adding(milliseconds: writersWait.milliseconds)
            while try !FileFault.checking(try file.tryLock()) {
                guard MonotonicTime.now() < end else { throw .locked }
                Poll.pause(until: .now().adding(milliseconds: 20))
            }
        } catch {
            throw error.storeError(directory.path(of: temporary), noun: "file")
        }
    }

    /// Opens the temporary file. Returns nil if there is none, or if its mode denies access, as the writer
    /// sets the mode.
    private static func openTemporary(
        _ temporary: String, in directory: PrivateDirectory
    ) throws(FileFault) -> OpenFile? {
        guard let status = try? directory.file.status(of: temporary) else { return nil }
        guard status.kind == .regular else { throw .kind(status.kind) }
        guard !status.isSomeoneElses else { throw .owner(status.owner) }
        guard !directory.file.isFixed(temporary) else { throw .fixed }
        do {
            return try OpenFile(temporary, in: directory.file, for: .changing)
        } catch {
            // The writer sets the mode of a file that denies access.
            guard !error.isAbsent, !error.isDenied else { return nil }
            throw FileFault(opening: temporary, in: directory, error)
        }
    }

    /// Waits until a new name is on the disk.
    static func synchronize(_ directory: PrivateDirectory) throws(Errno) {
        do { try directory.file.synchronize() } catch {
            guard error.isUnsupported else { throw error }
        }
    }

    /// Reserves disk space for a file: writes `byteCount` bytes to the file `reservation` and removes its name.
    /// The space and the inode are freed when the returned lock is released, even if the process is killed.
    ///
    /// The name is not that of a writer's temporary file: one that a killed refresh left may be the only copy
    /// of the new refresh token, and a reservation is made without the session's lock.
    package static func reserve(
        _ reservation: String, in directory: PrivateDirectory, byteCount: Int,
        survivesPowerFailure: Bool = true
    ) throws(OIDCError) -> FileLock {
        try withTemporary(reservation, in: directory) { file throws(OIDCError) in
            try writing(reservation, in: directory) { () throws(Errno) in
                try file.makeEmpty()
                try file.write(Array(repeating: .space, count: byteCount))
                if survivesPowerFailure { try file.synchronize() }
                // A logout may have removed the name already.
                do throws(Errno) { try directory.file.remove(reservation) } catch {
                    guard error.isAbsent else { throw error }
                }
            }
        }
    }

    /// Removes a file and its temporary file, under the writers' lock if possible; if the directory is not
    /// writable, overwrites them. `isMeant` is called under that lock; if it returns false, both files are
    /// kept, and the result is false.
    package static func remove(
        _ name: String, temporary: String, in directory: PrivateDirectory,
        if isMeant: () -> Bool = { true }
    ) throws(OIDCError) -> Bool {
        let wait = LockWait(limit: writersWait, isCancelled: { false })
        let lock = try? FileLock.acquire(temporary, in: directory, wait, noun: "file")
        guard isMeant() else {
            if let lock { removeIfEmpty(lock.file, temporary, in: directory) }
            return false
        }
        defer {
            if let lock {
                do throws(Errno) { try directory.file.remove(temporary) } catch { try? lock.file.makeEmpty() }
            }
        }
        do {
            try directory.file.remove(name)
        } catch {
            guard !error.isAbsent, !(error.isDenied && overwrite(name, in: directory)) else { return true }
            throw FileFault(opening: name, in: directory, error).storeError(
                directory.path(of: name), noun: "file")
        }
        return true
    }

    /// Overwrites a file with `removedContent`. Returns whether that succeeded.
    private static func overwrite(_ name: String, in directory: PrivateDirectory) -> Bool {
        do throws(Errno) {
            let file = try OpenFile(name, in: directory.file, for: .changing)
            let status = try file.status()
            guard status.kind == .regular, !status.isSomeoneElses else { return false }
            try file.makeEmpty()
            try file.write(removedContent)
            try file.synchronize()
            return true
        } catch {
            return false
        }
    }

    /// Runs `body` with the locked temporary file and returns the lock. Only the lock's holder may change,
    /// rename or remove the file.
    @discardableResult
    private static func withTemporary(
        _ temporary: String, in directory: PrivateDirectory,
        _ body: (borrowing OpenFile) throws(OIDCError) -> Void
    ) throws(OIDCError) -> FileLock {
        let wait = LockWait(limit: writersWait, isCancelled: { false })
        let lock = try FileLock.acquire(temporary, in: directory, wait, noun: "file")
        try body(lock.file)
        return lock
    }

    /// Runs `body`, which writes the temporary file; if that fails, removes the file, which contains nothing of value
    /// any more.
    private static func writing(
        _ temporary: String, in directory: PrivateDirectory, _ body: () throws(Errno) -> Void
    ) throws(OIDCError) {
        do throws(Errno) { try body() } catch {
            try? directory.file.remove(temporary)
            throw FileFault.system(error).storeError(directory.path(of: temporary), noun: "file")
        }
    }

    /// Removes a temporary file that was not written to. One with content was left by a killed writer and is
    /// kept for `adopt`.
    private static func removeIfEmpty(
        _ file: borrowing OpenFile, _ temporary: String, in directory: PrivateDirectory
    ) {
        guard let status = try? file.status(), status.size == 0 else { return }
        try? directory.file.remove(temporary)
    }
}

/// The content of a temporary file that a killed writer left.
package struct Leftover {
    package var content: [UInt8]
    /// Whether its modification time is before the file's. The clock may have been set back in between.
    package var isOlder: Bool
}

/// The temporary files that killed writers leave. All writers of a session's file use the same one, so a
/// leftover contains what was written last.
extension AtomicFile {
    /// Completes the write of a killed process: renames its temporary file to `name` if `isSuccessor` returns
    /// true.
    ///
    /// The temporary file must certainly be ours: a regular file of this user with mode 0600, not empty, and not locked by
    /// a running writer, which renames it itself. `isSuccessor` is called without the writers' lock, as it may ask a
    /// keychain. The content that it gets is nil if there is no file `name`.
    package static func adopt(
        _ temporary: String, as name: String, in directory: PrivateDirectory,
        if isSuccessor: (_ stored: [UInt8]?, _ leftover: Leftover) -> Bool
    ) {
        guard let status = try? directory.file.status(of: temporary), status.kind == .regular,
            !status.isSomeoneElses, status.permissions == 0o600, status.size > 0,
            let stored = try? read(name, in: directory) as [UInt8]??,
            let leftover = (try? read(temporary, in: directory)) ?? nil
        else { return }
        let current = try? directory.file.status(of: name)
        let isOlder = current.map(status.isOlder) ?? false
        guard isSuccessor(stored, Leftover(content: leftover, isOlder: isOlder)) else { return }
        do throws(FileFault) {
            var taken: FileLock?
            // `checkReplaceable` locks the file for a moment.
            for _ in 0..<20 where taken == nil {
                let file = try FileFault.checking(try OpenFile(temporary, in: directory.file, for: .changing))
                taken = try FileLock.take(file, temporary, in: directory)
                if taken == nil { Poll.pause(until: .now().adding(milliseconds: 5)) }
            }
            guard let lock = taken,
                let found = try FileFault.checking(
                    try lock.file.readAll(expected: Int(clamping: status.size), limit: sizeLimit)),
                found == leftover, try read(name, in: directory) == stored
            else { return }
            // A failed sync is ignored: the refresh token in the old file is spent already.
            try? lock.file.synchronize()
            try FileFault.checking(try directory.file.rename(temporary, to: name))
            try FileFault.checking(try directory.file.synchronize())
        } catch {
            // The leftover is kept; the next writer reuses it.
        }
    }

    /// Throws if a killed writer may have left a temporary file that `adopt` does not use, as its mode or owner was changed
    /// since: it may be the only copy of what was written last. Returns whether there is one that `adopt` uses.
    package static func checkLeftover(
        _ temporary: String, in directory: PrivateDirectory, noun: String
    ) throws(OIDCError) -> Bool {
        guard let status = try? directory.file.status(of: temporary) else { return false }
        let path = directory.path(of: temporary)
        var error: OIDCError
        if status.kind == .symbolicLink {
            error = FileFault.kind(status.kind).storeError(path, noun: noun)
            error.hint =
                "it may have the only valid tokens: put what the link leads to in its place, or, if that is lost, remove the link"
        } else if status.kind != .regular || status.size == 0 {
            return false
        } else if status.isSomeoneElses {
            error = FileFault.owner(status.owner).storeError(path, noun: noun)
            error.hint = .text(
                "it may have the only valid tokens, so make it yours again: sudo chown \"$USER\" "
                    + ShellWord.quoted(path))
        } else if status.permissions != 0o600 {
            error = FileFault.permissions(status.permissions).storeError(path, noun: noun)
        } else {
            return true
        }
        throw error
    }

    /// Removes a temporary file that belongs to another user or is a link.
    package static func removeForeign(_ temporary: String, in directory: PrivateDirectory) {
        guard let status = try? directory.file.status(of: temporary),
            status.kind == .symbolicLink || status.kind == .regular && status.isSomeoneElses
        else { return }
        try? directory.file.remove(temporary)
    }

    /// Waits for a running writer, then removes the leftover and returns its content. Returns nil if there is
    /// none, or if `isMeant` returns false for it; that is called without the writers' lock, as it may ask a keychain.
    package static func takeLeftover(
        _ temporary: String, in directory: PrivateDirectory, if isMeant: ([UInt8]) -> Bool
    ) throws(OIDCError) -> [UInt8]? {
        guard (try? directory.file.status(of: temporary)) != nil else { return nil }
        var meant: [UInt8]?
        while true {
            var content: [UInt8] = []
            var isTaken = false
            try withTemporary(temporary, in: directory) { file throws(OIDCError) in
                content = ((try? file.readAll(expected: 0, limit: sizeLimit)) ?? nil) ?? []
                guard content == meant else { return }
                do throws(Errno) {
                    do throws(Errno) { try directory.file.remove(temporary) } catch {
                        if !error.isAbsent { try file.makeEmpty() }
                    }
                } catch {
                    throw FileFault.system(error).storeError(directory.path(of: temporary), noun: "file")
                }
                isTaken = true
            }
            if isTaken { return content }
            guard isMeant(content) else { return nil }
            meant = content
        }
    }
}

/// The reason why a file is not used.
package enum FileFault: Error, Hashable, Sendable {
    case kind(FileStatus.Kind)
    case owner(UInt32)
    case permissions(UInt32)
    case unreadable(UInt32)
    case tooLarge
    /// The file can be read but not replaced.
    case fixed
    /// Another process has kept the file locked for too long.
    case locked
    case system(Errno)

    /// Creates the fault of a file that could not be opened: its kind if it is not a regular file, else the
    /// error.
    init(opening name: String, in directory: PrivateDirectory, _ error: Errno) {
        let kind = (try? directory.file.status(of: name))?.kind
        self = if let kind, kind != .regular { .kind(kind) } else { .system(error) }
    }

    static func checking<Value: ~Copyable>(
        _ operation: @autoclosure () throws(Errno) -> Value
    ) throws(FileFault) -> Value {
        do { return try operation() } catch { throw .system(error) }
    }

    /// Returns the fault as an error with a hint.
    package func storeError(_ path: String, noun: String) -> OIDCError {
        let subject = "the \(noun) \(DisplayText.clean(path))"
        let word = ShellWord.quoted(path)
        switch self {
        case .kind(let kind):
            return .store(
                "\(subject) is \(kind.rawValue), expected a regular file",
                hint: "move it away: mv \(word) \(word).old")
        case .owner(let owner):
            return .store(
                "\(subject) belongs to another user (id \(owner), this is \(FileStatus.currentUser))",
                hint: "let its owner give it away (chown \(FileStatus.currentUser) \(word)), or remove it")
        case .permissions(let permissions):
            return .store(
                "\(subject) \(permissions & 0o077 != 0 ? "is open to others" : "was changed"): expected mode 0600, found"
                    + " \(PrivateDirectory.octal(permissions))",
                hint: "chmod 600 \(word)")
        case .unreadable(let permissions):
            return .store(
                "\(subject) is not readable: expected mode 0600, found \(PrivateDirectory.octal(permissions))",
                hint: "chmod 600 \(word)")
        case .tooLarge:
            return .damagedFile("\(subject) is larger than \(AtomicFile.sizeLimit >> 20) MiB")
        case .fixed:
            return .store(
                "\(subject) cannot be replaced: it is mounted by itself, or an attribute protects it",
                hint: "mount its directory instead of the file, or run chattr -i -a \(word)")
        case .locked:
            return .store(
                "\(subject) is locked by another process",
                hint: "try again, or end the process that hangs")
        case .system(let error):
            return .store(subject, error, at: path)
        }
    }
}

/// File descriptors that are reserved while a refresh token is redeemed, so its successor can be stored even
/// if the process has used up all others.
package final class DescriptorReserve {
    private final class ReservedDescriptor {
        let file: OpenFile

        init() throws(Errno) { file = try OpenFile("/dev/null", for: .reading) }
    }

    private let descriptors: [ReservedDescriptor]

    package init() throws(OIDCError) {
        do throws(Errno) {
            descriptors = try (0..<4).map { _ throws(Errno) in try ReservedDescriptor() }
        } catch {
            throw .store("cannot open another file", error)
        }
    }
}
