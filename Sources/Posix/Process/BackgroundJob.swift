import Synchronization

/// A job on another thread. It writes to `wake` when the thread that started it can take its result.
package final class BackgroundJob<Value: Sendable> {
    private final class Mailbox: Sendable {
        let result = Mutex<Value?>(nil)
    }

    private let mailbox = Mailbox()
    private let wake: FileDescriptor
    private var thread: BackgroundThread?

    package init(wake: FileDescriptor) {
        self.wake = wake
    }

    /// Whether a job was started whose result was not yet taken.
    package var isRunning: Bool { thread != nil }

    package func start(_ work: @escaping @Sendable () -> Value) throws(Errno) {
        thread = try BackgroundThread { [mailbox, wake] in
            let result = work()
            mailbox.result.withLock { $0 = result }
            _ = try? wake.write([0])
        }
    }

    /// Returns the result once; nil before the job has ended.
    package func take() -> Value? {
        guard let result = mailbox.result.withLock({ $0.take() }) else { return nil }
        finish()
        return result
    }

    /// Waits for the job to end.
    package func finish() {
        thread?.join()
        thread = nil
    }
}
