import OIDCCore
import OIDCCrypto
import Testing

@Suite("Claims of ID tokens")
struct IDTokenClaimTests {
    typealias Sample = SampleProvider

    struct Case: CustomTestStringConvertible {
        let testDescription: String
        var claims: [String: JSONValue?] = [:]
        var change: @Sendable (inout IDTokenRules) -> Void = { _ in }
        /// Nil where the token is accepted.
        var message: String?
        /// What to do if the provider never sends the claim.
        var hint: Hint? {
            guard message?.hasSuffix("found none") == true else { return nil }
            if claims["nonce"] == .some(nil) { return .advice(.turnNonceOff) }
            return message?.hasPrefix("auth_time") == true ? .advice(.leaveOutMaxAge) : nil
        }

        init(
            _ name: String, _ claims: [String: JSONValue?] = [:], _ message: String? = nil,
            change: @escaping @Sendable (inout IDTokenRules) -> Void = { _ in }
        ) {
            testDescription = name
            self.claims = claims
            self.message = message
            self.change = change
        }
    }

    static func number(_ seconds: Int64) -> JSONValue { JSONValue(Sample.seconds + seconds) }
    static func moment(_ seconds: Int64) -> String { Sample.now.adding(seconds).description }
    static func raw(_ text: String) -> JSONValue { (try? JSONValue(parsing: text)) ?? .null }

    static let names: [Case] = [
        Case("all is right"),
        Case(
            "iss is another", ["iss": "https://evil.example"],
            "iss: expected \"https://op.example\", found \"https://evil.example\""),
        Case(
            "iss differs by a slash", ["iss": "https://op.example/"],
            "iss: expected \"https://op.example\", found \"https://op.example/\""),
        Case(
            "iss differs in case", ["iss": "https://OP.example"],
            "iss: expected \"https://op.example\", found \"https://OP.example\""),
        Case("iss is missing", ["iss": nil], "iss: expected \"https://op.example\", found none"),
        Case("iss is a number", ["iss": 1], "iss: expected a string, found 1"),
        Case("sub is missing", ["sub": nil], "sub: expected a string, found none"),
        Case("sub is empty", ["sub": ""], "sub: expected 1 to 255 characters, found 0"),
        Case("sub is a number", ["sub": 7], "sub: expected a string, found 7"),
        Case("sub has 255 characters", ["sub": .string(String(repeating: "x", count: 255))]),
        Case(
            "sub has 256 characters", ["sub": .string(String(repeating: "x", count: 256))],
            "sub: expected 1 to 255 characters, found 256"),
        Case(
            "nonce is another", ["nonce": "other"], "nonce: expected the one of this sign-in, found another"),
        Case("nonce is missing", ["nonce": nil], "nonce: expected the one of this sign-in, found none"),
        Case("nonce is empty", ["nonce": ""], "nonce: expected the one of this sign-in, found another"),
        Case("nonce is a number", ["nonce": 1], "nonce: expected a string, found 1"),
        Case(
            "nonce is ours in an array: it is not shown", ["nonce": [.string(Sample.nonce)]],
            "nonce: expected a string, found [(secret)]"),
        Case("nonce is null", ["nonce": .null], "nonce: expected a string, found null"),
        Case("a nonce that was not requested is ignored", ["nonce": "x"]) { $0.nonce = nil },
        Case("no nonce if none was requested", ["nonce": nil]) { $0.nonce = nil },
    ]

    static let audiences: [Case] = [
        Case("aud is another", ["aud": "other"], "aud: expected \"client\", found \"other\""),
        Case("aud is missing", ["aud": nil], "aud: expected \"client\", found none"),
        Case("aud is an array of us", ["aud": ["client"]]),
        Case("aud is an array of us twice", ["aud": ["client", "client"]]),
        Case("aud is an empty array", ["aud": []], "aud: expected \"client\", found []"),
        Case("aud is an array of others", ["aud": ["a", "b"]], "aud: expected \"client\", found [a, b]"),
        Case("aud is a number", ["aud": 1], "aud: expected a string or an array of strings, found 1"),
        Case(
            "aud has a number", ["aud": ["client", 1]],
            "aud: expected a string or an array of strings, found [client, a number]"),
        Case(
            "aud is an object", ["aud": ["client": true]],
            "aud: expected a string or an array of strings, found an object"),
        Case(
            "aud is a list in a string", ["aud": "client other"],
            "aud: expected \"client\", found \"client other\""),
        Case("aud differs in case", ["aud": "Client"], "aud: expected \"client\", found \"Client\""),
        Case(
            "aud has another too", ["aud": ["client", "other"]],
            "azp: expected \"client\" (aud is [client, other]), found none"),
        Case("aud has another too, and azp is us", ["aud": ["other", "client"], "azp": "client"]),
        Case(
            "aud has another too, and azp is the other", ["aud": ["client", "other"], "azp": "other"],
            "azp: expected \"client\" (aud is [client, other]), found \"other\""),
        Case("azp is us", ["azp": "client"]),
        Case("azp is another", ["azp": "other"], "azp: expected \"client\", found \"other\""),
        Case("azp is a number", ["azp": 1], "azp: expected a string, found 1"),
        Case("azp is null", ["azp": .null], "azp: expected a string, found null"),
        Case(
            "azp does not stand for aud", ["aud": "other", "azp": "client"],
            "aud: expected \"client\", found \"other\""),
    ]

    static let times: [Case] = [
        Case("exp is missing", ["exp": nil], "exp: expected seconds since 1970, found none"),
        Case(
            "exp is a string", ["exp": "9999999999"], "exp: expected seconds since 1970, found \"9999999999\""
        ),
        Case("exp is null", ["exp": .null], "exp: expected seconds since 1970, found null"),
        Case("exp is 1e300", ["exp": raw("1e300")], "exp: expected seconds since 1970, found 1e300"),
        Case("exp is 1e999", ["exp": raw("1e999")], "exp: expected seconds since 1970, found 1e999"),
        Case(
            "exp is 2^63", ["exp": raw("9223372036854775808")],
            "exp: expected seconds since 1970, found 9223372036854775808"),
        Case("exp is 2^63 - 1", ["exp": JSONValue(.max)]),
        Case(
            "exp is -2^63", ["exp": JSONValue(.min)],
            "exp: expected a time after \(moment(0)), found -9223372036854775808"),
        Case("exp has a fraction", ["exp": raw("\(Sample.seconds).9")]),
        Case("exp is past, within the leeway", ["exp": number(-59)]),
        Case(
            "exp is past, at the end of the leeway", ["exp": number(-60)],
            "exp: expected a time after \(moment(0)), found \(moment(-60))"),
        Case(
            "exp is now, without leeway", ["exp": number(0)],
            "exp: expected a time after \(moment(0)), found \(moment(0))"
        ) { $0.leeway = .seconds(0) },
        Case("exp is a second ahead, without leeway", ["exp": number(1)]) { $0.leeway = .seconds(0) },
        Case("iat is missing", ["iat": nil], "iat: expected seconds since 1970, found none"),
        Case("iat is a string", ["iat": "1"], "iat: expected seconds since 1970, found \"1\""),
        Case("iat is ahead, within the leeway", ["iat": number(60)]),
        Case("iat is old", ["iat": 0]),
        Case("nbf is past", ["nbf": number(-1)]),
        Case("nbf is ahead, within the leeway", ["nbf": number(60)]),
        Case("nbf is a string", ["nbf": "1"], "nbf: expected seconds since 1970, found \"1\""),
        Case("auth_time is not looked at unasked", ["auth_time": "x"]),
        Case("auth_time is recent", ["auth_time": number(-100)]) { $0.maxAge = .seconds(100) },
        Case("auth_time is old, within the leeway", ["auth_time": number(-160)]) {
            $0.maxAge = .seconds(100)
        },
        Case(
            "auth_time is too old", ["auth_time": number(-161)],
            "auth_time: expected at most 100 seconds before \(moment(0)), found \(moment(-161))"
        ) { $0.maxAge = .seconds(100) },
        Case(
            "auth_time is ahead", ["auth_time": number(61)],
            "auth_time: expected at most 100 seconds before \(moment(0)), found \(moment(61))"
        ) { $0.maxAge = .seconds(100) },
        Case("auth_time is missing", [:], "auth_time: expected a time, as max_age was requested, found none")
        { $0.maxAge = .seconds(0) },
        Case(
            "auth_time is a string", ["auth_time": "1"], "auth_time: expected seconds since 1970, found \"1\""
        ) { $0.maxAge = .seconds(100) },
        Case(
            "max_age has no bounds", ["auth_time": JSONValue(.min)],
            "auth_time: expected at most 9223372036854775807 seconds before \(moment(0)), found -9223372036854775808"
        ) { $0.maxAge = .seconds(Int64.max) },
    ]

    @Test("each claim is checked", arguments: names + audiences + times)
    func claims(_ sample: Case) throws {
        var rules = Sample.rules
        sample.change(&rules)
        let token = try Sample.token(claims: sample.claims)
        let keys = RotatingKeys(try Sample.publicKeys(.p256))
        if let message = sample.message {
            #expect(throws: Sample.untrusted(message, hint: sample.hint)) {
                try Sample.validate(token, rules, keys: keys)
            }
            #expect(keys.requests.isEmpty)
        } else {
            let idToken = try Sample.validate(token, rules, keys: keys)
            #expect(idToken.claims == Sample.claims(sample.claims))
            #expect(keys.requests == [false])
        }
    }

    @Test("a token from the future hints at the clock", arguments: ["iat", "nbf"])
    func fromTheFuture(_ name: String) throws {
        let token = try Sample.token(claims: [name: Self.number(61)])
        let error = Sample.untrusted(
            "\(name): expected a time no later than \(Self.moment(0)), found \(Self.moment(61))",
            hint: .advice(.checkClock))
        #expect(throws: error) {
            try Sample.validate(token, keys: RotatingKeys(try Sample.publicKeys(.p256)))
        }
    }
}
