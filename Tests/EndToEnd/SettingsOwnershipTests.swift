import CommandLineKit
import Foundation
import OIDCCore
import Posix
import Testing

@testable import oidc

@Suite("settings of one provider or client, beside options that name another")
struct SettingsOwnershipTests {
    private func load(
        _ options: [String], _ variables: [String: String], profile: String? = nil
    ) throws -> SettingLayers {
        let entries = try options.map { try SettingsLoader.assignment($0) }
        let file = try profile.map { try ConfigurationFile(parsing: Array($0.utf8), path: "/c.json") }
        return try SettingsLoader(environment: Variables(variables), common: CommonOptions())
            .load(entries, from: file, in: "/c.json").layers
    }

    private static let secrets: [(String, String, Setting)] = [
        ("OIDC_CLIENT_SECRET", "hunter2", .clientSecret),
        ("OIDC_CLIENT_SECRET_FILE", "/s", .clientSecretFile),
        ("OIDC_CLIENT_SECRET_COMMAND", "[\"/bin/print\"]", .clientSecretCommand),
        ("OIDC_PRIVATE_KEY_FILE", "/k", .privateKeyFile),
        ("OIDC_PRIVATE_KEY_PASSPHRASE_FILE", "/p", .privateKeyPassphraseFile),
        ("OIDC_TLS_CLIENT_CERTIFICATE", "/c", .tlsClientCertificate),
        ("OIDC_TLS_CLIENT_KEY", "/k", .tlsClientKey),
        ("OIDC_TLS_CLIENT_CERTIFICATE_FOR", "https://api.example", .tlsClientCertificateFor),
        ("OIDC_CLIENT_ASSERTION_SOURCE", "file", .clientAssertionSource),
    ]

    private static let foreign: [([String], [String: String], String?)] = [
        (["issuer=https://b.example"], ["OIDC_ISSUER": "https://a.example", "OIDC_CLIENT_ID": "c"], nil),
        (["client_id=d"], ["OIDC_ISSUER": "https://a.example", "OIDC_CLIENT_ID": "c"], nil),
        (
            ["token_endpoint=https://b.example/token"],
            ["OIDC_ISSUER": "https://a.example", "OIDC_CLIENT_ID": "c"], nil
        ),
        (
            ["refresh_endpoint=https://b.example/refresh"],
            ["OIDC_ISSUER": "https://a.example", "OIDC_CLIENT_ID": "c"], nil
        ),
        (
            ["revocation_endpoint=https://b.example/revoke"],
            ["OIDC_ISSUER": "https://a.example", "OIDC_CLIENT_ID": "c"], nil
        ),
        (
            ["token_endpoint=https://b.example/token"],
            ["OIDC_TOKEN_ENDPOINT": "https://a.example/token", "OIDC_CLIENT_ID": "c"], nil
        ),
        (["issuer=https://b.example"], ["OIDC_TOKEN_ENDPOINT": "https://a.example/token"], nil),
        // The variables name no client, so their secret belongs to the profile's client.
        (["issuer=https://b.example"], [:], #"{"issuer":"https://a.example","client_id":"c"}"#),
        (["client_id=d"], [:], #"{"issuer":"https://a.example","client_id":"c"}"#),
        (
            ["issuer=https://b.example"], ["OIDC_CLIENT_ID": "c"],
            #"{"issuer":"https://a.example","client_id":"c"}"#
        ),
        // The metadata name the endpoints that secrets are sent to.
        (
            ["metadata_url=https://b.example/m"],
            ["OIDC_ISSUER": "https://a.example", "OIDC_CLIENT_ID": "c"], nil
        ),
        (["metadata_url=https://b.example/m"], [:], #"{"issuer":"https://a.example","client_id":"c"}"#),
        // A template has an origin too.
        (
            ["token_endpoint=https://b.example/token"],
            ["OIDC_ISSUER": "https://a.example/{tenantid}/v2.0", "OIDC_CLIENT_ID": "c"], nil
        ),
        // Differs only in Unicode normalization.
        (["client_id=e\u{301}"], ["OIDC_CLIENT_ID": "\u{E9}"], nil),
    ]

    @Test("the secret for the profile of OIDC_PROFILE is not used for another client's, which -p names")
    func overriddenProfile() throws {
        let path = FileManager.default.temporaryDirectory.path + "/oidc-\(UInt32.random(in: 0 ... .max)).json"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = """
            {"profiles":{"a":{"issuer":"https://a.example","client_id":"c"},
            "b":{"issuer":"https://b.example","client_id":"c"},
            "same":{"issuer":"https://a.example","client_id":"c","scope":"api"}}}
            """
        try file.write(toFile: path, atomically: true, encoding: .utf8)
        func secret(for profile: String, _ more: [String: String] = [:]) throws -> String? {
            var common = CommonOptions()
            common.profile = profile
            let variables = ["OIDC_CONFIG": path, "OIDC_PROFILE": "a", "OIDC_CLIENT_SECRET": "hunter2"]
            return try SettingsLoader(environment: Variables(variables.merging(more) { $1 }), common: common)
                .load()
                .layers.text(.clientSecret)
        }
        #expect(try secret(for: "b") == nil)
        #expect(try secret(for: "a") == "hunter2")
        #expect(try secret(for: "same") == "hunter2")
        #expect(try secret(for: "b", ["OIDC_ISSUER": "https://b.example"]) == "hunter2")
        // The same holds for what is sent with a request, what one provider needs, and where its tokens go.
        let others: [(Setting, String)] = [
            (.extraTokenParams, #"{"api_key":"hunter2"}"#), (.subjectTokenFile, "/t"),
            (.actorTokenFile, "/t"),
            (.extraAuthorizeParams, #"{"api_key":"hunter2"}"#), (.nonce, "off"),
            (.gitHosts, #"[{"host":"git.example"}]"#),
        ]
        for (setting, value) in others {
            for (profile, isUsed) in [("a", true), ("b", false), ("same", true)] {
                var common = CommonOptions()
                common.profile = profile
                let variables = ["OIDC_CONFIG": path, "OIDC_PROFILE": "a", setting.variable: value]
                let layers = try SettingsLoader(environment: Variables(variables), common: common).load()
                    .layers
                #expect((layers[setting] != nil) == isUsed, "\(setting.name) -p \(profile)")
                #expect(layers.withheld.contains { $0.setting == setting } != isUsed, "\(setting.name)")
            }
        }
    }

    @Test("a variable's secret or key is not used for another provider or client", arguments: foreign)
    func withheld(options: [String], variables: [String: String], profile: String?) throws {
        for (name, value, setting) in Self.secrets {
            let settings = try load(options, variables.merging([name: value]) { $1 }, profile: profile)
            #expect(settings[setting] == nil, "\(name)")
            #expect(settings.withheld.contains { $0.setting == setting }, "\(name)")
        }
    }

    private static let own: [([String], [String: String], String?)] = [
        // Only options name a provider and a client.
        (["issuer=https://b.example", "client_id=d"], [:], nil),
        (["issuer=https://b.example", "client_id=d"], ["OIDC_SCOPE": "openid"], #"{"scope":"openid"}"#),
        (["token_endpoint=https://b.example/token", "client_id=d"], [:], nil),
        // The same ones are named again.
        (
            ["issuer=https://a.example", "client_id=c"],
            ["OIDC_ISSUER": "https://a.example", "OIDC_CLIENT_ID": "c"], nil
        ),
        (["issuer=https://a.example"], [:], #"{"issuer":"https://a.example","client_id":"c"}"#),
        (["token_endpoint=https://a.example/other"], ["OIDC_ISSUER": "https://a.example/tenant"], nil),
        (["token_endpoint=https://a.example/t"], ["OIDC_ISSUER": "https://a.example/{tenantid}/v2.0"], nil),
        (["metadata_url=https://a.example/m"], ["OIDC_ISSUER": "https://a.example/tenant"], nil),
        (
            [],
            [
                "OIDC_ISSUER": "https://a.example", "OIDC_METADATA_URL": "https://b.example/m",
                "OIDC_CLIENT_ID": "c",
            ], nil
        ),
        (
            ["issuer=https://accounts.example", "token_endpoint=https://tokens.example/t"],
            ["OIDC_ISSUER": "https://accounts.example", "OIDC_TOKEN_ENDPOINT": "https://tokens.example/t"],
            nil
        ),
        (["userinfo_endpoint=https://b.example/me"], ["OIDC_ISSUER": "https://a.example"], nil),
        // The variables name a provider, the option its client.
        (["client_id=d"], ["OIDC_ISSUER": "https://a.example"], nil),
        // The variables name another than the profile.
        (
            [], ["OIDC_ISSUER": "https://b.example", "OIDC_CLIENT_ID": "d"],
            #"{"issuer":"https://a.example","client_id":"c"}"#
        ),
    ]

    @Test("a variable's secret or key is used for the provider and client that it belongs to", arguments: own)
    func used(options: [String], variables: [String: String], profile: String?) throws {
        for (name, value, setting) in Self.secrets {
            let settings = try load(options, variables.merging([name: value]) { $1 }, profile: profile)
            #expect(settings[setting] != nil, "\(name)")
            #expect(settings.withheld.allSatisfy { $0.origin.layer == .profile }, "\(name)")
        }
    }

    @Test(
        "endpoints and identity tokens from variables are not used for another issuer, in any combination",
        arguments: [
            ("OIDC_TOKEN_ENDPOINT", "https://a.example/token", Setting.tokenEndpoint),
            ("OIDC_JWKS_URI", "https://a.example/keys", .jwksURI), ("OIDC_NONCE", "off", .nonce),
            ("OIDC_METADATA_URL", "https://a.example/m", .metadataURL),
            ("OIDC_SUBJECT_TOKEN_FILE", "/t", .subjectTokenFile),
            ("OIDC_SUBJECT_TOKEN_ENV", "T", .subjectTokenEnv),
            ("OIDC_SUBJECT_TOKEN_SOURCE", "gitlab", .subjectTokenSource),
            ("OIDC_ACTOR_TOKEN_FILE", "/t", .actorTokenFile),
            ("OIDC_EXTRA_TOKEN_PARAMS", #"{"api_key":"hunter2"}"#, .extraTokenParams),
            ("OIDC_EXTRA_AUTHORIZE_PARAMS", #"{"api_key":"hunter2"}"#, .extraAuthorizeParams),
        ])
    func endpoints(name: String, value: String, setting: Setting) throws {
        let variables = ["OIDC_ISSUER": "https://a.example", name: value]
        #expect(try load(["issuer=https://b.example"], variables)[setting] == nil)
        #expect(try load(["issuer=https://a.example"], variables)[setting] != nil)
        // They are not sent to another token endpoint either.
        let isEndpoint = setting.kind.isURL || setting == .extraAuthorizeParams || setting == .nonce
        let elsewhere = try load(["token_endpoint=https://b.example/t"], variables)
        #expect((elsewhere[setting] != nil) == isEndpoint)
        // The profile's own value counts again for the issuer that the option and the profile name.
        let profile = #"{"issuer":"https://b.example","token_endpoint":"https://b.example/token"}"#
        let settings = try load(["issuer=https://b.example"], variables, profile: profile)
        #expect(settings.text(.tokenEndpoint) == "https://b.example/token")
    }

    @Test(
        "the APIs and hosts of a profile get no tokens of another provider",
        arguments: [
            (Setting.resources, #"[{"title":"x","url":"https://api.example"}]"#),
            (.proxyRoutes, #"[{"url":"https://api.example"}]"#), (.gitHosts, #"[{"host":"git.example"}]"#),
            (.dockerRegistries, #"[{"host":"r.example"}]"#), (.keyringHosts, #"[{"host":"p.example"}]"#),
            (.awsSTSEndpoint, #""https://sts.example""#), (.awsRoleARN, #""arn""#),
        ])
    func destinations(setting: Setting, value: String) throws {
        let profile = #"{"issuer":"https://a.example","\#(setting.name)":\#(value)}"#
        #expect(try load([], [:], profile: profile)[setting] != nil)
        #expect(try load([], ["OIDC_CLIENT_ID": "c"], profile: profile)[setting] != nil)
        #expect(try load([], ["OIDC_ISSUER": "https://b.example"], profile: profile)[setting] == nil)
        let other = try load(["issuer=https://b.example"], [:], profile: profile)
        #expect(other[setting] == nil && other.absence(of: setting).contains("is for another provider"))
        let shared = #"{"\#(setting.name)":\#(value)}"#
        #expect(try load([], ["OIDC_ISSUER": "https://b.example"], profile: shared)[setting] != nil)
        // A provider may have no issuer.
        let endpoints = #"{"token_endpoint":"https://a.example/token","\#(setting.name)":\#(value)}"#
        let variables = ["OIDC_TOKEN_ENDPOINT": "https://b.example/token"]
        #expect(try load([], ["OIDC_CLIENT_ID": "c"], profile: endpoints)[setting] != nil)
        #expect(try load([], variables, profile: endpoints)[setting] == nil)
        #expect(try load([], variables, profile: shared)[setting] != nil)
    }

    @Test(
        "the endpoints of a server without an issuer are not those of another one, which variables or options name"
    )
    func endpointsOnly() throws {
        let profile =
            #"{"token_endpoint":"https://a.example/token","userinfo_endpoint":"https://a.example/me","#
            + #""revocation_endpoint":"https://a.example/revoke","client_id":"c","client_secret":"s3cret"}"#
        let others: [Setting] = [.userinfoEndpoint, .revocationEndpoint, .clientSecret]
        let variables = ["OIDC_TOKEN_ENDPOINT": "https://b.example/token", "OIDC_CLIENT_ID": "d"]
        let secret = ["OIDC_CLIENT_SECRET": "other"]
        let byVariables = try load([], variables.merging(secret) { $1 }, profile: profile)
        #expect(byVariables.text(.clientSecret) == "other")
        #expect(others.dropLast().allSatisfy { byVariables[$0] == nil })
        let byOptions = try load(
            ["token_endpoint=https://b.example/token", "client_id=d"], [:], profile: profile)
        #expect(others.allSatisfy { byOptions[$0] == nil })
        // The same server.
        let own = try load(["token_endpoint=https://a.example/other"], [:], profile: profile)
        #expect(others.allSatisfy { own[$0] != nil })
        #expect(try load([], ["OIDC_SCOPE": "x"], profile: profile)[.revocationEndpoint] != nil)
    }

    @Test("a profile's secret does not follow an endpoint that an option names on another origin")
    func profileEndpoint() throws {
        let profile = #"{"issuer":"https://a.example","client_id":"c","client_secret":"hunter2"}"#
        #expect(try load(["token_endpoint=https://b.example/t"], [:], profile: profile)[.clientSecret] == nil)
        #expect(try load(["token_endpoint=https://a.example/t"], [:], profile: profile)[.clientSecret] != nil)
    }

    @Test("the secret of the strongest layer counts, in whichever of the three ways it is given")
    func strongestSecret() throws {
        let variables = ["OIDC_CLIENT_SECRET": "v", "OIDC_CLIENT_ID": "c"]
        let option = try load(["client_secret_file=/s"], variables)
        #expect(option[.clientSecret] == nil && option.text(.clientSecretFile) == "/s")
        let variable = try load(
            [], ["OIDC_CLIENT_SECRET_FILE": "/v"], profile: #"{"client_id":"c","client_secret":"p"}"#)
        #expect(variable[.clientSecret] == nil && variable.text(.clientSecretFile) == "/v")
    }
}

extension SettingKind {
    fileprivate var isURL: Bool { if case .url = self { true } else { false } }
}
