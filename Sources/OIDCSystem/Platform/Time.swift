package import OIDCCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A moment on the clock that is never set: for deadlines, not for dates.
package struct MonotonicTime: Hashable, Comparable, Sendable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static func now() -> MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// At the ends of the range it stays there instead of trapping.
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

    /// How long it is from `now` until then, rounded up so a wait of that length reaches it; 0 when past.
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

/// The date, as this machine believes it.
package enum Clock {
    package static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(secondsSinceEpoch: Int64(time.tv_sec))
    }
}
