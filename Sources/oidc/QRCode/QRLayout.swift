/// The version and correction level of a code, which determine the order of its bytes (ISO/IEC 18004
/// §7.4–7.6).
struct QRLayout: Hashable {
    /// The error correction levels; the raw values are those in the format information.
    enum Correction: UInt32 {
        case low = 1
        case medium = 0
    }

    let version: Int
    let correction: Correction

    static let versions = 1...13
    private static let checkLengths: [Correction: [Int]] = [
        .low: [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26],
        .medium: [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22],
    ]
    private static let blockCounts: [Correction: [Int]] = [
        .low: [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4],
        .medium: [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9],
    ]

    static func smallest(for count: Int) -> QRLayout? {
        let fits = { (layout: QRLayout) in count <= layout.byteCapacity }
        guard let low = versions.map({ QRLayout(version: $0, correction: .low) }).first(where: fits) else {
            return nil
        }
        let medium = QRLayout(version: low.version, correction: .medium)
        return fits(medium) ? medium : low
    }

    var size: Int { 17 + 4 * version }

    /// The number of bytes of text that fit, in addition to the mode and the length.
    private var byteCapacity: Int { dataLength - (lengthBits == 8 ? 2 : 3) }

    /// Returns the codewords of a string: data and check bytes, interleaved by block.
    func codewords(_ text: [UInt8]) -> [UInt8] {
        var rest = dataCodewords(text)[...]
        let blocks = (0..<blockCount).map { index -> [UInt8] in
            let length = dataLength / blockCount + (index < shortBlockCount ? 0 : 1)
            defer { rest = rest.dropFirst(length) }
            return Array(rest.prefix(length))
        }
        let checks = blocks.map { ReedSolomon.check($0, count: checkLength) }
        return interleaved(blocks) + interleaved(checks)
    }

    private var checkLength: Int { QRLayout.checkLengths[correction, default: []][version - 1] }
    private var blockCount: Int { QRLayout.blockCounts[correction, default: []][version - 1] }
    private var dataLength: Int { totalLength - checkLength * blockCount }
    private var shortBlockCount: Int { blockCount - dataLength % blockCount }
    private var lengthBits: Int { version < 10 ? 8 : 16 }

    /// The number of codewords that fit in addition to the fixed patterns.
    private var totalLength: Int {
        var modules = (16 * version + 128) * version + 64
        if version >= 2 {
            let alignments = version / 7 + 2
            modules -= (25 * alignments - 10) * alignments - 55
        }
        if version >= 7 { modules -= 36 }
        return modules / 8
    }

    /// Returns the data codewords: mode, length, text, terminator and padding.
    private func dataCodewords(_ text: [UInt8]) -> [UInt8] {
        let head =
            lengthBits == 8
            ? [UInt8(truncatingIfNeeded: text.count)]
            : [
                UInt8(truncatingIfNeeded: text.count >> 8), UInt8(truncatingIfNeeded: text.count),
            ]
        var previous: UInt8 = 0b0100
        var codewords: [UInt8] = []
        for byte in head + text + [0] {
            codewords.append(previous << 4 | byte >> 4)
            previous = byte & 15
        }
        for index in 0..<max(0, dataLength - codewords.count) {
            codewords.append(index % 2 == 0 ? 0xEC : 0x11)
        }
        return codewords
    }

    private func interleaved(_ blocks: [[UInt8]]) -> [UInt8] {
        (0..<(blocks.map(\.count).max() ?? 0)).flatMap { index in
            blocks.compactMap { index < $0.count ? $0[index] : nil }
        }
    }
}

/// Reed-Solomon check bytes over GF(2^8) with x^8 + x^4 + x^3 + x^2 + 1 (ISO/IEC 18004 §7.5.2).
enum ReedSolomon {
    static func check(_ data: [UInt8], count: Int) -> [UInt8] {
        let divisor = generator(degree: count)
        var remainder = [UInt8](repeating: 0, count: count)
        for byte in data {
            let factor = byte ^ remainder.removeFirst()
            remainder.append(0)
            for index in divisor.indices { remainder[index] ^= multiply(divisor[index], factor) }
        }
        return remainder
    }

    /// Returns the product of (x - 2^i), highest power first, without the leading 1.
    private static func generator(degree: Int) -> [UInt8] {
        var coefficients = [UInt8](repeating: 0, count: degree - 1) + [1]
        var root: UInt8 = 1
        for _ in 0..<degree {
            for index in coefficients.indices {
                coefficients[index] = multiply(coefficients[index], root)
                if index + 1 < degree { coefficients[index] ^= coefficients[index + 1] }
            }
            root = multiply(root, 2)
        }
        return coefficients
    }

    private static func multiply(_ left: UInt8, _ right: UInt8) -> UInt8 {
        var product: UInt8 = 0
        for bit in (0..<8).reversed() {
            product = product << 1 ^ (product >> 7 == 1 ? 0x1D : 0)
            if right >> bit & 1 == 1 { product ^= left }
        }
        return product
    }
}
