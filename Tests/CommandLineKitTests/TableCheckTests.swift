import CommandLineKit
import TestSupport
import Testing

@Suite("the check of a command table")
struct TableCheckTests {
    private struct Broken: Command {
        static let name = "Broken"
        static let summary = "Is not as it should be."
        static let declaration = Declaration<Broken>(
            examples: [Example("toy Broken", "Breaks.")],
            operands: [.rest(\.words, "WORD", "words"), .required(\.word, "LAST", "never reached")],
            options: [
                .flag(\.flag, "--flag", "a flag", short: "x"), .flag(\.flag, "--flag", "again"),
                .flag(\.flag, "-long", "one dash"), .flag(\.flag, "--other", "", short: "x"),
            ])

        var words: [String] = []
        var word = ""
        var flag = false
    }

    @Test("every mistake in a table is reported")
    func faults() {
        let program = CommandLineKit.Program(
            name: "toy", summary: "carry", common: CommonOptions.self,
            sections: [CommandSection("X", [Broken.self, Broken.self])])
        #expect(
            Set(program.tableFaults) == [
                "two commands: Broken",
                "toy Broken: is not a lower-case word",
                "toy Broken: the summary is not one phrase of at most 60 characters without a period",
                "toy Broken: has fewer than two examples",
                "toy Broken: two options: --flag",
                "toy Broken: two options: -x",
                "toy Broken: -long is not an option's name",
                "toy Broken: --other has no help",
                "toy Broken: has operands after one that takes all the rest",
                "toy Broken: lacks the common options",
            ])
    }

    @Test("a list of commands that does not fit a terminal is a mistake")
    func overview() {
        let long = String(repeating: "x", count: 90)
        let program = CommandLineKit.Program(
            name: "toy", summary: long, common: CommonOptions.self,
            sections: [CommandSection("X", Array(repeating: HelpCommand.self, count: 40))])
        #expect(program.tableFaults.contains("--help has 45 lines"))
        #expect(program.tableFaults.contains { $0.hasPrefix("--help is too wide: ") })
    }

    @Test("the test table has no mistakes, except that examples are missing")
    func sound() {
        #expect(
            Toy.program.tableFaults
                == ["track", "run", "config show", "config path"].map {
                    "toy \($0): has fewer than two examples"
                })
    }
}
