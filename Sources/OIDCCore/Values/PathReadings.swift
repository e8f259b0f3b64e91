/// The forms in which servers may read a path: as it is, and with its escapes decoded once or several times.
package struct PathReadings {
    /// The path itself, then each decoding of the one before.
    package let all: [[UInt8]]
    /// Whether the last one has no escapes left. A path that needs more decodings is not honest.
    package let isComplete: Bool

    private static let limit = 4

    package init(_ path: some StringProtocol) {
        var readings = [Array(path.utf8)]
        var isComplete = false
        while !isComplete, readings.count <= Self.limit {
            let last = readings[readings.count - 1]
            let decoded = Self.decoded(last)
            isComplete = decoded.count == last.count
            if !isComplete { readings.append(decoded) }
        }
        all = readings
        self.isComplete = isComplete
    }

    /// Whether a server could read `.` or `..` as a segment: also with a parameter (`..;x`), behind a backslash, or
    /// with the dot, the separator or the escape itself escaped (`%2e`, `%252e`, `%25%32%65`).
    package var haveDotSegments: Bool {
        !isComplete || all.contains(where: Self.hasDotSegments)
    }

    private static func hasDotSegments(_ path: [UInt8]) -> Bool {
        path.split(omittingEmptySubsequences: false) { $0 == .slash || $0 == .backslash }.contains {
            segment in
            let name = segment.prefix { $0 != UInt8(ascii: ";") }
            return name.elementsEqual([.period]) || name.elementsEqual([.period, .period])
        }
    }

    private static func decoded(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if bytes[index] == .percent, index + 2 < bytes.count, let high = ASCII.hexValue(bytes[index + 1]),
                let low = ASCII.hexValue(bytes[index + 2])
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return result
    }
}

extension WebURL {
    /// Whether a server could read `.` or `..` as a segment of the path.
    package var hasDotSegments: Bool { PathReadings(path).haveDotSegments }
}
