import Foundation

/// A fenced block of the README or of a page that a user follows, with the section that it is in.
struct ReadmeBlock {
    let section: String
    let language: String
    let lines: [String]
    /// Whether the block is marked as an example, which is not run.
    let isExample: Bool
    /// Whether the block is marked `provider:`, and so run by `Tests/Providers` against a stand-in.
    let isOfProvider: Bool

    var text: String { lines.joined(separator: "\n") }

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func readme() throws -> String {
        try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
    }

    /// Returns the text of a page of the documentation.
    static func page(_ name: String) throws -> String {
        let pages = root.appendingPathComponent("Sources/OIDCCore/Documentation.docc")
        return try String(contentsOf: pages.appendingPathComponent(name + ".md"), encoding: .utf8)
    }

    /// The blocks of the README, and of the pages that its text moved to.
    static func all() throws -> [ReadmeBlock] {
        try blocks(of: readme()) + blocks(of: page("Install")) + blocks(of: page("Recipes"))
    }

    static func blocks(of text: String) -> [ReadmeBlock] {
        var blocks: [ReadmeBlock] = []
        var section = ""
        var rest = text.components(separatedBy: "\n")[...]
        var previous = ""
        while let line = rest.popFirst() {
            if line.hasPrefix("#") { section = String(line.drop { $0 == "#" }.dropFirst()) }
            if line.hasPrefix("```") {
                let lines = rest.prefix { !$0.hasPrefix("```") }
                rest = rest.dropFirst(lines.count + 1)
                blocks.append(
                    ReadmeBlock(
                        section: section, language: String(line.dropFirst(3)), lines: Array(lines),
                        isExample: previous == "<!-- example -->",
                        isOfProvider: previous.hasPrefix("<!-- provider: ")))
            }
            previous = line
        }
        return blocks
    }

    /// The variables and commands of a workflow of GitHub Actions.
    var workflow: (variables: [String: String], commands: String) {
        let words = lines.map { $0.trimmingCharacters(in: .whitespaces) }
        let commands = words.drop { $0 != "- run: |" }.dropFirst()
        return (variables(after: "env:", until: "steps:"), commands.joined(separator: "\n"))
    }

    /// The variables and commands of a job of GitLab CI.
    var gitlabJob: (variables: [String: String], commands: String) {
        let words = lines.map { $0.trimmingCharacters(in: .whitespaces) }
        let commands = words.drop { $0 != "script:" }.dropFirst().map { $0.dropFirst(2) }
        return (variables(after: "variables:", until: "script:"), commands.joined(separator: "\n"))
    }

    private func variables(after start: String, until end: String) -> [String: String] {
        let words = lines.map { $0.trimmingCharacters(in: .whitespaces) }
        var variables: [String: String] = [:]
        for line in words.prefix(while: { $0 != end }).drop(while: { $0 != start }).dropFirst() {
            let parts = line.components(separatedBy: ": ")
            if parts.count == 2 { variables[parts[0]] = parts[1] }
        }
        return variables
    }
}
