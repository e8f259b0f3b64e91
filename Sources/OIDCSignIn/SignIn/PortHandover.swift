package import LoopbackHTTP
package import OIDCCore
import Posix

/// The agreement by which a process that shows the result of a sign-in to a late browser leaves a fixed port
/// to the next sign-in: that one holds a lock while it wants the port, and the process checks whether the
/// lock is free.
package struct PortHandover: Hashable, Sendable {
    /// The directory of the locks.
    let directory: String

    /// The time in milliseconds for which a sign-in asks for its port.
    private static let patience: Int64 = 600
    /// The time in milliseconds between two checks whether the port is wanted.
    static let pause: Int64 = 50

    /// Creates the agreement of all processes that use a cache directory; returns nil if there is no such
    /// directory.
    package init?(cache: String?) {
        guard let cache, FilePath.isPossible(cache) else { return nil }
        self.init(directory: "\(FilePath.trimmed(UserFile.absolute(cache)))/ports")
    }

    init(directory: String) { self.directory = directory }

    /// Binds an address. If all its ports are in use, asks the processes that show earlier results to leave, and retries
    /// for 0.6 seconds.
    package static func bind<Listener>(
        _ address: LoopbackAddress, _ handover: PortHandover?,
        _ listen: (LoopbackAddress) throws(OIDCError) -> Listener
    ) throws(OIDCError) -> Listener {
        let failure: OIDCError
        do throws(OIDCError) { return try listen(address) } catch { failure = error }
        guard let handover, failure.code == .portsInUse else { throw failure }
        let wanted = address.ports.candidates.compactMap { handover.lock($0, within: .milliseconds(200)) }
        defer { for lock in wanted { lock.release() } }
        let end = MonotonicTime.now().adding(milliseconds: patience)
        while !wanted.isEmpty, MonotonicTime.now() < end {
            try Interruption.throwIfPending()
            Poll.sleep(until: .now().adding(milliseconds: 20))
            do throws(OIDCError) { return try listen(address) } catch {
                guard error.code == .portsInUse else { throw error }
            }
        }
        throw failure
    }

    /// Returns whether another process wants the port.
    func isWanted(_ port: UInt16) -> Bool {
        // The sign-in that wants the port has created the file.
        guard let directory = (try? PrivateDirectory.open(directory)) ?? nil,
            (try? directory.file.names())?.contains(PortHandover.name(port)) == true
        else { return false }
        guard let lock = lock(port, within: .zero) else { return true }
        lock.release()
        return false
    }

    private func lock(_ port: UInt16, within limit: Duration) -> FileLock? {
        try? FileLock.acquire(
            PortHandover.name(port), in: PrivateDirectory.create(directory), LockWait(limit: limit))
    }

    private static func name(_ port: UInt16) -> String { "\(port).lock" }
}
