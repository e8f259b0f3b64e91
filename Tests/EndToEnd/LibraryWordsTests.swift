import CommandLineKit
import Foundation
import Testing

@testable import oidc

@Suite("the words of the libraries")
struct LibraryWordsTests {
    /// Settings that are also names of the protocol.
    private static let wireNames: Set = [
        "acr_values", "authorization_details", "client_id", "client_secret",
        "id_token_encrypted_response_alg", "id_token_encrypted_response_enc",
        "introspection_signed_response_alg",
        "jwks_uri", "max_age", "request_uri", "response_mode", "userinfo_endpoint",
        "userinfo_signed_response_alg",
    ]

    /// What no string may contain: a command, an option, a variable or a setting to use. A setting may stand in
    /// front of what is wrong with its value.
    private static func forbidden() throws -> Regex<AnyRegexOutput> {
        let commands = Set(Program.oidc.descriptions.compactMap { $0.path.dropFirst().first })
        let settings = Setting.all.map(\.name)
        let own = settings.filter { $0.contains("_") && !wireNames.contains($0) }.joined(separator: "|")
        return try Regex(
            #"\boidc (\#(commands.joined(separator: "|")))\b|(^|[ "(])--[a-z]|\b(set|correct|or) OIDC_[A-Z_]+"#
                + #"|\b(set|setting) (\#(settings.joined(separator: "|")))\b|[^"]\b(\#(own))\b|^"(\#(own)) "#)
    }

    /// The strings of a line of code, each after a quote.
    private static func strings(_ line: Substring) -> [String] {
        guard !line.drop(while: { $0 == " " }).hasPrefix("//") else { return [] }
        return line.replacing(#"\""#, with: "'").split(separator: "\"", omittingEmptySubsequences: false)
            .enumerated().filter { $0.offset % 2 == 1 }.map { "\"\($0.element)" }
    }

    @Test(
        "no string of a library names a command, an option or a setting of the command line",
        arguments: [
            "OIDCCore", "Posix", "CurlHTTP", "LoopbackHTTP", "OIDCSessions", "OIDCSignIn", "OIDCAccount",
            "OIDCShared", "OIDCProxy", "OIDCSystem",
        ])
    func sources(target: String) throws {
        let forbidden = try Self.forbidden()
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/\(target)")
        // Options of programs that are recognized in `$BROWSER`.
        let foreign = [
            "--command", "--session-command", "--eval", "--print", "--run", "--cmd", "--execute",
            "--split-string", "--detached=",
        ].map { "\"\($0)" }
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        for case let file as URL in try #require(files) where file.pathExtension == "swift" {
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                for string in Self.strings(line) where !foreign.contains(string) {
                    #expect(!string.contains(forbidden), "\(file.lastPathComponent): \(line)")
                }
            }
        }
    }

    @Test(
        "such a name is found",
        arguments: [
            #""realm=\"oidc proxy\"""#, #""try oidc userinfo""#, #""add --issuer""#,
            #""the path in the setting store""#,
            #""redirect_ports names no port""#, #""set par to off""#,
            #""check ca_file""#, #""or OIDC_STATE_DIR""#,
        ])
    func found(line: String) throws {
        let forbidden = try Self.forbidden()
        #expect(Self.strings(line[...]).contains { $0.contains(forbidden) })
    }

    @Test(
        "a name of the protocol, or a setting in front of its value, is not",
        arguments: [
            #"return "client_secret: too short""#, #"let setting = "ca_file""#, #""oidc: no answer""#,
            #""the provider names no userinfo_endpoint""#,
        ])
    func notFound(line: String) throws {
        let forbidden = try Self.forbidden()
        #expect(!Self.strings(line[...]).contains { $0.contains(forbidden) })
    }
}
