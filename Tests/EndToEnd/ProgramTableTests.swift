import CommandLineKit
import Testing

@testable import oidc

@Suite("the table of commands") struct ProgramTableTests {
    @Test("the table has no mistakes")
    func table() {
        #expect(CommandLineKit.Program.oidc.tableFaults == [])
    }

    @Test("the hint for each word of another program is a command line that can be parsed")
    func otherNames() {
        let program = CommandLineKit.Program.oidc
        for (name, hint) in program.otherNames where hint.hasPrefix("oidc ") {
            let words = hint.split(separator: " ").dropFirst().map(String.init)
            #expect(throws: Never.self, "\(name)") { try program.parse(words) }
            #expect(program.help([name]) == nil, "\(name)")
        }
    }
}
