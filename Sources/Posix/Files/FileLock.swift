package import OIDCCore
import Synchronization

extension LockWait {
    /// Creates a wait that a signal ends.
    package init(
        limit: Duration, noticeAfter: Duration = .seconds(1), onWaiting: @escaping () -> Void = {}
    ) {
        self.init(
            limit: limit, noticeAfter: noticeAfter, onWaiting: onWaiting,
            isCancelled: { Interruption.pending != nil })
    }
}

/// The times at which a wait ends and is reported.
package struct WaitClock {
    package let limit: MonotonicTime
    var notice: MonotonicTime?

    package init(_ wait: LockWait, start: MonotonicTime) {
        limit = start.adding(milliseconds: wait.limit.milliseconds)
        notice = start.adding(milliseconds: wait.noticeAfter.milliseconds)
    }

    /// Throws if the wait was canceled or its limit has passed; calls `onWaiting` when that is due.
    package mutating func check(
        _ wait: LockWait, now: MonotonicTime = .now(), timeout: () -> OIDCError
    ) throws(OIDCError) {
        if !Interruption.isPostponed, wait.isCancelled() {
            throw Interruption.pending.map(Interruption.error)
                ?? OIDCError(.interrupted, "interrupted", stage: .store)
        }
        if let notice, now >= notice {
            self.notice = nil
            wait.onWaiting()
        }
        guard now < limit else { throw timeout() }
    }
}

/// An exclusive lock between processes, on a separate file. It is held until it is released or its process
/// ends.
package final class FileLock: Sendable {
    /// The locked file, which the atomic writer also writes to.
    let file: OpenFile

    private init(file: consuming OpenFile) {
        self.file = file
    }

    /// Releases the lock before its file is closed.
    package func release() { file.unlock() }

    /// Waits for the lock. It first polls, as most holders only write a file, and then queues in the kernel,
    /// where a thousand waiting processes cost nothing and take their turns in order.
    package static func acquire(
        _ name: String, in directory: PrivateDirectory, _ wait: LockWait, noun: String = "lock file"
    ) throws(OIDCError) -> FileLock {
        let start = MonotonicTime.now()
        var clock = WaitClock(wait, start: start)
        for pause in [0, 1, 2] as [Int64] {
            Poll.pause(until: min(clock.limit, .now().adding(milliseconds: pause)))
            if let lock = try attempt(name, in: directory, noun) { return lock }
            try clock.check(wait) { timeout(name, in: directory, wait) }
        }
        while true {
            if let lock = try queue(name, in: directory, noun, wait, &clock) { return lock }
        }
    }

    private static func timeout(
        _ name: String, in directory: PrivateDirectory, _ wait: LockWait
    ) -> OIDCError {
        .store(
            "the lock \(DisplayText.clean(directory.path(of: name))) was not free within"
                + " \(wait.limit.components.seconds) seconds: another process holds it",
            hint: "try again, or end the process that hangs")
    }

    private static func attempt(
        _ name: String, in directory: PrivateDirectory, _ noun: String
    ) throws(OIDCError) -> FileLock? {
        try reporting(name, in: directory, noun) { () throws(FileFault) in
            try take(try open(name, in: directory), name, in: directory)
        }
    }

    private static func reporting<Value>(
        _ name: String, in directory: PrivateDirectory, _ noun: String,
        _ body: () throws(FileFault) -> Value
    ) throws(OIDCError) -> Value {
        do {
            return try body()
        } catch {
            if case .system(let error) = error, error.isUnsupported {
                throw .store(
                    "\(DisplayText.clean(directory.path)): this file system has no locks: \(error)",
                    hint: .advice(.useOtherDisk))
            }
            throw error.storeError(directory.path(of: name), noun: noun)
        }
    }

    /// Tries once to take the lock. Returns nil if another process holds it, or if the file was renamed or
    /// removed before it was locked.
    static func take(
        _ file: consuming OpenFile, _ name: String, in directory: PrivateDirectory
    ) throws(FileFault) -> FileLock? {
        let lock = try checked(file)
        guard try FileFault.checking(try lock.file.tryLock()), try lock.isCurrent(name, in: directory) else {
            return nil
        }
        return lock
    }

    private static func checked(_ file: consuming OpenFile) throws(FileFault) -> FileLock {
        let status = try FileFault.checking(try file.status())
        guard status.kind == .regular else { throw .kind(status.kind) }
        guard !status.isSomeoneElses else { throw .owner(status.owner) }
        if status.permissions != 0o600 {
            try FileFault.checking(try file.setPermissions(0o600))
        }
        return FileLock(file: file)
    }

    private func isCurrent(_ name: String, in directory: PrivateDirectory) throws(FileFault) -> Bool {
        let status = try FileFault.checking(try file.status())
        guard let current = try? directory.file.status(of: name) else { return false }
        return current.isSameFile(as: status)
    }

    /// Opens the lock file. If its creator was killed before it set the mode, sets the mode first.
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

/// The wait in the kernel's queue.
extension FileLock {
    /// The result of the waiting thread; 0 means that it has the lock.
    private final class Outcome: Sendable {
        let code = Atomic<Int32>(0)
    }

    /// Waits for the lock on a separate thread; returns nil if the file is no longer the lock. If the wait
    /// ends early, the thread continues, and releases the lock as soon as it gets it.
    private static func queue(
        _ name: String, in directory: PrivateDirectory, _ noun: String, _ wait: LockWait,
        _ clock: inout WaitClock
    ) throws(OIDCError) -> FileLock? {
        let lock = try reporting(name, in: directory, noun) { () throws(FileFault) in
            try checked(try open(name, in: directory))
        }
        let outcome = Outcome()
        let done: FileDescriptor
        do throws(Errno) {
            let (reading, writing) = try FileDescriptor.pipe()
            done = reading
            do throws(Errno) {
                try BackgroundThread {
                    outcome.code.store(lock.file.waitForLock(), ordering: .releasing)
                    writing.close()
                }.detach()
            } catch {
                reading.close()
                writing.close()
                throw error
            }
        } catch {
            // Without a thread or a pipe, poll at long intervals, as many other processes may be waiting too.
            Poll.pause(until: min(clock.limit, .now().adding(milliseconds: 250)))
            try clock.check(wait) { timeout(name, in: directory, wait) }
            return try attempt(name, in: directory, noun)
        }
        defer { done.close() }
        while !isReady(done, until: min(clock.limit, clock.notice ?? clock.limit)) {
            try clock.check(wait) { timeout(name, in: directory, wait) }
        }
        return try reporting(name, in: directory, noun) { () throws(FileFault) in
            let code = outcome.code.load(ordering: .acquiring)
            guard code == 0 else { throw .system(Errno(code)) }
            return try lock.isCurrent(name, in: directory) ? lock : nil
        }
    }

    /// Waits at most half a second and returns whether the other end of the pipe was closed.
    private static func isReady(_ pipe: FileDescriptor, until deadline: MonotonicTime) -> Bool {
        // If the wait continues despite a pending signal, that signal must not end each poll at once.
        Poll.wait(
            for: pipe.rawValue, .reading, until: min(deadline, .now().adding(milliseconds: 500)),
            isInterruptible: Interruption.pending == nil)
    }
}
