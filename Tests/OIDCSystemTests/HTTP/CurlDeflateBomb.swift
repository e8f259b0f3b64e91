/// Much out of little, by RFC 1951's fixed codes: one byte, then copies of it, 258 at a time.
enum DeflateBomb {
    private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]

    static func gzip(repeats: Int) -> [UInt8] {
        var bits = BitWriter()
        bits.append(0b011, count: 3)
        bits.appendReversed(0x30 + 0x61, count: 8)
        for _ in 0..<repeats {
            bits.appendReversed(0b1100_0101, count: 8)
            bits.append(0, count: 5)
        }
        return header + bits.bytes
    }

    /// One more layer that does not compress.
    static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var result = header
        var rest = bytes[...]
        while !rest.isEmpty {
            let block = rest.prefix(65_535)
            rest = rest.dropFirst(block.count)
            let (low, high) = (UInt8(block.count & 0xFF), UInt8(block.count >> 8))
            result += [rest.isEmpty ? 1 : 0, low, high, ~low, ~high] + block
        }
        return result
    }

    private struct BitWriter {
        var bytes: [UInt8] = []
        var used = 8

        mutating func append(_ value: Int, count: Int) {
            for index in 0..<count {
                if used == 8 {
                    bytes.append(0)
                    used = 0
                }
                if value >> index & 1 == 1 { bytes[bytes.count - 1] |= 1 << used }
                used += 1
            }
        }

        /// Huffman codes go out with their highest bit first.
        mutating func appendReversed(_ value: Int, count: Int) {
            for index in (0..<count).reversed() { append(value >> index & 1, count: 1) }
        }
    }
}
