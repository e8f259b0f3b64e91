package import OIDCCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A time on a monotonic clock that also runs while the machine sleeps, as leases expire meanwhile.
package struct MonotonicTime: Hashable, Comparable, Sendable {
    #if canImport(Darwin)
        private static let clock = CLOCK_MONOTONIC
    #else
        private static let clock = CLOCK_BOOTTIME
    #endif

    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static func now() -> MonotonicTime {
        var time = timespec()
        clock_gettime(clock, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Returns the time this many milliseconds later; if that is out of range, the nearest possible time.
    package func adding(milliseconds: Int64) -> MonotonicTime {
        let (added, isTooMuch) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, isTooLate) = nanoseconds.addingReportingOverflow(added)
        guard isTooMuch || isTooLate else { return MonotonicTime(nanoseconds: sum) }
        return MonotonicTime(nanoseconds: milliseconds > 0 ? .max : .min)
    }

    package func adding(seconds: Int64) -> MonotonicTime {
        let (milliseconds, isTooMuch) = seconds.multipliedReportingOverflow(by: 1000)
        return adding(milliseconds: isTooMuch ? (seconds > 0 ? .max : .min) : milliseconds)
    }

    /// Returns the milliseconds from `now` until this time; 0 if it has passed. The result is rounded up, so
    /// a wait of that length reaches the time.
    package func milliseconds(from now: MonotonicTime) -> Int64 {
        guard self > now else { return 0 }
        let (difference, isTooMuch) = nanoseconds.subtractingReportingOverflow(now.nanoseconds)
        guard !isTooMuch else { return .max / 1_000_000 }
        return difference / 1_000_000 + (difference % 1_000_000 == 0 ? 0 : 1)
    }

    package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

extension Duration {
    /// The duration in milliseconds, rounded up; at least 0 and at most a century.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let whole = min(max(-1, seconds), 3_155_760_000) * 1_000
        return max(0, whole + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}

/// A local date and time, in this machine's time zone.
package struct LocalTime: Hashable, Sendable {
    package var year: Int
    package var month: Int
    package var day: Int
    package var hour: Int
    package var minute: Int

    package init(year: Int, month: Int, day: Int, hour: Int, minute: Int) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
    }

    /// Creates the local time of an instant; nil if its year is out of range.
    package init?(_ instant: Instant) {
        var seconds = time_t(instant.secondsSinceEpoch)
        var parts = tm()
        guard localtime_r(&seconds, &parts) != nil else { return nil }
        self.init(
            year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday),
            hour: Int(parts.tm_hour), minute: Int(parts.tm_min))
    }
}

/// The clock of this machine.
package enum Clock {
    package static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(secondsSinceEpoch: Int64(time.tv_sec))
    }
}
