import Testing

@testable import OIDCCore

/// The text of an error, which may repeat a secret.
extension TokenErrorTests {
    @Test("a provider's message is shown without the secrets of the request")
    func secretInWords() throws {
        let response = Fixture.json(#"{"message":"no token a-secret-refresh-token"}"#, status: 400)
        let found = try error(response, .refresh(Redacted("a-secret-refresh-token")))
        #expect(found?.message.contains("a-secret-refresh-token") == false)
    }

    @Test("an error text that repeats a secret is shown without it")
    func withheld() throws {
        let code = try Fixture.code()
        let secret = "s3cret/client"
        let text = "no \"\(code.pending.pkce.verifier.revealed)\", no the code, no \(secret), no cli"
        for authentication in [
            ClientAuthentication.clientSecretPost(Redacted(secret)), .clientSecretBasic(Redacted(secret)),
        ] {
            for format in RequestFormat.allCases {
                let endpoint = TokenEndpoint(
                    url: try Fixture.url("https://op.example/token"),
                    client: Client(id: "cli", authentication: authentication), format: format)
                let call = try endpoint.call(
                    .authorizationCode(code), now: Fixture.now, random: Fixture.random())
                let body = JSONValue.object(
                    JSONObject([("error", "invalid_grant"), ("error_description", .string(text))]))
                let found = Fixture.error { try call.read(Fixture.json(body.compact, status: 400)) }
                #expect(
                    found?.message
                        == "token: the provider answered invalid_grant "
                        + "(\"no \"(secret)\", no (secret), no (secret), no cli\")")
                #expect(found?.oauthError == "invalid_grant")
            }
        }
    }

    @Test(
        "a broken answer that repeats a secret is described without it",
        arguments: [
            #"{"access_token":"a","token_type":"SECRET"}"#,
            #"{"access_token":"a","refresh_token":"rt","token_type":"SECRET"}"#,
            #"{"access_token":"a-long-access-token","token_type":"SECRETa-long-access-token"}"#,
            #"{"access_token":"a","token_type":"Bearer","scope":"\"SECRET"}"#,
            #"{"SECRET":1,"SECRET":2}"#,
        ])
    func withheldFromViolations(_ body: String) throws {
        let endpoint = TokenEndpoint(
            url: try Fixture.url("https://op.example/token"), client: Client(id: "cli"))
        let call = try endpoint.call(
            .refresh(Redacted("a-long-refresh-token")), now: Fixture.now, random: Fixture.random())
        let parts = body.split(separator: "SECRET", omittingEmptySubsequences: false)
        let answer = Fixture.json(parts.joined(separator: "a-long-refresh-token"))
        var failure: OIDCError?
        do { if case .faulty(let error, _, _) = try call.read(answer) { failure = error } } catch {
            failure = error
        }
        let message = failure?.message ?? ""
        #expect(!message.contains("a-long-access-token"))
        #expect(message.contains("(secret)") && !message.contains("a-long-refresh-token"))
    }

    @Test("a secret that contains invisible characters is found too")
    func withheldAfterCleaning() throws {
        let endpoint = TokenEndpoint(
            url: try Fixture.url("https://op.example/token"), client: Client(id: "cli"))
        let call = try endpoint.call(
            .refresh(Redacted("a-long-refresh-token")), now: Fixture.now, random: Fixture.random())
        for code in [#"a-long-\u0000refresh-token"#, #"a-long-refresh\u200b-token"#] {
            let found = Fixture.error { try call.read(Fixture.json(#"{"error":"\#(code)"}"#, status: 400)) }
            #expect(found?.oauthError == "(secret)")
            #expect(found?.message.hasSuffix("answered (secret)") == true)
        }
    }

    @Test("a secret that is a piece of an error code does not change the code")
    func shortSecret() throws {
        let endpoint = TokenEndpoint(
            url: try Fixture.url("https://op.example/token"),
            client: Client(id: "cli", authentication: .clientSecretPost(Redacted("invalid"))))
        let call = try endpoint.call(Self.refresh, now: Fixture.now, random: Fixture.random())
        let found = Fixture.error { try call.read(Fixture.json(#"{"error":"invalid_grant"}"#, status: 400)) }
        #expect(found?.endsSession == true)
    }

    @Test("a provider's text is cut and cleaned")
    func clean() throws {
        let long = String(repeating: "x", count: 10_000)
        let found = try error(
            Fixture.json(
                #"{"error":"e\u202e\#(long)","error_description":"\#(long)","error_uri":"\#(long)"}"#,
                status: 400))
        #expect((found?.message.count ?? 9_999) < 800)
        #expect(found?.message.unicodeScalars.contains("\u{202E}") == false)
    }
}
