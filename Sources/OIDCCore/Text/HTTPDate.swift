/// Dates in HTTP headers, in all three formats (RFC 9110 §5.6.7).
package enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns a date in the format that is sent: `Sat, 31 Jan 2026 12:00:00 GMT`.
    package static func text(_ moment: Instant) -> String {
        // The description has the form 2026-01-31T12:00:00Z.
        let parts = moment.description.split { "-T:Z".contains($0) }
        guard parts.count == 6, let month = Int(parts[1]), (1...12).contains(month) else {
            return "Thu, 01 Jan 1970 00:00:00 GMT"
        }
        let day = Int((moment.secondsSinceEpoch / 86_400) % 7 + 7) % 7
        let time = parts[3...].joined(separator: ":")
        return "\(days[day]), \(parts[2]) \(months[month - 1]) \(parts[0]) \(time) GMT"
    }

    /// Parses a date; returns nil for any other text or a date that does not exist.
    package static func instant(_ text: String) -> Instant? {
        let words = ASCII.lowercased(ASCII.trimmed(text)).split { $0 == " " || $0 == "," || $0 == "-" }
        let fields: (day: Substring, month: Substring, year: Substring, clock: Substring)
        if words.count == 6, words[5] == "gmt" {
            fields = (words[1], words[2], words[3], words[4])
        } else if words.count == 5 {
            fields = (words[2], words[1], words[4], words[3])
        } else {
            return nil
        }
        guard let day = number(fields.day, digits: 1...2), let year = year(fields.year),
            let month = months.firstIndex(where: { ASCII.isSameIgnoringCase($0, fields.month) }),
            let second = clock(fields.clock),
            day >= 1, day <= length(month: month + 1, year: year)
        else { return nil }
        let days = dayNumber(year: year, month: Int64(month) + 1, day: day)
        return Instant(secondsSinceEpoch: days * 86_400 + second)
    }

    /// Parses a year. Two digits are the RFC 850 format: 70 and above are in the 1900s.
    private static func year(_ text: Substring) -> Int64? {
        if let short = number(text, digits: 2...2) { return short < 70 ? 2_000 + short : 1_900 + short }
        return number(text, digits: 4...4).flatMap { $0 >= 1 ? $0 : nil }
    }

    private static func clock(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            .compactMap { number($0, digits: 2...2) }
        guard parts.count == 3, parts[0] < 24, parts[1] < 60, parts[2] <= 60 else { return nil }
        return parts[0] * 3_600 + parts[1] * 60 + parts[2]
    }

    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int64? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ ASCII.isDigit($0) }) else {
            return nil
        }
        return Int64(text)
    }

    private static func length(month: Int, year: Int64) -> Int64 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        switch month {
        case 2: return isLeap ? 29 : 28
        case 4, 6, 9, 11: return 30
        default: return 31
        }
    }

    /// Returns the days since 1970 in the Gregorian calendar, counted in years that start on 1 March.
    private static func dayNumber(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
