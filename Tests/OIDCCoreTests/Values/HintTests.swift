import Testing

@testable import OIDCCore

@Suite("hints are values")
struct HintTests {
    private static let hints: [Hint] =
        Hint.Advice.allCases.map { .advice($0) } + Hint.Setting.allCases.map { .set($0, to: "x") }
        + ProviderEndpoint.allCases.map { .setEndpoint($0) } + [
            .signIn, .signInForScope("a b"), .tryAgain(seconds: nil), .tryAgain(seconds: 20),
            .orSignIn(.advice(.checkClient)), .orSignIn(.orSignIn("x")), .useIssuer("https://op.example"),
            .allowAlgorithm("HS256"), .allowAlgorithm("HS256", in: .userInfo), .checkPath(of: "x"),
            .keepSessions(in: "/x"),
            .trustAuthority(setting: nil),
            .trustAuthority(setting: "x"), .open(WebURL("https://login.example.com/authorize?x=1")!),
            .text("chmod 600 x"), .command(["run", "a b"]),
            .options(["--x", "y"]), .joined(["x: ", .command(["run"])]),
            .checkRegistration(redirectURL: "http://127.0.0.1:1/callback", clientID: "app"),
        ]

    @Test("every hint comes back from its stored form")
    func storedForm() {
        for hint in Self.hints { #expect(Hint(stored: hint.stored) == hint) }
    }

    @Test(
        "a stored string is a hint as earlier versions wrote it; an unknown form is ignored",
        arguments: [
            ("\"oidc login\"", .text("oidc login")), (#"{"code":"later","value":"x"}"#, nil), ("{}", nil),
            (#"{"code":"advice","value":"later"}"#, nil),
            (#"{"code":"joined","hints":[{"code":"later"}]}"#, nil),
            ("1", nil),
        ] as [(String, Hint?)])
    func otherVersions(_ json: String, _ hint: Hint?) throws {
        #expect(Hint(stored: try JSONValue(parsing: json)) == hint)
    }

    @Test("a shared failure keeps its hint and kind")
    func sharedFailure() {
        for hint in Self.hints {
            let error = OIDCError(.refused, "token: no", hint: hint, stage: .token, oauthError: "no")
            let failure = SharedFailure(
                error: error, time: Instant(secondsSinceEpoch: 1), id: "a", refreshTokenHash: nil)
            #expect(SharedFailure(stored: Array(failure.json.compact.utf8)) == failure)
        }
    }

    @Test("secrets are removed from the text of a hint")
    func withheld() {
        let error = OIDCError(.refused, "x", hint: .orSignIn(.useIssuer("https://op/very-secret")))
        let shown = error.withholding(WithheldSecrets(["very-secret"]))
        #expect(shown.hint == .orSignIn(.useIssuer("https://op/(secret)")))
    }

    @Test("a hint with commands is described as it is typed, without the program's name")
    func commands() {
        let hint = Hint.joined(["try: ", .command(["run", "a b"]), ", or ", .options(["--fast"])])
        #expect(hint.description == "try: run 'a b', or --fast")
    }

    @Test("a library that lacked memory is not to be installed")
    func loading() {
        for problem in [
            "libcurl-gnutls.so.4 cannot be loaded: libcrypto.so.3: failed to map segment from shared object",
            "libcurl.so.4 cannot be loaded: libz.so.1: cannot map zero-fill pages",
            "libcrypto.so.3 cannot be loaded: Cannot allocate memory",
        ] {
            #expect(
                Hint.loading(problem, install: "x") == "end other programs, or raise the limit (ulimit -v)")
        }
        #expect(Hint.loading("libcurl.so.4 is not installed", install: "x") == "x")
    }
}
