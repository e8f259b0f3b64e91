import OIDCCore
import OIDCSystem
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
            .timedOut, "token: the code expired", stage: .token, oauthError: "expired_token")
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
                  until  2027-01-16 14:32, in 24 hours
                  scope  openid email
                """)
        let endless = try session { $0.tokens.access.expiresAt = nil }
        #expect(summary(endless).contains("  until  unknown, as the provider did not say"))
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
}
