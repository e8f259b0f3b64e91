import Testing

@testable import OIDCCore

/// Long answers that are expensive to read: each keeps a reader with quadratic work busy for more than a minute.
@Suite("Answers that are expensive to read", .timeLimit(.minutes(1)))
struct CostlyAnswerTests {
    private func call(_ request: TokenRequest) throws -> EndpointCall<TokenEndpoint.Answer> {
        let endpoint = TokenEndpoint(
            url: try Fixture.url("https://op.example/token"), client: Client(id: "cli"))
        return try endpoint.call(request, now: Fixture.now, random: Fixture.random())
    }

    @Test("a form of very many members is read")
    func manyMembers() throws {
        let members = (0..<25_000).map { "\(String($0, radix: 36))=" }.joined(separator: "&")
        let body = "access_token=a&token_type=Bearer&" + members
        #expect(body.utf8.count <= 1 << 20)
        let answer = HTTPResponse(
            status: 200, headers: HTTPHeaders([("Content-Type", "application/x-www-form-urlencoded")]),
            body: Array(body.utf8))
        guard case .tokens(let tokens) = try call(.clientCredentials()).read(answer) else {
            Issue.record("expected tokens")
            return
        }
        #expect(tokens.access.token == Redacted("a"))
    }

    @Test("an object of very many members is read, and one of them repeated at the end found")
    func manyObjectMembers() throws {
        let members = (0..<40_000).map { "\"\(String($0, radix: 36))\":0" }.joined(separator: ",")
        #expect(try JSONValue(parsing: "{\(members)}").object?.members.count == 40_000)
        #expect(throws: JSONError.self) { try JSONValue(parsing: "{\(members),\"0\":0}") }
    }

    @Test("a number of very many digits is read, and is not an integer")
    func manyDigits() throws {
        for text in [
            "1" + String(repeating: "0", count: 300_000),
            "0." + String(repeating: "0", count: 500_000) + String(repeating: "7", count: 500_000),
            "1e-" + String(repeating: "9", count: 300_000),
        ] {
            let number = try JSONValue(parsing: text).number
            #expect(number?.text == text && number?.integer ?? 0 == 0)
        }
    }

    @Test(
        "a long secret is removed from a long text that nearly repeats it everywhere",
        arguments: [1_000, 60_000])
    func longSecret(_ count: Int) throws {
        let token = String(repeating: "a", count: count) + "b"
        let text = String(repeating: "a", count: 300_000)
        let answer = Fixture.json(#"{"error":"invalid_grant","error_description":"\#(text)"}"#, status: 400)
        let error = Fixture.error { try call(.refresh(Redacted(token))).read(answer) }
        #expect(error?.oauthError == "invalid_grant" && error?.message.utf8.count ?? 0 < 600)
    }

    @Test("endless blanks are trimmed")
    func blanks() {
        let blanks = String(repeating: " ", count: 1 << 18)
        #expect(ASCII.trimmed(blanks + "a" + blanks) == "a")
        #expect(DisplayText.clean(String(repeating: "\u{200B}", count: 1 << 18) + "a") == "a")
    }
}
