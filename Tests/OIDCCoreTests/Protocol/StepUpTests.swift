import Testing

@testable import OIDCCore

@Suite("Step-up (RFC 9470)")
struct StepUpTests {
    private func stepUp(_ field: String) -> StepUp? {
        StepUp(HTTPResponse(status: 401, headers: HTTPHeaders([("WWW-Authenticate", field)])).challenges)
    }

    @Test(
        "a challenge names what the next sign-in must request",
        arguments: [
            (#"acr_values="urn:a""#, "urn:a", nil),
            (#"acr_values="urn:a urn:b", max_age="60""#, "urn:a urn:b", 60), ("max_age=0", nil, 0),
            ("max_age=soon", nil, nil), ("max_age=-1", nil, nil),
        ] as [(String, String?, Int64?)])
    func asked(_ parameters: String, _ acrValues: String?, _ maxAge: Int64?) throws {
        let found = try #require(
            stepUp("Bearer error=\"insufficient_user_authentication\", \(parameters)"))
        #expect(found.acrValues == acrValues)
        #expect(found.maxAge == maxAge)
    }

    @Test(
        "values that do not belong into a line to copy are left out",
        arguments: ["a';rm -rf ~'", "$(id)", "`id`", "", "a\u{1B}[m", "ä", "a&b"])
    func hostile(_ values: String) {
        let found = stepUp(
            "Bearer error=insufficient_user_authentication, max_age=5, acr_values=\"\(values)\"")
        #expect(found?.acrValues == nil)
    }

    @Test(
        "other challenges do not ask for a step-up",
        arguments: ["Bearer", #"Bearer error="invalid_token", max_age=5"#])
    func other(_ field: String) {
        #expect(stepUp(field) == nil)
    }
}
