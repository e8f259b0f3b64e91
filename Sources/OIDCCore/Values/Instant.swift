/// A time in whole seconds since 1970 (NumericDate, RFC 7519 §2). The core never reads the clock.
public struct OIDCInstant: Hashable, Comparable, Sendable {
    /// Seconds since 1970, in UTC.
    public let secondsSinceEpoch: Int64

    /// Creates a time from seconds since 1970.
    public init(secondsSinceEpoch: Int64) {
        self.secondsSinceEpoch = secondsSinceEpoch
    }

    /// Returns the time `duration` later, in whole seconds, or the nearest representable time if that is out of range.
    public func adding(_ duration: Duration) -> OIDCInstant { adding(duration.components.seconds) }

    /// Returns the time from `earlier` to this time; negative if `earlier` is later.
    public func duration(since earlier: OIDCInstant) -> Duration { .seconds(seconds(since: earlier)) }

    /// Returns the time `seconds` later, or the nearest representable time if that is out of range.
    package func adding(_ seconds: Int64) -> Instant {
        let (sum, overflow) = secondsSinceEpoch.addingReportingOverflow(seconds)
        guard overflow else { return Instant(secondsSinceEpoch: sum) }
        return Instant(secondsSinceEpoch: seconds > 0 ? .max : .min)
    }

    /// Returns the seconds from `earlier` to this time; negative if `earlier` is later.
    package func seconds(since earlier: Instant) -> Int64 {
        let (difference, overflow) = secondsSinceEpoch.subtractingReportingOverflow(
            earlier.secondsSinceEpoch)
        guard overflow else { return difference }
        return secondsSinceEpoch > earlier.secondsSinceEpoch ? .max : .min
    }

    /// Returns whether the first time is earlier.
    public static func < (left: OIDCInstant, right: OIDCInstant) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }
}

extension Instant: CustomStringConvertible {
    /// The time in UTC as `2026-01-31T12:00:00Z` (RFC 3339); outside the years 1 to 9999, the bare number.
    public var description: String {
        guard (-62_135_596_800...253_402_300_799).contains(secondsSinceEpoch) else {
            return String(secondsSinceEpoch)
        }
        var days = secondsSinceEpoch / 86_400
        var second = secondsSinceEpoch % 86_400
        if second < 0 {
            second += 86_400
            days -= 1
        }
        let (year, month, day) = Instant.civilDate(daysSinceEpoch: days)
        let clock = [second / 3_600, second / 60 % 60, second % 60].map { Instant.padded($0, to: 2) }
        return "\(Instant.padded(year, to: 4))-\(Instant.padded(month, to: 2))-\(Instant.padded(day, to: 2))"
            + "T\(clock.joined(separator: ":"))Z"
    }

    /// Returns the Gregorian date of a day number, counted in 400-year eras that start on 1 March.
    private static func civilDate(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = daysSinceEpoch + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func padded(_ number: Int64, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

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
