import Testing

@testable import OIDCCore

@Suite("Pushed authorization requests (RFC 9126)")
struct PushedAuthorizationTests {
    private static let client = Client(id: "cli", authentication: .clientSecretBasic(Redacted("pw")))

    private func call(
        _ pending: PendingAuthorization, dpop: DPoPKey? = nil
    ) throws -> EndpointCall<PushedAuthorization.Answer> {
        try PushedAuthorization.call(
            pending, at: Fixture.url("https://op.example/par"), client: Self.client, dpop: dpop,
            now: Fixture.now, random: Fixture.random())
    }

    private func pushed(
        _ call: EndpointCall<PushedAuthorization.Answer>, _ answer: HTTPResponse
    ) throws -> PushedAuthorization {
        guard case .pushed(let pushed) = try call.read(answer) else {
            throw OIDCError(.failed, "a nonce is demanded")
        }
        return pushed
    }

    @Test("every parameter goes into the body, with the client's proof")
    func request() throws {
        let pending = try Fixture.pending()
        let request = try call(pending).request
        #expect(request.method == .post)
        #expect(request.form == pending.url.pairs)
        #expect(request.headers["Authorization"]?.hasPrefix("Basic ") == true)
        let posted = try PushedAuthorization.call(
            pending, at: Fixture.url("https://op.example/par"),
            client: Client(id: "cli", authentication: .clientSecretPost(Redacted("pw"))), now: Fixture.now,
            random: Fixture.random()
        ).request
        #expect(posted.value("client_id") == "cli")
        #expect(posted.value("client_secret") == "pw")
    }

    @Test(
        "FAPI 2.0 client: PAR: the URL has only client_id and request_uri", arguments: [200, 201])
    func address(_ status: Int) throws {
        let pending = try Fixture.pending(["authorization_endpoint": "https://op.example/a?p=1"])
        let answer = Fixture.json(
            #"{"request_uri":"urn:ietf:params:oauth:request_uri:a b","expires_in":60}"#, status: status)
        let pushed = try pushed(call(pending), answer)
        #expect(
            pushed.url.text
                == "https://op.example/a?p=1&client_id=cli"
                + "&request_uri=urn%3Aietf%3Aparams%3Aoauth%3Arequest_uri%3Aa%20b")
        #expect(pushed.expiresAt == Fixture.now.adding(60))
    }

    @Test(
        "an answer without a usable request_uri is refused",
        arguments: [
            ("{}", "par: request_uri is missing from the answer"),
            (#"{"request_uri":7}"#, "par: request_uri: expected a string, found a number"),
            (#"{"request_uri":""}"#, "par: request_uri: expected a string, found an empty one"),
            ("", "par: expected a JSON object, found an empty body with status 201"),
        ])
    func broken(_ body: String, _ message: String) throws {
        let call = try call(Fixture.pending())
        #expect(throws: Fixture.refused(message, .pushedAuthorization)) {
            try call.read(Fixture.json(body, status: 201))
        }
    }

    @Test("a request_uri of 100 KB is an error of the provider, with any setting of par")
    func longReference() throws {
        let call = try call(Fixture.pending())
        func answer(_ count: Int) -> HTTPResponse {
            Fixture.json(
                "{\"request_uri\":\"urn:\(String(repeating: "x", count: count - 4))\"}", status: 201)
        }
        let message = "par: request_uri: expected at most 8192 characters, found 102400"
        #expect(throws: Fixture.refused(message, .pushedAuthorization)) {
            try call.read(answer(102_400))
        }
        #expect(try pushed(call, answer(8_192)).requestURI.utf8.count == 8_192)
    }

    @Test("a request that is too long for a URL can be pushed")
    func longRequest() throws {
        var request = Fixture.request()
        request.extraParameters = [FormEncoding.Pair("x", String(repeating: "y", count: 70_000))]
        #expect(
            Fixture.error { try request.begin(Fixture.metadata(), random: Fixture.random()) }?.hint
                == .set(.pushedAuthorization, to: "require"))
        let pending = try request.begin(Fixture.metadata(), random: Fixture.random(), isPushed: true)
        #expect(try call(pending).request.value("x")?.utf8.count == 70_000)
    }

    private func push(_ answers: HTTPResponse..., dpop: DPoPKey) throws -> [HTTPRequest] {
        let transport = ScriptedTransport(answers.map { .success($0) })
        let environment = Fixture.context(transport)
        let (pending, url) = (try Fixture.pending(), try Fixture.url("https://op.example/par"))
        let pushed = Result { () throws(OIDCError) in
            try PushedAuthorization.push(pending, to: url, client: Self.client, dpop: dpop, in: environment)
        }
        if answers.count < 3 { #expect(try pushed.get().requestURI == "urn:x") }
        if case .failure(let error) = pushed {
            #expect(error.kind == .refused && error.oauthError == "use_dpop_nonce")
            #expect(error.message.contains("another DPoP nonce each time"), "\(error.message)")
        }
        return transport.requests
    }

    private static func demand(_ nonce: String) -> HTTPResponse {
        Fixture.json(#"{"error":"use_dpop_nonce"}"#, status: 400, [("DPoP-Nonce", nonce)])
    }

    @Test("a bound request has a proof of its key, and a demanded nonce is answered once (RFC 9449 §10.1)")
    func proofs() throws {
        let key = try DPoPKey.generate()
        let done = Fixture.json(#"{"request_uri":"urn:x"}"#, status: 201)
        func proofs(_ requests: [HTTPRequest]) throws -> [DPoP.VerifiedProof] {
            try requests.map {
                try DPoP.verify(
                    #require($0.headers["DPoP"]), method: .post, url: $0.url, now: Fixture.now)
            }
        }
        let alone = try proofs(push(done, dpop: key))
        #expect(alone.map(\.thumbprint) == [key.thumbprint])
        let requests = try push(Self.demand("n-1"), done, dpop: key)
        #expect(try proofs(requests).count == 2)
        let claims = try requests.map { try JWS(compact: #require($0.headers["DPoP"])).claims }
        #expect(claims.map { $0?["nonce"] } == [nil, "n-1"] && claims[0]?["jti"] != claims[1]?["jti"])
        #expect(try push(Self.demand("n-1"), Self.demand("n-2"), done, dpop: key).count == 2)
    }

    @Test("use_dpop_nonce has no hint to set what is already set")
    func nonceDemand() throws {
        let answer = Fixture.json(#"{"error":"use_dpop_nonce"}"#, status: 400)
        let bound = try call(Fixture.pending(), dpop: .generate())
        #expect(Fixture.error { try bound.read(answer) }?.hint == DPoP.missingNonceHint)
        let plain = try call(Fixture.pending())
        #expect(Fixture.error { try plain.read(answer) }?.hint == .set(.dpop, to: "true"))
    }

    @Test("a refusal keeps the provider's code, and a server error means try later")
    func refused() throws {
        let call = try call(Fixture.pending())
        let refused = Fixture.error {
            try call.read(Fixture.json(#"{"error":"invalid_request"}"#, status: 400))
        }
        #expect(refused?.kind == .refused)
        #expect(refused?.oauthError == "invalid_request")
        #expect(refused?.stage == .pushedAuthorization)
        #expect(Fixture.error { try call.read(Fixture.html(status: 502)) }?.kind == .unreachable)
    }

    @Test("authorize-url prints the short URL of a pushed request")
    func pendingJSON() throws {
        let pending = try Fixture.pending()
        let pushed = try pushed(
            call(pending), Fixture.json(#"{"request_uri":"urn:x"}"#, status: 201))
        let read = try PendingAuthorization(json: pending.json(opening: pushed.url))
        #expect(read.url.text == "https://op.example/authorize?client_id=cli&request_uri=urn%3Ax")
        #expect(read.pkce == pending.pkce)
    }
}
