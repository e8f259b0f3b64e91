/// The penalty of a mask (ISO/IEC 18004 §7.8.3); a code with a lower one is easier to read.
extension QRMatrix {
    var penalty: Int {
        var lines: [[Bool]] = []
        for index in 0..<size {
            lines.append((0..<size).map { dark[index * size + $0] })
            lines.append((0..<size).map { dark[$0 * size + index] })
        }
        return lines.map { QRMatrix.runs($0) + QRMatrix.finderLikes($0) }.reduce(0, +) + blocks + imbalance
    }

    /// Returns the penalty for five or more modules of one color in a line.
    private static func runs(_ line: [Bool]) -> Int {
        var total = 0
        var length = 0
        var previous: Bool?
        for module in line {
            length = module == previous ? length + 1 : 1
            previous = module
            if length == 5 { total += 3 } else if length > 5 { total += 1 }
        }
        return total
    }

    /// Returns the penalty for patterns that look like a finder.
    private static func finderLikes(_ line: [Bool]) -> Int {
        let middle = [true, false, true, true, true, false, true]
        let light = [Bool](repeating: false, count: 4)
        return line.indices.dropLast(10).reduce(0) { total, start in
            let window = Array(line[start..<(start + 11)])
            return total + (window == middle + light || window == light + middle ? 40 : 0)
        }
    }

    /// The penalty for squares of two by two modules of one color.
    private var blocks: Int {
        var total = 0
        for row in 0..<(size - 1) {
            for column in 0..<(size - 1) {
                let first = dark[row * size + column]
                let others = [
                    row * size + column + 1, (row + 1) * size + column, (row + 1) * size + column + 1,
                ]
                if others.allSatisfy({ dark[$0] == first }) { total += 3 }
            }
        }
        return total
    }

    /// The penalty for an unequal number of dark and light modules: ten for each five percent.
    private var imbalance: Int {
        let count = dark.count { $0 }
        return abs(count * 20 - size * size * 10) / (size * size) * 10
    }
}
