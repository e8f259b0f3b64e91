import Foundation
import OIDCCore
@testable import Posix
import TestSupport
import Testing

/// Waits until another process has made the file, half a minute at most.
private func isThere(_ path: String) -> Bool {
    for _ in 0..<30_000 where access(path, F_OK) != 0 { usleep(1_000) }
    return access(path, F_OK) == 0
}

/// Gives the thread back meanwhile: the process that is waited for needs one to be started.
private func isThereSoon(_ path: String) async -> Bool {
    for _ in 0..<60_000 where access(path, F_OK) != 0 { try? await Task.sleep(for: .milliseconds(5)) }
    return access(path, F_OK) == 0
}

@Suite("the lock between processes")
struct LockTests {
    let scratch = ScratchDirectory()
    var path: String { scratch.path }

    /// What a process that comes second sees at once.
    private func attempt(_ wait: LockWait = LockWait(limit: .zero)) throws(OIDCError) -> FileLock? {
        guard let directory = try PrivateDirectory.open(path) else { return nil }
        return try FileLock.acquire("a.lock", in: directory, wait)
    }

    /// A process that another test starts at this moment has a copy of the descriptor until it runs its program.
    private let patient = LockWait(limit: .seconds(20))

    private var heldTooLong: OIDCError {
        OIDCError(
            .failed,
            "the lock \(scratch["a.lock"]) was not free within 0 seconds: another process holds it",
            hint: "try again, or end the process that hangs", stage: .store)
    }

    @Test("the second process waits at most until the limit; a released lock is free, its file stays")
    func exclusion() throws {
        do {
            let lock = try attempt()
            #expect(failure { () throws(OIDCError) in try attempt() } == heldTooLong)
            withExtendedLifetime(lock) {}
        }
        #expect(try attempt(patient) != nil)
        #expect(scratch.names == ["a.lock"])
        #expect(mode(scratch["a.lock"]) == 0o600)
    }

    @Test("a wait is announced once, after its time")
    func notice() throws {
        let lock = try attempt()
        var notices = 0
        var wait = LockWait(
            limit: .milliseconds(60), noticeAfter: .milliseconds(20), onWaiting: { notices += 1 })
        #expect(failure { () throws(OIDCError) in try attempt(wait) } == heldTooLong)
        #expect(notices == 1)
        wait.noticeAfter = .seconds(1)
        #expect(failure { () throws(OIDCError) in try attempt(wait) } == heldTooLong)
        #expect(notices == 1)
        withExtendedLifetime(lock) {}
    }

    @Test("a wait can be canceled")
    func cancellation() throws {
        let lock = try attempt()
        var asked = 0
        let wait = LockWait(
            limit: .seconds(60),
            isCancelled: {
                asked += 1
                return asked == 3
            })
        #expect(
            failure { () throws(OIDCError) in try attempt(wait) }
                == OIDCError(.interrupted, "interrupted", stage: .store))
        withExtendedLifetime(lock) {}
    }

    @Test("a wait in the kernel's queue ends with the lock, with its limit, or when it is canceled")
    func queue() async throws {
        var lock = try attempt()
        #expect(
            failure { () throws(OIDCError) in try attempt(LockWait(limit: .milliseconds(200))) }?.kind
                == .failed)
        let start = MonotonicTime.now()
        let cancelled = LockWait(
            limit: .seconds(60), isCancelled: { MonotonicTime.now() > start.adding(milliseconds: 100) })
        #expect(failure { () throws(OIDCError) in try attempt(cancelled) }?.kind == .interrupted)
        let path = path
        async let waiter = Task.detached {
            let directory = try #require(try PrivateDirectory.open(path))
            return try FileLock.acquire("a.lock", in: directory, LockWait(limit: .seconds(60)))
        }.value
        try await Task.sleep(for: .milliseconds(100))
        lock = nil
        #expect(try await waiter.file.status().kind == .regular)
        withExtendedLifetime(lock) {}
    }

    @Test("a holder that is killed frees the lock", .waiting)
    func killedHolder() async throws {
        let path = path
        async let holder: Void = {
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                let directory = try #require(try PrivateDirectory.open(path))
                let lock = try FileLock.acquire("a.lock", in: directory, LockWait(limit: .zero))
                mkdir("\(path)/held", 0o700)
                #expect(isThere("\(path)/go"))
                kill(getpid(), SIGKILL)
                withExtendedLifetime(lock) {}
            }
        }()
        #expect(await isThereSoon(scratch["held"]))
        #expect(failure { () throws(OIDCError) in try attempt() } == heldTooLong)
        mkdir(scratch["go"], 0o700)
        await holder
        #expect(try attempt(patient) != nil)
    }

    @Test("a program that the holder starts does not inherit the lock")
    func notInherited() throws {
        var child = pid_t()
        do {
            let lock = try attempt()
            var arguments = [strdup("sleep"), strdup("60"), nil]
            #expect(posix_spawn(&child, "/bin/sleep", nil, nil, &arguments, environ) == 0)
            for argument in arguments { free(argument) }
            withExtendedLifetime(lock) {}
        }
        #expect(try attempt(patient) != nil)
        kill(child, SIGKILL)
        waitpid(child, nil, 0)
    }

    @Test(
        "a file that was renamed or replaced between opening and locking is not the lock",
        arguments: [true, false])
    func replacedFile(isReplaced: Bool) throws {
        let directory = try #require(try PrivateDirectory.open(path))
        let file = try FileLock.open("a.lock", in: directory)
        rename(scratch["a.lock"], scratch["b"])
        if isReplaced { scratch.put("", "a.lock") }
        #expect(try FileLock.take(file, "a.lock", in: directory) == nil)
        let again = try FileLock.open("a.lock", in: directory)
        #expect(try FileLock.take(again, "a.lock", in: directory) != nil)
    }

    @Test("a lock file that a umask left without any permission is repaired")
    func permissions() throws {
        scratch.put("", "a.lock", mode: 0)
        #expect(try attempt(patient) != nil)
        #expect(mode(scratch["a.lock"]) == 0o600)
    }

    @Test("a link or a directory in place of the lock file is refused")
    func otherKind() {
        scratch.put("x", "elsewhere")
        symlink(scratch["elsewhere"], scratch["a.lock"])
        let hint: Hint = "move it away: mv \(scratch["a.lock"]) \(scratch["a.lock"]).old"
        #expect(
            failure { () throws(OIDCError) in try attempt() }
                == OIDCError(
                    .failed, "the lock file \(scratch["a.lock"]) is a symbolic link, expected a regular file",
                    hint: hint, stage: .store))
        unlink(scratch["a.lock"])
        mkdir(scratch["a.lock"], 0o700)
        #expect(
            failure { () throws(OIDCError) in try attempt() }
                == OIDCError(
                    .failed, "the lock file \(scratch["a.lock"]) is a directory, expected a regular file",
                    hint: hint, stage: .store))
    }
}
