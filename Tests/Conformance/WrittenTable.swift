import Foundation
import Testing

/// A table of the tests, such as the requirements, and the page that is written from it.
enum WrittenTable {
    /// Returns the paragraphs of a text as trimmed lines, without comments.
    static func paragraphs(_ text: String) -> [[String]] {
        text.components(separatedBy: "\n\n").map { paragraph in
            paragraph.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
                .filter { !$0.hasPrefix("#") }
        }.filter { !$0.isEmpty }
    }

    /// Checks that a page has the table between its marks; OIDC_WRITE_DOCUMENTATION=1 writes it there.
    static func expect(_ table: String, in page: URL, mark: String, suite: String) throws {
        let variable = "OIDC_WRITE_DOCUMENTATION"
        let text = try String(contentsOf: page, encoding: .utf8)
        let start = try #require(text.range(of: "<!-- \(mark):begin -->\n"))
        let end = try #require(text.range(of: "\n<!-- \(mark):end -->"))
        guard ProcessInfo.processInfo.environment[variable] == nil else {
            let new = text[..<start.upperBound] + "\n" + table + text[end.lowerBound...]
            return try Data(new.utf8).write(to: page)
        }
        let isCurrent = text[start.upperBound..<end.lowerBound] == "\n" + table
        #expect(isCurrent, "\(variable)=1 swift test --filter \(suite)")
    }
}
