import OIDCCore
import Synchronization

/// Work on another thread, whose result the proxy's thread takes once `wake` is readable.
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

    /// Whether work was started whose result was not taken.
    var isRunning: Bool { thread != nil }

    func start(_ work: @escaping @Sendable () -> Value) throws(Errno) {
        thread = try BackgroundThread { [mailbox, wake] in
            let result = work()
            mailbox.result.withLock { $0 = result }
            _ = try? wake.write([0])
        }
    }

    /// Returns the result once; nil before the work has ended.
    func take() -> Value? {
        guard let result = mailbox.result.withLock({ $0.take() }) else { return nil }
        finish()
        return result
    }

    /// Waits for the work to end.
    func finish() {
        thread?.join()
        thread = nil
    }
}
