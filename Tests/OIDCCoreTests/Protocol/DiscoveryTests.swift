import Testing

@testable import OIDCCore

@Suite("Discovery (OpenID Connect Discovery, RFC 8414)")
struct DiscoveryTests {
    @Test(
        "the well-known places, whether or not the issuer ends in a slash",
        arguments: [
            ("https://op.example", ""), ("https://op.example/", ""), ("https://op.example/a/b", "/a/b"),
            ("https://op.example/a/", "/a"),
        ])
    func wellKnown(_ issuer: String, _ path: String) throws {
        let urls = try ProviderMetadata.wellKnownURLs(issuer: issuer)
        #expect(
            urls.map(\.text) == [
                "https://op.example\(path)/.well-known/openid-configuration",
                "https://op.example/.well-known/oauth-authorization-server\(path)",
            ])
    }

    @Test("the port of the issuer is kept")
    func port() throws {
        let urls = try ProviderMetadata.wellKnownURLs(issuer: "http://127.0.0.1:9480")
        #expect(urls.first?.text == "http://127.0.0.1:9480/.well-known/openid-configuration")
    }

    @Test(
        "an issuer is https without query and fragment, or http on loopback",
        arguments: [
            ("op.example", "issuer: expected an https URL without query and fragment, found op.example"),
            ("", "issuer: expected an https URL without query and fragment, found "),
            (
                "https://bücher.example",
                "issuer: expected an https URL in ASCII, with its host as DNS has it (xn--), and without query and "
                    + "fragment, found https://bücher.example"
            ),
            (
                "https://op.example?x=1",
                "issuer: expected an https URL without query and fragment, found https://op.example?x=1"
            ),
            (
                "https://op.example#x",
                "issuer: expected an https URL without query and fragment, found https://op.example#x"
            ),
            (
                "javascript:alert(1)",
                "issuer: expected an https URL without query and fragment, found javascript:alert(1)"
            ),
            ("http://op.example", "issuer: plain http is for loopback only, found http://op.example"),
        ])
    func badIssuer(_ issuer: String, _ message: String) {
        let error = Fixture.error { try ProviderMetadata.wellKnownURLs(issuer: issuer) }
        #expect(error?.kind == .usage)
        #expect(error?.message == message)
    }

    @Test(
        "an issuer without its scheme is suggested with it; nothing with a password in it is",
        arguments: [
            ("op.example", "https://op.example"), ("op.example/a", "https://op.example/a"),
            ("op.example?x", nil), ("op.example#x", nil), ("me:pw@op.example", nil),
            ("ftp://op.example", nil),
        ])
    func bareIssuer(_ issuer: String, _ suggested: String?) {
        let error = Fixture.error { try ProviderMetadata.wellKnownURLs(issuer: issuer) }
        #expect(error?.hint == suggested.map { .useIssuer($0) } ?? .advice(.checkIssuerAddress))
    }

    @Test(
        "the URL of the metadata in place of the issuer is explained",
        arguments: ["/a/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/a"])
    func metadataAddress(_ path: String) {
        let error = Fixture.error {
            try ProviderMetadata.wellKnownURLs(issuer: "https://op.example\(path)")
        }
        #expect(error?.kind == .usage)
        #expect(error?.hint == .useIssuer("https://op.example/a"))
    }

    @Test("oidcc-client-test-discovery-openid-config: the document is used")
    func document() throws {
        let metadata = try #require(try read(Fixture.json(JSONValue.object(Fixture.document()).compact)))
        #expect(metadata.tokenEndpoint?.text == "https://op.example/token")
        #expect(ProviderEndpoint.discovered.allSatisfy { metadata[$0] != nil })
        #expect(metadata.codeChallengeMethodsSupported == ["S256"])
        #expect(metadata.authorizationResponseIssParameterSupported)
        #expect(!metadata.requirePushedAuthorizationRequests)
        #expect(metadata.isDiscovered)
    }

    @Test(
        "an answer that is not metadata is an error of one line",
        arguments: [
            (Fixture.html(), "discovery: expected a JSON object, found an HTML page with status 200"),
            (Fixture.json(""), "discovery: expected a JSON object, found an empty body with status 200"),
            (Fixture.json(" \n "), "discovery: expected a JSON object, found an empty body with status 200"),
            (Fixture.json("[]"), "discovery: expected a JSON object, found an array"),
            (
                Fixture.json(#"{"issuer":"a","issuer":"b"}"#),
                "discovery: expected a JSON object, found text that is not JSON "
                    + "(duplicate member \"issuer\" at byte 14) with status 200"
            ),
            (
                Fixture.json(#"{"issuer""#),
                "discovery: expected a JSON object, found text that is not JSON (the text is incomplete"
            ),
            (
                Fixture.html(status: 403),
                "discovery: https://op.example/m answered an HTML page with status 403"
            ),
            (
                HTTPResponse(status: 302),
                "discovery: https://op.example/m answered a redirect (status 302), which is not followed"
            ),
        ])
    func noMetadata(_ response: HTTPResponse, _ message: String) {
        let error = Fixture.error { try read(response) }
        #expect(error?.kind == .refused)
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "none")")
        if response.isSuccess { #expect(error?.hint == .advice(.checkIssuerMetadata)) }
    }

    @Test("a 401 for the metadata is not blamed on the client")
    func unauthorized() {
        let error = Fixture.error { try read(Fixture.json("", status: 401)) }
        #expect(error?.kind == .refused)
        #expect(error?.hint == nil)
    }

    @Test("429 and 5xx mean try later", arguments: [429, 500, 502, 503, 599])
    func temporary(_ status: Int) {
        let error = Fixture.error { try read(Fixture.json("{}", status: status, [("Retry-After", "7")])) }
        #expect(error?.kind == .unreachable)
        #expect(error?.retryAfter == 7)
    }

    @Test("if nothing is at the first URL, the second is fetched; nothing at both is an error of one line")
    func places() throws {
        let found = ScriptedTransport(
            Fixture.json("", status: 404), Fixture.json(JSONValue.object(try Fixture.document()).compact))
        _ = try ProviderMetadata.discover(issuer: Fixture.issuer, in: Fixture.context(found))
        #expect(
            found.requests.map(\.url.path) == [
                "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server",
            ])
        let none = ScriptedTransport(Fixture.html(status: 404), Fixture.html(status: 404))
        #expect(throws: ProviderMetadata.notFound(issuer: Fixture.issuer)) {
            try ProviderMetadata.discover(issuer: Fixture.issuer, in: Fixture.context(none))
        }
    }

    @Test("the metadata of another issuer is skipped, and reported if no other URL has the right one")
    func untrustedURL() throws {
        let document = try Fixture.document(["issuer": "https://evil.example"])
        let foreign = Fixture.json(JSONValue.object(document).compact)
        let found = ScriptedTransport(foreign, Fixture.json(JSONValue.object(try Fixture.document()).compact))
        #expect(
            try ProviderMetadata.discover(issuer: Fixture.issuer, in: Fixture.context(found)).issuer
                == Fixture.issuer)
        let none = ScriptedTransport(foreign, Fixture.html(status: 404))
        let error = Fixture.error {
            try ProviderMetadata.discover(issuer: Fixture.issuer, in: Fixture.context(none))
        }
        #expect(error?.kind == .untrusted)
        #expect(none.requests.count == 2)
    }

    @Test(
        "the URL of the metadata is https without a fragment, or http on loopback",
        arguments: [
            (
                "http://op.example/m",
                "metadata URL: plain http is for loopback only, found http://op.example/m"
            ),
            (
                "https://op.example/m#x",
                "metadata URL: expected an https URL without a fragment, found https://op.example/m#x"
            ),
            ("op.example/m", "metadata URL: expected an https URL without a fragment, found op.example/m"),
            ("https://op.example/m?p=B2C_1_x", nil), ("http://127.0.0.1:1/m", nil),
        ])
    func metadataURL(_ text: String, _ message: String?) {
        let error = Fixture.error { try ProviderMetadata.checkedURL(text) }
        #expect(error?.message == message && error?.kind == message.map { _ in .usage })
    }

    @Test("metadata from another machine must not name a plain-http endpoint, even for a loopback issuer")
    func elsewhere() throws {
        let issuer = "http://127.0.0.1:9480"
        let document = Fixture.json(
            #"{"issuer":"\#(issuer)","token_endpoint":"http://127.0.0.1:9480/token"}"#)
        for (url, isAccepted) in [("http://127.0.0.1:1/m", true), ("https://op.example/m", false)] {
            let call = ProviderMetadata.call(try Fixture.url(url), expectedIssuer: issuer)
            let error = Fixture.error { try call.read(document) }
            #expect((error == nil) == isAccepted && error?.member == (isAccepted ? nil : "token_endpoint"))
        }
    }

    private func read(_ response: HTTPResponse) throws -> ProviderMetadata? {
        try ProviderMetadata.call(Fixture.url("https://op.example/m"), expectedIssuer: Fixture.issuer)
            .read(response)
    }
}
