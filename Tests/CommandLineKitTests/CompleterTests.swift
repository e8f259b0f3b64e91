import CommandLineKit
import Testing

/// The completer in memory; `CompletionTests` asks it through real shells.
@Suite("completion scripts in the shells")
struct CompleterTests {
    private func complete(_ words: [String]) -> Completion {
        Toy.program.complete(words, dynamic: Toy.values)
    }

    private func words(_ words: [String]) -> [String]? {
        guard case .words(let candidates) = complete(words) else { return nil }
        return candidates.map(\.word)
    }

    @Test(
        "each word is completed with what the table expects there",
        arguments: [
            ([], ["send", "track", "run", "config", "help"]), (["s"], ["send"]), (["nonsense", ""], []),
            (["-v", "tr"], ["track"]), (["-p", "x", "tr"], ["track"]), (["-px", "tr"], ["track"]),
            (["--", "tr"], ["track"]), (["config", ""], ["show", "path"]), (["config", "-q", "p"], ["path"]),
            (["--p"], ["--profile"]), (["config", "--v"], ["--verbose", "--version"]),
            (["send", "--se"], ["--sender"]), (["send", "--sec"], []), (["send", "--", "--se"], []),
            (["send", "--speed", ""], ["slow", "fast", "instant"]), (["send", "--speed", "f"], ["fast"]),
            (["send", "--speed=f"], ["--speed=fast"]), (["send", "-fof"], []),
            (["send", "-foj"], ["-fojson"]),
            (["send", "-vo", ""], ["text", "json"]), (["-o", "j"], ["json"]), (["-oj"], ["-ojson"]),
            (["send", "-z=", ""], []), (["send", "--zebra="], []), (["send", "--fragile="], []),
            (["send", "--stamp", ""], []), (["config", "show", "a"], ["alpha"]),
            (["track", "--note", "co"], ["color="]), (["track", "--note=co"], ["--note=color="]),
            (["track", "11", "1"], ["11", "12"]), (["track", "-p", "m"], ["my place"]),
            (["help", "c"], ["config"]),
            (["help", "config", ""], ["show", "path"]),
            (["help", "send", ""], []),
            (["help", "nonsense", ""], []), (["help", "-v", "config", "p"], ["path"]),
            (["-v", "help", "config", "p"], ["path"]),
        ])
    func candidates(line: [String], expected: [String]) {
        #expect(words(line) == expected)
    }

    @Test("an option that was given is not offered again, unless it may be repeated")
    func given() throws {
        let offered = try #require(words(["send", "-f", "--stamp", "x", "--speed", "fast", "--"]))
        #expect(!offered.contains("--fragile") && !offered.contains("--speed"))
        #expect(offered.contains("--stamp") && offered.contains("--weight"))
    }

    @Test(
        "files, directories and other programs are left to the shell",
        arguments: [
            (["send", "--label-file", "x"], .files), (["send", "--label-file=x"], .files),
            (["send", "crate", ""], .directories), (["run", ""], .command(at: 1)),
            (["run", "--", "pr"], .command(at: 2)), (["run", "-v", "ls", "-l", ""], .command(at: 2)),
        ] as [([String], Completion)])
    func shell(line: [String], expected: Completion) {
        #expect(complete(line) == expected)
    }

    @Test("commands, options and values have meanings")
    func meanings() {
        #expect(complete(["send", "--spe"]) == .words([Candidate("--speed", "how fast it goes")]))
        #expect(complete(["tr"]) == .words([Candidate("track", "Say where a parcel is")]))
        #expect(complete(["track", "--note", "col"]) == .words([Candidate("color=", "its color")]))
    }

    @Test("the shell asks the program for values, with the words typed so far")
    func dynamic() {
        var queries: [CompletionQuery] = []
        _ = Toy.program.complete(["-p", "work", "track", "--note=co"]) { query in
            queries.append(query)
            return []
        }
        #expect(queries.map(\.kind) == ["notes"])
        #expect(queries.map(\.typed) == ["co"])
        #expect(queries.map { CommonOptions.lenient($0.words).profile } == ["work"])
    }

    @Test(
        "bash gets the part of the word that it replaces, quoted like the word",
        arguments: [
            ("toy send --speed=", "", "words|slow|fast|instant"), ("toy send --speed=f", "f", "words|fast"),
            ("toy send --speed=f", "--speed=f", "words|--speed=fast"),
            ("toy send --profile=a:", "", "words|b"), ("toy send --profile=a:b", "a:b", "words|a:b"),
            ("toy send -p my\\ ", "my\\ ", "words|my\\ place"),
            ("toy send -p 'my p", "my p", "words|my place"),
            ("toy send -p \"my p", "my p", "words|my place"),
            ("toy send -p 'my p'", "'my p'", "words|my\\ place"),
            ("toy send -p x", "x", "words|x\\$\\(touch\\ pwned\\)\\`touch\\ pwned\\`"),
            ("  toy   tr", "tr", "words|track"), ("toy\ttr", "tr", "words|track"),
            ("toy track --note s", "s", "nospace|size="),
            ("toy send --label-file x", "x", "-f"), ("toy send a ", "", "-d"), ("toy run pri", "pri", "-c"),
            ("toy run ls -", "-", "-f"), ("", "", "words|send|track|run|config|help"),
        ])
    func bash(line: String, replaced: String, expected: String) {
        let answer = Toy.program.answer(.bash, [line, replaced], dynamic: Toy.values)
        #expect(answer == expected.replacing("|", with: "\n") + "\n")
    }

    @Test("zsh and fish get words with meanings")
    func meaningsInShells() {
        func answer(_ shell: Shell, _ words: [String]) -> String {
            Toy.program.answer(shell, ["toy"] + words, dynamic: Toy.values)
        }
        #expect(answer(.zsh, ["track", ""]) == "words\n11:for Rome\n12:for Pisa: urgent\n")
        #expect(answer(.fish, ["track", ""]) == "words\n11\tfor Rome\n12\tfor Pisa: urgent\n")
        #expect(answer(.zsh, ["send", "-p", "a"]) == "words\na\\:b\n")
        #expect(answer(.fish, ["send", "-p", "my\\ "]) == "words\nmy place\n")
        #expect(answer(.zsh, ["run", "ls", ""]) == "command\n2\n")
        #expect(answer(.fish, ["run", "ls", ""]) == "command\n3\n")
    }

    @Test("values and meanings with control characters are left out", arguments: Shell.allCases)
    func control(shell: Shell) {
        let answer = Toy.program.answer(shell, shell == .bash ? ["toy track ", ""] : ["toy", "track", ""]) {
            _ in
            [Candidate("a\nb"), Candidate("c\u{1B}[2J"), Candidate("d", "one\ntwo"), Candidate("")]
        }
        #expect(answer == "words\nd\n")
    }

    @Test("any words give an answer that starts with its kind", arguments: 1...10)
    func random(seed: Int) {
        var random = SeededRandom(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15)
        let kinds = ["words", "nospace", "files", "directories", "command", "-f", "-d", "-c"]
        for _ in 0..<200 {
            let words = RandomArgumentsTests.arguments(&random)
            for shell in Shell.allCases {
                let arguments = shell == .bash ? [words.joined(separator: " "), words.last ?? ""] : words
                let answer = Toy.program.answer(shell, arguments, dynamic: Toy.values)
                #expect(kinds.contains(String(answer.prefix { $0 != "\n" })))
            }
        }
    }
}
