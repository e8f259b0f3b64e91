import OIDCCore
import Testing

@Suite("Freshness of an access token")
struct AccessTokenTests {
    static func token(lifetime: Int64?) -> AccessToken {
        let obtained = Instant(secondsSinceEpoch: 1_000_000)
        return AccessToken(
            token: Redacted("t"), type: .bearer, obtainedAt: obtained,
            expiresAt: lifetime.map(obtained.adding),
            scope: nil)
    }

    /// Lifetime, age, `--min-valid`, and whether it is fresh.
    static let cases: [(Int64?, Int64, Int64, Bool)] = [
        (3_600, 0, 60, true), (3_600, 3_539, 60, true), (3_600, 3_540, 60, false), (3_600, 3_600, 60, false),
        (3_600, 0, 3_600, true), (3_600, 1_799, 3_600, true), (3_600, 1_800, 3_600, false),
        (60, 0, 60, true), (60, 29, 60, true), (60, 30, 60, false), (1, 0, 60, true), (1, 1, 60, false),
        (0, 0, 60, false), (-100, -80, 60, false), (-100, 0, 60, false), (3_600, 3_599, 0, true),
        (3_600, 3_600, 0, false), (3_600, 3_605, -10, false), (3_600, -60, 60, true),
        (3_600, -61, 60, false),
        (nil, 0, 60, true), (nil, 1_000_000_000, 60, true), (.max, 0, 60, true), (.max, 0, .max, true),
    ]

    @Test("more than the lesser of the minimum and half the lifetime is left", arguments: cases)
    func fresh(_ lifetime: Int64?, _ age: Int64, _ minimum: Int64, _ isFresh: Bool) {
        let now = Instant(secondsSinceEpoch: 1_000_000).adding(age)
        #expect(Self.token(lifetime: lifetime).isFresh(at: now, minimum: minimum) == isFresh)
    }

    @Test("a token type is recognized in any case, and kept if it is unknown")
    func types() {
        #expect(TokenType("bearer") == .bearer)
        #expect(TokenType("DPOP") == .dpop)
        #expect(TokenType("mac").name == "mac")
        #expect(TokenType("mac") != TokenType("MAC"))
    }
}
