import Foundation
import LoopbackHTTP
import OIDCCore
import OIDCSignIn
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("the table of presets")
struct PresetTableTests {
    static func profile(
        _ preset: Preset, _ words: [String]? = nil, _ options: [(Setting, String)] = []
    ) throws -> [SettingLayers.Entry] {
        let given = words ?? preset.parameters.map { "\($0.name)=\($0.example)" }
        let options = try ([(Setting.clientID, "cli-1")] + options).map { setting, value in
            try SettingsLoader.entry(setting, value, .option("--set"), named: setting.name)
        }
        return try PresetProfile(
            preset, words: given, options: options, secretFile: "/x", line: { .command($0) }
        )
        .entries
    }

    static func settings(_ entries: [SettingLayers.Entry]) -> Settings {
        Settings(SettingLayers(profile: nil, entries: entries))
    }

    @Test("every common provider has a preset, and no two share a name")
    func names() {
        let wanted = [
            "google", "github", "github-app", "gitlab", "bitbucket", "entra", "entra-external", "okta",
            "auth0",
            "keycloak", "cognito", "ping", "onelogin", "duo", "jumpcloud", "salesforce", "slack", "linear",
            "atlassian", "discord", "spotify", "dropbox", "twitch", "linkedin", "notion", "figma", "apple",
            "zitadel", "authentik", "authelia", "kanidm", "dex", "hydra", "logto", "huggingface",
            "gitea", "forgejo", "openbao", "vault", "spring", "zoom",
        ]
        let names = Preset.all.map(\.name)
        #expect(wanted.filter { !names.contains($0) } == [])
        #expect(Set(names).count == names.count)
        #expect(Set(Preset.all.map(\.title)).count == names.count)
    }

    @Test("a preset writes at most ten settings, each once and valid", arguments: Preset.all.map(\.name))
    func settings(name: String) throws {
        let preset = try #require(Preset.named(name))
        let entries = try Self.profile(preset)
        var profile = JSONObject()
        for entry in entries { profile[entry.setting.name] = entry.value }
        var profiles = JSONObject()
        profiles[name] = .object(profile)
        let file = String(decoding: ProfilesFile.text(profiles, default: name), as: UTF8.self)
        #expect(file.split(separator: "\n").count == entries.count + 7, "one line each: \(file)")
        #expect(Set(entries.map(\.setting)).count == entries.count)
        let settings = Self.settings(entries)
        #expect(throws: Never.self) { try settings.check() }
        #expect(settings.provider.issuer != nil || settings.provider.endpoint(.token) != nil)
        #expect(settings.provider.issuer != nil || settings.provider.endpoint(.authorization) != nil)
        for entry in entries {
            let text = entry.value.string ?? entry.value.compact
            let isFilled = !text.includes("{") || text.hasPrefix("{") || text.includes("{tenantid}")
            #expect(isFilled, "\(entry.setting.name): \(text)")
        }
    }

    @Test("no condition in the program names a provider")
    func noBranches() throws {
        let sources = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(atPath: sources.path)).compactMap {
            $0 as? String
        }
        let names = Preset.all.map(\.name).joined(separator: "|")
        let branch = try NSRegularExpression(
            pattern: "(==|!=|case|contains\\(|hasPrefix\\(|isSame\\() *\"(\(names))\"")
        for file in files where file.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appendingPathComponent(file), encoding: .utf8)
            let found = branch.firstMatch(in: text, range: NSRange(text.startIndex..., in: text))
            let place = found.flatMap { Range($0.range, in: text) }.map { text[$0] } ?? ""
            #expect(found == nil, "\(file): \(place)")
        }
        #expect(files.count > 100)
    }

    @Test("the redirect of a preset is what its row says", arguments: Preset.all.map(\.name))
    func redirect(name: String) throws {
        let preset = try #require(Preset.named(name))
        let redirect = try Self.settings(try Self.profile(preset)).signIn.redirect()
        switch (preset.redirect, redirect.loopback?.ports) {
        case (.pasted, nil), (.exactPort, .fixed?), (.anyPort, .any?), (.unregistered, .any?): break
        default: Issue.record("\(preset.redirect) and \(redirect.text)")
        }
        #expect(preset.flows.contains(.browser) == (preset.redirect != .pasted))
    }

    @Test("what a preset says is complete and short", arguments: Preset.all.map(\.name))
    func texts(name: String) throws {
        let preset = try #require(Preset.named(name))
        for text in [
            preset.title, preset.application, preset.registrationPage, preset.source, preset.note ?? "-",
        ] {
            #expect(!text.isEmpty && text.count <= 160 && text.last != ".", "\(text)")
        }
        #expect(preset.date.wholeMatch(of: /20\d\d-(0[1-9]|1[0-2])/) != nil)
        #expect(preset.flows.contains(.paste))
        for parameter in preset.parameters {
            #expect(parameter.check.accepts(parameter.example), "\(parameter.name)")
            #expect(!parameter.meaning.isEmpty)
            let template = preset.settings.map(\.value).joined(separator: " ")
            #expect(template.includes("{\(parameter.name)}"), "\(parameter.name) is not used")
            guard let standard = parameter.standard else { continue }
            #expect(parameter.check.accepts(standard))
        }
    }

    @Test(
        "a parameter's value cannot leave its place in a URL",
        arguments: [
            "evil.com/", "evil.com/x", "a@evil.com", "a#b", "a?b", "a:1", "../x", "..", "a/../b", "a b",
            "a%2eb",
            "\"", "\\", "{x}", "", "http://evil.com", "https://u:p@evil.com", "https://evil.com?x",
            "https://evil.com#x", "https://evil.com/a//b", "https://evil.com/../x", "https://evil.com/%2e",
            "javascript:x", "ex\u{E4}mple", "a\nb",
        ])
    func injection(value: String) throws {
        for preset in Preset.all {
            for parameter in preset.parameters {
                var words = preset.parameters.filter { $0.name != parameter.name }
                    .map { "\($0.name)=\($0.example)" }
                words.append("\(parameter.name)=\(value)")
                #expect(throws: OIDCError.self, "\(preset.name) \(words)") { try Self.profile(preset, words) }
            }
        }
    }

    @Test("a server is named by its host or its URL")
    func hosts() throws {
        let preset = try #require(Preset.named("keycloak"))
        for (domain, issuer) in [
            ("sso.example.com", "https://sso.example.com/realms/main"),
            ("sso.example.com:8443", "https://sso.example.com:8443/realms/main"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/realms/main"),
        ] {
            let entries = try Self.profile(preset, ["domain=\(domain)", "realm=main"])
            #expect(entries.filter { $0.setting == .issuer }.map(\.value) == [.string(issuer)])
        }
    }

    @Test("an option replaces the preset's value; a redirect URL replaces the port beside it")
    func options() throws {
        let preset = try #require(Preset.named("bitbucket"))
        let entries = try Self.profile(
            preset, [], [(.redirectURI, "http://127.0.0.1:99/cb"), (.clientAuth, "client_secret_post")])
        #expect(entries.filter { $0.setting == .port }.isEmpty)
        #expect(entries.filter { $0.setting == .redirectURI }.map(\.value) == ["http://127.0.0.1:99/cb"])
        #expect(entries.filter { $0.setting == .clientAuth }.map(\.value) == ["client_secret_post"])
    }

    @Test("the settings that a preset wrote are recognized", arguments: Preset.all.map(\.name))
    func recognized(name: String) throws {
        let preset = try #require(Preset.named(name))
        let entries = try Self.profile(preset)
        #expect(Preset.matching(Self.settings(entries))?.preset.name == name)
        #expect(entries.count { $0.setting != .clientID } < 10)
        // Nothing in these issuers says whose they are.
        let unknown = ["authelia", "dex", "gitlab", "gitea", "forgejo", "spring"]
        let match = Preset.matching(Self.settings(entries.filter { $0.setting != .preset }))
        // A fork has the issuers of its origin.
        let expected = name == "vault" ? "openbao" : name
        #expect(match?.preset.name == (unknown.contains(name) ? nil : expected))
        let place = match?.registrationPage ?? ""
        #expect(!place.includes("{") && !place.includes("}"))
    }

    @Test(
        "the recorded name is used, whatever the issuer, but not for another provider's issuer in an option")
    func recorded() throws {
        let text = #"{"profiles":{"a":{"preset":"dex","issuer":"https://id.example.com","client_id":"x"}}}"#
        let file = try ConfigurationFile(parsing: Array(text.utf8), path: "/c.json")
        let loader = SettingsLoader(environment: [:], common: CommonOptions())
        let match = try #require(Preset.matching(try loader.load(from: file, in: "/c.json")))
        #expect(match.preset.name == "dex" && match.words.isEmpty == false, "\(match)")
        let issuer = try SettingsLoader.entry(
            .issuer, "https://accounts.google.com", .option("--issuer"), named: "--issuer")
        let other = try loader.load([issuer], from: file, in: "/c.json")
        #expect(Preset.matching(other)?.preset.name == "google")
        // The issuer was changed in the profile to one that is plainly another provider's.
        let changed = try ConfigurationFile(
            parsing: Array(
                #"{"profiles":{"a":{"preset":"okta","issuer":"https://accounts.google.com"}}}"#.utf8),
            path: "/c.json")
        #expect(
            Preset.matching(try loader.load(from: changed, in: "/c.json"))?.preset.name == "google")
        let custom = Self.settings(
            try Self.profile(
                try #require(Preset.named("okta")), [], [(.issuer, "https://id.example.com")]))
        #expect(Preset.matching(custom)?.preset.name == "okta")
    }

    @Test(
        "other providers do not match a preset",
        arguments: [
            "https://login.example.com", "https://sso.example.com/oauth2/token",
            "https://accounts.google.com.evil.com",
            "https://accounts.google.com/", "https://example.com/oidc", "https://x.example.com/realms",
            "https://okta.com.example.com/oauth2/default", "https://a.b/realms/x/y", "http://127.0.0.1:8400",
        ])
    func unrecognized(issuer: String) throws {
        let entry = try SettingsLoader.entry(.issuer, issuer, .option("--issuer"), named: "issuer")
        #expect(Preset.matching(Self.settings([entry])) == nil)
    }

    @Test("settings that differ from the row are recognized by their issuer, with the place filled in")
    func place() throws {
        func place(_ issuer: String) throws -> String? {
            let entry = try SettingsLoader.entry(.issuer, issuer, .option("--issuer"), named: "issuer")
            return Preset.matching(Self.settings([entry]))?.registrationPage
        }
        #expect(
            try place("https://sso.example.org/auth/realms/main")
                == "https://sso.example.org/auth/admin/master/console/#/main/clients")
        #expect(try place("https://gitlab.com") == "https://gitlab.com/-/user_settings/applications")
    }

    @Test("a parameter's special values have settings of their own, which are recognized too")
    func special() throws {
        for preset in Preset.all {
            for parameter in preset.parameters {
                for (value, own) in parameter.special {
                    let others = preset.parameters.filter { $0.name != parameter.name }
                    let words = others.map { "\($0.name)=\($0.example)" } + ["\(parameter.name)=\(value)"]
                    let entries = try Self.profile(preset, words)
                    #expect(entries.count == own.count + 2)
                    #expect(throws: Never.self) { try Self.settings(entries).check() }
                    #expect(Preset.matching(Self.settings(entries))?.preset.name == preset.name)
                    let unnamed = Self.settings(entries.filter { $0.setting != .preset })
                    #expect(Preset.matching(unnamed)?.preset.name == preset.name)
                }
            }
        }
        let entra = try #require(Preset.named("entra"))
        let common = Self.settings(try Self.profile(entra, ["tenant=common"])).provider
        #expect(common.issuer == "https://login.microsoftonline.com/{tenantid}/v2.0")
        #expect(common.metadataURL?.contains("/common/v2.0/") == true)
        #expect(throws: OIDCError.self) { try Self.profile(entra, ["tenant=contoso"]) }
    }

    @Test("a parameter is needed only for what no option sets")
    func overridden() throws {
        let preset = try #require(Preset.named("okta"))
        let entries = try Self.profile(preset, [], [(.issuer, "https://id.example.com")])
        #expect(Self.settings(entries).provider.issuer == "https://id.example.com")
        #expect(throws: OIDCError.self) { try Self.profile(preset, []) }
    }

    @Test("the hint for a bad value keeps the preset and has an example of the parameter, optional or not")
    func hints() throws {
        func hint(_ name: String, _ words: [String]) throws -> String? {
            let preset = try #require(Preset.named(name))
            let error = #expect(throws: OIDCError.self) { try Self.profile(preset, words) }
            return error?.hint?.description
        }
        #expect(try hint("gitlab", ["host=not a host"]) == "gitlab host=gitlab.example.com")
        #expect(try hint("gitlab", ["hosts"]) == "gitlab")
        #expect(try hint("okta", ["domain=/"]) == "okta domain=dev-123456.okta.com")
        let duo = try #require(Preset.named("duo"))
        let error = #expect(throws: OIDCError.self) {
            try PresetProfile(
                duo, words: ["sso=sso-1"],
                options: [try SettingsLoader.entry(.clientID, "a/b", .option("--set"), named: "client_id")],
                secretFile: "/x", line: { .command($0) })
        }
        #expect(error?.hint?.commandLine == "oidc config init duo sso=sso-1 --client-id ID")
    }
}
