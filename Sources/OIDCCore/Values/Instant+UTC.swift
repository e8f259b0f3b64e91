extension Instant {
    /// Parses a time such as `2026-01-31T12:00:00Z`, with or without a fraction of a second (RFC 3339 §5.6); nil for
    /// any other zone than UTC, and for a date that does not exist.
    package init?(utc text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z") else { return nil }
        let fraction = bytes[19..<(bytes.count - 1)]
        guard
            fraction.isEmpty
                || fraction.first == .period && fraction.count > 1
                    && fraction.dropFirst().allSatisfy(ASCII.isDigit)
        else { return nil }
        let whole = String(decoding: bytes[..<19], as: UTF8.self) + "Z"
        func number(_ range: Range<Int>) -> Int64? {
            bytes[range].allSatisfy(ASCII.isDigit)
                ? Int64(String(decoding: bytes[range], as: UTF8.self)) : nil
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19)
        else { return nil }
        // Counted in 400-year eras that start on 1 March, as `civilDate` does.
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        self.init(secondsSinceEpoch: days * 86_400 + hour * 3_600 + minute * 60 + second)
        // Any other form or date is written in another way.
        guard description == whole else { return nil }
    }
}
