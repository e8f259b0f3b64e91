import CommandLineKit

/// A small program with one command for each kind of table.
enum Toy {
    static let program = Program(
        name: "toy", summary: "carry parcels about", common: CommonOptions.self,
        sections: [
            CommandSection("CARRY", [SendCommand.self, TrackCommand.self, RunCommand.self]),
            CommandSection("SETTINGS", [ConfigCommand.self, HelpCommand.self]),
        ],
        footnote: "toy help COMMAND explains a command.",
        otherNames: {
            [
                "where": .command(["track"]), "parcel send": .command(["send"]),
                "--express": .command(["send", "--speed", "instant"]),
            ]
        })

    /// Returns a hint as it is printed.
    static func text(_ hint: UsageError.Hint?) -> String? {
        switch hint {
        case .text(let text): text
        case .command(let words, let before, let after):
            before + (["toy"] + words).joined(separator: " ") + after
        case .options(let words): words.joined(separator: " ")
        case nil: nil
        }
    }

    /// Answers completion queries.
    static func values(_ query: CompletionQuery) -> [Candidate] {
        switch query.kind {
        case "profiles":
            ["work", "home", "my place", "a:b", "x$(touch pwned)`touch pwned`"].map { Candidate($0) }
        case "notes": [Candidate("color=", "its color"), Candidate("size="), Candidate("word")]
        case "parcels": [Candidate("11", "for Rome"), Candidate("12", "for Pisa: urgent")]
        default: []
        }
    }

    /// Returns the command that the arguments ask for, if it is of the expected type.
    static func parse<C: Command>(_ arguments: [String], as type: C.Type = C.self) throws -> C? {
        guard case .run(let command, _) = try program.parse(arguments) else { return nil }
        return command as? C
    }

    static func fault(_ arguments: [String]) -> UsageError? {
        do throws(UsageError) {
            _ = try program.parse(arguments)
            return nil
        } catch {
            return error
        }
    }

    static func help(_ arguments: [String]) -> String? {
        guard case .help(let text, _)? = try? program.parse(arguments) else { return nil }
        return text
    }
}

struct CommonOptions: OptionGroup, Equatable {
    static let title = "Common options"
    static let options: [Option<CommonOptions>] = [
        .value(
            \.profile, "--profile", "NAME", "the profile to use", short: "p", environment: "TOY_PROFILE",
            completion: .dynamic("profiles")),
        .value(\.output, "--output", "text|json", "how to answer", short: "o"),
        .flag(\.verbose, "--verbose", "say more", short: "v"),
        .flag(\.quiet, "--quiet", "say less", short: "q"),
        .help(),
        .version(),
    ]

    enum Output: String, CaseIterable, OptionValue { case text, json }

    var profile: String?
    var output = Output.text
    var verbose = false
    var quiet = false
}

struct PlaceOptions: OptionGroup, Equatable {
    static let title = "Places"
    static let options: [Option<PlaceOptions>] = [
        .value(\.sender, "--sender", "PLACE", "where it comes from"),
        .group(\.common),
    ]

    var sender: String?
    var common = CommonOptions()
}

struct SendCommand: Command, Equatable {
    static let name = "send"
    static let summary = "Send a parcel"
    static let declaration = Declaration<SendCommand>(
        discussion: "Weighs the parcel first.\n\n  a kept line\n\nThen sends it.",
        examples: [
            Example("toy send Rome", "Sends it slowly."),
            Example("toy send --speed fast Rome", "Sends it quickly."),
        ],
        exitCodes: [ExitCode("0", "it was sent"), ExitCode("3", "nobody was there")],
        operands: [
            .optional(\.kind, "KIND", "what it is"),
            .required(\.place, "PLACE", "where it goes", completion: .directory),
        ],
        options: [
            .value(\.speed, "--speed", "SPEED", "how fast it goes"),
            .number(\.weight, "--weight", "N", in: -5...1000, "its weight in grams", short: "w"),
            .number(\.parcels, "--parcels", "N", in: 1...9, "how many there are", defaultText: "one"),
            .repeated(\.stamps, "--stamp", "NAME", "a stamp to put on it", short: "s"),
            .value(\.label, "--label-file", "FILE", "a file with the label", completion: .file),
            .flag(\.fragile, "--fragile", "handle it with care", short: "f"),
            .flag(\.secret, "--secret", "not in any list", isHidden: true),
            .group(\.places),
        ])

    enum Speed: String, CaseIterable, OptionValue { case slow, fast, instant }

    var kind = "parcel"
    var place = ""
    var speed = Speed.slow
    var weight = 100
    var parcels: Int?
    var stamps: [String] = []
    var label = ""
    var fragile = false
    var secret = false
    var places = PlaceOptions()

    func validate() throws(UsageError) {
        if fragile, speed == .instant { throw UsageError("--fragile is never --speed instant") }
    }
}

struct TrackCommand: Command, Equatable {
    static let name = "track"
    static let summary = "Say where a parcel is"
    static let declaration = Declaration<TrackCommand>(
        operands: [.rest(\.parcels, "PARCEL", "its number", completion: .dynamic("parcels"))],
        options: [
            .value(\.list, "--list", "KIND", "for completion", isHidden: true),
            .repeated(\.notes, "--note", "KEY=VALUE", "a note", completion: .dynamic("notes")),
            .group(\.common),
        ])

    var parcels: [Int] = []
    var list: String?
    var notes: [String] = []
    var common = CommonOptions()
}

struct RunCommand: Command, Equatable {
    static let name = "run"
    static let summary = "Run a program with a parcel"
    static let declaration = Declaration<RunCommand>(
        usage: ["[options] -- PROGRAM [ARG...]"],
        operands: [.rest(\.words, "PROGRAM", atLeast: 1, "the program", completion: .command)],
        stopsAtFirstOperand: true,
        options: [.group(\.common)])

    var words: [String] = []
    var common = CommonOptions()
}

struct ConfigCommand: Command {
    static let name = "config"
    static let summary = "Look at the settings"
    static let subcommands: [any Command.Type] = [ConfigShow.self, ConfigPath.self]
}

struct ConfigShow: Command, Equatable {
    static let name = "show"
    static let summary = "Print the settings"
    static let declaration = Declaration<ConfigShow>(
        operands: [.optional(\.key, "KEY", "one of them", completion: .values(["alpha", "beta"]))],
        options: [.group(\.common)])

    var key: String?
    var common = CommonOptions()
}

struct ConfigPath: Command, Equatable {
    static let name = "path"
    static let summary = "Print where the settings are"
    static let declaration = Declaration<ConfigPath>(options: [.group(\.common)])

    var common = CommonOptions()
}

/// A command outside the toy's table, for kinds of options that the toy has none of.
struct ShipCommand: Command, Equatable {
    static let name = "ship"
    static let summary = "Ship a container"
    static let declaration = Declaration<ShipCommand>(options: [
        .value(\.way, "--via", "WAY", oneOf: ["air", "sea"], "how it travels"),
        .value(\.speed, "--speed", "SPEED", "how fast it goes"),
        .flag(\.speed, to: .instant, "--express", "short for --speed instant"),
    ])

    var way: String?
    var speed = SendCommand.Speed.slow

    static func parse(_ arguments: [String]) throws(UsageError) -> ShipCommand? {
        let program = Program(
            name: "toy", summary: "", common: CommonOptions.self, sections: [CommandSection("", [Self.self])])
        guard case .run(let command, _) = try program.parse(["ship"] + arguments) else { return nil }
        return command as? Self
    }
}
