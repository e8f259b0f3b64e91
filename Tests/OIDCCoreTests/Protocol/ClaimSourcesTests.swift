import OIDCCrypto
import Synchronization
import TestSupport
import Testing

@testable import OIDCCore

@Suite("claims of other issuers (OpenID Connect Core §5.6.2)")
struct ClaimSourcesTests {
    typealias Sample = SampleProvider

    /// The issuers and endpoints of claims, which note what they are asked.
    private final class Web: HTTPTransport {
        let log = RequestLog()
        private let answers: [String: HTTPResponse]
        let time = Mutex<Instant>(Sample.now)
        /// Seconds that each request takes.
        let pace: Int64

        init(_ answers: [String: HTTPResponse] = [:], pace: Int64 = 0) throws {
            var all = answers
            for issuer in [
                "https://bank.example", "https://192.168.7.7", "http://127.0.0.1:9", "https://bank.internal",
            ] {
                let place = "\(issuer)/.well-known/openid-configuration"
                all[place] =
                    answers[place]
                    ?? Fixture.json(#"{"issuer":"\#(issuer)","jwks_uri":"\#(issuer)/jwks"}"#)
                let keys = try Sample.publicKeys(.p256).json
                all["\(issuer)/jwks"] = Fixture.json(String(decoding: keys.bytes, as: UTF8.self))
            }
            self.answers = all
            self.pace = pace
        }

        func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
            log.note(request)
            time.withLock { $0 = $0.adding(pace) }
            if request.url.path.contains("/oauth-authorization-server") { return Fixture.html(status: 404) }
            guard let answer = answers[request.url.text] else {
                throw OIDCError(
                    .unreachable, "\(stage): \(request.url.origin) cannot be reached", stage: stage)
            }
            return answer
        }
    }

    private static let claimsURL = "https://bank.example/claims"

    private static func token(_ changes: [String: JSONValue?] = [:], by signer: JWTSigner? = nil) throws
        -> String
    {
        var claims: [String: JSONValue?] = [
            "iss": "https://bank.example", "sub": "bank-4711", "aud": nil, "nonce": nil, "score": 700,
            "age": 42,
        ]
        claims.merge(changes) { $1 }
        return try (signer ?? JWTSigner(Sample.key(.p256))).sign(claims: Sample.claims(claims))
    }

    private static func jwt(_ token: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: HTTPHeaders([("Content-Type", "application/jwt")]),
            body: Array(token.utf8))
    }

    /// UserInfo whose claims `names` are those of the source `s`.
    private static func userInfo(
        _ source: JSONValue, _ names: [String] = ["score"], own: [String: JSONValue] = [:]
    ) -> JSONObject {
        var claims = JSONObject()
        claims["sub"] = "alice"
        for (name, value) in own { claims[name] = value }
        var all = JSONObject()
        for name in names { all[name] = "s" }
        claims["_claim_names"] = .object(all)
        claims["_claim_sources"] = ["s": source]
        return claims
    }

    /// A cache that notes its uses.
    private final class Uses: DocumentCache {
        let count = Mutex(0)

        func lookup(_ url: WebURL, at now: Instant) -> [UInt8]? {
            count.withLock { $0 += 1 }
            return nil
        }

        func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant) {
            count.withLock { $0 += 1 }
        }

        func forget(_ url: WebURL) { count.withLock { $0 += 1 } }
    }

    private static func resolve(
        _ claims: JSONObject, _ web: Web, only name: String? = nil,
        provider: String? = "https://op.example/userinfo", algorithms: [String]? = nil,
        cache: any DocumentCache = NoCache()
    ) -> ClaimSources.Outcome {
        let context = OIDCContext(
            transport: web, cache: cache, now: { web.time.withLock { $0 } },
            random: { Array(repeating: 7, count: $0) })
        return ClaimSources(
            namedBy: provider.flatMap { WebURL($0) }, clientID: Sample.clientID, algorithms: algorithms,
            context: context
        ).resolve(claims, only: name)
    }

    /// Checks that the claim of a source is left out, and why.
    private static func expectLeftOut(
        _ outcome: ClaimSources.Outcome, _ kind: OIDCError.Kind, _ words: String, hint: Hint? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(outcome.claims["score"] == nil, sourceLocation: sourceLocation)
        #expect(outcome.claims["_claim_names"] == nil, sourceLocation: sourceLocation)
        #expect(outcome.claims["_claim_sources"] == nil, sourceLocation: sourceLocation)
        #expect(outcome.refusals.count == 1, sourceLocation: sourceLocation)
        let error = outcome.refusals.first?.error
        #expect(error?.kind == kind, "\(error?.message ?? "none")", sourceLocation: sourceLocation)
        #expect(
            error?.message.contains(words) == true, "\(error?.message ?? "none")",
            sourceLocation: sourceLocation)
        #expect(error?.hint == hint, sourceLocation: sourceLocation)
    }

    @Test("an aggregated claim is verified with its issuer's keys, and says who makes it")
    func aggregated() throws {
        let web = try Web()
        let outcome = Self.resolve(
            Self.userInfo(["JWT": .string(try Self.token())], ["score", "age"]), web)
        #expect(outcome.refusals.isEmpty, "\(outcome.refusals)")
        let expected = try JSONValue(
            parsing: """
                {"sub":"alice","score":700,"age":42,"_claim_names":{"score":"s","age":"s"},\
                "_claim_sources":{"s":{"iss":"https://bank.example"}}}
                """)
        #expect(JSONValue.object(outcome.claims) == expected, "\(outcome.claims)")
        #expect(web.log.paths == ["/.well-known/openid-configuration", "/jwks"])
        #expect(web.log.all.allSatisfy { $0.headers["Authorization"] == nil })
    }

    @Test("a distributed claim is fetched with the token of its source, and with no other")
    func distributed() throws {
        for token in ["ksj3n283dke", nil] {
            let web = try Web([Self.claimsURL: Self.jwt(Self.token() + "\n")])
            var source = JSONObject()
            source["endpoint"] = .string(Self.claimsURL)
            source["access_token"] = token.map { .string($0) }
            let outcome = Self.resolve(Self.userInfo(.object(source)), web)
            #expect(outcome.claims["score"] == 700 && outcome.refusals.isEmpty, "\(outcome.refusals)")
            let request = try #require(web.log.all.first)
            #expect(request.url.text == Self.claimsURL && request.method == .get)
            #expect(request.headers["Authorization"] == token.map { "Bearer \($0)" })
            #expect(!request.usesClientCertificate && request.headers["DPoP"] == nil)
        }
    }

    @Test("a token that cannot be verified is left out: signature, alg, iss, aud, times")
    func unverified() throws {
        let stranger = try JWTSigner(SampleKeys.otherKey(.p256))
        let secret = try JWTSigner(secret: Redacted("a client secret of thirty-two by"))
        let none = Sample.unsigned(
            header: #"{"alg":"none"}"#, payload: #"{"iss":"https://bank.example","score":700}"#, signature: []
        )
        let clock = Hint.advice(.checkClock)
        for (token, words, hint) in [
            (try Self.token(by: stranger), "no key verifies it", nil), (none, "alg: expected", nil),
            (try Self.token(by: secret), "alg: expected a signature with the issuer's key", nil),
            (try Self.token(["iss": nil]), "iss: expected an issuer, found none", nil),
            (try Self.token(["aud": "another client"]), "aud: expected", nil),
            (try Self.token(["exp": JSONValue(Sample.seconds - 61)]), "exp: expected", clock),
            (try Self.token(["nbf": JSONValue(Sample.seconds + 61)]), "nbf: expected", clock),
            ("e30.e30.x", "the signature is not base64url", nil), ("", "expected three parts", nil),
            (#"{"score":700}"#, "expected three parts", nil),
        ] as [(String, String, Hint?)] {
            Self.expectLeftOut(
                Self.resolve(Self.userInfo(["JWT": .string(token)]), try Web()), .untrusted, words,
                hint: hint)
            let web = try Web([Self.claimsURL: Self.jwt(token)])
            let fetched = Self.resolve(Self.userInfo(["endpoint": .string(Self.claimsURL)]), web)
            Self.expectLeftOut(fetched, .untrusted, words, hint: hint)
        }
        // Ours is a good audience.
        let ours = try Self.token(["aud": [.string(Sample.clientID), "another"]])
        #expect(Self.resolve(Self.userInfo(["JWT": .string(ours)]), try Web()).claims["score"] == 700)
    }

    @Test(
        "a token of another kind makes no claims (RFC 8725 §3.11, §3.12)",
        arguments: [
            "at+jwt", "application/at+jwt", "token-introspection+jwt", "logout+jwt", "secevent+jwt",
            "dpop+jwt",
            "", 7, .null,
        ] as [JSONValue])
    func otherType(type: JSONValue) throws {
        let token = try JWTSigner(Sample.key(.p256)).sign(
            header: Sample.header(["typ": type]),
            claims: Sample.claims([
                "iss": "https://bank.example", "aud": nil, "nonce": nil, "score": 700,
            ]))
        let web = try Web()
        Self.expectLeftOut(
            Self.resolve(Self.userInfo(["JWT": .string(token)]), web), .untrusted, "typ: expected \"JWT\"")
        #expect(web.log.all.isEmpty)
    }

    @Test("the typ of claims is JWT or missing, and no member is that of another kind of token")
    func kinds() throws {
        for type in [nil, "JWT", "jwt", "application/JWT"] as [JSONValue?] {
            let token = try JWTSigner(Sample.key(.p256)).sign(
                header: Sample.header(type.map { ["typ": $0] } ?? [:]),
                claims: Sample.claims(["iss": "https://bank.example", "aud": nil, "nonce": nil, "score": 1]))
            #expect(
                Self.resolve(Self.userInfo(["JWT": .string(token)]), try Web()).claims["score"] == 1)
        }
        for name in ["nonce", "at_hash", "events", "token_introspection"] {
            let token = try Self.token([name: ["x": 1]])
            let web = try Web()
            Self.expectLeftOut(
                Self.resolve(Self.userInfo(["JWT": .string(token)]), web), .untrusted,
                "\(name): expected a token of claims")
            #expect(web.log.all.isEmpty)
        }
    }

    @Test("an algorithm that the security profile forbids verifies nothing")
    func algorithms() throws {
        let claims = Self.userInfo(["JWT": .string(try Self.token())])
        Self.expectLeftOut(
            Self.resolve(claims, try Web(), algorithms: ["PS256"]), .untrusted, "alg: expected PS256")
        #expect(Self.resolve(claims, try Web(), algorithms: ["PS256", "ES256"]).claims["score"] == 700)
    }

    @Test("what other issuers publish is not cached")
    func uncached() throws {
        let cache = Uses()
        let web = try Web()
        let outcome = Self.resolve(
            Self.userInfo(["JWT": .string(try Self.token())]), web, cache: cache)
        #expect(outcome.claims["score"] == 700 && web.log.all.count == 2)
        #expect(cache.count.withLock { $0 } == 0)
    }

    @Test(
        "an iss that cannot be an issuer is the source's fault, and no hint has it",
        arguments: [
            "https://evil.example/.well-known/openid-configuration", "https://bank.example/?a",
            "https://bank.example/{tenantid}/v2.0",
        ])
    func impossibleIssuer(issuer: String) throws {
        let web = try Web()
        let token = try Self.token(["iss": .string(issuer)])
        Self.expectLeftOut(
            Self.resolve(Self.userInfo(["JWT": .string(token)]), web), .untrusted, "claims: iss: expected")
        #expect(web.log.all.isEmpty)
    }

    @Test("metadata of another issuer than iss, or without keys, verify nothing")
    func metadata() throws {
        let token = try Self.token()
        for (document, words) in [
            (
                #"{"issuer":"https://evil.example","jwks_uri":"https://bank.example/jwks"}"#,
                "issuer: expected"
            ),
            (#"{"issuer":"https://bank.example"}"#, "publishes no keys"),
        ] {
            let web = try Web([
                "https://bank.example/.well-known/openid-configuration": Fixture.json(document)
            ])
            let outcome = Self.resolve(Self.userInfo(["JWT": .string(token)]), web)
            Self.expectLeftOut(outcome, .untrusted, words)
        }
    }

    @Test(
        "requests go only to public https URLs, whatever names them",
        arguments: [
            "http://bank.example/claims", "https://127.0.0.1/claims", "http://127.0.0.1:8080/claims",
            "https://localhost/claims", "https://[::1]/", "https://0.0.0.0/", "https://10.0.0.1/",
            "https://192.168.7.7/x", "https://172.16.0.1/x", "https://169.254.169.254/latest",
            "https://2130706433/",
            "https://0xa9fea9fe/", "https://[::ffff:10.0.0.1]/", "https://[fd00::1]/", "https://[fe80::1]/",
            "https://printer/", "https://printer./", "https://nas.local/", "https://db.internal/",
            "https://db.internal./", "https://router.home.arpa/",
            "https://user:pw@bank.example/", "https://bank.example/#x", "ftp://bank.example/", "", "claims",
        ])
    func places(text: String) throws {
        let asked = try Web([text: Self.jwt(Self.token())])
        let source: JSONValue = ["endpoint": .string(text), "access_token": "ksj3n283dke"]
        Self.expectLeftOut(
            Self.resolve(Self.userInfo(source), asked), .untrusted, "endpoint: expected a public https URL")
        // The issuer of a token is asked for its keys, so the same holds for it.
        let token = try Self.token(["iss": .string(text)])
        Self.expectLeftOut(
            Self.resolve(Self.userInfo(["JWT": .string(token)]), asked), .untrusted,
            "iss: expected a public https URL")
        // A provider that is not known counts as a public one.
        Self.expectLeftOut(
            Self.resolve(Self.userInfo(source), asked, provider: nil), .untrusted, "endpoint: expected")
        #expect(asked.log.all.isEmpty)
    }

    @Test("the URL of an issuer's keys must be public, too")
    func keys() throws {
        for place in ["https://127.0.0.1/jwks", "https://192.168.7.7/jwks", "https://bank.internal/jwks"] {
            let web = try Web([
                "https://bank.example/.well-known/openid-configuration": Fixture.json(
                    #"{"issuer":"https://bank.example","jwks_uri":"\#(place)"}"#)
            ])
            let outcome = Self.resolve(Self.userInfo(["JWT": .string(try Self.token())]), web)
            Self.expectLeftOut(outcome, .untrusted, "jwks_uri: expected a public https URL")
            #expect(web.log.paths == ["/.well-known/openid-configuration"])
        }
    }

    @Test("a provider on loopback may name loopback, and one in a private network others there")
    func local() throws {
        for (provider, issuer, isAllowed) in [
            ("http://127.0.0.1:9480/userinfo", "http://127.0.0.1:9", true),
            ("http://127.0.0.1:9480/userinfo", "https://192.168.7.7", true),
            ("http://127.0.0.1:9480/userinfo", "https://bank.example", true),
            ("http://127.0.0.1:9480/userinfo", "https://bank.internal", true),
            ("https://10.0.0.1/userinfo", "https://192.168.7.7", true),
            ("https://10.0.0.1/userinfo", "https://bank.internal", true),
            ("https://op.internal/userinfo", "https://bank.internal", true),
            ("https://op/userinfo", "https://192.168.7.7", true),
            ("https://op.example/userinfo", "https://bank.internal", false),
            ("https://op.internal/userinfo", "http://127.0.0.1:9", false),
            ("https://10.0.0.1/userinfo", "http://127.0.0.1:9", false),
        ] {
            let token = try Self.token(["iss": .string(issuer)])
            let web = try Web(["\(issuer)/claims": Self.jwt(token)])
            let outcome = Self.resolve(
                Self.userInfo(["endpoint": .string("\(issuer)/claims")]), web, provider: provider)
            #expect((outcome.claims["score"] == 700) == isAllowed, "\(provider) \(issuer)")
            #expect(web.log.all.isEmpty == !isAllowed)
        }
    }

    @Test("a source never replaces a claim of the provider's own, nor makes one about its answer")
    func own() throws {
        let token = try Self.token(["email": "mallory@bank.example", "sub": "mallory"])
        let claims = Self.userInfo(
            ["JWT": .string(token)], ["email", "sub", "iss", "_claim_names", "score"],
            own: ["email": "alice@op.example"])
        let outcome = Self.resolve(claims, try Web())
        #expect(outcome.claims["email"] == "alice@op.example" && outcome.claims["sub"] == "alice")
        #expect(outcome.claims["iss"] == nil && outcome.claims["score"] == 700)
        #expect(outcome.claims["_claim_names"] == ["score": "s"])
        #expect(outcome.refusals.flatMap(\.claims) == ["email", "sub", "iss", "_claim_names"])
        #expect(outcome.refusals.allSatisfy { $0.error.message.contains("only the provider itself") })
        // A null is no claim (OpenID Connect Core §5.3.2).
        let null = Self.userInfo(["JWT": .string(token)], own: ["score": .null])
        #expect(Self.resolve(null, try Web()).claims["score"] == 700)
        // Nobody is asked for claims that cannot be used; without a sub, there is none.
        var plain = Self.userInfo(["endpoint": .string(Self.claimsURL)], ["sub"])
        plain["sub"] = nil
        let web = try Web()
        #expect(Self.resolve(plain, web).claims.isEmpty && web.log.all.isEmpty)
    }

    @Test("what a source does not claim, and what has no source, is left out")
    func absent() throws {
        let some = Self.resolve(
            Self.userInfo(["JWT": .string(try Self.token())], ["score", "shoe_size"]), try Web())
        #expect(some.claims["score"] == 700 && some.claims["shoe_size"] == nil)
        #expect(some.refusals.map(\.claims) == [["shoe_size"]])
        Self.expectLeftOut(
            Self.resolve(Self.userInfo(["JWT": .string(try Self.token(["score": .null]))]), try Web()),
            .refused,
            "https://bank.example does not make this claim")
        for source in [[:], "text", ["JWT": 7], .null] as [JSONValue] {
            Self.expectLeftOut(
                Self.resolve(Self.userInfo(source), try Web()), .refused, "neither JWT nor endpoint")
        }
        var odd = Self.userInfo(["JWT": .string(try Self.token())])
        odd["_claim_names"] = ["score": 7]
        Self.expectLeftOut(Self.resolve(odd, try Web()), .refused, "`_claim_names` has no string for it")
        odd["_claim_names"] = "score"
        #expect(Self.resolve(odd, try Web()).claims == JSONObject([("sub", "alice")]))
    }

    @Test("only the claim that is asked for is fetched")
    func only() throws {
        var claims = Self.userInfo(["endpoint": .string(Self.claimsURL)])
        claims["_claim_names"] = ["age": "other", "score": "s"]
        let web = try Web([Self.claimsURL: Self.jwt(Self.token())])
        let outcome = Self.resolve(claims, web, only: "score")
        #expect(outcome.claims["score"] == 700 && outcome.refusals.isEmpty)
        #expect(Self.resolve(claims, web, only: "email").claims == JSONObject([("sub", "alice")]))
    }

    @Test("a refusal of a source is shown without its token; an endpoint that fails is tried no further")
    func refusal() throws {
        let secret = "ksj3n283dke"
        let source: JSONValue = ["endpoint": .string(Self.claimsURL), "access_token": .string(secret)]
        for (answer, kind) in [
            (
                Fixture.json(#"{"error":"invalid_token","error_description":"no \#(secret)"}"#, status: 401),
                .refused
            ),
            (Fixture.json(#"{"error":"\#(secret)"}"#, status: 403), .refused),
            (Fixture.html(status: 503), .unreachable),
            (
                HTTPResponse(status: 302, headers: HTTPHeaders([("Location", "https://evil.example")])),
                .refused
            ),
        ] as [(HTTPResponse, OIDCError.Kind)] {
            let web = try Web([Self.claimsURL: answer])
            let outcome = Self.resolve(Self.userInfo(source), web)
            Self.expectLeftOut(
                outcome, kind, "claims: ", hint: kind == .unreachable ? .tryAgain(seconds: nil) : nil)
            #expect(outcome.refusals.first?.error.message.contains(secret) == false)
            #expect(web.log.all.count == 1)
        }
        let silent = Self.resolve(Self.userInfo(source), try Web())
        Self.expectLeftOut(silent, .unreachable, "cannot be reached")
        let odd: JSONValue = ["endpoint": .string(Self.claimsURL), "access_token": "a\r\nHost: evil"]
        let web = try Web([Self.claimsURL: Self.jwt(Self.token())])
        Self.expectLeftOut(Self.resolve(Self.userInfo(odd), web), .refused, "access_token: expected")
        #expect(web.log.all.isEmpty)
    }

    @Test("a hundred names are read, and the rest is one refusal, however many there are")
    func manyNames() throws {
        let count = 50_000
        var claims = JSONObject()
        claims["sub"] = "alice"
        for member in ["_claim_names", "_claim_sources"] {
            claims[member] = .object(
                JSONObject(
                    unique: (0..<count).map {
                        member == "_claim_names"
                            ? JSONObject.Member(name: "c\($0)", value: .string("s\($0)"))
                            : JSONObject.Member(name: "s\($0)", value: ["JWT": "e30.e30.x"])
                    }))
        }
        let clock = ContinuousClock()
        let start = clock.now
        let outcome = Self.resolve(claims, try Web())
        // Comparing each name with each other takes minutes.
        #expect(clock.now - start < .seconds(20))
        #expect(outcome.claims == JSONObject([("sub", "alice")]))
        #expect(outcome.refusals.map(\.claims.count) == [count - 100] + Array(repeating: 1, count: 10) + [90])
        #expect(outcome.refusals[0].error.message.contains("more than 100 claims"))
        #expect(outcome.refusals[11].error.message.contains("more than 10 sources"))
        // One that is asked for is found among all.
        let last = Self.resolve(claims, try Web(), only: "c\(count - 1)")
        #expect(last.refusals.map(\.claims) == [["c\(count - 1)"]])
        #expect(last.refusals.first?.error.message.contains("base64url") == true)
    }

    @Test("bytes, sources and time are bounded")
    func bounds() throws {
        let large = try Self.token(["padding": .string(String(repeating: "x", count: 65_536))])
        let source: JSONValue = ["endpoint": .string(Self.claimsURL)]
        Self.expectLeftOut(
            Self.resolve(Self.userInfo(source), try Web([Self.claimsURL: Self.jwt(large)])), .refused,
            "larger than 65536 bytes")
        var (names, sources) = (JSONObject(), JSONObject())
        for number in 0..<12 {
            names["c\(number)"] = .string("s\(number)")
            sources["s\(number)"] = source
        }
        var claims = JSONObject()
        (claims["_claim_names"], claims["_claim_sources"]) = (.object(names), .object(sources))
        let web = try Web()
        let many = Self.resolve(claims, web)
        #expect(many.refusals.count == 11 && web.log.all.count == 10)
        #expect(many.refusals.last?.claims == ["c10", "c11"])
        #expect(many.refusals.last?.error.message.contains("more than 10 sources") == true)
        let slow = try Web(pace: 11)
        let late = Self.resolve(claims, slow)
        #expect(slow.log.all.count == 3 && late.refusals.map(\.claims.count) == [1, 1, 1, 9])
        #expect(late.refusals[3].error.message.contains("took too long"))
        #expect(late.refusals[3].error.kind == .unreachable)
    }
}
