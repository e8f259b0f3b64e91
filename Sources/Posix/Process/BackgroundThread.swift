import Synchronization

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A thread for blocking work, to be joined by the code that started it.
package struct BackgroundThread: Sendable {
    #if canImport(Darwin)
        // A thread's handle is a pointer here, and may be used by any thread.
        private nonisolated(unsafe) let handle: pthread_t
    #else
        private let handle: pthread_t
    #endif

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    package init(_ body: @escaping @Sendable () -> Void) throws(Errno) {
        let work = Unmanaged.passRetained(Work(body))
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        let code = pthread_create(&thread, nil, BackgroundThread.start, work.toOpaque())
        #if canImport(Darwin)
            guard code == 0, let thread else {
                work.release()
                throw Errno(code)
            }
        #else
            guard code == 0 else {
                work.release()
                throw Errno(code)
            }
        #endif
        handle = thread
    }

    package func join() {
        pthread_join(handle, nil)
    }

    /// Detaches the thread, instead of joining it.
    package func detach() {
        pthread_detach(handle)
    }

    #if canImport(Darwin)
        private static let start: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = {
            Unmanaged<Work>.fromOpaque($0).takeRetainedValue().body()
            return nil
        }
    #else
        private static let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
            guard let argument = $0 else { return nil }
            Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
            return nil
        }
    #endif
}

/// The result of blocking work on a thread of its own. Nothing ends the work early, even if the result is no
/// longer wanted.
package final class BackgroundResult<Value: Sendable>: Sendable {
    private let result = Mutex<Value?>(nil)

    /// Starts the work.
    package init(_ work: @escaping @Sendable () -> Value) throws(Errno) {
        try BackgroundThread { [self] in
            let value = work()
            result.withLock { $0 = value }
        }.detach()
    }

    /// The result; nil until the work has ended.
    package var value: Value? { result.withLock { $0 } }

    /// Waits for the work to end, regardless of signals, and returns its result.
    package func wait() -> Value {
        while true {
            if let value { return value }
            Poll.pause(until: MonotonicTime.now().adding(milliseconds: 10))
        }
    }
}
