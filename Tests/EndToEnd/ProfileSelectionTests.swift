import Foundation
import OIDCCore
@testable import Posix
import Testing

@testable import oidc

@Suite("one profile of many is read without the others")
struct ProfileSelectionTests {
    private func selected(
        _ name: String?, in text: String, permissions: UInt32 = 0o600
    ) -> (name: String, values: JSONObject)? {
        ConfigurationFile.selected(
            name, in: UserFile(bytes: Array(text.utf8), permissions: permissions, owner: 0, isRegular: true))
    }

    static let files = [
        #"{"profiles":{"a":{"issuer":"x"},"default":{"scope":"y","port":1}}}"#,
        #"{"profiles":{"a":{"issuer":"x"},"b":{}},"default_profile":"b"}"#,
        #"{"default_profile":"\u0062","profiles":{"a":{"issuer":"x"},"b":{"extra_token_params":{"a":"b"}}}}"#,
        #"{"profiles":{"only":{"client_secret":"x"}}}"#, #"{"profiles":{"a":{},"b":{}}}"#,
    ]

    @Test("reading one profile gives the same values as reading the whole file", arguments: files)
    func same(text: String) throws {
        let file = try ConfigurationFile(parsing: Array(text.utf8), path: "/f")
        for name in [nil, "a", "b", "default", "only", "missing"] {
            let (found, whole) = (selected(name, in: text), try? file.profile(named: name))
            #expect(found?.name == whole?.name && found?.values == whole?.values, "\(name ?? "none")")
        }
    }

    @Test(
        "an unusual file is left to the reader of the whole file, which reports it",
        arguments: [
            "", "{}", "[]", #"{"issuer":"x"}"#, #"{"profiles":[]}"#, #"{"profiles":{"a":1}}"#,
            #"{"profiles":{"a":{}},"stray":1}"#, #"{"profiles":{"a":{}},"default_profile":"b"}"#,
            #"{"profiles":{"a":{}},"default_profile":1}"#, #"{"profiles":{"a":{},"a":{}}}"#,
            #"{"profiles":{"a":{}},"profiles":{"a":{}}}"#, #"{"profiles":{"a":{"x":1,"x":2}}}"#,
            #"{"profiles":{"a":{"x":tru}}}"#, #"{"profiles":{"a":{}}"#,
        ])
    func unusual(text: String) {
        #expect(selected("a", in: text) == nil)
    }

    @Test(
        "a file that others can read, and that may hold a secret in any profile, is read whole, and refused")
    func exposed() {
        for secret in [#"{"client_secret":"s"}"#, #"{"client\u005fsecret":"s"}"#] {
            let text = #"{"profiles":{"a":{},"b":\#(secret)}}"#
            #expect(selected("a", in: text) != nil && selected("a", in: text, permissions: 0o644) == nil)
        }
        let text = #"{"profiles":{"a":{},"b":{"client_secret_file":"s"}}}"#
        #expect(selected("a", in: text, permissions: 0o644) != nil)
    }

    @Test("a command line names the profile `default` if that is not certain without it")
    func defaultNamed() throws {
        let text = #"{"default_profile":"work","profiles":{"default":{},"work":{}}}"#
        let file = try ConfigurationFile(parsing: Array(text.utf8), path: "/f")
        var common = CommonOptions()
        #expect(try line(file, common) == "oidc login -p work")
        common.profile = "default"
        #expect(try line(file, common) == "oidc login -p default")
        #expect(
            try line(ConfigurationFile(parsing: Array("{\"port\":1}".utf8), path: "/f"), CommonOptions())
                == "oidc login")
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appendingPathComponent("config.json").path
        let written = try ProfilesFile(
            SettingsLoader(environment: ["OIDC_CONFIG": path], common: CommonOptions()))
        let settings = try SettingsLoader(environment: [:], common: common).load(from: file, in: "/f")
        #expect(settings.line("login", profile: "default", of: written).commandLine == "oidc login")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        #expect(
            settings.line("login", profile: "default", of: written).commandLine == "oidc login -p default")
    }

    private func line(_ file: ConfigurationFile, _ common: CommonOptions) throws -> String {
        try SettingsLoader(environment: [:], common: common).load(from: file, in: "/f").loginLine.commandLine
    }
}
