import CommandLineKit
import Foundation
import Testing

@Suite("the man page")
struct ManPageTests {
    private static let page = ManPage.text(
        Toy.program, version: "1.0", date: "2026-01-02",
        description:
            ".dots and 'quotes' begin lines\n'like this\n\n  kept -- \\n as it is\n\nand än — ✓ end …",
        sections: [
            ManSection("EXIT STATUS", "What it means:", entries: [("0", "done"), (".5", "'half' done")]),
            ManSection("SEE ALSO", "cp(1), \"mv\"(1), ~, ^, `x`, a\u{7}\u{9B}b"),
        ])

    @Test("the page has each section once and in order")
    func order() {
        let titles = Self.page.split(separator: "\n").filter { $0.hasPrefix(".SH ") }.map { $0.dropFirst(4) }
        #expect(
            titles == [
                "\"NAME\"", "\"SYNOPSIS\"", "\"DESCRIPTION\"", "\"COMMANDS\"", "\"OPTIONS\"",
                "\"EXIT STATUS\"",
                "\"SEE ALSO\"",
            ])
    }

    @Test("text is escaped, so roff reads none of it as a request")
    func escapes() {
        let lines = Self.page.split(separator: "\n")
        #expect(lines.contains("\\&.dots and \\(aqquotes\\(aq begin lines"))
        #expect(lines.contains("\\(aqlike this"))
        #expect(lines.contains("\\&  kept \\-\\- \\en as it is"))
        #expect(lines.contains("and \\[u00E4]n \\[u2014] \\[u2713] end ..."))
        #expect(lines.contains("cp(1), \\(dqmv\\(dq(1), \\(ti, \\(ha, \\(gax\\(ga, ab"))
        #expect(Self.page.utf8.allSatisfy { $0 == 0x0A || (0x20...0x7E).contains($0) })
        let requests = lines.filter { $0.hasPrefix(".") }.compactMap {
            $0.dropFirst().split(separator: " ").first
        }
        #expect(Set(requests) == ["TH", "SH", "SS", "PP", "TP", "br", "nf", "fi"])
    }

    @Test("a command's own options are listed with it, shared options once below")
    func options() throws {
        let parts = Self.page.components(separatedBy: ".SH \"OPTIONS\"")
        try #require(parts.count == 2)
        let weight = "\\fB\\-w, \\-\\-weight\\fR \\fIN\\fR\nits weight in grams (default: 100)\n"
        #expect(parts[0].contains(weight))
        #expect(!parts[0].contains("\\-\\-profile\\fR"))
        #expect(parts[1].components(separatedBy: "\\fB\\-p, \\-\\-profile\\fR").count == 2)
        #expect(parts[1].contains(".SS \"Places\"\nFor send:\n.TP\n\\fB\\-\\-sender\\fR \\fIPLACE\\fR\n"))
        #expect(!Self.page.contains("secret"))
    }

    @Test(
        "groff renders it without a warning",
        .enabled(if: ShellSession.path("groff") != nil, "groff is not installed"))
    func groff() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("toy-\(UUID().uuidString).1")
        defer { try? FileManager.default.removeItem(at: file) }
        try Self.page.write(to: file, atomically: false, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(ShellSession.path("groff")))
        process.arguments = ["-man", "-Tutf8", "-ww", "-P-c", file.path]
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let warnings = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(warnings.isEmpty)
        #expect(process.terminationStatus == 0)
        for shown in [
            "toy send --speed fast Rome", "än — ✓ end ...", "kept -- \\n as it is", ".dots and 'quotes'",
            "~, ^, `x`",
        ] {
            #expect(text.contains(shown))
        }
    }
}
