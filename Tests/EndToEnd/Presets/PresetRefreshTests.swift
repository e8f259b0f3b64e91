import OIDCCore
import TestSupport
import Testing

@testable import oidc

@Suite("presets: refresh tokens, redirects and secrets")
struct PresetRefreshTests {
    private static func settings(_ values: [(Setting, String)]) throws -> Settings {
        PresetTableTests.settings(
            try values.map { try SettingsLoader.entry($0.0, $0.1, .option("--set"), named: $0.0.name) })
    }

    private static func session(scope: String?, lifetime: Int64?) throws -> Session {
        let now = Instant(secondsSinceEpoch: 1_000)
        let access = AccessToken(
            token: Redacted("t"), type: .bearer, obtainedAt: now, expiresAt: lifetime.map { now.adding($0) },
            scope: nil)
        return Session(
            key: SessionKey(provider: "https://p.example", clientID: "c"),
            endpoints: Session.Endpoints(issuer: nil, token: try #require(WebURL("https://p.example/token"))),
            createdAt: now, requestedScope: scope.map { Scope($0) }, tokens: TokenSet(access: access))
    }

    private static func warning(
        _ issuer: String, _ values: [(Setting, String)] = [], scope: String? = nil, lifetime: Int64? = 3_600
    ) throws -> String? {
        let settings = try settings([(.issuer, issuer)] + values)
        return try #require(Preset.matching(settings))
            .refreshWarning(for: try session(scope: scope, lifetime: lifetime), settings)?.commandLine
    }

    @Test("what a preset writes is enough for a refresh token", arguments: Preset.all.map(\.name))
    func enough(name: String) throws {
        let preset = try #require(Preset.named(name))
        let settings = PresetTableTests.settings(try PresetTableTests.profile(preset))
        let match = PresetMatch(preset: preset, values: [:])
        // The default scope has offline_access where the provider lists it.
        let scope = settings.token.scope ?? Scope("openid offline_access")
        #expect(match.refreshFix(settings, scope: scope) == nil)
    }

    @Test("a session without a refresh token names the missing parameter, and the options that add it")
    func parameter() throws {
        #expect(
            try Self.warning(
                "https://accounts.google.com", [(.extraAuthorizeParams, #"{"hd":"example.com"}"#)])
                == "no refresh token: Google issues one only with access_type=offline and prompt=consent "
                + "(oidc login --issuer https://accounts.google.com --set "
                + #"'extra_authorize_params={"hd":"example.com","access_type":"offline"}' --set prompt=consent)"#
        )
        #expect(
            try Self.warning(
                "https://accounts.google.com",
                [(.extraAuthorizeParams, #"{"access_type":"offline","prompt":"consent"}"#)]) == nil)
    }

    @Test("a missing scope is added to those that were requested")
    func scope() throws {
        let issuer = "https://dev-1.okta.com/oauth2/default"
        #expect(
            try Self.warning(issuer, scope: "openid email")
                == "no refresh token: Okta issues one only with the scope offline_access "
                + "(oidc login --issuer \(issuer) --scope 'openid email offline_access')")
    }

    @Test("if nothing is missing, what to switch on is named; a token without an end needs no refresh")
    func switchedOff() throws {
        let issuer = "https://dev-1.okta.com/oauth2/default"
        let scope = "openid offline_access"
        #expect(
            try Self.warning(issuer, scope: scope)?.hasPrefix(
                "no refresh token: Okta issues one if the grant type Refresh Token is switched on (switch it on at "
            ) == true)
        #expect(try Self.warning(issuer, scope: scope, lifetime: nil) == nil)
        #expect(try Self.warning("https://gitlab.com", scope: "openid") == nil)
    }

    private static func findings(_ values: [(Setting, String)]) throws -> [Finding] {
        let settings = try settings(values)
        return PresetChecks(match: try #require(Preset.matching(settings)), settings: settings).findings()
    }

    @Test("doctor has a line for each thing that is missing: a fixed port, the secret, a parameter")
    func doctor() throws {
        func finding(_ values: [(Setting, String)]) throws -> Finding {
            let found = try Self.findings(values)
            #expect(found.count == 1)
            return try #require(found.first)
        }
        let okta: (Setting, String) = (.issuer, "https://dev-1.okta.com/oauth2/default")
        #expect(try finding([okta]).hint?.commandLine.contains("--port 8484") == true)
        #expect(try finding([okta, (.port, "9000")]).result == .ok)
        #expect(try finding([okta, (.redirectPorts, "[9000,9001]")]).result == .ok)
        let google: (Setting, String) = (.issuer, "https://accounts.google.com")
        #expect(
            try Self.findings([google]).map(\.detail) == [
                "Google gives its clients a secret, and none is set",
                "Google issues a refresh token only with access_type=offline and prompt=consent",
            ])
        #expect(try Self.findings([google, (.grant, "client_credentials")]).map(\.result) == [.ok])
        let withSecret: [(Setting, String)] = [google, (.clientSecretFile, "/s")]
        #expect(
            try finding(withSecret).detail
                == "Google issues a refresh token only with access_type=offline and prompt=consent")
        #expect(
            try finding(
                withSecret + [(.prompt, "consent"), (.extraAuthorizeParams, #"{"access_type":"offline"}"#)]
            ).result == .ok)
    }

    @Test("a preset's issuer with a special value in it is recognized, and the issuer to use is named")
    func specialValue() throws {
        let issuer = "https://login.microsoftonline.com/common/v2.0"
        let found = try Self.findings([(.issuer, issuer), (.clientID, "a b")])
        #expect(found.map(\.result) == [.problem])
        #expect(
            found.first?.detail
                == "the issuer of Microsoft Entra ID with tenant=common is https://login.microsoftonline.com/{tenantid}/v2.0"
        )
        #expect(found.first?.hint?.commandLine == "oidc config init entra tenant=common --client-id 'a b'")
        let entry = try SettingsLoader.entry(.issuer, issuer, .profile("work"), named: "issuer")
        let settings = Settings(SettingLayers(profile: "work", entries: [entry]))
        let match = try #require(Preset.matching(settings))
        #expect(
            PresetChecks(match: match, settings: settings).findings().first?.hint?.commandLine
                == "oidc config init -p work --force entra tenant=common --client-id ID")
        let other = "https://login.microsoftonline.com/8eaef023-2b34-4da1-9baa-8bc8c9d6a490/v2.0"
        #expect(try Self.findings([(.issuer, other)]).map(\.result) == [.ok])
        #expect(
            Preset.matching(try Self.settings([(.issuer, "https://login.microsoftonline.com/else/v2.0")]))
                == nil)
    }
}
