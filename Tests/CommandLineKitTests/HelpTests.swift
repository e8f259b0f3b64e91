import CommandLineKit
import Testing

@Suite("help")
struct HelpTests {
    @Test("the program's help lists the commands in their sections")
    func overview() {
        #expect(
            Toy.program.help() == """
                toy: carry parcels about
                Usage: toy [options] COMMAND [options]

                CARRY
                  send    Send a parcel
                  track   Say where a parcel is
                  run     Run a program with a parcel

                SETTINGS
                  config  Look at the settings
                  help    Explain a command

                toy help COMMAND explains a command.

                """)
    }

    @Test("a command's help shows everything in its table")
    func command() {
        #expect(
            Toy.program.help(["send"]) == """
                Usage: toy send [options] [KIND] PLACE

                Send a parcel

                Weighs the parcel first.

                  a kept line

                Then sends it.

                Arguments:
                  KIND   what it is
                  PLACE  where it goes

                Options:
                      --speed SPEED      how fast it goes (slow, fast or instant; default: slow)
                  -w, --weight N         its weight in grams (default: 100)
                      --parcels N        how many there are (default: one)
                  -s, --stamp NAME       a stamp to put on it (repeatable)
                      --label-file FILE  a file with the label
                  -f, --fragile          handle it with care

                Places:
                      --sender PLACE  where it comes from
                and the options of every command: toy help options

                Examples:
                  toy send Rome
                      Sends it slowly.
                  toy send --speed fast Rome
                      Sends it quickly.

                Exit codes:
                  0  it was sent
                  3  nobody was there

                """)
    }

    @Test(
        "the options that commands share are a topic; those of few commands are explained with each of them")
    func sharedOptions() throws {
        let text = Toy.program.optionsHelp()
        #expect(
            text == """
                Common options, for every command:
                  -p, --profile NAME      the profile to use (or $TOY_PROFILE)
                  -o, --output text|json  how to answer (default: text)
                  -v, --verbose           say more
                  -q, --quiet             say less
                  -h, --help              show this help
                      --version           show the version

                """)
        guard case .help(text, ["options"]) = try Toy.program.parse(["help", "options"]) else {
            Issue.record("the topic is not printed")
            return
        }
        #expect(throws: UsageError.self) { try Toy.program.parse(["help", "options", "x"]) }
        #expect(
            Toy.program.help(["config", "path"])?.hasSuffix(
                "The options of every command: toy help options\n") == true)
    }

    @Test("a program without arguments names the commands of brief sections without their summaries")
    func briefSections() throws {
        let program = Program(
            name: "toy", summary: "carry parcels about", common: CommonOptions.self,
            sections: [
                CommandSection("CARRY", [HelpCommand.self]),
                CommandSection("SETTINGS", [HelpCommand.self], isBrief: true),
            ])
        let start =
            "toy: carry parcels about\nUsage: toy [options] COMMAND [options]\n\n"
            + "CARRY\n  help  Explain a command\n"
        #expect(program.overview() == start + "SETTINGS  help\n")
        #expect(program.help() == start + "\nSETTINGS\n  help  Explain a command\n")
        guard case .help(program.overview(), []) = try program.parse([]) else {
            Issue.record("the overview is not printed")
            return
        }
    }

    @Test("a command with subcommands lists them")
    func subcommands() {
        #expect(
            Toy.program.help(["config"]) == """
                Usage: toy config COMMAND [options]

                Look at the settings

                Commands:
                  show  Print the settings
                  path  Print where the settings are

                """)
    }

    @Test("a command can replace its usage line")
    func usage() {
        #expect(
            Toy.program.help(["run"])?.hasPrefix("Usage: toy run [options] -- PROGRAM [ARG...]\n") == true)
    }

    @Test(
        "help is printed wherever it is requested, even if other arguments are wrong",
        arguments: [
            ["send", "--help"], ["send", "-h"], ["--help", "send"], ["-h", "send", "x"], ["send", "-vh"],
            ["send", "--bogus", "--help"], ["send", "--help", "--bogus", "--weight"],
            ["send", "-w", "x", "-h"],
            ["--bogus", "send", "--help"], ["send", "a", "b", "c", "--help"], ["help", "send"],
            ["-v", "help", "send"],
            ["-p", "x", "help", "send"], ["help", "-v", "send"],
        ])
    func anywhere(arguments: [String]) {
        #expect(Toy.help(arguments) == Toy.program.help(["send"]))
    }

    @Test("a program or command that only has subcommands prints its help")
    func alone() {
        #expect(Toy.help([]) == Toy.program.overview())
        #expect(Toy.help(["config"]) == Toy.program.help(["config"]))
    }

    @Test("help accepts the common options")
    func options() {
        #expect(
            Toy.help(["help", "-o", "json", "config", "-v", "show"]) == Toy.program.help(["config", "show"]))
    }

    @Test(
        "help without a command explains the program",
        arguments: [
            ["--help"], ["-h"], ["help"], ["-v", "--help"], ["--bogus", "-h"], ["nonsense", "-h"],
            ["-h", "nonsense"],
        ])
    func whole(arguments: [String]) {
        let isFound = arguments != ["nonsense", "-h"]
        #expect(Toy.help(arguments) == (isFound ? Toy.program.help() : nil))
    }

    @Test(
        "a subcommand has its own help",
        arguments: [
            ["config", "show", "-h"], ["help", "config", "show"], ["config", "-h", "show"],
            ["-h", "config", "show"],
        ])
    func subcommand(arguments: [String]) {
        #expect(Toy.help(arguments) == Toy.program.help(["config", "show"]))
        #expect(Toy.help(arguments)?.hasPrefix("Usage: toy config show [options] [KEY]\n") == true)
    }

    @Test("a section of the manual with a topic is printed by its name")
    func topic() throws {
        let program = Program(
            name: "toy", summary: "", common: CommonOptions.self,
            sections: [CommandSection("", [HelpCommand.self])],
            manual: {
                [
                    ManSection("PRICES", topic: "prices", "By weight.", entries: [("1 kg", "5 coins")]),
                    ManSection("FILES", entries: [("box", "a parcel")]),
                ]
            })
        for words in [["help", "prices"], ["-v", "help", "-o", "json", "prices"]] {
            guard case .help("By weight.\n\n  1 kg  5 coins\n", ["prices"]) = try program.parse(words) else {
                Issue.record("\(words) is not the topic")
                continue
            }
        }
        for words in [["help", "prices", "x"], ["help", "files"], ["prices"]] {
            #expect(throws: UsageError.self) { try program.parse(words) }
        }
        #expect(
            program.complete(["help", ""]) { _ in [] }
                == .words([Candidate("help", "Explain a command"), Candidate("options"), Candidate("prices")])
        )
        #expect(program.complete(["help", "prices", ""]) { _ in [] } == .words([]))
    }

    @Test("an unknown command has no help")
    func none() {
        #expect(Toy.program.help(["nonsense"]) == nil)
        #expect(Toy.program.help(["config", "nonsense"]) == nil)
    }

    @Test("no line of any help is wider than the terminal, but for usages and examples", arguments: [40, 80])
    func width(columns: Int) {
        let toy = Toy.program
        let program = Program(
            name: toy.name, summary: toy.summary, common: toy.common, sections: toy.sections,
            footnote: toy.footnote, manual: toy.manual, width: { columns })
        let texts = program.descriptions.map { program.help(Array($0.path.dropFirst())) ?? "" }
        for text in texts + [program.help(), program.overview(), program.optionsHelp()] {
            #expect(!text.isEmpty)
            for line in text.split(separator: "\n") where !line.contains("toy ") {
                #expect(line.count <= columns, "\(line)")
            }
        }
    }
}
