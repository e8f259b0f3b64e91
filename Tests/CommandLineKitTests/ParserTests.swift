import Testing

@testable import CommandLineKit

/// The rules for reading a command line.
@Suite("the parser")
struct ParserTests {
    private func send(_ change: (inout SendCommand) -> Void) -> SendCommand {
        var command = SendCommand()
        command.place = "Rome"
        change(&command)
        return command
    }

    @Test(
        "a value follows its option or an equals sign",
        arguments: [
            ["--speed", "fast"], ["--speed=fast"],
        ])
    func values(option: [String]) throws {
        #expect(try Toy.parse(["send", "Rome"] + option) == send { $0.speed = .fast })
    }

    @Test(
        "a value follows its letter or is attached to it",
        arguments: [
            ["-w", "7"], ["-w7"], ["-fw7"], ["-fw", "7"], ["-f", "-w", "7"],
        ])
    func letters(option: [String]) throws {
        let expected = send {
            $0.weight = 7
            $0.fragile = option.contains { $0.hasPrefix("-f") }
        }
        #expect(try Toy.parse(["send"] + option + ["Rome"]) == expected)
    }

    @Test("bundled letters are separate flags")
    func bundle() throws {
        #expect(
            try Toy.parse(["send", "-vqf", "Rome"])
                == send {
                    $0.fragile = true
                    $0.places.common.verbose = true
                    $0.places.common.quiet = true
                })
    }

    @Test(
        "a negative number is a value",
        arguments: [["-w", "-5"], ["--weight", "-5"], ["--weight=-5"], ["-w-5"]])
    func negative(option: [String]) throws {
        #expect(try Toy.parse(["send", "Rome"] + option) == send { $0.weight = -5 })
    }

    @Test(
        "an attached value may be empty, start with dashes or contain an equals sign",
        arguments: [
            ("", "--sender="), ("--x", "--sender=--x"), ("a=b", "--sender=a=b"),
            ("\u{301}", "--sender=\u{301}"),
        ])
    func attached(value: String, option: String) throws {
        #expect(try Toy.parse(["send", "Rome", option]) == send { $0.places.sender = value })
    }

    @Test(
        "a word that starts with a dash is a value if it is attached or not an option's name",
        arguments: [
            ["--stamp", "-x"], ["--stamp=-x"], ["-s", "-x"], ["-s-x"],
        ])
    func dashedValue(option: [String]) throws {
        #expect(try Toy.parse(["send", "Rome"] + option) == send { $0.stamps = ["-x"] })
        #expect(try Toy.parse(["send", "Rome", "--stamp=-v"]) == send { $0.stamps = ["-v"] })
        #expect(try Toy.parse(["send", "Rome", "-s--version"]) == send { $0.stamps = ["--version"] })
    }

    @Test("a flag can stand for a value of another option; the later one wins")
    func flagForValue() throws {
        #expect(try ShipCommand.parse(["--express"])?.speed == .instant)
        #expect(try ShipCommand.parse(["--express", "--speed", "fast"])?.speed == .fast)
        #expect(try ShipCommand.parse(["--speed=fast", "--express"])?.speed == .instant)
    }

    @Test("a value is checked against its list of words")
    func oneOf() throws {
        #expect(try ShipCommand.parse(["--via", "sea"])?.way == "sea")
        #expect(
            throws: UsageError(
                "--via takes air or sea, not 'see', did you mean sea?", hint: .command(["help", "ship"]),
                misspelling: UsageError.Misspelling(typed: "see", meant: "sea"))
        ) { try ShipCommand.parse(["--via", "see"]) }
    }

    @Test("help is printed even after an option whose value is missing")
    func helpAfterFault() {
        #expect(Toy.help(["send", "--stamp", "--fragile", "--help"])?.hasPrefix("Usage: toy send") == true)
    }

    @Test("a repeatable option keeps its values in order")
    func repeated() throws {
        #expect(
            try Toy.parse(["send", "-sred", "Rome", "--stamp", "blue", "--stamp=red"])
                == send {
                    $0.stamps = ["red", "blue", "red"]
                })
    }

    @Test("a flag may be given twice")
    func repeatedFlag() throws {
        #expect(try Toy.parse(["-v", "send", "-v", "Rome"]) == send { $0.places.common.verbose = true })
    }

    @Test("a group inside a group sets its own property")
    func nested() throws {
        #expect(
            try Toy.parse(["send", "--sender", "Pisa", "-p", "work", "Rome"])
                == send {
                    $0.places.sender = "Pisa"
                    $0.places.common.profile = "work"
                })
    }

    @Test(
        "two dashes end the options",
        arguments: [
            (["send", "--", "-v"], "-v"), (["send", "-v", "--", "--"], "--"),
            (["--", "send", "Rome"], "Rome"),
        ])
    func dashes(arguments: [String], place: String) throws {
        #expect(try Toy.parse(arguments, as: SendCommand.self)?.place == place)
    }

    @Test("a single dash is an operand or a value", arguments: [["send", "-"], ["send", "-s", "-", "-"]])
    func dash(arguments: [String]) throws {
        #expect(try Toy.parse(arguments, as: SendCommand.self)?.place == "-")
    }

    @Test("an optional operand before a required one gets what is left over")
    func optionalFirst() throws {
        #expect(try Toy.parse(["send", "Rome"]) == send { _ in })
        #expect(try Toy.parse(["send", "crate", "Rome"]) == send { $0.kind = "crate" })
        #expect(try Toy.parse(["config", "show"]) == ConfigShow())
        #expect(try Toy.parse(["config", "show", "alpha"], as: ConfigShow.self)?.key == "alpha")
    }

    @Test("a rest operand takes all remaining words, or none", arguments: [[], [1], [1, 2, 3]])
    func rest(numbers: [Int]) throws {
        #expect(
            try Toy.parse(["track"] + numbers.map(String.init), as: TrackCommand.self)?.parcels == numbers)
    }

    @Test(
        "a command that runs another command leaves that command's options alone",
        arguments: [
            (["run", "ls", "-v"], ["ls", "-v"]),
            (["run", "--", "ls", "-v"], ["ls", "-v"]),
            (["run", "ls", "--", "-v"], ["ls", "--", "-v"]),
            (["run", "--", "--help"], ["--help"]),
            (["run", "ls", "--help"], ["ls", "--help"]),
            (["run", "-"], ["-"]),
        ])
    func stopping(arguments: [String], words: [String]) throws {
        let command = try Toy.parse(arguments, as: RunCommand.self)
        #expect(command?.words == words)
        #expect(command?.common == CommonOptions())
    }

    @Test(
        "common options may stand before the command, before the subcommand, or after it",
        arguments: [
            ["-p", "work", "config", "path", "-v"], ["-vpwork", "config", "path"],
            ["config", "--profile=work", "-v", "path"], ["config", "path", "-v", "-p", "work"],
            ["--profile", "work", "config", "-v", "path"],
        ])
    func leading(arguments: [String]) throws {
        let command = try Toy.parse(arguments, as: ConfigPath.self)
        #expect(command?.common.profile == "work")
        #expect(command?.common.verbose == true)
    }

    @Test("the path names the command and its subcommand")
    func path() throws {
        guard case .run(_, let path) = try Toy.program.parse(["-v", "config", "-q", "path"]) else {
            Issue.record("not run")
            return
        }
        #expect(path == ["config", "path"])
    }

    @Test(
        "a request for the version is answered anywhere",
        arguments: [
            ["--version"], ["send", "--version"], ["--version", "send"], ["-v", "--version"],
        ])
    func version(arguments: [String]) throws {
        guard case .version = try Toy.program.parse(arguments) else {
            Issue.record("no version")
            return
        }
    }

    @Test(
        "a mistake beside a request for the version is refused",
        arguments: [["send", "--bogus", "--version"], ["--version", "nonsense"], ["--version", "--bogus"]])
    func versionAndMistake(arguments: [String]) {
        #expect(throws: UsageError.self) { try Toy.program.parse(arguments) }
    }

    @Test("a group of options can be checked for invalid values alone")
    func checked() throws {
        #expect(try CommonOptions.checked(["send", "--bogus", "-ojson"]).output == .json)
        #expect(throws: UsageError.self) { try CommonOptions.checked(["-o", "bad", "--version"]) }
    }

    @Test(
        "one group of options can be read from a command line that cannot be parsed",
        arguments: [
            ["send", "--bogus", "-o", "json"], ["-ojson", "nonsense"],
            ["send", "--output=json", "--output=text"],
            ["send", "--output=bad", "--weight", "x", "-ojson", "--output"],
        ])
    func lenient(arguments: [String]) {
        let expected = arguments.contains("--output=bad") ? CommonOptions.Output.text : .json
        #expect(CommonOptions.lenient(arguments).output == expected)
    }
}
