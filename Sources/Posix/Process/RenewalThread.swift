/// A thread that calls a closure regularly.
package enum RenewalThread {
    /// Starts a thread, and returns a closure that stops it. The closure waits for a running call to end,
    /// unless `endsBeforeStop` is false: for a call that may hang and is harmless afterwards.
    package static func start(
        _ milliseconds: Int64, endsBeforeStop: Bool = true, _ body: @escaping @Sendable () -> Void
    ) -> () -> Void {
        guard let (reading, writing) = try? FileDescriptor.pipe() else { return {} }
        let thread = try? BackgroundThread {
            while true {
                let moment = MonotonicTime.now().adding(milliseconds: milliseconds)
                if Poll.wait(for: reading.rawValue, .reading, until: moment, isInterruptible: false) { break }
                body()
            }
            if !endsBeforeStop { reading.close() }
        }
        guard let thread else {
            return {
                writing.close()
                reading.close()
            }
        }
        guard endsBeforeStop else {
            thread.detach()
            return { writing.close() }
        }
        return {
            writing.close()
            thread.join()
            reading.close()
        }
    }
}
