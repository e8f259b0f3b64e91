import OIDCCore
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("what a sign-in shows, in memory")
struct SignInTextTests {
    private static let now = Instant(secondsSinceEpoch: 1_800_000_000)

    private func session(_ change: (inout Session) -> Void = { _ in }) throws -> Session {
        let provider = try InMemoryProvider(startingAt: Self.now)
        var session = try provider.signIn()
        change(&session)
        return session
    }

    @Test("a link is made of a line that is a URL, in visible ASCII, and of nothing else")
    func links() {
        let style = TextStyle(isOn: true, hasLinks: true)
        let url = "https://op.example/a?b=c"
        #expect(
            style.linked("Sign in at:\n\n  \(url)\n\n")
                == "Sign in at:\n\n  \u{1B}]8;;\(url)\u{1B}\\\(url)\u{1B}]8;;\u{1B}\\\n\n")
        for text in [
            "see \(url)", "  \(url) and more", "\(url)", "  https://op.example/\u{1B}]8;;x", "  http", "",
            "  https://op.example/é",
        ] { #expect(style.linked(text) == text) }
        #expect(TextStyle(isOn: true).linked("  \(url)") == "  \(url)")
    }

    @Test("a device code that has expired is named as that, and the URL that still works")
    func expiredCode() {
        let expired = OIDCError(
            .timedOut, "token: the code expired", stage: .token, code: .deviceCodeExpired)
        let other = OIDCError(.refused, "device: refused", stage: .deviceAuthorization)
        let next = "Use the URL under \"Sign in at\"."
        #expect(SignInReporter.withoutDeviceCode(expired) == "The device code has expired. \(next)")
        #expect(SignInReporter.withoutDeviceCode(other) == "No device code: device: refused. \(next)")
    }

    @Test(
        "a table that is wider than the terminal becomes a block for each row; wide characters take two columns"
    )
    func tables() {
        let header = ["", "PROFILE", "SIGNED IN"]
        let rows = [["*", "张伟", "no"], ["", "work", "alice@example.com"]]
        let table = "   PROFILE  SIGNED IN\n*  张伟     no\n   work     alice@example.com"
        #expect(Table.text(header, rows, width: nil) == table)
        #expect(Table.text(columns: [["ab", "c", "d"], ["a", "", ""]]) == "ab  c  d\na")
        #expect(Table.text(header, rows, width: 29) == table)
        #expect(
            Table.text(header, rows, width: 28)
                == "profile    张伟 *\nsigned in  no\n\nprofile    work\nsigned in  alice@example.com")
        #expect(InitDialog.columns(["okta", "google"], width: 20) == "  okta  google")
        #expect(InitDialog.columns(["okta", "google"], width: 12) == "  okta\n  google")
    }

    private func summary(
        _ session: Session, profile: String? = "work", style: TextStyle = TextStyle(isOn: false),
        isMarked: Bool = false
    ) -> String {
        let report = SessionReport(session: session, profile: profile, location: "x", now: Self.now)
        return SignInSummary(report: report, style: style, isMarked: isMarked) { instant in
            let seconds = Int(instant.seconds(since: Self.now))
            let minutes = 14 * 60 + 32 + seconds / 60
            return LocalTime(
                year: 2027, month: 1, day: 15 + minutes / 1_440, hour: minutes / 60 % 24, minute: minutes % 60
            )
        }.text
    }

    @Test("aligned lines: who, where, until when, and the scopes if they are known")
    func lines() throws {
        #expect(
            summary(try session()) == """
                Signed in as alice@example.com
                  where  \(InMemoryProvider.issuer) (profile work)
                  until  14:37, in 5 minutes; then refreshed automatically
                  scope  \(try session().grantedScope?.text ?? "none")
                """)
        let unknown = try session {
            $0.tokens.access.scope = nil
            $0.requestedScope = nil
        }
        #expect(!summary(unknown).contains("scope"))
        let other = try session {
            $0.tokens.refreshToken = nil
            $0.tokens.access.scope = Scope("openid email")
            $0.tokens.access.expiresAt = Self.now.adding(86_400)
        }
        #expect(
            summary(other, profile: nil, style: TextStyle(isOn: true), isMarked: true) == """
                \u{1B}[32m✓\u{1B}[0m Signed in as alice@example.com
                  where  \(InMemoryProvider.issuer)
                  until  2027-01-16 14:32, in 24 hours; then sign in again, as there is no refresh token
                  scope  openid email
                """)
        let endless = try session { $0.tokens.access.expiresAt = nil }
        #expect(summary(endless).contains("  until  unknown, as the provider did not say"))
    }

    @Test("the account is named beside the user, and the end of the refresh token if the provider said it")
    func accountAndEnd() throws {
        let session = try session {
            $0.key.account = "work"
            $0.tokens.extra["refresh_expires_in"] = 1_800
        }
        let text = summary(session)
        #expect(text.hasPrefix("Signed in as alice@example.com (account work)\n"))
        #expect(text.contains("\n  ends   15:02 unless used\n"), "\(text)")
        let short = try self.session { $0.tokens.extra["refresh_expires_in"] = 60 }
        #expect(summary(short).contains("; then sign in again, as the refresh token ends before\n"))
    }

    private func report(_ change: (inout Session) -> Void) throws -> SessionReport {
        SessionReport(session: try session(change), profile: "work", location: "x", now: Self.now)
    }

    @Test(
        "status says when the refresh token expires if the provider did, and warns a week before if it lasts longer",
        arguments: [
            ("refresh_expires_in", 1_800, 0, "in 30 minutes", false),
            ("refresh_token_expires_in", 90 * 86_400, 0, "in 90 days", false),
            ("refresh_token_expires_in", 90 * 86_400, 84 * 86_400, "in 6 days", true),
        ] as [(String, Int64, Int64, String, Bool)])
    func refreshEnd(member: String, lifetime: Int64, age: Int64, shown: String, warns: Bool) throws {
        let report = try report {
            $0.tokens.extra[member] = JSONValue(lifetime)
            $0.tokens.access.obtainedAt = Self.now.adding(-age)
        }
        let row = report.lines.first { $0.0 == "refresh" }?.1
        #expect(row == "automatic, by refresh token; it expires \(shown) unless it is used")
        let end = Self.now.adding(lifetime - age).secondsSinceEpoch
        #expect(report.json["refresh_expires_at"] == JSONValue(end))
        let warning = report.refreshWarning(InvokedLine(CommonOptions()))
        #expect((warning?.contains("\(shown) unless") ?? false) == warns)
        #expect(warns == (warning?.contains("oidc login -p work") ?? false))
    }

    @Test("an endless token without a refresh token is not called a reason to sign in now")
    func endless() throws {
        let report = try report {
            $0.tokens.refreshToken = nil
            $0.tokens.access.expiresAt = nil
        }
        let rows = Dictionary(uniqueKeysWithValues: report.lines)
        #expect(rows["access token"] == "valid until it is refused")
        #expect(rows["refresh"] == "no refresh token: sign in again if the token is refused")
        #expect(report.json["bound"] == .null && report.json["refresh_expires_at"] == .null)
    }

    @Test("a URL that a browser has opened is one line, cut to the width, with the way to see all of it")
    func shortURL() throws {
        let url = try #require(
            WebURL("https://login.example.com/authorize?a=\(String(repeating: "b", count: 300))"))
        for width in [200, 120, 80, 60, 40] {
            for canPress in [true, false] {
                let line = SignInReporter.shortLine(url, width: width, canPress: canPress)
                #expect(line.count < width, "\(line)")
                #expect(line.hasPrefix("  https://login.example"), "\(line)")
                #expect(line.contains(canPress ? "u shows all" : "-v shows all"), "\(line)")
            }
        }
        #expect(
            SignInReporter.shortLine(url, width: 90, canPress: true).hasSuffix(
                "… (oidc login -v or press u shows all of it)"))
        let short = try #require(WebURL("https://a.example/x"))
        #expect(SignInReporter.shortLine(short, width: 80, canPress: true) == "  https://a.example/x")
    }

    @Test(
        "the ssh line names the user and the address that the user's own machine reached",
        arguments: [
            (["SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 22", "USER": "me", "HOSTNAME": "h"], "me@10.0.0.2"),
            (["SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 2222", "USER": "me"], "-p 2222 me@10.0.0.2"),
            (["SSH_TTY": "/dev/pts/0", "HOSTNAME": "h"], "h"), (["USER": "me"], "me@THIS-HOST"),
            (["SSH_CONNECTION": "odd", "LOGNAME": "me"], "me@THIS-HOST"),
            (["SSH_CONNECTION": "a b $(id) 22", "USER": "me"], "'me@$(id)'"),
        ] as [([String: String], String)])
    func remote(environment: [String: String], words: String) {
        #expect(SignInReporter.remote(Variables(environment)) == words)
    }

    @Test("the advice in a workspace names the port, and code-server's own URL for it")
    func workspaceAdvice() throws {
        func advice(_ variables: Variables) throws -> String {
            try #require(SignInReporter.advice(8484, "http://127.0.0.1/callback", variables))
        }
        let codespace = try advice([
            "CODESPACES": "true", "CODESPACE_NAME": "a b", "REMOTE_CONTAINERS": "true",
        ])
        #expect(codespace.contains("gh codespace ports forward 8484:8484 -c 'a b'"))
        for name in ["REMOTE_CONTAINERS", "REMOTE_DEV_LAUNCHER_NAME_FOR_USAGE"] {
            #expect(
                try advice([name: "true"]).contains(
                    "port 8484 of its own machine. Forward the port: add it to"))
        }
        let server = try advice(["VSCODE_PROXY_URI": "https://code.example/proxy/{{port}}/"])
        #expect(server.contains("ssh -L 8484:127.0.0.1:8484 THIS-HOST"))
        let known = try advice([
            "VSCODE_PROXY_URI": "https://x/{{port}}", "SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 22",
            "USER": "me",
        ])
        #expect(known.contains("ssh -L 8484:127.0.0.1:8484 me@10.0.0.2"))
        #expect(
            server.contains(
                "--set redirect_uri=https://code.example/proxy/8484/callback "
                    + "--set callback_listen=127.0.0.1:8484 --set callback_path=/callback"))
        #expect(try !advice(["VSCODE_PROXY_URI": "./proxy/{{port}}"]).contains("callback_listen"))
        #expect(SignInReporter.advice(8484, "http://127.0.0.1/callback", ["CODESPACES": "false"]) == nil)
    }

    @Test(
        "the device code says who asks and from where, and names a page on another host than the provider's")
    func deviceOrigin() throws {
        let provider = try InMemoryProvider { _ in }
        let code = try #require(try? provider.login().requestDeviceCode())
        func text(_ issuer: String) -> String {
            DeviceCodeText(
                authorization: code,
                origin: DeviceCodeText.Origin(clientID: "cli", machine: "build1", provider: WebURL(issuer))
            ).text
        }
        let asks =
            "oidc on build1 asks, as client cli. Continue only if you started this.\n"
        #expect(text(InMemoryProvider.issuer).hasPrefix(asks + "On any device,"))
        #expect(
            text("https://login.example").hasPrefix(
                asks + "The page is on 127.0.0.1, and the provider is login.example.\n"))
    }

    @Test("a device code that looks like a line of this program is shown in quotes")
    func forgedCode() throws {
        let provider = try InMemoryProvider { _ in }
        var json = try #require(try provider.login().requestDeviceCode().json.object)
        for (code, shown) in [
            ("WDJB-MJHT", "WDJB-MJHT"), ("abcd1234", "abcd1234"), ("WDJB MJHT", "WDJB MJHT"),
            ("try: oidc logout", "\"try: oidc logout\""), ("oidc logout", "\"oidc logout\""),
            ("  try: x", "\"  try: x\""), ("TRY: X", "\"TRY: X\""),
        ] {
            json["user_code"] = .string(code)
            let authorization = try #require(DeviceAuthorization(json: .object(json)))
            #expect(DeviceCodeText(authorization: authorization).text.hasSuffix("\n  \(shown)\n"))
        }
    }

    @Test("offline_access is requested by default unless the provider is known to do without (Keycloak)")
    func offlineScope() throws {
        let metadata = try ProviderMetadata(
            document: try #require(
                JSONValue(
                    parsing:
                        #"{"issuer":"https://op.example","authorization_endpoint":"https://op.example/a","token_endpoint":"https://op.example/t","jwks_uri":"https://op.example/j","scopes_supported":["openid","offline_access"]}"#
                ).object), expectedIssuer: "https://op.example")
        func scope(_ issuer: String) throws -> String {
            let entry = try SettingsLoader.entry(.issuer, issuer, .option("--issuer"), named: "--issuer")
            let settings = Settings(SettingLayers(profile: nil, entries: [entry]))
            return Scope.forUsers(at: metadata, Preset.matching(settings)).text
        }
        #expect(try scope("https://sso.example.org/realms/acme") == "openid profile email")
        #expect(try scope("https://acme.okta.com") == "openid profile email offline_access")
        #expect(try scope("https://op.example") == "openid profile email offline_access")
        #expect(Preset.matching(issuer: "https://sso.example.org/realms/acme")?.needsOfflineScope == false)
        let choice = try ScopeChoice(server: metadata, needsOfflineAccess: false)
        #expect(!choice.addsOfflineAccess && choice.scope.isEmpty)
        #expect(try ScopeChoice(server: metadata).scope.text == "offline_access")
    }

    @Test(
        "where offline_access keeps a session for longer, the sign-in says so, unless it was requested (Keycloak)"
    )
    func longerSession() throws {
        func line(_ issuer: String, _ scope: String) throws -> String? {
            let entry = try SettingsLoader.entry(.issuer, issuer, .option("--issuer"), named: "--issuer")
            let settings = Settings(SettingLayers(profile: nil, entries: [entry]))
            let session = try session { $0.requestedScope = Scope(scope) }
            return Preset.matching(settings)?.longerSession(than: session)
        }
        let keycloak = "https://sso.example.org/realms/acme"
        #expect(
            try line(keycloak, "openid profile") == "--scope 'openid profile offline_access' keeps it 30 days"
        )
        #expect(try line(keycloak, "openid offline_access") == nil)
        #expect(try line("https://acme.okta.com", "openid") == nil)
        var summary = SignInSummary(
            report: try report { $0.tokens.extra["refresh_expires_in"] = 1_800 }, longerSession: "X keeps it")
        summary.localTime = { _ in nil }
        #expect(
            summary.text.contains("\n  ends   in 30 minutes unless used; X keeps it\n"), "\(summary.text)")
    }

    @Test("--param adds to the parameters of the profile, and replaces one of the same name")
    func parameters() throws {
        let entries = [
            SettingLayers.Entry(
                setting: .extraAuthorizeParams, value: ["kc_idp_hint": "partner", "a": "new"],
                origin: SettingLayers.Origin.parameter),
            SettingLayers.Entry(
                setting: .extraAuthorizeParams, value: ["a": "old", "access_type": "offline"],
                origin: .profile("work")),
        ]
        let layers = SettingLayers(profile: "work", entries: entries)
        let pairs = layers.parameters(.extraAuthorizeParams).map { "\($0.name)=\($0.value)" }
        #expect(pairs == ["kc_idp_hint=partner", "a=new", "access_type=offline"])
    }

    @Test(
        "the time left is a countdown",
        arguments: [
            (0, "0:00"), (59, "0:59"), (299, "4:59"), (3_600, "1:00:00"), (3_723, "1:02:03"), (-5, "0:00"),
        ])
    func countdown(seconds: Int64, text: String) {
        #expect(TimeWords.countdown(seconds) == text)
    }

    private func deviceText(
        columns: Int = 80, rows: Int = 24, complete: Bool = true, instructions: String = ""
    ) throws -> String {
        let provider = try InMemoryProvider { _ in }
        var authorization: DeviceAuthorization?
        _ = try provider.signIn { login in authorization = try login.requestDeviceCode() }
        return DeviceCodeText(
            authorization: try #require(authorization), size: (columns, rows), usesColor: false,
            usesUnicode: true, instructions: instructions
        ).text
    }

    @Test("the QR code leaves room for the URL of the sign-in as well, or is left out")
    func instructions() throws {
        let url = "Sign in at:\n\n  https://op.example/\(String(repeating: "a", count: 300))\n\n"
        #expect(try deviceText().contains("█"))
        #expect(try !deviceText(instructions: url).contains("█"))
        #expect(try deviceText(rows: 40, instructions: url).contains("█"))
        let text = try deviceText(instructions: url)
        #expect(text.hasPrefix("Or, on any device, open this URL, which includes the code:\n\n"))
        #expect(text.split(separator: "\n").suffix(2).first == "  \(InMemoryProvider.issuer)/device")
    }
}

@Suite("what a locale and a terminal can show")
struct TerminalLocaleTests {
    @Test(
        "UTF-8 by LC_ALL, else LC_CTYPE, else LANG; otherwise text is ASCII",
        arguments: [
            (["LANG": "C.UTF-8"], true), (["LANG": "de_DE.utf8"], true), (["LANG": "C"], false), ([:], false),
            (["LC_ALL": "C", "LANG": "C.UTF-8"], false), (["LC_ALL": "", "LANG": "en_US.UTF-8"], true),
            (["LC_CTYPE": "UTF-8"], true), (["LANG": "sr_RS.UTF-8@latin"], true), (["LANG": "de_DE"], false),
        ] as [([String: String], Bool)])
    func locale(environment: [String: String], isUnicode: Bool) {
        #expect(Terminal.usesUnicode(environment: Variables(environment)) == isUnicode)
        let text = Terminal.text("“Zoë” → done…", environment: Variables(environment))
        #expect(text == (isUnicode ? "“Zoë” → done…" : "\"Zo?\" -> done..."))
    }

    @Test("the note about a missing answer names the default prompt, and what to type without it")
    func silence() {
        let hint = Hint.checkRegistration(redirectURL: "http://127.0.0.1:1/callback", clientID: "app")
        let asked = SignInReporter.silence(
            hint, page: "https://op.example/apps", prompt: nil, login: "oidc login --prompt off")
        #expect(asked.hasPrefix("No answer yet: ") && asked.hasSuffix(" (https://op.example/apps)."))
        #expect(!asked.contains("prompt"))
        let byDefault = SignInReporter.silence(
            hint, page: nil, prompt: "consent", login: "oidc login --prompt off")
        #expect(byDefault.hasSuffix("; or it does not accept prompt=consent: oidc login --prompt off"))
        let windows = SignInReporter.windowsNote("http://127.0.0.1:1/callback")
        #expect(windows.contains("http://127.0.0.1:1/callback"))
        #expect(windows.contains("networkingMode=mirrored"))
    }
}
