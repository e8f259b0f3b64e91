import OIDCCore
import OIDCSessions
import Posix

/// The sign-ins of this machine that are between their two steps, one file each in `sign-ins` beside the
/// sessions.
///
/// Whoever holds a sign-in's lock may redeem its answer and change its file: the waiting process, or the
/// second step after that process has stopped. A process that is killed holds nothing.
struct WaitingSignIns {
    private let path: String
    private let files: SessionDirectory
    /// Empty files that ask the holder of a sign-in to stop.
    private let stops: SessionDirectory

    private static let counting = "count.lock"

    /// The number of sign-ins that may wait at a time.
    static let limit = 8
    /// The seconds for which an expired sign-in is remembered.
    private static let memory: Int64 = 86_400

    /// Creates access to the files; nil if no state directory is available.
    init?(_ environment: Variables) {
        guard let state = StateDirectories(environment: environment).state, FilePath.isPossible(state) else {
            return nil
        }
        path = "\(FilePath.trimmed(state))/sign-ins"
        files = SessionDirectory(path: path, ending: ".json", noun: "file of a sign-in")
        stops = SessionDirectory(path: path, ending: ".stop", noun: "file of a sign-in")
    }

    /// Returns a sign-in; nil if there is none. A damaged file counts as none.
    func load(_ id: String) throws(OIDCError) -> WaitingSignIn? {
        guard WaitingSignIns.isID(id) else { return nil }
        return try files.read(id).flatMap { WaitingSignIn(stored: $0) }
    }

    static func isID(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 64 && text.utf8.allSatisfy { ASCII.isAlphanumeric($0) }
    }

    /// Returns all sign-ins that can be read.
    func all() -> [WaitingSignIn] {
        ((try? files.names()) ?? []).compactMap { name in (try? load(name)).flatMap { $0 } }
    }

    /// Saves a sign-in. Called by the holder of its lock.
    func save(_ signIn: WaitingSignIn) throws(OIDCError) {
        try files.replace(signIn.id) { _ in signIn.bytes }
    }

    func remove(_ id: String) throws(OIDCError) { try files.remove(id) }

    /// Runs `body`, which counts the sign-ins that wait and adds one, while no other process does that.
    func withCount<Value>(_ body: () throws(OIDCError) -> Value) throws(OIDCError) -> Value {
        try withLock(WaitingSignIns.counting, within: .seconds(30), body)
    }

    /// Runs the first step of a sign-in while no other first step of the same account runs. Waits at most 90 seconds, so one
    /// that hangs does not block others forever.
    func starting<Value>(_ id: String, _ body: () throws(OIDCError) -> Value) throws(OIDCError) -> Value {
        try withLock(WaitingSignIns.firstStep(id), within: .seconds(90), body)
    }

    private static func firstStep(_ id: String) -> String { "\(id).first-step.lock" }

    private func withLock<Value>(
        _ name: String, within limit: Duration, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        let lock = try FileLock.acquire(name, in: PrivateDirectory.create(path), LockWait(limit: limit))
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }

    /// Returns the lock of a sign-in once it is free.
    func hold(_ id: String, within limit: Duration) throws(OIDCError) -> FileLock {
        try FileLock.acquire("\(id).lock", in: PrivateDirectory.create(path), LockWait(limit: limit))
    }

    /// Returns the lock of a sign-in if nobody holds it.
    func holdIfFree(_ id: String) -> FileLock? {
        guard let lock = try? hold(id, within: .zero) else { return nil }
        // A request to stop was for an earlier holder, and not for this one.
        _ = try? stops.remove(id)
        return lock
    }

    /// Returns whether a first step of a sign-in is running: its waiting process may be about to take the
    /// lock.
    func isStarting(_ id: String) -> Bool {
        guard let directory = try? PrivateDirectory.open(path) else { return false }
        let wait = LockWait(limit: .zero)
        guard let lock = try? FileLock.acquire(WaitingSignIns.firstStep(id), in: directory, wait) else {
            return true
        }
        withExtendedLifetime(lock) {}
        return false
    }

    /// Returns whether a process waits for the answer to a sign-in.
    func isHeld(_ id: String) -> Bool {
        guard let lock = try? hold(id, within: .zero) else { return true }
        withExtendedLifetime(lock) {}
        return false
    }

    /// Waits until a process has all that it needs to wait for the answer, or has ended, and returns whether it waits.
    func becomesReady(_ id: String, within milliseconds: Int64) -> Bool {
        let limit = MonotonicTime.now().adding(milliseconds: milliseconds)
        var wasHeld = false
        while MonotonicTime.now() < limit, Interruption.pending == nil {
            let isHeld = isHeld(id)
            guard isHeld || !wasHeld, let waiting = try? load(id), waiting.phase == .waiting else {
                return false
            }
            if isHeld, waiting.isReady { return true }
            wasHeld = isHeld
            Poll.sleep(until: MonotonicTime.now().adding(milliseconds: 10))
        }
        return isHeld(id)
    }

    /// Asks the holder of a sign-in to stop, and returns its lock. A holder that is redeeming the answer
    /// finishes first.
    func takeOver(_ id: String, within limit: Duration = .seconds(60)) throws(OIDCError) -> FileLock {
        if let lock = holdIfFree(id) { return lock }
        try stops.replace(id, survivesPowerFailure: false) { _ in [] }
        // If it does not stop in time, the request to stop remains.
        let lock = try hold(id, within: limit)
        _ = try? stops.remove(id)
        return lock
    }

    /// Returns whether the holder of a sign-in is to stop.
    func isStopped(_ id: String) -> Bool { (try? stops.read(id)).flatMap { $0 } != nil }

    /// Removes the secrets of sign-ins that nobody answered in time, what killed processes left, and results
    /// that are no longer asked for. Only looks for the directory if there was no such sign-in.
    func sweep(_ context: CommandContext) {
        guard let directory = try? PrivateDirectory.open(path), let names = try? directory.file.names() else {
            return
        }
        for name in names where name.hasSuffix(".tmp") {
            // A killed writer leaves its temporary file.
            let id = String(name.dropLast(4))
            guard let lock = holdIfFree(id) else { continue }
            _ = try? AtomicFile.takeLeftover(name, in: directory) { _ in true }
            withExtendedLifetime(lock) {}
        }
        for signIn in all() where signIn.hasEnded(at: context.now) {
            guard let lock = holdIfFree(signIn.id), let current = try? load(signIn.id),
                current.hasEnded(at: context.now)
            else { continue }
            forgetSecrets(of: current, context)
            if current.end.seconds(since: context.now).magnitude > WaitingSignIns.memory.magnitude {
                try? remove(current.id)
            } else if current.phase != .expired {
                try? save(current.without(secretsIn: .expired))
            }
            withExtendedLifetime(lock) {}
        }
    }

    /// Forgets the key of sealed secrets, which are about to be removed from their file.
    func forgetSecrets(of signIn: WaitingSignIn, _ context: CommandContext) {
        guard let sealed = signIn.secrets,
            let account = try? SecondStep(signIn, context, secrets: []).account
        else { return }
        account.store.forget(sealed)
    }
}

/// The use of waiting sign-ins by other commands.
extension WaitingSignIns {
    /// Ends a sign-in and forgets it. Returns whether it was still open; nil if there was none.
    func cancel(
        _ id: String, _ context: CommandContext, within limit: Duration = .seconds(60)
    ) throws(OIDCError) -> Bool? {
        guard let waiting = try load(id) else { return nil }
        let lock = try takeOver(id, within: limit)
        defer { lock.release() }
        let last = try load(id) ?? waiting
        forgetSecrets(of: last, context)
        try remove(id)
        return last.phase == .waiting
    }

    /// Cancels the sign-ins that `isMeant` accepts, as their sessions are about to be ended. Waits for one
    /// whose answer is being redeemed, as its session is stored then.
    static func cancel(
        _ context: CommandContext, where isMeant: (WaitingSignIn) -> Bool
    ) throws(OIDCError) {
        guard let signIns = WaitingSignIns(context.environment) else { return }
        signIns.sweep(context)
        for signIn in signIns.all() where isMeant(signIn) {
            guard signIn.isOpen(at: context.now) || signIn.phase == .redeeming else { continue }
            do throws(OIDCError) {
                // Longer than a request to the provider; a process that hangs does not keep the session.
                guard try signIns.cancel(signIn.id, context, within: .seconds(35)) == true else { continue }
                context.console.note("Canceled the sign-in \(signIn.id), which was waiting.")
            } catch {
                guard error.kind != .interrupted else { throw error }
                context.console.warn(error, "the sign-in \(signIn.id) could not be canceled")
            }
        }
    }

    /// Forgets the result of the finished sign-in to a session that has been ended, so it is not reported again.
    static func noteSignOut(of key: SessionKey, _ context: CommandContext) {
        guard let signIns = WaitingSignIns(context.environment) else { return }
        for signIn in signIns.all() where signIn.key == key.text {
            guard signIn.result?["document"] != nil,
                let lock = try? signIns.hold(signIn.id, within: .seconds(5)),
                let last = try? signIns.load(signIn.id)
            else { continue }
            if last.result != nil { try? signIns.save(last.without(secretsIn: .signedOut)) }
            lock.release()
        }
    }

    /// Checks that not too many other sign-ins wait.
    func checkCount(
        _ context: CommandContext, besides isReplaced: (WaitingSignIn) -> Bool
    ) throws(OIDCError) {
        let open = all().filter { !isReplaced($0) && $0.isOpen(at: context.now) }
        guard open.count >= WaitingSignIns.limit else { return }
        throw .usage(
            "\(open.count) sign-ins are waiting, and no more may", hint: .run("login", "--cancel", open[0].id)
        )
    }

    /// Returns the open sign-ins.
    static func open(_ context: CommandContext) -> [WaitingSignIn] {
        guard let signIns = WaitingSignIns(context.environment) else { return [] }
        signIns.sweep(context)
        return signIns.all().filter { $0.isOpen(at: context.now) }
    }

    /// Returns the open sign-in to the session of a key; nil if there is none.
    static func open(_ key: SessionKey, _ context: CommandContext) -> WaitingSignIn? {
        open(context).first { $0.key == key.text }
    }

    /// Returns the open sign-in to a resource; nil if there is none.
    static func open(at url: WebURL, _ context: CommandContext) -> WaitingSignIn? {
        open(context).first { signIn in
            guard let asked = signIn.askedURL else { return false }
            return asked == url || ResourceIdentifier(asked.text)?.covers(url) == true
        }
    }

    /// Returns the only open sign-in; nil if there is none or there are several.
    static func only(_ context: CommandContext) -> WaitingSignIn? {
        let open = open(context)
        return open.count == 1 ? open.first : nil
    }
}
