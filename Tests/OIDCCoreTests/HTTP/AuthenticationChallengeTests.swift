import OIDCCore
import Testing

@Suite("WWW-Authenticate")
struct AuthenticationChallengeTests {
    /// Schemes with their parameters, as `scheme name=value …`.
    static func summary(_ fields: String...) -> [String] {
        let response = HTTPResponse(
            status: 401, headers: HTTPHeaders(fields.map { ("www-authenticate", $0) }))
        return response.challenges.map { challenge in
            ([challenge.scheme] + challenge.parameters.map { "\($0.name)=\($0.value)" }).joined(
                separator: " ")
        }
    }

    static let fields: [(String, [String])] = [
        ("", []), (" , ,, ", []), ("Bearer", ["Bearer"]), ("Bearer realm=\"x\"", ["Bearer realm=x"]),
        // RFC 9110 §11.6.1
        (
            "Basic realm=\"simple\", Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\"",
            ["Basic realm=simple", "Newauth realm=apps type=1 title=Login to \"apps\""]
        ),
        // RFC 9449 §9 and §7.1
        (
            "DPoP error=\"use_dpop_nonce\", error_description=\"Resource server requires nonce in DPoP proof\"",
            ["DPoP error=use_dpop_nonce error_description=Resource server requires nonce in DPoP proof"]
        ),
        (
            "Bearer, DPoP algs=\"ES256 PS256\"", ["Bearer", "DPoP algs=ES256 PS256"]
        ),
        ("Negotiate YWJj==, Bearer error=invalid_token", ["Negotiate", "Bearer error=invalid_token"]),
        ("Negotiate YWJj/+=", ["Negotiate"]), ("Negotiate , Bearer", ["Negotiate", "Bearer"]),
        ("Bearer error = \"a\" , scope = b", ["Bearer error=a scope=b"]), ("Bearer a=\"\"", ["Bearer a="]),
        ("Bearer a=\"x,y=z, DPoP\"", ["Bearer a=x,y=z, DPoP"]), ("Bearer\ta=b", ["Bearer a=b"]),
        // What breaks the grammar ends the reading.
        ("Bearer a=b, c=", ["Bearer a=b"]), ("Bearer a=\"open, b=c", ["Bearer"]), ("a=b, Bearer", []),
        ("Bearer a=b c=d", ["Bearer"]), ("Basic, \"x\", Bearer", ["Basic"]), ("Bearer a=\"x\\", ["Bearer"]),
        ("Bearer é=1", ["Bearer"]), ("(Bearer)", []),
    ]

    @Test("challenges are read one by one", arguments: fields)
    func reads(_ field: String, _ expected: [String]) {
        #expect(Self.summary(field) == expected)
    }

    @Test("several fields count as one list, and a broken one spoils only itself")
    func severalFields() {
        #expect(Self.summary("Bearer a=\"", "DPoP a=b", "x=y") == ["Bearer", "DPoP a=b"])
    }

    @Test("the members that a client acts on have names, in any case")
    func members() throws {
        let response = HTTPResponse(
            status: 401,
            headers: HTTPHeaders([
                (
                    "WWW-Authenticate",
                    "bearer Error=\"insufficient_user_authentication\", error_description=\"d\", "
                        + "ACR_values=\"a b\", max_age=5, scope=\"y x\""
                )
            ]))
        let challenge = try #require(response.challenges.first)
        #expect(challenge.isScheme("Bearer"))
        #expect(challenge.error == "insufficient_user_authentication")
        #expect(challenge.errorDescription == "d")
        #expect(challenge.acrValues == "a b")
        #expect(challenge.maxAge == 5)
        #expect(challenge.scope == Scope("x y"))
        for text in ["-5", "x", "99999999999999999999", "+5", "5.0"] {
            let parameters = [AuthenticationChallenge.Parameter(name: "max_age", value: text)]
            #expect(AuthenticationChallenge(scheme: "Bearer", parameters: parameters).maxAge == nil)
        }
    }

    @Test("a parameter that is repeated has no value, as readers differ in which one counts (RFC 9110 §11.2)")
    func repeated() throws {
        let challenge = AuthenticationChallenge(
            scheme: "Bearer",
            parameters: [
                .init(name: "scope", value: "a"), .init(name: "Scope", value: "b"),
                .init(name: "error", value: "invalid_token"),
            ])
        #expect(challenge["scope"] == nil && challenge.scope == nil && challenge.isRepeated("SCOPE"))
        #expect(challenge.error == "invalid_token" && !challenge.isRepeated("error"))
        #expect(!challenge.isRepeated("realm"))
    }

    @Test("endless fields are read in bounds")
    func bounds() {
        let long = String(repeating: "Bearer a=b, ", count: 1_000)
        #expect(Self.summary(long).count == 32)
        let open = "Bearer a=\"" + String(repeating: "\\\"", count: 8_000)
        #expect(Self.summary(open) == ["Bearer"] && Self.summary(open + open).isEmpty)
        let many = HTTPHeaders(Array(repeating: ("WWW-Authenticate", "Bearer"), count: 1_000))
        #expect(HTTPResponse(status: 401, headers: many).challenges.count == 32)
    }

    @Test("a challenge has bounds: its parameters, and the length of all fields together")
    func limits() {
        let many = (0..<5_000).map { "p\($0)=1" }.joined(separator: ",")
        let challenges = HTTPResponse(
            status: 401, headers: HTTPHeaders([("WWW-Authenticate", "Bearer \(many.prefix(12_000))")])
        ).challenges
        #expect(challenges.count == 1 && challenges[0].parameters.count == 64)
        // One that is too long hides none of the others.
        let fields =
            ["Negotiate \(String(repeating: "a", count: 20_000))", #"Bearer error="invalid_token""#]
            + Array(repeating: "Other \(String(repeating: "b", count: 5_000))", count: 10)
        let kept = HTTPResponse(
            status: 401, headers: HTTPHeaders(fields.map { ("WWW-Authenticate", $0) })
        ).challenges
        #expect(kept.map(\.scheme) == ["Bearer", "Other", "Other", "Other"])
    }

    @Test("reading ends, whichever byte is changed to one that has a meaning")
    func fuzz() {
        let field = Array(
            "Negotiate YWJj==, Bearer realm=\"a\\\"b\", error=invalid_token, DPoP x=\"1,2\"".utf8)
        let bytes = Array("\0\t\n !\"#'()*,-./09:;<=>?@AZ[\\]_az{|}~\u{7F}".utf8) + [0x1F, 0x80, 0xC3, 0xFF]
        for index in field.indices {
            for byte in bytes {
                var changed = field
                changed[index] = byte
                #expect(Self.summary(String(decoding: changed, as: UTF8.self)).count <= 6)
            }
        }
    }
}

@Suite("HTTP messages")
struct HTTPMessageTests {
    @Test("field names have no case; setting replaces every field of the name")
    func headers() {
        var headers = HTTPHeaders([("Accept", "a"), ("X", "1"), ("accept", "b")])
        #expect(headers["ACCEPT"] == "a")
        #expect(headers.values("aCCept") == ["a", "b"])
        headers["accept"] = "c"
        #expect(headers.values("Accept") == ["c"])
        headers["Accept"] = nil
        #expect(headers.fields.map(\.name) == ["X"])
    }

    static let types: [(String?, String?)] = [
        (nil, nil), ("application/json", "application/json"),
        ("Application/JSON; charset=utf-8", "application/json"), (" text/html ;x", "text/html"), ("", nil),
        (";", nil),
    ]

    @Test("the media type is returned without parameters, in lower case", arguments: types)
    func mediaType(_ header: String?, _ expected: String?) {
        var response = HTTPResponse(status: 200)
        response.headers["Content-Type"] = header
        #expect(response.mediaType == expected)
    }

    @Test("a form request has its content type and accepts JSON")
    func form() throws {
        let url = try #require(WebURL("https://op/token"))
        let request = HTTPRequest.form(url, [.init("a", "b c"), .init("d", "&")])
        #expect(request.method == .post)
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(request.headers["Accept"] == "application/json")
        #expect(String(decoding: request.body, as: UTF8.self) == "a=b%20c&d=%26")
        #expect(request.url.query == nil)
    }
}

@Suite("a resource's demand for DPoP")
struct ProofChallengeTests {
    @Test(
        "only a challenge with DPoP alone demands it",
        arguments: [
            ([], false), (["Bearer"], false), (["Basic realm=\"x\""], false), (["DPoP algs=\"ES256\""], true),
            (["Basic realm=\"x\"", "dpop"], true), (["DPoP algs=\"ES256\", Bearer"], false),
            (["Bearer", "DPoP"], false),
        ] as [([String], Bool)])
    func schemes(fields: [String], isDemanded: Bool) throws {
        let headers = HTTPHeaders(fields.map { ("WWW-Authenticate", $0) })
        let challenge = try ResourceChallenge(HTTPResponse(status: 401, headers: headers))
        #expect(challenge.requiresDPoP == isDemanded)
    }
}
