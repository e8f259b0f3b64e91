import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

/// Signs in over memory; what a sign-in ends with there is all that a program could keep.
@Suite("a sign-in against each fault of a provider, in memory")
struct SignInFaultTests {
    private func provider(
        _ faults: Set<Fault>, _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws -> InMemoryProvider {
        let provider = try InMemoryProvider {
            $0.user = .approves("alice")
            change(&$0)
        }
        provider.faults = faults
        return provider
    }

    /// Expects a session for nil, and otherwise an error of that kind whose message has the name in it.
    private func expect(
        _ kind: OIDCError.Kind?, naming name: String = "", _ signIn: () throws -> Session
    ) throws {
        guard let kind else {
            #expect(throws: Never.self) { try signIn() }
            return
        }
        let error = try #require(#expect(throws: OIDCError.self) { try signIn() })
        #expect(error.kind == kind && error.message.contains(name), "\(error.kind): \(error.message)")
    }

    private static let outOfReach: Set<AnswerFault> = [
        .htmlServerError, .serverError, .badGateway, .unavailable, .tooManyRequests,
    ]

    private func kind(of fault: AnswerFault) -> OIDCError.Kind? {
        if [.plainTextType, .byteOrderMark].contains(fault) { return nil }
        return Self.outOfReach.contains(fault) ? .unreachable : .refused
    }

    @Test(
        "a broken answer is refused, or counts as out of reach",
        arguments: [Endpoint.discovery, .token, .jwks], AnswerFault.ofProtocol)
    func answers(endpoint: Endpoint, fault: AnswerFault) throws {
        let provider = try provider([.answer(endpoint, fault)])
        try expect(kind(of: fault)) { try provider.signIn() }
    }

    @Test("a broken answer to a pushed request is refused", arguments: AnswerFault.ofProtocol)
    func pushed(fault: AnswerFault) throws {
        let provider = try provider([.answer(.pushedAuthorization, fault)])
        try expect(kind(of: fault)) { try provider.signIn { $0.pushing = .require } }
        #expect((kind(of: fault) == nil) == (provider.with { $0.requestCount(.token) } == 1))
    }

    @Test("a broken answer to a device authorization is refused", arguments: AnswerFault.ofProtocol)
    func device(fault: AnswerFault) throws {
        let provider = try provider([.answer(.device, fault)])
        try expect(kind(of: fault)) { try provider.signIn { _ = try $0.requestDeviceCode() } }
    }

    @Test(
        "an ID token with any fault is refused",
        arguments: IDTokenFault.allCases.filter { $0 != .payloadHuge })
    func idTokens(fault: IDTokenFault) throws {
        let legal: Set<IDTokenFault> = [
            .audienceArray, .audienceSecondaryAuthorized, .keyIDMissing, .authTimeMissing, .authTimeOld,
            .subjectInvalid, .subjectAlone, .accessTokenHashMissing, .codeHashForeign,
        ]
        let provider = try provider([.idToken(fault)]) {
            if fault == .signatureDER { $0.signingAlgorithms = [.es256] }
        }
        try expect(legal.contains(fault) ? nil : fault == .missing ? .refused : .untrusted) {
            try provider.signIn()
        }
        #expect(legal.contains(fault) || provider.with { $0.requestCount(.revocation) } > 0)
    }

    @Test("max_age requires a recent auth_time", arguments: [IDTokenFault.authTimeMissing, .authTimeOld])
    func maximumAge(fault: IDTokenFault) throws {
        let provider = try provider([.idToken(fault)])
        let error = try #require(
            #expect(throws: OIDCError.self) { try provider.signIn { $0.request.maxAge = .seconds(60) } })
        #expect(error.kind == .untrusted && error.member == "auth_time", "\(error.message)")
        #expect((error.hint == .advice(.leaveOutMaxAge)) == (fault == .authTimeMissing))
    }

    @Test("an ID token without the nonce that was sent is refused with a hint; with another one, without")
    func nonces() throws {
        for (fault, hint) in [(IDTokenFault.nonceMissing, Hint.advice(.turnNonceOff)), (.nonceInvalid, nil)] {
            let provider = try provider([.idToken(fault)])
            let error = #expect(throws: OIDCError.self) { try provider.signIn() }
            #expect(error?.kind == .untrusted && error?.member == "nonce" && error?.hint == hint)
        }
    }

    @Test(
        "a key set with any fault verifies only what it should",
        arguments: KeySetFault.allCases.filter { $0 != .tenThousand })
    func keySets(fault: KeySetFault) throws {
        let legal: Set<KeySetFault> = [
            .rotationBeforeSigning, .single, .withoutKeyIDs, .unknownKinds, .duplicateKeyIDs, .twoThousand,
        ]
        let provider = try provider([.keys(fault)]) {
            if fault == .rotationBeforeSigning { $0.signingAlgorithms = [.es256] }
        }
        try expect(legal.contains(fault) ? nil : fault == .withoutKeys ? .refused : .untrusted) {
            try provider.signIn()
        }
        #expect(provider.with { $0.requestCount(.jwks) } <= 2)
    }

    @Test(
        "a token response with any fault is refused, or read as it was meant",
        arguments: TokenResponseFault.allCases)
    func tokenResponses(fault: TokenResponseFault) throws {
        let refused: Set<TokenResponseFault> = [
            .typeMissing, .typeUnknown, .accessTokenMissing, .accessTokenEmpty, .accessTokenNumber,
            .accessTokenLineBreak, .accessTokenEscapes, .accessTokenNonASCII,
            .duplicateMembers, .errorWithSuccess, .errorWithToken,
        ]
        let provider = try provider([.tokenResponse(fault)])
        guard !refused.contains(fault) else {
            try expect(.refused) { try provider.signIn() }
            #expect(provider.with { $0.requestCount(.token) } == 1)
            return
        }
        let session = try provider.signIn()
        let unknown: Set<TokenResponseFault> = [
            .expiresInMissing, .expiresInNonsense, .expiresInHuge, .expiresInInfinite,
        ]
        if unknown.contains(fault) { #expect(session.tokens.access.expiresAt == nil) }
        #expect(provider.with { $0.requestCount(.token) } == 1)
    }

    @Test("Bearer is refused if a DPoP-bound token was requested")
    func downgrade() throws {
        let provider = try provider([.tokenResponse(.typeBearer)])
        try expect(.refused, naming: "token_type") { try provider.signIn(dpop: try .generate()) }
    }

    private static let metadataFaults: [MetadataFault: (OIDCError.Kind, String)] = [
        .issuerMismatch: (.untrusted, "issuer"), .issuerTrailingSlash: (.untrusted, "issuer"),
        .issuerMissing: (.refused, "issuer"), .issuerNumber: (.refused, "issuer"),
        .plainHTTPTokenEndpoint: (.refused, "token_endpoint"), .plainHTTPKeys: (.refused, "jwks_uri"),
        .foreignTokenEndpoint: (.unreachable, "https://other.example"),
        .authorizationEndpointScript: (.refused, "authorization_endpoint"),
        .authorizationEndpointFile: (.refused, "authorization_endpoint"),
        .authorizationEndpointOption: (.refused, "authorization_endpoint"),
        .authorizationEndpointControls: (.refused, "authorization_endpoint"),
        .authorizationEndpointNumber: (.refused, "authorization_endpoint"),
        .tokenEndpointNumber: (.refused, "token_endpoint"),
        .plainPKCEOnly: (.refused, "code_challenge_methods_supported"),
        .noneAlgorithmOnly: (.untrusted, "alg"),
        .withoutTokenEndpoint: (.refused, "token_endpoint"),
        .withoutAuthorizationEndpoint: (.refused, "authorization_endpoint"),
        .duplicateMembers: (.refused, "issuer"),
    ]

    @Test("metadata with any fault is refused by the member's name", arguments: MetadataFault.allCases)
    func metadata(fault: MetadataFault) throws {
        let provider = try provider([.metadata(fault)])
        let (kind, name) = Self.metadataFaults[fault].map { ($0.0 as OIDCError.Kind?, $0.1) } ?? (nil, "")
        try expect(kind, naming: name) { try provider.signIn() }
    }

    @Test(
        "clocks may differ by the leeway, and not by more",
        arguments: [(-30, nil), (30, nil), (300, .untrusted), (-3_600, .untrusted)]
            as [(Int64, OIDCError.Kind?)])
    func clocks(offset: Int64, kind: OIDCError.Kind?) throws {
        let provider = try provider([]) { $0.clockOffset = offset }
        try expect(kind) { try provider.signIn() }
    }

    @Test(
        "a callback with any fault is refused before the code is sent",
        arguments: AuthorizationFault.allCases.filter { $0 != .modeIgnored })
    func callbacks(fault: AuthorizationFault) throws {
        let expected: [AuthorizationFault: OIDCError.Kind] = [
            .issuerInvalid: .untrusted, .issuerMissing: .untrusted,
        ]
        let provider = try provider([.authorization(fault)])
        let error = try #require(#expect(throws: OIDCError.self) { try provider.signIn() })
        if let kind = expected[fault] { #expect(error.kind == kind, "\(error.message)") }
        #expect(provider.with { $0.requestCount(.token) } == 0)
        #expect(provider.with { $0.requestCount(.jwks) } == 0)
    }
}
