import Testing

@testable import OIDCCore

@Suite("Pending authorization as JSON")
struct PendingAuthorizationTests {
    @Test("what authorize-url prints, exchange reads back")
    func roundTrip() throws {
        var request = Fixture.request()
        request.maxAge = .seconds(60)
        request.prompt = "login"
        request.resources = ["https://api.example", "urn:x"]
        request.responseMode = .formPost
        let pending = try request.begin(Fixture.metadata(), random: Fixture.random())
        let read = try PendingAuthorization(json: JSONValue(parsing: pending.json.compact))
        #expect(read.json == pending.json)
        #expect(read.maxAge == .seconds(60))
        #expect(read.resources == ["https://api.example", "urn:x"])
        #expect(read.isIssuerPromised)
        #expect(read.tokenEndpoint == nil)
        let code = try read.acceptPasted(
            "?code=abc&iss=https://op.example&state=\(pending.state.revealed)")
        #expect(code.pending.pkce == pending.pkce)
    }

    @Test("null says that no nonce was sent; nothing else does")
    func withoutNonce() throws {
        var request = Fixture.request()
        request.sendsNonce = false
        let pending = try request.begin(Fixture.metadata(), random: Fixture.random())
        #expect(pending.json["nonce"] == .null)
        #expect(try PendingAuthorization(json: JSONValue(parsing: pending.json.compact)).nonce == nil)
    }

    @Test("the members that scripts rely on")
    func members() throws {
        let pending = try Fixture.pending()
        let names = try #require(pending.json.object).names
        #expect(
            names == [
                "url", "state", "nonce", "code_verifier", "redirect_uri", "issuer", "client_id", "scope",
                "response_mode", "authorization_response_iss_parameter_supported",
            ])
    }

    @Test("endpoints of the configuration go along, as there is nothing to discover them from")
    func configured() throws {
        var metadata = ProviderMetadata(issuer: nil)
        for (endpoint, path) in [(ProviderEndpoint.authorization, "a"), (.token, "t"), (.keys, "k")] {
            metadata[endpoint] = try Fixture.url("https://op.example/\(path)")
        }
        let pending = try Fixture.request().begin(metadata, random: Fixture.random())
        let read = try PendingAuthorization(json: pending.json)
        #expect(read.tokenEndpoint?.text == "https://op.example/t")
        #expect(read.jwksURI?.text == "https://op.example/k")
        #expect(read.issuer == nil)
    }

    @Test(
        "a member that is missing or of another type is named",
        arguments: [
            ("url", nil, "pending: url is missing"), ("state", nil, "pending: state is missing"),
            ("state", "short", "pending: state: expected at least 22 characters, found 5"),
            ("nonce", "", "pending: nonce is missing"), ("nonce", nil, "pending: nonce is missing"),
            ("code_verifier", "short", "code_verifier: expected 43 to 128 characters, found 5"),
            ("client_id", 7, "pending: client_id: expected a string, found a number"),
            ("redirect_uri", .some(.null), "pending: redirect_uri is missing"),
            ("resource", "x", "pending: resource: expected an array of strings, found a string"),
            ("max_age", "60", "pending: max_age: expected seconds, found a string"),
            ("token_endpoint", "x", "pending: token_endpoint: expected an http(s) URL, found x"),
            (
                "response_mode", "fragment",
                "pending: response_mode: expected a known response mode, found fragment"
            ),
            (
                "authorization_response_iss_parameter_supported", 1,
                "pending: authorization_response_iss_parameter_supported: "
                    + "expected true or false, found a number"
            ),
        ] as [(String, JSONValue?, String)])
    func broken(_ name: String, _ value: JSONValue?, _ message: String) throws {
        var object = try #require(try Fixture.pending().json.object)
        object[name] = value
        let error = Fixture.error { try PendingAuthorization(json: .object(object)) }
        #expect(error?.kind == .usage)
        #expect(error?.message == message)
    }

    @Test("a value that is not an object is refused", arguments: [JSONValue.null, [], "x"])
    func noObject(_ json: JSONValue) {
        #expect(Fixture.error { try PendingAuthorization(json: json) }?.kind == .usage)
    }
}
