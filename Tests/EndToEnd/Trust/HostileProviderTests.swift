import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("hostile providers, in the built program", .serialized, .waitingLong)
struct HostileProviderTests {
    private static let outOfReach: Set<AnswerFault> = [
        .htmlServerError, .serverError, .badGateway, .unavailable, .tooManyRequests,
    ]

    /// What is odd and yet right there.
    private static func isLegal(_ endpoint: Endpoint, _ fault: AnswerFault) -> Bool {
        switch fault {
        case .plainTextType, .byteOrderMark: true
        case .redirectSameOrigin, .redirectSameOriginKeepingMethod: endpoint != .token
        default: false
        }
    }

    @Test(
        "a broken answer leads to the documented exit code and one clean line, and nothing is stored",
        arguments: [
            (.token, .hugeBody), (.token, .redirectSameOrigin), (.token, .redirectForeign),
            (.token, .htmlForbidden), (.token, .unavailable), (.discovery, .compressionBomb),
            (.discovery, .redirectSameOrigin), (.discovery, .unavailable), (.jwks, .redirectForeign),
            (.jwks, .htmlForbidden),
        ] as [(Endpoint, AnswerFault)])
    func answers(endpoint: Endpoint, fault: AnswerFault) throws {
        let foreign = try TrustWorld.server()
        let provider = try TrustWorld.server([.answer(endpoint, fault)], foreign: foreign.origin)
        let program = try Program(provider, ["OIDC_HTTP_TIMEOUT": "20"])
        defer { program.remove() }
        let outcome = try program.signIn(at: provider)
        if Self.isLegal(endpoint, fault) {
            #expect(outcome.status == 0, "\(outcome.errorOutput)")
            return
        }
        let expected: Int32 = Self.outOfReach.contains(fault) ? 5 : 4
        #expect(outcome.status == expected, "\(outcome.errorOutput)")
        #expect(outcome.isClean && outcome.output == "", "\(outcome.errorOutput)")
        #expect(program.sessionFiles.isEmpty)
        for endpoint in Endpoint.allCases { #expect(foreign.requestCount(endpoint) == 0) }
    }

    @Test(
        "an ID token with a fault is refused with 7, and nothing is stored",
        arguments: [IDTokenFault.audienceArray, .signatureInvalid, .nonceInvalid, .missing, .payloadHuge])
    func idTokens(fault: IDTokenFault) throws {
        let legal: Set<IDTokenFault> = [
            .audienceArray, .audienceSecondaryAuthorized, .keyIDMissing, .authTimeMissing, .authTimeOld,
            .subjectInvalid,
        ]
        let provider = try TrustWorld.server([.idToken(fault)]) {
            if fault == .signatureDER { $0.signingAlgorithms = [.es256] }
        }
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.signIn(at: provider)
        let expected: Int32 = legal.contains(fault) ? 0 : [.missing, .payloadHuge].contains(fault) ? 4 : 7
        #expect(outcome.status == expected, "\(outcome.errorOutput)")
        #expect(program.sessionFiles.isEmpty == (expected != 0))
        if expected != 0 { #expect(outcome.isClean) }
    }

    @Test(
        "a key set that is empty, too large or new",
        arguments: [KeySetFault.rotationBeforeSigning, .empty, .tenThousand])
    func keySets(fault: KeySetFault) throws {
        let legal: Set<KeySetFault> = [
            .rotationBeforeSigning, .single, .withoutKeyIDs, .unknownKinds, .duplicateKeyIDs, .twoThousand,
        ]
        let provider = try TrustWorld.server([.keys(fault)]) {
            if fault == .rotationBeforeSigning { $0.signingAlgorithms = [.es256] }
        }
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.signIn(at: provider)
        if legal.contains(fault) {
            #expect(outcome.status == 0, "\(outcome.errorOutput)")
        } else {
            #expect(
                outcome.status == (fault == .tenThousand || fault == .withoutKeys ? 4 : 7),
                "\(outcome.errorOutput)")
            #expect(outcome.isClean && program.sessionFiles.isEmpty)
        }
        #expect(provider.requestCount(.jwks) <= 2)
    }

    @Test(
        "a token response with a fault is refused with 4, or read as intended",
        arguments: [
            TokenResponseFault.accessTokenEscapes, .accessTokenLineBreak, .errorWithSuccess, .expiresInHuge,
            .formEncoded,
        ])
    func tokenResponses(fault: TokenResponseFault) throws {
        let refused: Set<TokenResponseFault> = [
            .typeMissing, .typeUnknown, .accessTokenMissing, .accessTokenEmpty, .accessTokenNumber,
            .accessTokenLineBreak, .accessTokenEscapes, .accessTokenNonASCII,
            .duplicateMembers, .errorWithSuccess, .errorWithToken,
        ]
        let provider = try TrustWorld.server([.tokenResponse(fault)])
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == (refused.contains(fault) ? 4 : 0), "\(outcome.errorOutput)")
        if refused.contains(fault) { #expect(outcome.isClean && program.sessionFiles.isEmpty) }
        #expect(provider.requestCount(.token) == 1)
        guard outcome.status == 0 else { return }
        let status = try program.run("status", "-o", "json")
        let expiry = try JSONValue(parsing: status.output)["expires_at"]
        let unknown: Set<TokenResponseFault> = [
            .expiresInMissing, .expiresInNonsense, .expiresInHuge, .expiresInInfinite,
        ]
        if unknown.contains(fault) { #expect(expiry == .null, "\(status.output)") }
    }

    @Test(
        "metadata with a fault is refused, and the hint names the issuer to use",
        arguments: [
            MetadataFault.issuerMismatch, .issuerTrailingSlash, .foreignTokenEndpoint, .withoutKeys,
            .authorizationEndpointControls, .authorizationEndpointQuery,
        ])
    func metadata(fault: MetadataFault) throws {
        let expected: [MetadataFault: (Int32, String)] = [
            .issuerMismatch: (7, "issuer"), .issuerTrailingSlash: (7, "issuer"),
            .issuerMissing: (4, "issuer"),
            .issuerNumber: (4, "issuer"), .plainHTTPTokenEndpoint: (4, "token_endpoint"),
            .plainHTTPKeys: (4, "jwks_uri"), .plainHTTPUserInfo: (0, ""), .foreignTokenEndpoint: (5, ""),
            .authorizationEndpointScript: (4, "authorization_endpoint"),
            .authorizationEndpointFile: (4, "authorization_endpoint"),
            .authorizationEndpointOption: (4, "authorization_endpoint"),
            .authorizationEndpointControls: (4, "authorization_endpoint"),
            .authorizationEndpointNumber: (4, "authorization_endpoint"),
            .tokenEndpointNumber: (4, "token_endpoint"),
            .plainPKCEOnly: (4, "code_challenge_methods_supported"),
            .noneAlgorithmOnly: (7, "alg"), .withoutKeys: (4, "jwks_uri"),
            .withoutTokenEndpoint: (4, "token_endpoint"),
            .withoutAuthorizationEndpoint: (4, "authorization_endpoint"), .duplicateMembers: (4, "issuer"),
        ]
        let provider = try TrustWorld.server([.metadata(fault)], foreign: "https://127.0.0.1:9")
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.signIn(at: provider)
        let (status, name) = expected[fault] ?? (0, "")
        #expect(outcome.status == status, "\(outcome.errorOutput)")
        guard status != 0 else { return }
        #expect(
            (name.isEmpty || outcome.error?.contains(name) == true) && outcome.isClean,
            "\(outcome.errorOutput)")
        #expect(program.sessionFiles.isEmpty)
        if fault == .issuerTrailingSlash {
            #expect(outcome.errorOutput.contains("--issuer \(provider.origin)/"), "\(outcome.errorOutput)")
        }
    }

    @Test("a provider's text reaches the terminal without control characters")
    func escapes() throws {
        let provider = try TrustWorld.server([.authorization(.descriptionEscapes)])
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == 4 && outcome.isClean, "\(outcome.errorOutput)")
        let object = try program.signIn(at: provider, ["-o", "json"])
        #expect(object.status == 4)
        let last = try #require(object.errorOutput.split(separator: "\n").last.map(String.init))
        #expect(try JSONValue(parsing: last)["error"]?["kind"] == "refused")
        #expect(
            !object.errorOutput.unicodeScalars.contains {
                $0.value == 27 || $0.value == 7 || $0.value == 0x202E
            })
    }

    @Test(
        "on a terminal no command prints control characters from outside",
        .enabled(if: Installed.programs("script"), "script, the terminal's stand-in, is not installed"),
        arguments: [["userinfo"], ["userinfo", "--claim", "name"], ["request", "API"]])
    func terminal(arguments: [String]) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        world.provider.with { _ = $0.faults.insert(.userInfo(.escapes)) }
        world.provider.intercept { request in
            guard request.url.path == "/api/escapes" else { return nil }
            var answer = HTTPResponse(status: 200)
            answer.body = Array("Alice\u{1B}]0;owned\u{07}\u{1B}[31m\n".utf8)
            return answer
        }
        let words = arguments.map { $0 == "API" ? "\(world.provider.origin)/api/escapes" : $0 }
        let outcome = try world.runBelowShell(#"exec script -qec "$PROGRAM $*" /dev/null"#, words)
        #expect(outcome.status == 0 && outcome.output.contains("Alice"), "\(outcome)")
        let acted = outcome.output.unicodeScalars.filter {
            ($0.value < 32 && $0 != "\n" && $0 != "\r") || $0.value == 0x7F || $0.value == 0x202E
        }
        #expect(acted.isEmpty, "\(outcome.output)")
    }
}
