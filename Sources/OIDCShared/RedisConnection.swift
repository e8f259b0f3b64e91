import OIDCCore
import Posix
import Synchronization

/// A connection to a Redis server, which sends commands and reads their replies in order.
final class RedisConnection: Sendable {
    private let wire: any Wire

    private struct State {
        var parser = RedisParser()
        /// The number of replies that are still to come.
        var owed = 0
        /// Whether a command was sent only in part, so none can follow.
        var isCut = false
    }
    private let state = Mutex(State())

    init(_ wire: any Wire) {
        self.wire = wire
    }

    /// Whether all commands were sent whole, so the server runs the next one after them.
    var isWhole: Bool { state.withLock { !$0.isCut } }

    /// Sends commands together and returns their replies. Replies to earlier commands, which a signal kept from being
    /// read, are dropped.
    func send(_ commands: [RedisCommand], until deadline: MonotonicTime) throws(WireFault) -> [RedisReply] {
        state.withLock { $0.isCut = true }
        try wire.send(commands.flatMap(\.bytes), until: deadline)
        state.withLock { state in
            state.isCut = false
            state.owed += commands.count
        }
        var replies: [RedisReply] = []
        while state.withLock({ $0.owed }) > 0 {
            if let reply = try next() {
                replies.append(reply)
            } else {
                let bytes = try wire.receive(until: deadline)
                state.withLock { $0.parser.append(bytes) }
            }
        }
        return replies.suffix(commands.count)
    }

    private func next() throws(WireFault) -> RedisReply? {
        let result = state.withLock { state in
            Result { () throws(RedisReply.FormatError) in
                let reply = try state.parser.next()
                if reply != nil { state.owed -= 1 }
                return reply
            }
        }
        switch result {
        case .success(let reply): return reply
        case .failure(let nonsense) where nonsense.isTooLarge:
            throw .other(.damagedRecord("the record on the server is too large for a session"))
        case .failure: throw .broken("does not answer as a Redis server")
        }
    }
}
