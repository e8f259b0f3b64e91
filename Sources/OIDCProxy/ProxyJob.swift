import OIDCCore
import Posix
import Synchronization

/// A job on another thread. It writes to `wake` when the proxy's thread can take its result.
final class ProxyJob<Value: Sendable> {
    private final class Mailbox: Sendable {
        let result = Mutex<Value?>(nil)
    }

    private let mailbox = Mailbox()
    private let wake: FileDescriptor
    private var thread: BackgroundThread?

    init(wake: FileDescriptor) {
        self.wake = wake
    }

    /// Whether a job was started whose result was not yet taken.
    var isRunning: Bool { thread != nil }

    func start(_ work: @escaping @Sendable () -> Value) throws(Errno) {
        thread = try BackgroundThread { [mailbox, wake] in
            let result = work()
            mailbox.result.withLock { $0 = result }
            _ = try? wake.write([0])
        }
    }

    /// Returns the result once; nil before the job has ended.
    func take() -> Value? {
        guard let result = mailbox.result.withLock({ $0.take() }) else { return nil }
        finish()
        return result
    }

    /// Waits for the job to end.
    func finish() {
        thread?.join()
        thread = nil
    }
}
