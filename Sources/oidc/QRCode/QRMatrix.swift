/// The modules of a code (ISO/IEC 18004 §6.3, §7.7–7.10).
struct QRMatrix {
    let size: Int
    private(set) var dark: [Bool]
    /// The modules of fixed patterns, which contain no data.
    private var isFixed: [Bool]

    /// Returns the matrix with the mask of the lowest penalty.
    static func best(_ layout: QRLayout, codewords: [UInt8]) -> QRMatrix {
        var blank = QRMatrix(layout)
        blank.place(codewords)
        let masked = (0..<8).map { mask in
            var matrix = blank
            matrix.apply(mask: mask)
            matrix.drawFormat(layout.correction, mask: mask)
            return matrix
        }
        return masked.min { $0.penalty < $1.penalty } ?? blank
    }

    private init(_ layout: QRLayout) {
        size = layout.size
        dark = Array(repeating: false, count: size * size)
        isFixed = dark
        for index in 0..<size {
            setFixed(6, index, index % 2 == 0)
            setFixed(index, 6, index % 2 == 0)
        }
        for (column, row) in [(3, 3), (size - 4, 3), (3, size - 4)] { drawFinder(column, row) }
        drawAlignments(layout.version)
        drawFormat(layout.correction, mask: 0)
        if layout.version >= 7 { drawVersion(layout.version) }
    }

    private mutating func setFixed(_ column: Int, _ row: Int, _ isDark: Bool) {
        guard (0..<size).contains(column), (0..<size).contains(row) else { return }
        dark[row * size + column] = isDark
        isFixed[row * size + column] = true
    }

    /// Draws a finder pattern with its light border.
    private mutating func drawFinder(_ column: Int, _ row: Int) {
        for vertical in -4...4 {
            for horizontal in -4...4 {
                let distance = max(abs(vertical), abs(horizontal))
                setFixed(column + horizontal, row + vertical, distance != 2 && distance != 4)
            }
        }
    }

    /// Draws the alignment patterns, except those that would overlap a finder.
    private mutating func drawAlignments(_ version: Int) {
        guard version >= 2 else { return }
        let last = size - 7
        let centers = version < 7 ? [6, last] : [6, size / 2, last]
        for row in centers {
            for column in centers where (column, row) != (6, 6) && (column, row) != (last, 6) {
                guard (column, row) != (6, last) else { continue }
                drawAlignment(column, row)
            }
        }
    }

    private mutating func drawAlignment(_ column: Int, _ row: Int) {
        for vertical in -2...2 {
            for horizontal in -2...2 {
                setFixed(column + horizontal, row + vertical, max(abs(vertical), abs(horizontal)) != 1)
            }
        }
    }

    /// Draws the format information twice: five bits and ten bits of a BCH code (§7.9).
    private mutating func drawFormat(_ correction: QRLayout.Correction, mask: Int) {
        let data = correction.rawValue << 3 | UInt32(mask)
        let bits = (data << 10 | QRMatrix.remainder(data, divisor: 0x537, degree: 10)) ^ 0x5412
        let isSet = { (index: Int) in bits >> UInt32(index) & 1 == 1 }
        for index in 0..<6 { setFixed(8, index, isSet(index)) }
        setFixed(8, 7, isSet(6))
        setFixed(8, 8, isSet(7))
        setFixed(7, 8, isSet(8))
        for index in 9..<15 { setFixed(14 - index, 8, isSet(index)) }
        for index in 0..<8 { setFixed(size - 1 - index, 8, isSet(index)) }
        for index in 8..<15 { setFixed(8, size - 15 + index, isSet(index)) }
        setFixed(8, size - 8, true)
    }

    /// Draws the version information twice: six bits and twelve bits of a BCH code (§7.10).
    private mutating func drawVersion(_ version: Int) {
        let data = UInt32(version)
        let bits = data << 12 | QRMatrix.remainder(data, divisor: 0x1F25, degree: 12)
        for index in 0..<18 {
            let isDark = bits >> UInt32(index) & 1 == 1
            setFixed(size - 11 + index % 3, index / 3, isDark)
            setFixed(index / 3, size - 11 + index % 3, isDark)
        }
    }

    private static func remainder(_ data: UInt32, divisor: UInt32, degree: UInt32) -> UInt32 {
        var remainder = data
        for _ in 0..<degree {
            remainder <<= 1
            if remainder >> degree & 1 == 1 { remainder ^= divisor }
        }
        return remainder
    }

    /// Places the codewords in columns of two modules, from right to left, alternately up and down, and skips
    /// the timing column.
    private mutating func place(_ codewords: [UInt8]) {
        var bit = 0
        for (turn, right) in (stride(from: size - 1, to: 6, by: -2).map { $0 } + [5, 3, 1]).enumerated() {
            for step in 0..<size {
                let row = turn % 2 == 0 ? size - 1 - step : step
                for column in [right, right - 1] where !isFixed[row * size + column] {
                    guard bit < codewords.count * 8 else { return }
                    dark[row * size + column] = codewords[bit / 8] >> UInt8(7 - bit % 8) & 1 == 1
                    bit += 1
                }
            }
        }
    }

    private mutating func apply(mask: Int) {
        for row in 0..<size {
            for column in 0..<size where !isFixed[row * size + column] {
                dark[row * size + column] =
                    dark[row * size + column] != QRMatrix.isInverted(mask, column: column, row: row)
            }
        }
    }

    private static func isInverted(_ mask: Int, column: Int, row: Int) -> Bool {
        switch mask {
        case 0: (row + column) % 2 == 0
        case 1: row % 2 == 0
        case 2: column % 3 == 0
        case 3: (row + column) % 3 == 0
        case 4: (row / 2 + column / 3) % 2 == 0
        case 5: row * column % 2 + row * column % 3 == 0
        case 6: (row * column % 2 + row * column % 3) % 2 == 0
        default: ((row + column) % 2 + row * column % 3) % 2 == 0
        }
    }
}
