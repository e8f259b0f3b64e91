import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport

extension Module {
    static let all = core + keys + fapi + messageSigning

    /// Every module with the callback in the query; those about the callback by form_post too.
    static let runs = all.flatMap { module in
        if messageSigning.contains(where: { $0.name == module.name }) {
            return ["jwt", "query.jwt", "form_post.jwt"].map { (module, $0) }
        }
        let isAboutCallback =
            module.name == "oidcc-client-test"
            || module.faults.contains { if case .authorization = $0 { true } else { false } }
        return (isAboutCallback ? ["query", "form_post"] : ["query"]).map { (module, $0) }
    }

    private static let basic = DemoClient(
        id: "client:one", secret: "s&cr=t +%/ä", authenticationMethods: ["client_secret_basic"])
    private static let hmac = DemoClient(
        id: "demo-hmac", secret: "0123456789abcdef0123456789abcdef", idTokenAlgorithm: .hs256)

    private static let confidential = DemoClient(
        id: "demo-rsa", secret: "0123456789abcdef0123456789abcdef")
    private static let signedWithHMAC = ["--set", "id_token_signed_response_alg=HS256"]

    /// FAPI 2.0 Message Signing §5.4: the answer is a signed JWT, checked as JARM §2.4 says.
    static let messageSigning: [Module] =
        [
            Module("FAPI 2.0 Message Signing: happy-path", .signsIn),
            Module(
                "FAPI 2.0 Message Signing: ensure-jarm-signature-is-not-none", .refuses(7, "alg"),
                .signedAnswer(.unsigned)),
            Module(
                "FAPI 2.0 Message Signing: ensure-jarm-with-expired-exp-fails", .refuses(7, "exp"),
                .signedAnswer(.expired)),
            Module(
                "FAPI 2.0 Message Signing: ensure-jarm-with-invalid-aud-fails", .refuses(7, "aud"),
                .signedAnswer(.audienceInvalid)),
            Module(
                "FAPI 2.0 Message Signing: ensure-jarm-with-invalid-iss-fails", .refuses(7, "iss"),
                .signedAnswer(.issuerInvalid)),
            Module(
                "FAPI 2.0 Message Signing: ensure-jarm-with-invalid-sig-fails", .refuses(7, "signature"),
                .signedAnswer(.signatureInvalid)),
            Module(
                "FAPI 2.0 Message Signing: ensure-jarm-without-aud-fails", .refuses(7, "aud"),
                .signedAnswer(.audienceMissing)),
            Module(
                "FAPI 2.0 Message Signing: ensure-jarm-without-exp-fails", .refuses(7, "exp"),
                .signedAnswer(.expiryMissing)),
            Module(
                "FAPI 2.0 Message Signing: ensure-jarm-without-iss-fails", .refuses(7, "iss"),
                .signedAnswer(.issuerMissing)),
            Module("FAPI 2.0 Message Signing: a signed error", .refuses(4, "access_denied")) {
                $0.user = .denies
            },
            Module(
                "FAPI 2.0 Message Signing: a signed answer of another sign-in", .refuses(6, "sign"),
                .signedAnswer(.stateInvalid), options: ["--timeout", "1"]),
        ]

    private static let core: [Module] = [
        Module("oidcc-client-test", .signsIn),
        Module("oidcc-client-test-nonce-invalid", .refuses(7, "nonce"), .idToken(.nonceInvalid)),
        Module("oidcc-client-test-client-secret-basic", .signsIn, client: basic),
        Module("oidcc-client-test-invalid-iss", .refuses(7, "iss"), .idToken(.issuerInvalid)),
        Module("oidcc-client-test-missing-sub", .refuses(7, "sub"), .idToken(.subjectMissing)),
        Module("oidcc-client-test-invalid-aud", .refuses(7, "aud"), .idToken(.audienceInvalid)),
        Module("oidcc-client-test-missing-aud", .refuses(7, "aud"), .idToken(.audienceMissing)),
        Module("oidcc-client-test-missing-iat", .refuses(7, "iat"), .idToken(.issuedAtMissing)),
        Module("oidcc-client-test-invalid-athash", .refuses(7, "at_hash"), .idToken(.accessTokenHashInvalid)),
        Module("oidcc-client-test-missing-athash", .signsIn, .idToken(.accessTokenHashMissing)),
        // Hybrid flows only; in the code flow, c_hash says nothing.
        Module("oidcc-client-test-invalid-chash", .signsIn, .idToken(.codeHashForeign)),
        Module("oidcc-client-test-missing-chash", .signsIn),
        Module(
            "oidcc-client-test-nonce-unless-code-flow", .signsIn, .idToken(.nonceMissing),
            options: ["--set", "nonce=off"]),
        Module("oidcc-client-test-discovery-openid-config", .signsIn),
        Module(
            "oidcc-client-test-discovery-issuer-mismatch", .refuses(7, "issuer"), .metadata(.issuerMismatch)),
        Module("oidcc-client-test-discovery-jwks-uri-keys", .signsIn, .keys(.unknownKinds)),
        Module(
            "oidcc-client-test-form-post-error", .refuses(4, "access_denied"), .authorization(.accessDenied)),
    ]

    private static let keys: [Module] = [
        Module(
            "oidcc-client-test-kid-absent-single-jwks", .signsIn, .idToken(.keyIDMissing), .keys(.single)),
        Module(
            "oidcc-client-test-kid-absent-multiple-jwks", .signsIn, .idToken(.keyIDMissing),
            .keys(.duplicateKeyIDs)),
        Module("oidcc-client-test-idtoken-sig-rs256", .signsIn) { $0.signingAlgorithms = [.rs256] },
        Module("oidcc-client-test-idtoken-sig-none", .refuses(7, "alg"), .idToken(.unsigned)),
        Module(
            "oidcc-client-test-idtoken-sig-none, listed in the metadata", .refuses(7, "alg"),
            .idToken(.unsigned), .metadata(.noneAlgorithmListed)),
        Module("oidcc-client-test-invalid-sig-rs256", .refuses(7, "signature"), .idToken(.signatureInvalid)),
        Module("oidcc-client-test-invalid-sig-es256", .refuses(7, "signature"), .idToken(.signatureInvalid)) {
            $0.signingAlgorithms = [.es256]
        },
        Module(
            "an ID token under HS256 with the client's own secret", .signsIn, client: hmac,
            options: signedWithHMAC),
        Module(
            "oidcc-client-test-invalid-sig-hs256", .refuses(7, "signature"), .idToken(.signatureInvalid),
            client: hmac, options: signedWithHMAC),
        Module(
            "an ID token under HS256 that is listed beside RS256, and not set for the client",
            .refuses(7, "alg"), client: hmac),
        Module(
            "an ID token under RS256 if HS256 is set for the client", .refuses(7, "alg"),
            client: confidential,
            options: signedWithHMAC),
        Module(
            "an ID token under RS256 if ES256 is set for the client", .refuses(7, "alg"),
            options: ["--set", "id_token_signed_response_alg=ES256"]),
        Module(
            "oidcc-client-test-signing-key-rotation-just-before-signing", .signsIn,
            .keys(.rotationBeforeSigning)
        ) { $0.signingAlgorithms = [.es256] },
    ]

    private static let fapi: [Module] = [
        Module(
            "FAPI 2.0 client: invalid iss in the authorization response", .refuses(7, "iss"),
            .authorization(.issuerInvalid)),
        Module(
            "FAPI 2.0 client: missing iss in the authorization response", .refuses(7, "iss"),
            .authorization(.issuerMissing)),
        Module(
            "FAPI 2.0 client: invalid state", .refuses(6, "sign"), .authorization(.stateInvalid),
            options: ["--timeout", "1"]),
        Module(
            "FAPI 2.0 client: missing state", .refuses(6, "sign"), .authorization(.stateMissing),
            options: ["--timeout", "1"]),
        Module("FAPI 2.0 client: aud as array", .signsIn, .idToken(.audienceArray)),
        Module("FAPI 2.0 client: token_type in another case", .signsIn, .tokenResponse(.typeCase)),
        Module("FAPI 2.0 client: no expires_in", .signsIn, .tokenResponse(.expiresInMissing)),
        Module("FAPI 2.0 client: no scope in the answer", .signsIn, .tokenResponse(.scopeMissing)),
        Module("FAPI 2.0 client: null alg", .refuses(7, "alg"), .idToken(.unsignedMixedCase)),
        Module("FAPI 2.0 client: alternate alg", .refuses(7, "alg"), .idToken(.algorithmAlternate)) {
            $0.signingAlgorithms = [.es256]
        },
        Module("FAPI 2.0 client: expired ID token", .refuses(7, "exp"), .idToken(.expired)),
        Module("FAPI 2.0 client: missing exp", .refuses(7, "exp"), .idToken(.expiryMissing)),
        Module("FAPI 2.0 client: secondary aud", .refuses(7, "aud"), .idToken(.audienceSecondary)),
        Module("FAPI 2.0 client: missing nonce", .refuses(7, "nonce"), .idToken(.nonceMissing)),
    ]
}
