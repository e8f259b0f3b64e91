/// A thread that calls a closure regularly.
package enum RenewalThread {
    package static func start(_ milliseconds: Int64, _ body: @escaping @Sendable () -> Void) -> () -> Void {
        guard let (reading, writing) = try? FileDescriptor.pipe() else { return {} }
        let thread = try? BackgroundThread {
            while true {
                var interests = [Poll.Interest(reading.rawValue, .reading)]
                if Poll.wait(&interests, until: .now().adding(milliseconds: milliseconds)) { return }
                body()
            }
        }
        return {
            writing.close()
            thread?.join()
            reading.close()
        }
    }
}
