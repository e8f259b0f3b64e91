import OIDCCore

/// How long to wait for another process, and what to do meanwhile.
public struct LockWait {
    public var limit: Duration
    /// Called once, when the wait has lasted for `noticeAfter`.
    public var onWaiting: () -> Void
    public var noticeAfter: Duration
    /// Asked every few milliseconds; true ends the wait with an error of kind `interrupted`. By default a
    /// signal does.
    public var isCancelled: () -> Bool

    public init(
        limit: Duration, noticeAfter: Duration = .seconds(1), onWaiting: @escaping () -> Void = {},
        isCancelled: @escaping () -> Bool = { Interruption.pending != nil }
    ) {
        self.limit = limit
        self.noticeAfter = noticeAfter
        self.onWaiting = onWaiting
        self.isCancelled = isCancelled
    }
}

/// An exclusive lock between processes on a file of its own, held until it is released or its holder dies.
final class FileLock {
    /// The locked file, which the atomic writer fills.
    let file: OpenFile

    private init(file: consuming OpenFile) {
        self.file = file
    }

    /// Waits for the lock. Nil when `until` became true first: what the holder does for us may be done
    /// before our turn comes, and then nobody has to queue.
    static func acquire(
        _ name: String, in directory: PrivateDirectory, _ wait: LockWait, noun: String = "lock file",
        until: () -> Bool = { false }
    ) throws(OIDCError) -> FileLock? {
        let start = MonotonicTime.now()
        let limit = start.adding(milliseconds: milliseconds(wait.limit))
        let notice = start.adding(milliseconds: milliseconds(wait.noticeAfter))
        var isAnnounced = false
        var pause: Int64 = 2
        while true {
            if let lock = try attempt(name, in: directory, noun) { return lock }
            if until() { return nil }
            if !Interruption.isPostponed, wait.isCancelled() {
                throw Interruption.pending.map(Interruption.error)
                    ?? OIDCError(.interrupted, "interrupted", stage: .store)
            }
            let now = MonotonicTime.now()
            if !isAnnounced, now >= notice {
                isAnnounced = true
                wait.onWaiting()
            }
            guard now < limit else {
                throw .store(
                    "another oidc process has held the lock \(DisplayText.clean(directory.path(of: name)))"
                        + " for more than \(wait.limit.components.seconds) seconds",
                    hint: "try again, or end the oidc process that hangs")
            }
            var nothing: [Poll.Interest] = []
            Poll.wait(&nothing, until: min(limit, now.adding(milliseconds: pause)))
            pause = min(pause * 3 / 2, 20)
        }
    }

    private static func milliseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let (whole, isTooMuch) = seconds.multipliedReportingOverflow(by: 1_000)
        return isTooMuch
            ? .max : whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000).partialValue
    }

    private static func attempt(
        _ name: String, in directory: PrivateDirectory, _ noun: String
    ) throws(OIDCError) -> FileLock? {
        do {
            return try take(try open(name, in: directory), name, in: directory)
        } catch {
            if case .system(let error) = error, error.isUnsupported {
                throw .store(
                    "\(DisplayText.clean(directory.path)): this file system has no locks: \(error)",
                    hint: "set OIDC_STATE_DIR to another disk")
            }
            throw error.complaint(directory.path(of: name), noun: noun)
        }
    }

    /// One try. A file that was renamed or removed between opening and locking is not the lock any more.
    static func take(
        _ file: consuming OpenFile, _ name: String, in directory: PrivateDirectory
    ) throws(FileFault) -> FileLock? {
        let status = try FileFault.checking(try file.status())
        guard status.kind == .regular else { throw .kind(status.kind) }
        guard !status.isSomeoneElses else { throw .owner(status.owner) }
        if status.permissions != 0o600 {
            try FileFault.checking(try file.setPermissions(0o600))
        }
        guard try FileFault.checking(try file.tryLock()) else { return nil }
        guard let current = try? directory.file.status(of: name), current.isSameFile(as: status) else {
            return nil
        }
        return FileLock(file: file)
    }

    /// A umask may have taken our own access to a file whose maker died before it set the mode.
    static func open(_ name: String, in directory: PrivateDirectory) throws(FileFault) -> OpenFile {
        do {
            return try OpenFile(name, in: directory.file, for: .creating)
        } catch {
            guard error.isDenied, let status = try? directory.file.status(of: name), status.kind == .regular,
                !status.isSomeoneElses, status.permissions & 0o600 != 0o600
            else { throw FileFault(opening: name, in: directory, error) }
        }
        try FileFault.checking(try directory.file.setPermissions(of: name, 0o600))
        return try FileFault.checking(try OpenFile(name, in: directory.file, for: .creating))
    }
}
