import OIDCCore

/// A reply of Redis (RESP2).
enum RedisReply: Hashable, Sendable {
    case status(String)
    case error(String)
    case integer(Int64)
    case bytes([UInt8])
    case null
    case array([RedisReply])

    /// An answer that is not RESP, or too large.
    struct FormatError: Error {
        var isTooLarge = false
    }

    var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
    var text: String? {
        switch self {
        case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
        case .status(let text): text
        default: nil
        }
    }
    var array: [RedisReply]? { if case .array(let items) = self { items } else { nil } }
    var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
}

/// A parser of replies, with limits on their size.
struct RedisParser {
    private var bytes: [UInt8] = []
    private var position = 0

    private static let lineLimit = 65_536
    private static let bytesLimit = 4 << 20
    /// The largest value of a Redis server (proto-max-bulk-len); a reply with a longer one is not from Redis.
    private static let redisLimit = 512 << 20
    private static let arrayLimit = 100_000
    private static let depthLimit = 8

    mutating func append(_ more: [UInt8]) {
        if position > 0 {
            bytes.removeFirst(position)
            position = 0
        }
        bytes += more
    }

    /// Returns the next reply; nil if it is not complete.
    mutating func next() throws(RedisReply.FormatError) -> RedisReply? {
        var end = position
        guard let reply = try reply(&end, depth: 0) else {
            guard bytes.count - position <= 2 * RedisParser.bytesLimit else { throw RedisReply.FormatError() }
            return nil
        }
        position = end
        return reply
    }

    private func reply(_ index: inout Int, depth: Int) throws(RedisReply.FormatError) -> RedisReply? {
        guard let line = try line(&index) else { return nil }
        let text = String(decoding: line.dropFirst(), as: UTF8.self)
        switch line.first {
        case UInt8(ascii: "+"): return .status(text)
        case UInt8(ascii: "-"): return .error(text)
        case UInt8(ascii: ":"): return .integer(try number(text))
        case UInt8(ascii: "$"): return try bytes(&index, count: try number(text))
        case UInt8(ascii: "*"):
            let count = try number(text)
            guard count != -1 else { return .null }
            guard (0...RedisParser.arrayLimit).contains(Int(count)), depth < RedisParser.depthLimit else {
                throw RedisReply.FormatError()
            }
            var items: [RedisReply] = []
            for _ in 0..<Int(count) {
                guard let item = try reply(&index, depth: depth + 1) else { return nil }
                items.append(item)
            }
            return .array(items)
        default: throw RedisReply.FormatError()
        }
    }

    private func bytes(_ index: inout Int, count: Int64) throws(RedisReply.FormatError) -> RedisReply? {
        guard count != -1 else { return .null }
        guard (0...Int64(RedisParser.redisLimit)).contains(count) else { throw RedisReply.FormatError() }
        guard count <= RedisParser.bytesLimit else { throw RedisReply.FormatError(isTooLarge: true) }
        let end = index + Int(count)
        guard bytes.count >= end + 2 else { return nil }
        guard bytes[end] == .carriageReturn, bytes[end + 1] == .lineFeed else {
            throw RedisReply.FormatError()
        }
        defer { index = end + 2 }
        return .bytes(Array(bytes[index..<end]))
    }

    /// Returns the line at `index` without its end; nil if it is not complete.
    private func line(_ index: inout Int) throws(RedisReply.FormatError) -> ArraySlice<UInt8>? {
        guard let end = bytes[index...].firstIndex(of: .carriageReturn), end + 1 < bytes.count else {
            guard bytes.count - index <= RedisParser.lineLimit else { throw RedisReply.FormatError() }
            // Another protocol fails at once: an HTTP server would never send the rest of a reply.
            if index < bytes.count, !"+-:$*".utf8.contains(bytes[index]) { throw RedisReply.FormatError() }
            return nil
        }
        guard bytes[end + 1] == .lineFeed, end > index else { throw RedisReply.FormatError() }
        defer { index = end + 2 }
        return bytes[index..<end]
    }

    private func number(_ text: String) throws(RedisReply.FormatError) -> Int64 {
        guard let number = Int64(text) else { throw RedisReply.FormatError() }
        return number
    }
}

/// A Redis command, as a list of words.
struct RedisCommand: Sendable {
    var words: [[UInt8]]

    init(_ words: String...) { self.init(words) }

    init(_ words: [String]) { self.words = words.map { Array($0.utf8) } }

    init(script: String, key: String, _ arguments: [[UInt8]]) {
        self.init(script: script, keys: [key], arguments)
    }

    init(script: String, keys: [String], _ arguments: [[UInt8]]) {
        words = (["EVAL", script, String(keys.count)] + keys).map { Array($0.utf8) } + arguments
    }

    var bytes: [UInt8] {
        var bytes = Array("*\(words.count)\r\n".utf8)
        for word in words {
            bytes += Array("$\(word.count)\r\n".utf8)
            bytes += word
            bytes += [.carriageReturn, .lineFeed]
        }
        return bytes
    }
}
