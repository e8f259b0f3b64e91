import CommandLineKit
import Foundation
import OIDCCore
import TestSupport
import Testing

@testable import oidc

@Suite("help for a word, and man for a command", .waiting)
struct GlossaryTests {
    private func run(_ words: String...) throws -> TestSupport.Program.Outcome {
        let program = try TestSupport.Program()
        defer { program.remove() }
        return try program.start(words).finish()
    }

    @Test(
        "help explains a setting, by any of its names",
        arguments: ["client_id", "client-id", "OIDC_CLIENT_ID", "--client-id"])
    func setting(word: String) throws {
        let section = try #require(Glossary.section(word))
        #expect(section.text == "client_id: the client ID")
        let rows = section.entries.map { "\($0.term): \($0.meaning)" }
        #expect(rows.contains("option: --client-id ID, or --set client_id=VALUE"), "\(rows)")
        #expect(rows.contains("variable: OIDC_CLIENT_ID"))
    }

    @Test("every setting is explained, and a secret is offered only where it is not on the command line")
    func settings() throws {
        for setting in Setting.all {
            let section = try #require(Glossary.section(setting.variable), "\(setting.name)")
            let isOffered = section.entries.contains { $0.meaning.contains("--set") }
            #expect(isOffered != setting.kind.isSecret, "\(setting.name)")
        }
    }

    @Test("help explains a provider known by name, with a line that can be completed")
    func provider() throws {
        for preset in Preset.all {
            let section = try #require(Glossary.section(preset.name), "\(preset.name)")
            #expect(section.text.hasPrefix("\(preset.title): oidc config init \(preset.name)"))
            #expect(section.entries.count >= preset.parameters.count + 4)
        }
        let outcome = try run("help", "keycloak")
        #expect(outcome.status == 0 && outcome.output.contains("realm="), "\(outcome)")
        let json = try JSONValue(parsing: try run("help", "flow", "-o", "json").output)
        #expect(json["name"] == "flow" && json["entries"]?.array?.isEmpty == false)
        #expect(try run("help", "OIDC_STATE_DIR").output.contains("where sessions are kept"))
        #expect(try run("help", "resources").output.hasPrefix("Usage: oidc resources"))
    }

    @Test("the shortest way of all to a token is in the examples")
    func shortestWay() throws {
        let help = try run("help", "token").output
        #expect(help.contains("  oidc token --login --issuer https://login.example.com --client-id cli\n"))
    }

    @Test("man prints the page of one command, and mandoc finds nothing to say")
    func man() throws {
        let program = CommandLineKit.Program.oidc
        for command in program.descriptions {
            let path = Array(command.path.dropFirst())
            let page = try #require(
                ManPage.text(program, command: path, version: Version.number, date: Version.date))
            let title = (["OIDC"] + path.map { $0.uppercased().replacing("-", with: "\\-") })
                .joined(separator: "\\-")
            #expect(page.hasPrefix(".TH \"\(title)\" \"1\""), "\(page.prefix(60))")
            for option in command.own where !option.isHidden {
                #expect(page.contains(option.name.replacing("-", with: "\\-")), "\(path) \(option.name)")
            }
            guard Installed.programs("mandoc") else { continue }
            let outcome = try TestSupport.Program().start(
                ["-T", "lint"], input: .text(page), executable: "/usr/bin/mandoc"
            ).finish()
            #expect(outcome.output + outcome.errorOutput == "", "\(path)")
        }
        #expect(try run("man", "config", "set").output.contains("oidc\\-config\\-set"))
        let wrong = try run("man", "logn")
        #expect(wrong.status == 2 && wrong.errorOutput.contains("did you mean oidc login?"), "\(wrong)")
        #expect(try run("man", "settings").errorOutput.contains("try: oidc help settings"))
    }
}
