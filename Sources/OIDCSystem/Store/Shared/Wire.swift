import OIDCCore

/// A connection to a server, for bytes in both directions.
protocol Wire: Sendable {
    func send(_ bytes: [UInt8], until deadline: MonotonicTime) throws(WireFault)
    /// Returns the next bytes; never none.
    func receive(until deadline: MonotonicTime) throws(WireFault) -> [UInt8]
}

/// Why a connection cannot be used.
enum WireFault: Error {
    /// The connection could not be made, or broke. The reason is fit for a message.
    case broken(String)
    case slow
    case interrupted
    /// A certificate or the like, as the HTTP client would report it.
    case other(OIDCError)
}

/// Waiting for a connection
enum WireWait {
    /// Waits until a descriptor is ready. A signal ends the wait.
    static func wait(
        for descriptor: Int32, _ direction: Poll.Direction, until deadline: MonotonicTime
    ) throws(WireFault) {
        while true {
            var interests = [Poll.Interest(descriptor, direction)]
            if Interruption.pending == nil, let wakeUp = Interruption.wakeUpDescriptor {
                interests.append(Poll.Interest(wakeUp, .reading))
            }
            // An interruption without a signal wakes nothing up.
            Poll.wait(&interests, until: min(deadline, .now().adding(milliseconds: 500)))
            if !interests[0].ready.isEmpty { return }
            if Interruption.pending != nil { throw .interrupted }
            guard MonotonicTime.now() < deadline else { throw .slow }
        }
    }
}
