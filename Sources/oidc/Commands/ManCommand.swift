import CommandLineKit
import OIDCCore
import Posix

struct ManCommand: RunnableCommand {
    static let name = "man"
    static let summary = "Print the manual page"
    static let declaration = Declaration<ManCommand>(
        discussion: """
            Prints the page of the whole program, or that of one command.
            """,
        examples: [
            Example("man -l <(oidc man)", "read it"),
            Example("man -l <(oidc man config init)", "the page of one command"),
            Example(
                "mkdir -p ~/.local/share/man/man1 && oidc man > ~/.local/share/man/man1/oidc.1",
                "install it"),
        ],
        operands: [
            .rest(\.path, "COMMAND", "the command and its subcommand", completion: .commandNames)
        ],
        options: [.group(\.common)])

    var path: [String] = []
    var common = CommonOptions()
    var hasJSONForm: Bool { false }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let program = Program.oidc
        guard !path.isEmpty else {
            try StandardOutput.write(
                ManPage.text(
                    program, version: Version.number, date: Version.date, description: Manual.description,
                    sections: Manual.sections))
            return 0
        }
        guard
            let page = ManPage.text(
                program, command: path, version: Version.number, date: Version.date)
        else {
            // The error of `oidc help` knows the nearest command.
            do { _ = try program.parse(["help"] + path) } catch { throw OIDCError(error) }
            let words = path.map(ShellWord.quoted).joined(separator: " ")
            throw .usage("\(DisplayText.quoted(words)) is not a command", hint: .run("help \(words)"))
        }
        try StandardOutput.write(page)
        return 0
    }
}
