import OIDCCore
import Posix

/// Times as words.
enum TimeWords {
    /// Formats a duration, as in `4 minutes`, `2 hours 5 minutes` or `3 days`.
    static func duration(_ seconds: Int64) -> String {
        let seconds = max(0, seconds)
        switch seconds {
        case ..<120: return count(seconds, "second")
        case ..<7_200: return count(seconds / 60, "minute")
        case ..<172_800:
            let minutes = seconds % 3_600 / 60
            return count(seconds / 3_600, "hour") + (minutes > 0 ? " \(count(minutes, "minute"))" : "")
        default: return count(seconds / 86_400, "day")
        }
    }

    /// Formats a time relative to now, as in `in 4 minutes` or `4 minutes ago`.
    static func relative(_ instant: Instant, to now: Instant) -> String {
        let seconds = instant.seconds(since: now)
        if seconds == 0 { return "now" }
        return seconds > 0
            ? "in \(duration(seconds))" : "\(duration(seconds == .min ? .max : -seconds)) ago"
    }

    /// Formats the local time, as in `14:32`, with the date if it is not today; nil if its year is out of range.
    static func clock(
        _ instant: Instant, now: Instant, localTime: (Instant) -> LocalTime? = { LocalTime($0) }
    ) -> String? {
        guard let time = localTime(instant), let today = localTime(now) else { return nil }
        let clock = "\(twoDigits(time.hour)):\(twoDigits(time.minute))"
        let isToday = (time.year, time.month, time.day) == (today.year, today.month, today.day)
        return isToday ? clock : "\(time.year)-\(twoDigits(time.month))-\(twoDigits(time.day)) \(clock)"
    }

    /// Formats a countdown, as in `4:59` or `1:02:03`.
    static func countdown(_ seconds: Int64) -> String {
        let seconds = max(0, seconds)
        let (minutes, rest) = (seconds / 60 % 60, twoDigits(seconds % 60))
        return seconds < 3_600 ? "\(minutes):\(rest)" : "\(seconds / 3_600):\(twoDigits(minutes)):\(rest)"
    }

    private static func twoDigits(_ number: some BinaryInteger) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }

    private static func count(_ number: Int64, _ unit: String) -> String {
        "\(number) \(unit)\(number == 1 ? "" : "s")"
    }
}
