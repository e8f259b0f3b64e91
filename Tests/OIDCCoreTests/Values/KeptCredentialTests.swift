import Testing

@testable import OIDCCore

@Suite("credentials that are kept with a session")
struct KeptCredentialTests {
    private func credential(_ name: String, until seconds: Int64) -> KeptCredential {
        KeptCredential(
            name: name, value: Redacted("v\(seconds)"), usableUntil: Instant(secondsSinceEpoch: seconds))
    }

    @Test("a credential is used until its time, replaces an earlier one of its name, and few are kept")
    func kept() throws {
        var session = try SessionJSONTests.minimal()
        let now = Instant(secondsSinceEpoch: 100)
        session.keep(credential("a", until: 101), at: now)
        session.keep(credential("b", until: 200), at: now)
        session.keep(credential("a", until: 300), at: now)
        #expect(session.kept("a", at: now)?.usableUntil.secondsSinceEpoch == 300)
        #expect(session.kept("b", at: Instant(secondsSinceEpoch: 200)) == nil)
        for number in 0..<20 { session.keep(credential("c\(number)", until: 300), at: now) }
        #expect(session.kept.count == 8 && session.kept("c19", at: now) != nil)
        session.keep(credential("d", until: 500), at: Instant(secondsSinceEpoch: 300))
        #expect(session.kept.map(\.name) == ["d"])
    }

    @Test(
        "a time in UTC is read as it is written",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-01-31T12:00:01Z", 1_769_860_801),
            ("2024-02-29T23:59:59.25Z", 1_709_251_199), ("2030-01-01T00:00:00Z", 1_893_456_000),
            ("2026-02-30T00:00:00Z", nil), ("2026-01-31T12:00:00+00:00", nil), ("2026-01-31 12:00:00Z", nil),
            ("2026-01-31T12:00:00.Z", nil), ("2026-01-31T25:00:00Z", nil), ("soon", nil),
        ] as [(String, Int64?)])
    func time(_ text: String, _ seconds: Int64?) {
        #expect(Instant(utc: text)?.secondsSinceEpoch == seconds)
    }
}
