import TestSupport
import Testing

@testable import OIDCCore

@Suite("what a provider has against a request, by a push that is thrown away")
struct RequestObjectionTests {
    private func objection(
        _ status: Int, _ body: String, secret: Bool = false, hasEndpoint: Bool = true,
        pushing: SignInFlow.Pushing = .auto
    ) throws -> (objection: RequestObjection?, pushes: Int) {
        let provider = try InMemoryProvider { _ in }
        let login = try provider.login()
        var metadata = login.metadata
        metadata[.pushedAuthorizationRequest] =
            hasEndpoint ? WebURL("\(InMemoryProvider.issuer)/par") : nil
        let client =
            secret ? Client(id: "demo", authentication: .clientSecretPost(Redacted("s"))) : Client(id: "demo")
        let flow = SignInFlow(
            context: login.context, metadata: metadata,
            tokenEndpoint: TokenEndpoint(url: login.tokenEndpoint.url, client: client),
            request: login.request, key: login.key, pushing: pushing)
        let log = RequestLog()
        provider.intercept { (request) throws(OIDCError) in
            guard request.url.path == "/par" else { return nil }
            log.note(request)
            return HTTPResponse(
                status: status, headers: HTTPHeaders([("Content-Type", "application/json")]),
                body: Array(body.utf8))
        }
        return (flow.objection(redirectURI: "http://127.0.0.1:5000/callback"), log.all.count)
    }

    @Test(
        "an unregistered redirect URL and an invalid scope end the sign-in (Keycloak 26.7, oidc-provider 9.13)",
        arguments: [
            (
                400, #"{"error":"invalid_request","error_description":"Invalid parameter: redirect_uri"}"#,
                true
            ),
            (
                400,
                #"{"error":"invalid_redirect_uri","error_description":"redirect_uri did not match any of the client's registered redirect_uris"}"#,
                true
            ),
            (400, #"{"error":"invalid_scope","error_description":"Invalid scopes: openid nope"}"#, false),
        ])
    func final(status: Int, body: String, isRedirect: Bool) throws {
        let (objection, pushes) = try objection(status, body)
        guard case .final(let error)? = objection else {
            Issue.record("\(String(describing: objection))")
            return
        }
        #expect(pushes == 1 && error.kind == .refused && error.stage == .pushedAuthorization)
        let expected = Hint.checkRegistration(
            redirectURL: "http://127.0.0.1:5000/callback", clientID: "demo")
        #expect((error.hint == expected) == isRedirect)
    }

    @Test(
        "everything else says nothing",
        arguments: [
            (401, #"{"error":"invalid_client"}"#), (403, ""), (404, ""), (500, ""),
            (400, #"{"error":"invalid_request","error_description":"Missing parameter: nonce"}"#),
            (201, #"{"request_uri":"urn:x","expires_in":60}"#),
        ])
    func silent(status: Int, body: String) throws {
        let (objection, pushes) = try objection(status, body)
        #expect(objection == nil && pushes == 1)
    }

    @Test("a client that authenticated and is refused is shown, and the wait goes on")
    func refusedClient() throws {
        let answer = #"{"error":"invalid_client","error_description":"Authentication failed."}"#
        guard case .noted(let error)? = try objection(401, answer, secret: true).objection else {
            Issue.record("no note")
            return
        }
        #expect(error.oauthError == "invalid_client")
    }

    @Test("nothing is pushed without an endpoint for it, with par=off, or if the request was pushed already")
    func notPushed() throws {
        let refusal = #"{"error":"invalid_scope"}"#
        #expect(try objection(400, refusal, hasEndpoint: false).pushes == 0)
        #expect(try objection(400, refusal, pushing: .off).pushes == 0)
        #expect(try objection(400, refusal, pushing: .require).pushes == 0)
    }

    @Test(
        "the answer that the request must be pushed is recognized by its words",
        arguments: [
            ("Pushed Authorization Request must be used", true),
            ("Pushed Authorization Request is only allowed.", true), ("something else", false),
        ])
    func mustBePushed(words: String, isRecognized: Bool) throws {
        let provider = try InMemoryProvider { _ in }
        var flow = try provider.login()
        let pending = try flow.start(redirectURI: "http://127.0.0.1:1/callback").pending
        let answer = [
            FormEncoding.Pair("error", "invalid_request"), FormEncoding.Pair("error_description", words),
            FormEncoding.Pair("state", pending.state.revealed),
            FormEncoding.Pair("iss", InMemoryProvider.issuer),
        ]
        let error = try #require(Fixture.error { _ = try pending.accept(answer) })
        #expect(!flow.isRefusedUnpushed(error) || flow.metadata[.pushedAuthorizationRequest] != nil)
        flow = SignInFlow(
            context: flow.context, metadata: flow.metadata, tokenEndpoint: flow.tokenEndpoint,
            request: flow.request, key: flow.key)
        var metadata = flow.metadata
        metadata[.pushedAuthorizationRequest] = WebURL("\(InMemoryProvider.issuer)/par")
        let offering = SignInFlow(
            context: flow.context, metadata: metadata, tokenEndpoint: flow.tokenEndpoint,
            request: flow.request, key: flow.key)
        #expect(offering.isRefusedUnpushed(error) == isRecognized)
    }
}
