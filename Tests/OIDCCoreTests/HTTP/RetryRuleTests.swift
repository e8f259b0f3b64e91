@testable import OIDCCore
import Testing

@Suite("what an answer asks for, and whether that was done already")
struct RetryRuleTests {
    private static func answer(_ status: Int, _ challenge: String? = nil) -> HTTPResponse {
        var response = HTTPResponse(status: status)
        if let challenge { response.headers["WWW-Authenticate"] = challenge }
        response.headers["DPoP-Nonce"] = "n-1"
        return response
    }

    @Test(
        "a demand is read from status and challenge",
        arguments: [
            (answer(401, #"DPoP error="use_dpop_nonce""#), true, RetryRule.Demand.proof(nonce: "n-1")),
            (answer(401, #"DPoP error="use_dpop_nonce""#), false, .anotherToken),
            (answer(401), true, .anotherToken),
            (answer(401, #"Bearer error="invalid_token""#), false, .anotherToken),
            (answer(401, #"Bearer error="insufficient_user_authentication", max_age="5""#), false, .stepUp),
            (answer(403, #"Bearer error="insufficient_scope", scope="a""#), false, .stepUp),
            (answer(403), false, nil), (answer(403, #"DPoP error="use_dpop_nonce""#), true, nil),
            (answer(200), true, nil), (answer(500), false, nil),
        ])
    func demands(_ answer: HTTPResponse, _ isBound: Bool, _ demand: RetryRule.Demand?) {
        #expect(RetryRule.Demand(answer, isBound: isBound) == demand)
    }

    @Test("each is done once; another token may be proved again, and is not refreshed after a step-up")
    func once() throws {
        var rule = RetryRule(refreshes: true, stepsUp: true)
        rule.use(.proof(nonce: "n-1"))
        #expect(rule.nonce == "n-1")
        #expect(!rule.allows(.proof(nonce: "n-2")) && rule.allows(.anotherToken) && rule.allows(.stepUp))
        rule.use(.anotherToken)
        #expect(rule.allows(.proof(nonce: "n-2")) && !rule.allows(.anotherToken) && rule.allows(.stepUp))
        rule = RetryRule(refreshes: true, stepsUp: true)
        rule.use(.stepUp)
        #expect(!rule.allows(.anotherToken) && !rule.allows(.stepUp))
    }

    @Test("a request that cannot be sent again gets nothing; a second nonce is a refusal")
    func limits() throws {
        #expect(!RetryRule(proves: false).allows(.proof(nonce: "n-1")))
        var rule = RetryRule()
        #expect(!rule.allows(.anotherToken) && !rule.allows(.stepUp))
        try rule.prove(nonce: "n-1", or: DPoP.anotherNonce(.token))
        #expect(
            Fixture.error { try rule.prove(nonce: "n-2", or: DPoP.anotherNonce(.token)) }
                == DPoP.anotherNonce(.token))
    }
}
