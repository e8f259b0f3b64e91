import OIDCCore
import Testing

@Suite("Instant")
struct InstantTests {
    static let moments: [(Int64, String)] = [
        (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
        (1_300_819_380, "2011-03-22T18:43:00Z"), (1_709_251_199, "2024-02-29T23:59:59Z"),
        (1_709_251_200, "2024-03-01T00:00:00Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
        (4_107_542_399, "2100-02-28T23:59:59Z"), (253_402_300_799, "9999-12-31T23:59:59Z"),
        (-62_135_596_800, "0001-01-01T00:00:00Z"), (253_402_300_800, "253402300800"),
        (-62_135_596_801, "-62135596801"), (.max, "9223372036854775807"), (.min, "-9223372036854775808"),
    ]

    @Test("a moment is written as RFC 3339 writes it, or as its number", arguments: moments)
    func description(_ seconds: Int64, _ text: String) {
        #expect(Instant(secondsSinceEpoch: seconds).description == text)
    }

    @Test("adding and subtracting stay at the ends of the range")
    func bounds() {
        let (first, last) = (Instant(secondsSinceEpoch: .min), Instant(secondsSinceEpoch: .max))
        #expect(last.adding(1) == last)
        #expect(first.adding(-1) == first)
        #expect(last.adding(-1).secondsSinceEpoch == .max - 1)
        #expect(last.seconds(since: first) == .max)
        #expect(first.seconds(since: last) == .min)
        #expect(Instant(secondsSinceEpoch: 5).seconds(since: Instant(secondsSinceEpoch: 7)) == -2)
        #expect(first < last)
    }
}
