import Testing

@testable import OIDCCore

@Suite("Answers damaged in one byte")
struct DamagedAnswerTests {
    /// Replaces every byte in turn by two of the few that matter to JSON, forms and terminals, others for the next byte.
    private func damaged(_ text: String) -> [[UInt8]] {
        let bytes = Array(text.utf8)
        return bytes.indices.flatMap { index in
            [0, 3].map { offset in
                var copy = bytes
                copy[index] = ([0x00, 0x1B, 0x22, 0x5C, 0x7B, 0x39, 0xFF] as [UInt8])[(index + offset) % 7]
                return copy
            }
        } + bytes.indices.map { Array(bytes[..<$0]) }
    }

    /// Reads what is damaged; nil if it was refused, in one clean line.
    private func read<Value>(_ body: () throws(OIDCError) -> Value?) -> Value? {
        do throws(OIDCError) { return try body() } catch {
            check(error)
            return nil
        }
    }

    private func check(_ error: OIDCError) {
        #expect(error.kind == .refused || error.kind == .untrusted)
        #expect(error.message.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
        #expect(error.message.count < 1_000)
    }

    @Test("a token response is read or refused in one clean line, and never gives an unclean token")
    func tokenResponse() throws {
        let endpoint = TokenEndpoint(
            url: try Fixture.url("https://op.example/token"), client: Client(id: "cli"))
        let call = try endpoint.call(.clientCredentials(), now: Fixture.now, random: Fixture.random())
        let types = ["application/json", "application/x-www-form-urlencoded"]
        let texts = [
            #"{"access_token":"at","token_type":"Bearer","expires_in":3600,"refresh_token":"rt","scope":"a"}"#,
            "access_token=a%2Bt&token_type=Bearer&expires_in=3600&scope=a+b",
        ]
        for (type, text) in zip(types, texts) {
            for body in damaged(text) {
                let response = HTTPResponse(
                    status: 200, headers: HTTPHeaders([("Content-Type", type)]), body: body)
                let answer = read { () throws(OIDCError) in try call.read(response) }
                guard case .tokens(let tokens)? = answer else { continue }
                #expect(tokens.access.token.revealed.utf8.allSatisfy { (0x21...0x7E).contains($0) })
            }
        }
    }

    @Test("metadata is read or refused in one clean line, and never gives another issuer")
    func metadata() throws {
        let text = JSONValue.object(try Fixture.document()).compact
        let call = ProviderMetadata.call(
            try Fixture.url("https://op.example/m"), expectedIssuer: Fixture.issuer)
        for body in damaged(text) {
            let response = HTTPResponse(status: 200, body: body)
            let answer = read { () throws(OIDCError) in try call.read(response) }
            guard let metadata = answer else { continue }
            let isRight =
                metadata.issuer == Fixture.issuer && metadata.endpoints.all.allSatisfy { $0.url.isSecure }
            #expect(isRight)
        }
    }

    @Test("a callback is accepted only with the state and issuer of this sign-in")
    func callback() throws {
        let pending = try Fixture.pending()
        let text = "code=abcdef&state=\(pending.state.revealed)&iss=https%3A%2F%2Fop.example"
        for body in damaged(text) {
            guard let pairs = FormEncoding.decode(String(decoding: body, as: UTF8.self)) else { continue }
            guard read({ () throws(OIDCError) in try pending.accept(pairs) }) != nil else { continue }
            #expect(pairs.contains(FormEncoding.Pair("state", pending.state.revealed)))
            #expect(pairs.contains(FormEncoding.Pair("iss", Fixture.issuer)))
        }
    }
}
