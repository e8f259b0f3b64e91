import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "the transcript of the page on URLs", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct TranscriptTests {
    /// One command, and the lines that it is said to print; `…` stands for any.
    private struct Step {
        let arguments: [String]
        var lines: [String] = []
    }

    private func steps(_ block: ReadmeBlock, at origin: String) -> [Step] {
        var steps: [Step] = []
        for line in block.lines {
            let line = line.replacingOccurrences(of: "http://127.0.0.1:9480", with: origin)
            if line.hasPrefix("$ oidc ") {
                steps.append(Step(arguments: line.dropFirst(7).split(separator: " ").map(String.init)))
            } else if line != "…" {
                steps[steps.count - 1].lines.append(line)
            }
        }
        return steps
    }

    /// Returns the text with a 0 for each digit, as times and ports differ.
    private func comparable(_ text: some StringProtocol) -> String {
        String(text.map { $0.isNumber ? "0" : $0 })
    }

    @Test("the sign-in to a URL prints what the page says, in that order")
    func signIn() throws {
        var configuration = DemoConfiguration()
        configuration.user = .approves("alice")
        let provider = try ProviderServer(configuration)
        let program = try Program(["BROWSER": "curl -sL -o /dev/null %s", "DISPLAY": ":9"])
        defer { program.remove() }
        let blocks = ReadmeBlock.blocks(of: try ReadmeBlock.page("SignInToURL"))
        let block = try #require(blocks.first { $0.language == "console" })
        let steps = steps(block, at: provider.origin)
        #expect(steps.map { $0.arguments[0] } == ["request", "login", "request"])
        for step in steps {
            let outcome = try program.start(step.arguments).finish()
            var printed = (outcome.errorOutput + outcome.output).split(separator: "\n").map(comparable)[...]
            for line in step.lines {
                let found = printed.firstIndex(of: comparable(line))
                #expect(found != nil, "\(step.arguments): \(line)\n\(outcome)")
                printed = printed.dropFirst((found ?? printed.startIndex) + 1 - printed.startIndex)
            }
        }
    }
}
