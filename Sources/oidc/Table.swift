/// Names and values in two columns.
enum Table {
    static func text(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.unicodeScalars.count).max() ?? 0
        return rows.map { name, value in
            name + String(repeating: " ", count: width - name.unicodeScalars.count + 2) + value
        }.joined(separator: "\n")
    }

    /// Rows of equal length; the last column is not padded.
    static func text(columns rows: [[String]]) -> String {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { $0[column].unicodeScalars.count }.max() ?? 0
        }
        return rows.map { row in
            row.enumerated().map { column, cell in
                let isLast = column == row.count - 1
                let padding = isLast ? 0 : widths[column] - cell.unicodeScalars.count + 2
                return cell + String(repeating: " ", count: padding)
            }.joined()
        }.joined(separator: "\n")
    }
}
