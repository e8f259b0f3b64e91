import CommandLineKit
import Testing

/// Lines typed into real shells that have loaded the completion script.
@Suite("completion")
struct CompletionTests {
    private static let commands = ["config", "help", "run", "send", "track"]
    private static let profiles = ["a:b", "home", "my place", "work", "x$(touch pwned)`touch pwned`"]

    private static let table: [(line: String, candidates: [String])] = [
        ("toy ", commands),
        ("toy se", ["send"]),
        ("toy -v tr", ["track"]),
        ("toy --profile x tr", ["track"]),
        ("toy -p x -q tr", ["track"]),
        ("toy --profile=x tr", ["track"]),
        ("toy -- se", ["send"]),
        ("toy nonsense ", []),
        ("toy send --sp", ["--speed"]),
        ("toy send --sec", []),
        ("toy send --speed ", ["fast", "instant", "slow"]),
        ("toy send --speed=", ["fast", "instant", "slow"]),
        ("toy send --speed=i", ["instant"]),
        ("toy send -o ", ["json", "text"]),
        ("toy send -vo ", ["json", "text"]),
        ("toy -o ", ["json", "text"]),
        ("toy track -v -o j", ["json"]),
        ("toy config ", ["path", "show"]),
        ("toy config -v sh", ["show"]),
        ("toy -v config show ", ["alpha", "beta"]),
        ("toy help ", (commands + ["options"]).sorted()),
        ("toy help config ", ["path", "show"]),
        ("toy help send ", []),
        ("toy send --label-file f", ["fi le", "fine"]),
        ("toy send --label-file=f", ["fi le", "fine"]),
        ("toy send --stamp ", []),
        ("toy send crate su", ["sub"]),
        ("toy send -p ", profiles),
        ("toy send --profile=a", ["a:b"]),
        ("toy send --profile=a:", ["a:b"]),
        ("toy send -p my", ["my place"]),
        ("toy send -p my\\ ", ["my place"]),
        ("toy track ", ["11", "12"]),
        ("toy -p work track 1", ["11", "12"]),
        ("toy track 11 --profile=home 1", ["11", "12"]),
        ("toy -phut track 1", ["11", "12"]),
        ("toy track --note ", ["color=", "size=", "word"]),
        ("toy track --note co", ["color="]),
        ("toy send -- --", []),
        ("toy run -- print", ["printenv", "printf"]),
        ("toy run ls f", ["fi le", "fine"]),
    ]

    @Test(
        "a line typed into the shell is completed from the table",
        arguments: Shell.allCases.filter(ShellSession.isInstalled))
    func shells(shell: Shell) throws {
        let session = try ShellSession(shell)
        defer { session.remove() }
        let answers = try session.candidates(Self.table.map(\.line))
        #expect(answers.count == Self.table.count)
        for (row, answer) in zip(Self.table, answers) {
            let words =
                row.line.contains("print")
                ? answer.filter { $0.hasPrefix("printenv") || $0 == "printf" } : answer
            #expect(words == row.candidates, "\(row.line)")
        }
        #expect(session.read("work/pwned").isEmpty)
    }

    @Test("bash is installed, so at least one shell was tested")
    func bash() {
        #expect(ShellSession.isInstalled(.bash))
    }

    @Test("no script names a hidden option", arguments: Shell.allCases)
    func hidden(shell: Shell) {
        #expect(!Completion.script(shell, Toy.program).contains("secret"))
    }
}
