/// A QR code (ISO/IEC 18004) for a terminal: byte mode, versions 1 to 13, which fit 80 columns with the quiet
/// zone.
struct QRCode: Hashable, Sendable {
    /// The number of modules per side.
    let size: Int
    private let dark: [Bool]

    /// Encodes a string in the smallest version that can hold it, with the better of two correction levels if
    /// that still fits; nil for more than 425 bytes.
    init?(_ text: String) {
        guard let layout = QRLayout.smallest(for: text.utf8.count) else { return nil }
        let matrix = QRMatrix.best(layout, codewords: layout.codewords(Array(text.utf8)))
        size = matrix.size
        dark = matrix.dark
    }

    /// Returns whether a module is dark; outside the code, all are light.
    func isDark(column: Int, row: Int) -> Bool {
        guard (0..<size).contains(column), (0..<size).contains(row) else { return false }
        return dark[row * size + column]
    }

    /// The width of the light border (ISO/IEC 18004 §6.3.8).
    private static let quietZone = 4

    /// The number of columns of the code in a terminal, with its border.
    var columns: Int { size + 2 * QRCode.quietZone }

    /// The number of rows of the code in a terminal, with its border.
    var rows: Int { (columns + 1) / 2 }

    /// Returns the code in half blocks: with color, black on white; without color, drawn for a dark terminal.
    /// On a light terminal, it is then inverted, which most readers accept.
    func text(usesColor: Bool) -> String {
        let (start, end) = (-QRCode.quietZone, size + QRCode.quietZone)
        let columns = start..<end
        let rows = stride(from: start, to: end, by: 2)
        return rows.map { row in
            let line = columns.map { column in
                QRCode.halfBlocks(
                    upper: isDark(column: column, row: row) == usesColor,
                    lower: isDark(column: column, row: row + 1) == usesColor)
            }
            return usesColor ? "\u{1B}[38;5;16;48;5;231m\(line.joined())\u{1B}[0m\n" : "\(line.joined())\n"
        }.joined()
    }

    private static func halfBlocks(upper: Bool, lower: Bool) -> String {
        switch (upper, lower) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
    }
}
