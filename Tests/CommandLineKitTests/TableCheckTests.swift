import CommandLineKit
import Testing

@Suite struct TableCheckTests {
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

    @Test("a table with faults is told all of them")
    func faults() {
        let program = Program(
            name: "toy", summary: "carry", common: CommonOptions.self,
            sections: [CommandSection("X", [Broken.self, Broken.self])])
        #expect(
            Set(program.tableFaults) == [
                "two commands: Broken",
                "toy Broken: is no lower-case word",
                "toy Broken: the summary is one phrase of at most 60 characters, without a full stop",
                "toy Broken: has 1 examples, not two",
                "toy Broken: two options: --flag",
                "toy Broken: two options: -x",
                "toy Broken: -long is no option's name",
                "toy Broken: --other says nothing",
                "toy Broken: operands after the one that takes all",
                "toy Broken: lacks the common options",
            ])
    }

    @Test("a list of commands that fits no terminal is a fault")
    func overview() {
        let long = String(repeating: "x", count: 90)
        let program = Program(
            name: "toy", summary: long, common: CommonOptions.self,
            sections: [CommandSection("X", Array(repeating: HelpCommand.self, count: 40))])
        #expect(program.tableFaults.contains("--help has 45 lines"))
        #expect(program.tableFaults.contains { $0.hasPrefix("--help is too wide: ") })
    }

    @Test("a sound table has none but the examples that the toy leaves out")
    func sound() {
        #expect(
            Toy.program.tableFaults
                == ["track", "run", "config show", "config path"].map {
                    "toy \($0): has 0 examples, not two"
                })
    }
}
