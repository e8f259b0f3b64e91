import CommandLineKit
import OIDCCore
import OIDCSystem

struct ManCommand: RunnableCommand {
    static let name = "man"
    static let summary = "Print the manual page"
    static let declaration = Declaration<ManCommand>(
        examples: [
            Example("man -l <(oidc man)", "read it"),
            Example(
                "mkdir -p ~/.local/share/man/man1 && oidc man > ~/.local/share/man/man1/oidc.1",
                "install it"),
        ],
        options: [.group(\.common)])

    var common = CommonOptions()
    var hasJSONForm: Bool { false }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        try StandardOutput.write(
            ManPage.text(
                Program.oidc, version: Version.number, date: Version.date, description: Manual.description,
                sections: Manual.sections))
        return 0
    }
}
