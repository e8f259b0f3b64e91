import OIDCCore
import Posix
import Synchronization

/// A connection to a Redis server, which sends commands and reads their replies in order.
final class RedisConnection: Sendable {
    private let wire: any Wire
    private let parser = Mutex(RedisParser())

    init(_ wire: any Wire) {
        self.wire = wire
    }

    /// Sends commands together and returns their replies.
    func send(_ commands: [RedisCommand], until deadline: MonotonicTime) throws(WireFault) -> [RedisReply] {
        try wire.send(commands.flatMap(\.bytes), until: deadline)
        var replies: [RedisReply] = []
        while replies.count < commands.count {
            if let reply = try next() {
                replies.append(reply)
            } else {
                let bytes = try wire.receive(until: deadline)
                parser.withLock { $0.append(bytes) }
            }
        }
        return replies
    }

    private func next() throws(WireFault) -> RedisReply? {
        let result = parser.withLock { parser in
            Result { () throws(RedisReply.FormatError) in try parser.next() }
        }
        switch result {
        case .success(let reply): return reply
        case .failure(let nonsense) where nonsense.isTooLarge:
            throw .other(.damagedRecord("the record on the server is too large for a session"))
        case .failure: throw .broken("does not answer as a Redis server")
        }
    }
}
