/// 64 MiB of one letter as 420 KiB of gzip (RFC 1951, RFC 1952), to try the bound on decompressed bodies.
enum CompressionBomb {
    static let bytes: [UInt8] = {
        var writer = BitWriter(bytes: [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF])
        // One final block with the fixed codes of RFC 1951 §3.2.6.
        writer.append(1, count: 1)
        writer.append(1, count: 2)
        // The literal “x”: code 0x30 + 0x78, highest bit first.
        writer.appendCode(0x30 + 0x78, count: 8)
        // Each repetition has 13 bits, so the bytes of eight repeat.
        writer.appendRepetitions(8)
        let start = writer.bytes.count
        writer.appendRepetitions(8)
        let period = Array(writer.bytes[start...])
        for _ in 0..<(64 << 20) / 258 / 8 { writer.bytes += period }
        writer.appendCode(0, count: 7)
        return writer.finished
    }()
}

/// Bits in the order of deflate: lowest first, codes from their highest bit (RFC 1951 §3.1.1).
private struct BitWriter {
    var bytes: [UInt8]
    private var current: UInt8 = 0
    private var used = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func append(_ value: Int, count: Int) {
        for bit in 0..<count { appendBit(value >> bit & 1) }
    }

    mutating func appendCode(_ code: Int, count: Int) {
        for bit in (0..<count).reversed() { appendBit(code >> bit & 1) }
    }

    /// Repeats the last letter 258 times, so often.
    mutating func appendRepetitions(_ count: Int) {
        for _ in 0..<count {
            // Length 258 is code 285, 11000101; distance 1 is code 0, five zero bits.
            appendCode(0b1100_0101, count: 8)
            appendCode(0, count: 5)
        }
    }

    var finished: [UInt8] { used == 0 ? bytes : bytes + [current] }

    private mutating func appendBit(_ bit: Int) {
        current |= UInt8(bit) << used
        used += 1
        guard used == 8 else { return }
        bytes.append(current)
        current = 0
        used = 0
    }
}
