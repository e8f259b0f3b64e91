import Posix

/// The open connections, with their limits in number and time.
struct LoopbackConnections {
    struct Limits {
        var count = 256
        /// The time without a byte.
        var idleMilliseconds: Int64 = 20_000
        /// The time from the first byte of a request to the last.
        var requestMilliseconds: Int64 = 120_000
        /// The time after an answer in which the peer may close.
        var drainMilliseconds: Int64 = 1000
        /// The time before a connection may be closed for a new one, as its peer may be about to send.
        var graceMilliseconds: Int64 = 100
    }

    private(set) var all: [LoopbackConnection] = []
    var limits = Limits()
    private var nextID = 1

    var isFull: Bool { all.count >= limits.count }

    subscript(id: Int) -> LoopbackConnection? { all.first { $0.id == id } }

    mutating func add(
        _ descriptor: FileDescriptor, identify: @escaping (FileDescriptor) -> PeerOwner, now: MonotonicTime
    ) -> LoopbackConnection {
        let connection = LoopbackConnection(
            id: nextID, descriptor: descriptor, identify: identify, now: now)
        nextID += 1
        all.append(connection)
        return connection
    }

    mutating func removeEnded() {
        all.removeAll { $0.isEnded }
    }

    mutating func endAll() {
        for connection in all { connection.end() }
        all = []
    }

    /// Closes the least important connection to make room for a new one. Returns false if every connection is
    /// too new or in use.
    mutating func giveOneUp(now: MonotonicTime) -> Bool {
        let candidates = all.filter { isExpendable($0) && graceEnd($0) <= now }
        let victim = candidates.min { left, right in
            left.isDraining == right.isDraining ? left.lastActivity < right.lastActivity : left.isDraining
        }
        guard let victim else { return false }
        victim.end()
        removeEnded()
        return true
    }

    /// The earliest time at which a connection may be closed for a new one.
    var nextGraceEnd: MonotonicTime? {
        all.filter { isExpendable($0) }.map { graceEnd($0) }.min()
    }

    /// Returns when a connection times out; nil while it waits for our answer.
    func expiry(_ connection: LoopbackConnection) -> MonotonicTime? {
        if connection.openRequest != nil { return nil }
        if connection.isDraining {
            return connection.lastActivity.adding(milliseconds: limits.drainMilliseconds)
        }
        let idle = connection.lastActivity.adding(milliseconds: limits.idleMilliseconds)
        guard connection.isReading else { return idle }
        return min(idle, connection.requestBegan.adding(milliseconds: limits.requestMilliseconds))
    }

    var nextExpiry: MonotonicTime? { all.compactMap { expiry($0) }.min() }

    private func isExpendable(_ connection: LoopbackConnection) -> Bool {
        connection.openRequest == nil
    }

    private func graceEnd(_ connection: LoopbackConnection) -> MonotonicTime {
        let factor: Int64 = connection.isSending ? 10 : 1
        return connection.lastActivity.adding(milliseconds: limits.graceMilliseconds * factor)
    }
}
