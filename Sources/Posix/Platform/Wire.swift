package import OIDCCore

/// A connection to a server, for bytes in both directions.
package protocol Wire: Sendable {
    func send(_ bytes: [UInt8], until deadline: MonotonicTime) throws(WireFault)
    /// Receives the next bytes, at least one.
    func receive(until deadline: MonotonicTime) throws(WireFault) -> [UInt8]
}

/// The reason why a connection cannot be used.
package enum WireFault: Error {
    /// The connection could not be made, or broke; the reason is fit for a message.
    case broken(String)
    case slow
    case interrupted
    /// Another failure, such as of the certificate, as the HTTP client would report it.
    case other(OIDCError)
}

/// The wait for a connection.
package enum WireWait {
    /// Waits until a descriptor is ready; throws after a signal or at the deadline.
    package static func wait(
        for descriptor: Int32, _ direction: Poll.Direction, until deadline: MonotonicTime
    ) throws(WireFault) {
        while true {
            // Checked first, as a peer that keeps sending a little is always ready.
            if Interruption.pending != nil { throw .interrupted }
            guard MonotonicTime.now() < deadline else { throw .slow }
            // Checks twice a second, as an interruption without a signal does not wake this up.
            let moment = min(deadline, .now().adding(milliseconds: 500))
            if Poll.wait(for: descriptor, direction, until: moment) { return }
        }
    }
}
