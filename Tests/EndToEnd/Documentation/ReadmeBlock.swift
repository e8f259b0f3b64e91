import Foundation

/// A fenced block of the README, with the section that it stands in.
struct ReadmeBlock {
    let section: String
    let language: String
    let lines: [String]
    /// Marked as one that is not run.
    let isExample: Bool
    /// Marked as one of a provider's, which `Tests/Providers` runs against a stand-in.
    let isOfProvider: Bool

    var text: String { lines.joined(separator: "\n") }

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func readme() throws -> String {
        try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
    }

    static func all() throws -> [ReadmeBlock] {
        var blocks: [ReadmeBlock] = []
        var section = ""
        var rest = try readme().components(separatedBy: "\n")[...]
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

    /// Of a workflow: the variables of `env`, and the commands of `run`.
    var workflow: (variables: [String: String], commands: String) {
        let words = lines.map { $0.trimmingCharacters(in: .whitespaces) }
        var variables: [String: String] = [:]
        for line in words.prefix(while: { $0 != "steps:" }).drop(while: { $0 != "env:" }).dropFirst() {
            let parts = line.components(separatedBy: ": ")
            if parts.count == 2 { variables[parts[0]] = parts[1] }
        }
        let commands = words.drop { $0 != "- run: |" }.dropFirst()
        return (variables, commands.joined(separator: "\n"))
    }
}
