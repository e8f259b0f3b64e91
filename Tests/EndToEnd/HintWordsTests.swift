import CommandLineKit
import Foundation
import OIDCCore
import OIDCSignIn
import Posix
import Testing

@testable import oidc

@Suite("hints in the words of the command line")
struct HintWordsTests {
    @Test(
        "a hint names the command, option or setting",
        arguments: [
            (.signIn, "oidc login"), (.signInForScope("a b"), "oidc login --scope 'a b'"),
            (
                .orSignIn(.advice(.checkClient)),
                "check client_id, client_secret and client_auth, or oidc login"
            ),
            (.tryAgain(seconds: 20), "try again in 20 seconds"), (.tryAgain(seconds: nil), "try again later"),
            (.set(.pushedAuthorization, to: "require"), "oidc config set par=require"),
            (.set(.store, to: "file"), "oidc config set store=file"),
            (.setEndpoint(.authorization), "set authorization_endpoint"),
            (.setEndpoint(.deviceAuthorization), "oidc login --flow paste"),
            (.useIssuer("https://op.example/$(id)"), "--issuer 'https://op.example/$(id)'"),
            (.checkPath(of: "configuration"), "check the path in --config or OIDC_CONFIG"),
            (.checkPath(of: "--pending"), "check the path in --pending"),
            (
                .keepSessions(in: "/a b/oidc"),
                "keep sessions in a directory of your own: export OIDC_STATE_DIR='/a b/oidc'"
            ),
            (
                .trustAuthority(setting: "SSL_CERT_FILE"),
                "name the file of the authority that signed it in SSL_CERT_FILE"
            ),
            (
                .allowAlgorithm("HS256"),
                "if the client is registered for it and has a secret: "
                    + "oidc config set id_token_signed_response_alg=HS256"
            ),
            (
                .allowAlgorithm("HS256", in: .userInfo),
                "if the client is registered for it and has a secret: "
                    + "oidc config set userinfo_signed_response_alg=HS256"
            ),
            (
                .allowAlgorithm("HS256", in: .introspection),
                "if the client is registered for it and has a secret: "
                    + "oidc config set introspection_signed_response_alg=HS256"
            ),
            (
                .advice(.requestPlainIntrospection),
                "if the provider's signed answers are faulty, request plain ones: "
                    + "oidc config set introspection_signed_response_alg=none"
            ),
            (
                .advice(.turnNonceOff),
                "start again, as this answer may be another sign-in's; only if the provider never returns a nonce, "
                    + "set nonce to off"
            ),
            (
                .advice(.keepTenantsApart),
                "keep both sessions, one of them with --set account=NAME, or forget this one: oidc logout --local"
            ),
            (.advice(.removeAuthorizeParameter), "remove it from extra_authorize_params"),
            (.advice(.removeTokenParameter), "remove it from extra_token_params"),
            (.advice(.raiseProxyTimeout), "try again, or use oidc proxy with a longer --timeout"),
            (.advice(.checkClock), "check this machine's clock"), (.text("chmod 600 x"), "chmod 600 x"),
        ] as [(Hint, String)])
    func words(_ hint: Hint, _ words: String) {
        #expect(hint.commandLine == words)
    }

    @Test("a hint is a command that can be pasted, or a sentence", arguments: Hint.Advice.allCases)
    func pasted(advice: Hint.Advice) throws {
        let parts = Hint.advice(advice).parts
        #expect(!InvokedLine(CommonOptions()).text(.advice(advice)).hasPrefix("-"))
        for case .command(let words) in parts {
            #expect(throws: Never.self, "\(words)") { try Program.oidc.parse(words) }
        }
    }

    @Test("a command that changes a setting names the profile and file of the command line")
    func completed() {
        var common = CommonOptions()
        #expect(common.completing(.run("config set a=b")) == "oidc config set a=b")
        common.profile = "my work"
        common.config = "f.json"
        for (hint, completed) in [
            (
                .words("install it, or: ", .run("config set store=file")),
                "install it, or: oidc config set -p 'my work' --config f.json store=file"
            ),
            (.run("config set -p x a=b"), "oidc config set -p x a=b --config f.json"),
            (
                .words("or: ", .run("logout --local")), "or: oidc logout -p 'my work' --config f.json --local"
            ),
            (.run("logout -p x"), "oidc logout --config f.json -p x"),
            (.run("config list"), "oidc config list --config f.json"),
            (.run("switch x"), "oidc switch x --config f.json"),
            (
                .words("write one with: ", .run("config init")),
                "write one with: oidc config init -p 'my work' --config f.json"
            ),
            (
                .run("config init --config g -p x --issuer URL"),
                "oidc config init --config g -p x --issuer URL"
            ),
            (.run("login -p x"), "oidc login --config f.json -p x"),
            (.words("set a, or ", .run("login")), "set a, or oidc login -p 'my work' --config f.json"),
            (.run("help login"), "oidc help login"), (.run("--version"), "oidc --version"),
        ] as [(Hint, String)] {
            #expect(common.completing(hint) == completed)
        }
        let error = OIDCError(.usage, "no", hint: .set(.store, to: "file"))
        #expect(
            Diagnostics.report(error, asJSON: false, exitCode: 2, line: InvokedLine(common))
                == "error: no\n  try: oidc config set -p 'my work' --config f.json store=file\n")
    }

    @Test("text that looks like a command is printed as it is, as a provider may have written it")
    func text() {
        let line = InvokedLine(["token", "-p", "w", "--issuer", "https://a.example"])
        for text in ["run oidc login", "oidc config set dpop=false", "another oidc process"] {
            #expect(line.text(.text(text)) == text)
        }
    }

    @Test(
        "if options or variables name the provider, the hint is an option: the profile's settings are for another one"
    )
    func providerGiven() {
        let hint = Hint.words(.run("config set dpop=false"), ", if tokens need not be bound")
        let option = "give --set dpop=false, if tokens need not be bound"
        for (words, variables, completed) in [
            (["token", "--issuer", "https://a.example"], [:], option),
            (["token", "--client-id=x", "--config", "f"], [:], option),
            (["token"], ["OIDC_ISSUER": "https://a.example"], option),
            (["token", "-p", "a"], ["OIDC_CLIENT_ID": "x"], option),
            (
                ["token", "-p", "a"], ["OIDC_ISSUER": "", "OIDC_SCOPE": "a"],
                "oidc config set -p a dpop=false, if tokens need not be bound"
            ),
        ] as [([String], [String: String], String)] {
            let line = InvokedLine(words, Variables(variables))
            #expect(line.text(hint) == completed)
            #expect(
                line.text(.run("config set -p work account=work")).hasPrefix(
                    "oidc config set -p work account=work"))
        }
    }

    @Test("a setting that a variable or an option overrides is changed by an option")
    func overridden() throws {
        let hint = Hint.words(.run("config set dpop=false"), ", or: ", .run("config set store=file"))
        let both = "oidc token --set dpop=false, or: oidc token --set store=file"
        for (words, variables, completed) in [
            (["token"], ["OIDC_DPOP": "true"], "oidc token --set dpop=false, or: oidc config set store=file"),
            (
                ["token", "--set", "store=none"], ["OIDC_DPOP": "true"],
                "oidc token --set store=none --set dpop=false, or: oidc token --set store=file"
            ),
            (
                ["token", "--set", "store=none"], ["OIDC_DPOP": ""],
                "oidc config set dpop=false, or: --set store=file"
            ),
            (["token"], ["OIDC_TOKEN_ENDPOINT": "https://a.example/token"], both),
            (["token"], [:], hint.commandLine),
        ] as [([String], [String: String], String)] {
            #expect(InvokedLine(words, Variables(variables)).text(hint) == completed)
        }
        let missing = try #require(Setting.awsRoleARN.missing(option: "--set aws_role_arn=ARN").hint)
        #expect(
            InvokedLine(["token", "--client-id", "c"]).text(missing)
                == "give --set aws_role_arn=ARN, set OIDC_AWS_ROLE_ARN")
        #expect(
            InvokedLine([], ["OIDC_RESOURCES": "[]"]).text(.run("config set resources=[1]"))
                == "give --set 'resources=[1]'")
    }

    @Test("if no profile is in use, and the file has some, the hint is an option")
    func withoutProfile() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(
            "oidc-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"{"profiles":{"a":{},"b":{}}}"#.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        func completed(_ variables: [String: String]) -> String {
            InvokedLine([], Variables(variables.merging(["OIDC_CONFIG": file.path]) { $1 }))
                .text(.run("config set dpop=false"))
        }
        #expect(completed([:]) == "give --set dpop=false")
        #expect(completed(["OIDC_PROFILE": "a"]) == "oidc config set dpop=false")
    }

    @Test("settings with other values beside them still say that an option names the profile")
    func overriddenProfile() throws {
        let settings = Settings(SettingLayers(profile: "default", isProfileNamed: true, entries: []))
        let entry = try SettingsLoader.entry(.scope, "a", .resource("https://r.example"), named: "scope")
        #expect(settings.overridden(by: [entry]).loginLine.commandLine == "oidc login -p default")
    }

    private static func settings(
        options: [(Setting, String)], profile: [(Setting, String)] = []
    ) throws -> Settings {
        let entries =
            try options.map { try SettingsLoader.entry($0.0, $0.1, .option("--x"), named: "--x") }
            + profile.map { try SettingsLoader.entry($0.0, $0.1, .profile("work"), named: "work") }
        return Settings(SettingLayers(profile: "work", entries: entries))
    }

    @Test("a hint to sign in names the scope of an option, beside the profile's, unless that is enough")
    func scope() throws {
        let profile: [(Setting, String)] = [(.issuer, "https://a.example"), (.scope, "api")]
        #expect(
            try Self.settings(options: [(.scope, "openid api:read")], profile: profile).scopedLoginLine
                .commandLine
                == "oidc login -p work --scope 'api openid api:read'")
        #expect(
            try Self.settings(options: [(.scope, "api")], profile: profile).scopedLoginLine.commandLine
                == "oidc login -p work")
        #expect(
            try Self.settings(options: [(.scope, "b")], profile: []).scopedLoginLine.commandLine
                == "oidc login -p work --scope b")
        let other: [(Setting, String)] = [(.issuer, "https://b.example"), (.scope, "b")]
        #expect(
            try Self.settings(options: other, profile: profile).scopedLoginLine.commandLine
                == "oidc login -p work --issuer https://b.example --scope b")
        #expect(
            try Self.settings(options: [], profile: profile).scopedLoginLine.commandLine
                == "oidc login -p work")
    }

    @Test("a hint to sign in for an ID token requests the scope openid, unless the next sign-in does anyway")
    func openid() throws {
        let line = "oidc login -p work"
        for (option, own, hint) in [
            (nil, "api", "\(line) --scope 'openid api'"), (nil, "openid api", line), (nil, nil, line),
            ("api", "openid", "\(line) --scope 'openid api'"),
            ("openid", "api", "\(line) --scope 'api openid'"),
        ] as [(String?, String?, String)] {
            let settings = try Self.settings(
                options: option.map { [(.scope, $0)] } ?? [], profile: own.map { [(.scope, $0)] } ?? [])
            #expect(settings.loginLine(forIDTokenAfter: Scope("api")).commandLine == hint)
        }
    }

    @Test("what to compare with the registration names the place, if a preset knows it")
    func registration() throws {
        let hint = Hint.checkRegistration(redirectURL: "http://127.0.0.1:1/callback", clientID: "app")
        let words =
            "if the browser shows an error page, it says why; often the redirect URL http://127.0.0.1:1/callback or the client app is not registered there"
        let error = OIDCError(.timedOut, "timed out", hint: hint)
        let redirect = try RedirectAddress(nil)
        #expect(error.namingRegistration(at: nil, redirect: redirect).hint == .text(words))
        #expect(hint.commandLine == words)
        let keycloak = PresetMatch(
            preset: try #require(Preset.named("keycloak")),
            values: ["domain": "https://sso.example", "realm": "acme"])
        let page = "https://sso.example/admin/master/console/#/acme/clients"
        #expect(
            error.namingRegistration(at: keycloak, redirect: redirect).hint
                == .text("\(words.replacing("127.0.0.1:1", with: "127.0.0.1")) (\(page))"))
        let refused = OIDCError(.refused, "par: no", hint: hint, stage: .pushedAuthorization)
        #expect(
            refused.namingRegistration(at: keycloak, redirect: redirect).hint
                == .text("register the redirect URL http://127.0.0.1/callback for the client app (\(page))"))
        let fixed = try RedirectAddress(nil, port: 1)
        let unknown = "register the redirect URL http://127.0.0.1:8484/callback for the client app"
        #expect(
            refused.namingRegistration(at: nil, redirect: redirect).hint?.commandLine
                == "\(unknown), and: oidc login --port 8484")
        #expect(
            refused.namingRegistration(at: nil, redirect: fixed).hint
                == .text("register the redirect URL http://127.0.0.1:1/callback for the client app"))
        let other = OIDCError(.refused, "no", hint: .signIn)
        #expect(other.namingRegistration(at: keycloak, redirect: redirect) == other)
    }

    @Test("an error after a signal has the class of its exit code")
    func signal() throws {
        let error = OIDCError(.unreachable, "token: no answer", stage: .token)
        #expect(error.ended(bySignal: false) == error)
        let report = Diagnostics.report(error.ended(bySignal: true), asJSON: true, exitCode: 143)
        let object = try JSONValue(parsing: report)["error"]
        #expect(object?["kind"] == "interrupted" && object?["exit"] == 143)
        #expect(object?["message"] == "token: no answer")
    }

    @Test("a report ends with the hint, and a warning has it in parentheses")
    func report() {
        let error = OIDCError(.loginRequired, "token: the session has ended", hint: .signIn, stage: .token)
        #expect(
            Diagnostics.report(error, asJSON: false, exitCode: 3)
                == "error: token: the session has ended\n  try: oidc login\n")
        #expect(error.commandLine == "token: the session has ended (oidc login)")
        #expect(error.description == "token: the session has ended (sign in again)")
    }
}
