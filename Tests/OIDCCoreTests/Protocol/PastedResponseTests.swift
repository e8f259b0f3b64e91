import Testing

@testable import OIDCCore

@Suite("Authorization response, pasted by the user")
struct PastedResponseTests {
    private static let iss = "iss=https%3A%2F%2Fop.example"

    @Test(
        "a pasted URL is read in the forms that users paste",
        arguments: [
            "http://127.0.0.1:8400/callback?QUERY", "?QUERY", "QUERY",
            "  \"http://127.0.0.1:8400/callback?QUERY\" \n", "127.0.0.1:8400/callback?QUERY",
            "HTTP://127.0.0.1:8400/callback?QUERY", "http://127.0.0.1:\r\n8400/callback?\nQUERY",
            "<http://127.0.0.1:8400/callback?QUERY#_=_>", "QUERY#",
        ])
    func pasted(_ shape: String) throws {
        let pending = try Fixture.pending()
        let query = "code=abc&state=\(pending.state.revealed)&\(Self.iss)"
        let parts = shape.split(separator: "QUERY", omittingEmptySubsequences: false)
        let code = try pending.acceptPasted(parts.joined(separator: query))
        #expect(code.code.revealed == "abc")
    }

    @Test(
        "a whole pasted URL must be the redirect URI, except for spelling that browsers change",
        arguments: [
            ("http://127.0.0.1:8400/callback", "https://127.0.0.1:8400/callback?QUERY", false),
            ("http://127.0.0.1:8400/callback", "http://127.0.0.1:8401/callback?QUERY", false),
            ("http://127.0.0.1:8400/callback", "http://127.0.0.1/callback?QUERY", false),
            ("http://127.0.0.1:8400/callback", "http://localhost:8400/callback?QUERY", false),
            ("http://127.0.0.1:8400/callback", "http://127.0.0.1:8400/callback/?QUERY", false),
            ("http://127.0.0.1:8400/callback", "http://127.0.0.1:8400/other?QUERY", false),
            ("http://127.0.0.1:8400/callback", "http://me@127.0.0.1:8400/callback?QUERY", false),
            ("http://127.0.0.1:8400", "http://127.0.0.1:8400/?QUERY", true),
            ("https://example.com/cb", "https://EXAMPLE.com:443/cb?QUERY", true),
            ("https://example.com/cb?app=1", "https://example.com/cb?app=1&QUERY", true),
            ("https://example.com/cb", "https://example.net/cb?QUERY", false),
            ("com.example.app:/back", "com.example.app:/back?QUERY", true),
            ("com.example.app:/back", "com.example.app:/elsewhere?QUERY", false),
        ])
    func pastedPlace(_ redirect: String, _ shape: String, _ isRight: Bool) throws {
        let pending = try Fixture.request(redirectURI: redirect)
            .begin(Fixture.metadata(), random: Fixture.random())
        let query = "code=abc&state=\(pending.state.revealed)&\(Self.iss)"
        let text = shape.split(separator: "QUERY", omittingEmptySubsequences: false).joined(separator: query)
        let error = Fixture.error { try pending.acceptPasted(text) }
        #expect(error?.kind == (isRight ? nil : .untrusted))
        #expect(
            isRight
                || error?.message.hasPrefix(
                    "authorize: the pasted URL: expected \(redirect), found") == true
        )
        #expect(error?.message.contains("me@") != true)
    }

    @Test(
        "where only the issuer's own redirect URL says whose answer it is, a query alone is not enough (RFC 9700 §4.4.2.2)"
    )
    func pastedQueryWithoutIssuer() throws {
        var request = Fixture.request()
        let own = try MixUpDefense.redirectURI(request.redirectURI, for: "https://op.example")
        request.redirectURI = own
        let pending = try request.begin(
            Fixture.metadata(["authorization_response_iss_parameter_supported": nil]),
            random: Fixture.random())
        let query = "code=abc&state=\(pending.state.revealed)"
        for text in [query, "?\(query)"] {
            let error = Fixture.error { try pending.acceptPasted(text) }
            #expect(error?.kind == .usage && error?.message.contains("whole URL") == true)
        }
        #expect(try pending.acceptPasted("\(own)?\(query)").code.revealed == "abc")
        #expect(try pending.acceptPasted("\(query)&\(Self.iss)").code.revealed == "abc")
    }

    @Test(
        "a pasted URL with another state, or without one, is untrusted",
        arguments: [
            ("code=abc&state=other", "another one"), ("code=abc&x=y", "none"),
            ("error=access_denied", "none"),
            ("state=a&state=b&code=abc", "several"),
        ])
    func pastedState(_ query: String, _ found: String) throws {
        let error = Fixture.error { try Fixture.pending().acceptPasted("http://127.0.0.1/?\(query)") }
        #expect(error?.kind == .untrusted)
        #expect(error?.message == "authorize: state: expected the one of this sign-in, found \(found)")
    }

    @Test(
        "a pasted URL of another sign-in is an error of its kind",
        arguments: [
            ("code=a&code=b&\(iss)", OIDCError.Kind.refused),
            ("error=access_denied&iss=https%3A%2F%2Fevil.example", .untrusted),
            ("code=a&iss=https%3A%2F%2Fevil.example", .untrusted),
        ])
    func pastedStranger(_ query: String, _ kind: OIDCError.Kind) throws {
        let pending = try Fixture.pending()
        let error = Fixture.error {
            try pending.acceptPasted("?\(query)&state=\(pending.state.revealed)")
        }
        #expect(error?.kind == kind)
    }

    @Test(
        "pasted text that cannot be the URL is a usage error with a hint",
        arguments: [
            ("", "no URL was pasted"), ("  \n", "no URL was pasted"),
            ("abc", "the pasted text has no code and state in it"),
            ("http://127.0.0.1/callback", "the pasted text has no code and state in it"),
            ("?code=%zz", "the pasted URL has an invalid percent-encoding"),
            (
                "http://127.0.0.1/#code=a",
                "the pasted URL has its answer after #, where no code is accepted"
            ),
            (
                "https://op.example/authorize?response_type=code&state=x",
                "the pasted URL is the one to open, not the one your browser was redirected to"
            ),
        ])
    func notAnAddress(_ text: String, _ message: String) throws {
        let error = Fixture.error { try Fixture.pending().acceptPasted(text) }
        #expect(error?.kind == .usage)
        #expect(error?.message == message)
        #expect(error?.hint != nil)
    }

    @Test("a pasted text of megabytes is refused")
    func pastedSize() throws {
        let error = Fixture.error {
            try Fixture.pending().acceptPasted("?" + String(repeating: "a=b&", count: 50_000))
        }
        #expect(error?.kind == .usage)
    }
}
