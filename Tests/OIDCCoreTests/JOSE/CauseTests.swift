import OIDCCrypto
import Testing

@testable import OIDCCore

@Suite("a program can distinguish errors by their values")
struct CauseTests {
    typealias Sample = SampleProvider

    /// How a program that uses the library may react: by kind, stage and cause, and by no word of a message.
    private func reaction(_ error: OIDCError) -> String {
        switch (error.kind, error.stage, error.cause) {
        case (.untrusted, .idToken, .mismatch(member: "nonce", _, _)): "replayed"
        case (.untrusted, .idToken, .mismatch(member: "aud", let expected, let found)):
            "for another client: \(found) in place of \(expected)"
        case (.untrusted, .idToken, .mismatch(let member, _, _)): "bad \(member)"
        case (.untrusted, .idToken, .signature): "forged"
        default: "other"
        }
    }

    @Test(
        "a nonce mismatch, a bad audience and a forged signature differ in kind, stage or cause",
        arguments: [
            (["nonce": "other"], "replayed"), (["nonce": nil], "replayed"),
            (
                ["aud": "stranger"],
                "for another client: \"stranger\" in place of \"\(Sample.rules.clientID)\""
            ),
            (["iss": "https://evil.example"], "bad iss"), (["exp": 1], "bad exp"),
        ] as [([String: JSONValue?], String)])
    func claims(_ changes: [String: JSONValue?], _ expected: String) throws {
        let token = try Sample.token(claims: changes)
        let keys = RotatingKeys(try Sample.publicKeys(.p256))
        let error = #expect(throws: OIDCError.self) { try Sample.validate(token, keys: keys) }
        #expect(error.map(reaction) == expected)
    }

    @Test("the message is rendered from the cause, and a shared failure keeps it")
    func sharedFailure() {
        let error = OIDCError.protocolViolation(.token, "token_type", expected: "Bearer", found: "mac")
        #expect(error.message == "token: token_type: expected Bearer, found mac")
        #expect(error.cause == .mismatch(member: "token_type", expected: "Bearer", found: "mac"))
        for cause in [error.cause, .signature] {
            var error = error
            error.cause = cause
            let failure = SharedFailure(
                error: error, time: Instant(secondsSinceEpoch: 1), id: "a", refreshTokenHash: nil)
            #expect(SharedFailure(stored: Array(failure.json.compact.utf8)) == failure)
        }
    }

    @Test("secrets are removed from a cause as from a message")
    func withheld() {
        let error = OIDCError.protocolViolation(.token, "x", expected: "y", found: "a very-secret word")
        let shown = error.withholding(WithheldSecrets(["very-secret"]))
        #expect(shown.cause == .mismatch(member: "x", expected: "y", found: "a (secret) word"))
    }
}
