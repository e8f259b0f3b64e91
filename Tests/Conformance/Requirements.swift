import Foundation

/// What must hold, clause by clause, and the tests that violate it: `Tests/requirements.txt`.
struct Requirements {
    struct Section {
        let title: String
        var rows: [Row] = []
    }

    struct Row {
        let text: String
        let clause: String
        /// `Suite/function`, or `Suite/function: case`.
        let tests: [String]
    }

    private(set) var sections: [Section] = []

    /// Paragraphs: the requirement, its clause, and one test per line. `==` starts a section, `#` a comment.
    init(_ text: String) {
        for lines in WrittenTable.paragraphs(text) {
            let first = lines[0]
            if first.hasPrefix("== ") {
                sections.append(Section(title: String(first.dropFirst(3))))
            } else {
                let row = Row(
                    text: first, clause: lines.count > 1 ? lines[1] : "", tests: Array(lines.dropFirst(2)))
                if sections.isEmpty { sections.append(Section(title: "")) }
                sections[sections.count - 1].rows.append(row)
            }
        }
    }

    var rows: [Row] { sections.flatMap(\.rows) }

    /// What refers to no test, or to none at all.
    func problems(_ catalog: TestCatalog) -> [String] {
        rows.flatMap { row in
            row.tests.isEmpty
                ? ["without a test: \(row.text)"]
                : row.tests.filter { catalog.title(of: $0) == nil }.map { "no such test: \($0)" }
        }
    }

    /// A table for each section.
    func page(_ catalog: TestCatalog) -> String {
        sections.map { section in
            let rows = section.rows.map { row in
                let tests = row.tests.map { reference in
                    let suite = reference.prefix { $0 != "/" }
                    return "`\(suite)`: \(Requirements.escaped(catalog.title(of: reference) ?? ""))"
                }
                return
                    "| \(Requirements.escaped(row.text)) | \(row.clause) | \(tests.joined(separator: " · ")) |"
            }
            return
                (["### \(section.title)", "", "| Requirement | Clause | Test |", "| --- | --- | --- |"] + rows)
                .joined(separator: "\n")
        }.joined(separator: "\n\n") + "\n"
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "|", with: "\\|").replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: "*", with: "\\*")
    }
}
