package import OIDCCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A time on the monotonic clock, for deadlines.
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

    /// Returns the time so many milliseconds later; out of range, the nearest representable time.
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

    /// Returns the milliseconds from `now` until this time, rounded up so that a wait of that length reaches
    /// it; 0 if it has passed.
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

/// The clock of this machine.
package enum Clock {
    package static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(secondsSinceEpoch: Int64(time.tv_sec))
    }
}
