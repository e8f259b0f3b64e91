import Testing

@testable import OIDCCore

@Suite("What a request held in confidence")
struct WithheldSecretsTests {
    private static let secret = "abc/def+GHI= j"

    @Test(
        "a secret is removed in every encoding",
        arguments: [
            secret, "abc%2Fdef%2BGHI%3D%20j", "abc%2fdef%2bGHI%3d+j", "abc%252Fdef%252BGHI%253D%2520j",
            #"abc\/def+GHI= j"#, #"abc\u002fdef\u002bGHI\u003D j"#, "abc/\u{200B}def\u{202E}+GHI=\u{7} j",
            "abc%2Fdef%2BGHI%3D%E2%80%8B j".replacing("%E2%80%8B", with: "\u{FEFF}"),
        ])
    func writings(_ text: String) {
        let secrets = WithheldSecrets([Self.secret])
        #expect(secrets.removed(from: "no \"\(text)\", é=\(text)&x") == "no \"(secret)\", é=(secret)&x")
    }

    @Test("a long secret is removed in parts too, and the text around it stays")
    func pieces() {
        let secret = "0123456789abcdefghijklmnopqrstuvwxyz"
        let secrets = WithheldSecrets([secret, "another-secret"])
        #expect(secrets.removed(from: "a 0123456789abcdef b") == "a (secret) b")
        #expect(secrets.removed(from: "ghijklmnopqrstuvwxyz/0123456789abcdefg…") == "(secret)/(secret)…")
        #expect(secrets.removed(from: "0123456789abcde") == "0123456789abcde")
        #expect(secrets.removed(from: "\(secret) another-secret") == "(secret) (secret)")
    }

    @Test(
        "a text that contains a short secret is left out whole: a gap would show the secret",
        arguments: [
            ("wrong", "the client secret is wrong", WithheldSecrets.leftOut),
            ("hunter2", "no hunter22", WithheldSecrets.leftOut), ("abc", "no abc", WithheldSecrets.leftOut),
            ("abc", "abcd", "abcd"), ("", "a b", "a b"), ("12345678", "x12345678y", "x(secret)y"),
        ])
    func short(_ secret: String, _ text: String, _ rest: String) {
        #expect(WithheldSecrets([secret]).removed(from: text) == rest)
    }

    @Test(
        "an echo of the request is shown without its secrets",
        arguments: RequestFormat.allCases, [true, false])
    func echo(format: RequestFormat, isBasic: Bool) throws {
        let secret = Redacted("abc/def+GHI=")
        let endpoint = TokenEndpoint(
            url: try Fixture.url("https://op.example/token"),
            client: Client(
                id: "cli", authentication: isBasic ? .clientSecretBasic(secret) : .clientSecretPost(secret)),
            format: format,
            extraParameters: [
                FormEncoding.Pair("otp_password", "open sesame!"), FormEncoding.Pair("token_type", "kept"),
            ])
        let call = try endpoint.call(
            .refresh(Redacted("1//0g REFRESH+TOKEN==")), now: Fixture.now, random: Fixture.random())
        let raw = "cli:abc/def+GHI="
        let echo =
            "\(String(decoding: call.request.body, as: UTF8.self)) "
            + "\(call.request.headers["Authorization"] ?? "") \(Base64.encode(Array(raw.utf8)))"
        let body = JSONValue.object(JSONObject([("error", "x"), ("error_description", .string(echo))]))
        let error = try #require(Fixture.error { try call.read(Fixture.json(body.compact, status: 400)) })
        for piece in ["GHI", "REFRESH", "sesame", "YWJj", "Y2xp"] {
            #expect(!error.message.contains(piece), "\(error.message)")
        }
        #expect(error.message.contains("kept") && error.message.contains("refresh_token"))
    }

    @Test("a pushed request's state and nonce are secrets as well")
    func pushed() throws {
        let pending = try Fixture.pending()
        let call = try PushedAuthorization.call(
            pending, at: Fixture.url("https://op.example/par"), client: Client(id: "cli"), now: Fixture.now,
            random: Fixture.random())
        let body = JSONValue.object(
            JSONObject([
                ("error", "x"),
                ("error_description", .string(String(decoding: call.request.body, as: UTF8.self))),
            ]))
        let message = Fixture.error { try call.read(Fixture.json(body.compact, status: 400)) }?.message ?? ""
        #expect(message.contains("state=(secret)") && message.contains("client_id=cli"), "\(message)")
        #expect(!message.contains(try #require(pending.nonce).revealed))
        #expect(!message.contains(pending.state.revealed))
    }

    @Test("our own sentences and hints keep their words, whatever the secret is")
    func ownWords() throws {
        for secret in ["wrong", "provider", "answered", "invalid_client", "client_secret", "check client_id"]
        {
            let endpoint = TokenEndpoint(
                url: try Fixture.url("https://op.example/token"),
                client: Client(id: "cli", authentication: .clientSecretPost(Redacted(secret))))
            let call = try endpoint.call(
                .clientCredentials(scope: nil), now: Fixture.now, random: Fixture.random())
            let body = #"{"error":"invalid_client","error_description":"no \#(secret)!"}"#
            let error = try #require(Fixture.error { try call.read(Fixture.json(body, status: 401)) })
            let words = secret.count < 8 ? WithheldSecrets.leftOut : "\"no (secret)!\""
            #expect(error.message == "token: the provider answered invalid_client (\(words))")
            #expect(error.hint == .advice(.checkClient) && error.oauthError == "invalid_client")
        }
    }

    @Test("a mismatch keeps what was expected, and leaves out a found value with a short secret")
    func mismatch() {
        let secrets = WithheldSecrets(["Bear", "a-long-secret"])
        func shown(_ found: String) -> OIDCError {
            OIDCError.protocolViolation(.token, "token_type", expected: "Bearer", found: found)
                .withholding(secrets)
        }
        let duplicate = OIDCError(.refused, "token: duplicate member \"a\" at byte 5, sent as \"b\"")
        #expect(duplicate.withholding(WithheldSecrets(["at", "byte"])) == duplicate)
        #expect(shown("a-long-secret!").message == "token: token_type: expected Bearer, found (secret)!")
        #expect(
            shown("Bear").message == "token: token_type: expected Bearer, found (\(WithheldSecrets.leftOut))")
    }

    @Test("a body's message with a short secret is left out, with the status")
    func bodyMessage() {
        let error = OAuthErrorResponse.failure(
            Fixture.json(#"{"message":"no hush"}"#, status: 400), stage: .token,
            withholding: WithheldSecrets(["hush"]))
        #expect(error.message == "token: the provider answered status 400 (\(WithheldSecrets.leftOut))")
    }

    @Test(
        "421 for localhost says that the server does not serve this name",
        arguments: ["localhost", "op.example"])
    func misdirected(host: String) throws {
        let url = try #require(WebURL("http://\(host):8080/x"))
        let error = OAuthErrorResponse.failure(
            HTTPResponse(status: 421), stage: .discovery, url: url)
        #expect((error.hint == "use 127.0.0.1 in place of localhost") == (host == "localhost"))
        #expect(error.message.contains("it does not serve the name localhost") == (host == "localhost"))
    }
}
