import Foundation

/// What the README and the pages promise, and what proves it: `Tests/claims.txt`.
struct Claims {
    struct Section {
        /// The file, from the root of the repository.
        let page: String
        let heading: String
        /// Whether each item of the section's lists and tables must have a claim.
        let isWhole: Bool
        var rows: [Row] = []

        /// The heading's name in a URL, as GitHub writes it.
        var anchor: String {
            heading.lowercased().filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == " " }
                .replacingOccurrences(of: " ", with: "-")
        }
    }

    struct Row {
        /// A sentence of the section, or a part of one, word by word.
        let text: String
        /// `Suite/function`, `Suite/function: case`, or a file of the repository.
        let proofs: [String]
    }

    private(set) var sections: [Section] = []

    /// Paragraphs: the claim, and one proof per line. `== FILE: HEADING` starts a section, with `== all of …` one in
    /// which nothing may be without a proof; `#` starts a comment.
    init(_ text: String) {
        for lines in WrittenTable.paragraphs(text) {
            let first = lines[0]
            if first.hasPrefix("== "), let colon = first.range(of: ": ") {
                let page = first[..<colon.lowerBound].dropFirst(3)
                let isWhole = page.hasPrefix("all of ")
                sections.append(
                    Section(
                        page: String(isWhole ? page.dropFirst(7) : page),
                        heading: String(first[colon.upperBound...]), isWhole: isWhole))
            } else if !sections.isEmpty {
                sections[sections.count - 1].rows.append(Row(text: first, proofs: Array(lines.dropFirst())))
            }
        }
    }

    /// Returns what no longer holds: a page or sentence that is gone, a test or file that is gone, an item without a
    /// claim.
    func problems(_ catalog: TestCatalog, pages: (String) -> String?, isFile: (String) -> Bool) -> [String] {
        sections.flatMap { section -> [String] in
            let place = "\(section.page): \(section.heading)"
            guard let text = pages(section.page).flatMap({ Claims.part($0, under: section.heading) }) else {
                return ["no such section: \(place)"]
            }
            let whole = Claims.oneLine(text)
            var problems = section.rows.filter { !whole.contains($0.text) }.map {
                "no longer said in \(place): \($0.text)"
            }
            for row in section.rows {
                if row.proofs.isEmpty { problems.append("without a proof: \(row.text)") }
                problems += row.proofs.filter { catalog.title(of: $0) == nil && !isFile($0) }.map {
                    "no such test or file: \($0)"
                }
            }
            guard section.isWhole else { return problems }
            return problems
                + Claims.items(text).filter { item in !section.rows.contains { item.contains($0.text) } }.map
            {
                "without a claim in \(place): \($0)"
            }
        }
    }

    /// A table for each section, with links from `Sources/OIDCCore/Documentation.docc`.
    func page(_ catalog: TestCatalog) -> String {
        let root = "../../.."
        return sections.map { section in
            let name = section.page.split(separator: "/").last.map(String.init) ?? section.page
            let rows = section.rows.map { row in
                let proofs = row.proofs.map { proof in
                    guard let title = catalog.title(of: proof), let file = catalog.file(of: proof) else {
                        return "[\(proof)](\(root)/\(proof))"
                    }
                    return "[\(Claims.escaped(title))](\(root)/Tests/\(file))"
                }
                return
                    "| \(Claims.escaped(row.text.trimmingCharacters(in: CharacterSet(charactersIn: "| ")))) | \(proofs.joined(separator: " · ")) |"
            }
            let title = "### [\(name): \(section.heading)](\(root)/\(section.page)#\(section.anchor))"
            return ([title, "", "| Claim | Proof |", "| --- | --- |"] + rows).joined(separator: "\n")
        }.joined(separator: "\n\n") + "\n"
    }

    /// The text below a heading, up to the next one; without a heading inside a code block.
    private static func part(_ page: String, under heading: String) -> String? {
        var lines: [Substring]?
        var isCode = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") { isCode.toggle() }
            if !isCode, line.hasPrefix("#") {
                if lines != nil { break }
                if line.drop(while: { $0 == "#" }).dropFirst() == heading { lines = [] }
            }
            lines?.append(line)
        }
        return lines?.joined(separator: "\n")
    }

    /// List items and rows of tables, each on one line.
    private static func items(_ text: String) -> [String] {
        var items: [String] = []
        var isOpen = false
        var rows = 0
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("|") {
                rows += 1
                if rows > 2 { items.append(oneLine(String(line))) }
                continue
            }
            rows = 0
            let number = line.prefix { $0.isNumber }
            if line.hasPrefix("- ") || (!number.isEmpty && line.dropFirst(number.count).hasPrefix(". ")) {
                items.append(oneLine(String(line)))
                isOpen = true
            } else if isOpen, line.hasPrefix("  ") {
                items[items.count - 1] += " " + oneLine(String(line))
            } else {
                isOpen = false
            }
        }
        return items
    }

    private static func oneLine(_ text: String) -> String {
        text.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "| ", with: "· ").replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: "*", with: "\\*").replacingOccurrences(of: "[", with: "\\[")
            .replacingOccurrences(of: "]", with: "\\]").replacingOccurrences(of: "|", with: "\\|")
    }
}
