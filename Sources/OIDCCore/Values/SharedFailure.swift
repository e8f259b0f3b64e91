/// A failed token request, stored beside the session, so processes that want the same token do not all repeat
/// it.
package struct SharedFailure: Hashable, Sendable {
    /// The error of the request.
    package var error: OIDCError
    /// The time of the failed request.
    package var time: Instant
    /// An identifier that distinguishes failures of the same second.
    package var id: String
    /// A hash of the session's refresh token after the failure; nil for a grant without one.
    package var refreshTokenHash: String?
    /// The requested token as `TokenSource.text`; nil for the session's own token.
    package var request: String?
    /// The time of the failure by the machine's monotonic clock, in nanoseconds; nil if unknown.
    package var moment: Int64?
    /// The machine and network on which the request failed; nil if unknown.
    package var machine: String?
    /// A short hash of what the client authenticated with.
    package var credentials: String?
    /// Whether a request of another machine had got no answer either.
    package var isConfirmed = false
    /// The time when a process first adopted the failure.
    package var sharedAt: Instant?
    /// The time when a process last adopted the failure, by the machine's monotonic clock, in nanoseconds.
    package var sharedMoment: Int64?

    /// Creates a failure from its parts.
    package init(
        error: OIDCError, time: Instant, id: String, refreshTokenHash: String?, of source: TokenSource = .own,
        moment: Int64? = nil, machine: String? = nil, credentials: String? = nil
    ) {
        self.machine = machine
        self.credentials = credentials
        self.error = error
        self.time = time
        self.id = id
        self.refreshTokenHash = refreshTokenHash
        request = source.text
        self.moment = moment
    }

    /// The longest Retry-After that is honored, in seconds.
    private static let longestRetryAfter: Int64 = 300
    /// Seconds for which a failure applies: to new processes once another one has adopted it (`newcomers`),
    /// and to processes that were started before it, which a busy machine may delay (`delayed`).
    private static let crowd: (newcomers: Int64, delayed: Int64) = (2, 15)
    /// The seconds for which the silence on one machine confirms that on another.
    private static let confirmation: Int64 = 90
    /// The longest pause between adoptions by new processes that count as one crowd, in nanoseconds.
    private static let crowdPause: Int64 = 150_000_000
    /// The shortest pause after which another adoption is stored, in nanoseconds.
    private static let notePause: Int64 = 50_000_000

    /// Returns whether the failure happened within the longest Retry-After. A time in the future comes from a
    /// wrong clock.
    package func isRecent(at now: Instant) -> Bool {
        (0...SharedFailure.longestRetryAfter).contains(now.seconds(since: time))
    }

    /// Returns the milliseconds since the failure by the monotonic clock; nil if it does not agree with the
    /// time of day, as on another machine or after a restart.
    private func elapsed(at now: Instant, moment current: Int64?) -> Int64? {
        guard let moment, let current else { return nil }
        let (nanoseconds, isTooMuch) = current.subtractingReportingOverflow(moment)
        guard !isTooMuch, nanoseconds >= 0, case let milliseconds = nanoseconds / 1_000_000 else {
            return nil
        }
        // Both times of day are rounded down.
        let age = now.seconds(since: time)
        return (0..<1_000).contains(age) && abs(milliseconds - age * 1_000) < 1_100 ? milliseconds : nil
    }

    /// Returns the seconds of Retry-After that are left, rounded up; 0 if it has passed or there was none. If
    /// there is no usable monotonic time, the second in which the failure happened counts in full.
    package func secondsLeft(at now: Instant, moment current: Int64?) -> Int64 {
        guard let pause = error.retryAfter else { return 0 }
        let wait = max(0, min(Int64(clamping: pause), .max - 1))
        guard let elapsed = elapsed(at: now, moment: current) else {
            return max(0, wait + 1 - max(0, now.seconds(since: time)))
        }
        return max(0, wait - elapsed / 1_000)
    }

    /// Whether the request got no answer, which may be because of the machine's own network.
    private var isSilence: Bool { error.kind == .unreachable && error.code != .tryLater }

    /// Returns whether a request for `source` would fail in the same way. On the same machine: always if the provider is
    /// unreachable or the session has ended, otherwise only if the request and the client's credentials are the same:
    /// another process may have a newer secret. Other machines may have another network or secret, so only the end of a
    /// session, and failures with Retry-After, count there. For those who waited for this request, so does a temporary
    /// error that the provider answered, and silence on two machines.
    package func concerns(
        _ source: TokenSource, on ours: String?, hasWaited: Bool = false,
        with credentials: @autoclosure () -> String? = nil
    ) -> Bool {
        let isOfProvider = error.kind == .unreachable && (!isSilence || isConfirmed)
        let isForAll = error.endsSession || error.retryAfter != nil || hasWaited && isOfProvider
        guard machine == ours || isForAll else { return false }
        guard error.kind != .unreachable, !error.endsSession else { return true }
        return request == source.text && self.credentials == credentials()
    }

    /// Notes whether the request before, with the same refresh token, got no answer on another machine either.
    package mutating func confirm(after last: SharedFailure?) {
        guard let last, isSilence, last.isSilence, last.refreshTokenHash == refreshTokenHash,
            (0...SharedFailure.confirmation).contains(time.seconds(since: last.time))
        else { return }
        // A machine that repeats its own failure confirms nothing.
        isConfirmed = last.machine != machine
    }

    /// Returns whether the failure applies to a process that requests a token now: for up to 15 seconds to
    /// one that was started before it, and to every process until Retry-After has passed. If there was no
    /// Retry-After but another process has adopted the failure, it applies for two seconds, and longer while
    /// a crowd is starting.
    package func answersNewcomer(
        at now: Instant, moment current: Int64? = nil, startedAt start: Int64? = nil
    ) -> Bool {
        guard isRecent(at: now) else { return false }
        let age = now.seconds(since: time)
        if let moment, let start, start < moment {
            // A monotonic time of another machine means nothing here.
            let isComparable = elapsed(at: now, moment: current) != nil
            if age < (isComparable ? SharedFailure.crowd.delayed : SharedFailure.crowd.newcomers) {
                return true
            }
        }
        guard error.retryAfter == nil else { return secondsLeft(at: now, moment: current) > 0 }
        guard sharedAt != nil else { return false }
        guard let elapsed = elapsed(at: now, moment: current) else {
            return age < SharedFailure.crowd.newcomers
        }
        if elapsed < SharedFailure.crowd.newcomers * 1_000 { return true }
        guard elapsed < SharedFailure.crowd.delayed * 1_000, let current, let sharedMoment else {
            return false
        }
        let (pause, isTooMuch) = current.subtractingReportingOverflow(sharedMoment)
        return !isTooMuch && (0..<SharedFailure.crowdPause).contains(pause)
    }

    /// Returns whether the failure has just happened, so processes that were started before it may still
    /// adopt it.
    package func awaitsAdoption(at now: Instant, moment current: Int64) -> Bool {
        guard sharedAt == nil, error.retryAfter == nil else { return false }
        return elapsed(at: now, moment: current).map { $0 < 100 } ?? false
    }

    /// Returns the failure marked as adopted now; nil if it was marked a moment ago.
    package func adopted(at now: Instant, moment current: Int64) -> SharedFailure? {
        if let sharedMoment, sharedAt != nil {
            let (pause, isTooMuch) = current.subtractingReportingOverflow(sharedMoment)
            guard isTooMuch || !(0..<SharedFailure.notePause).contains(pause) else { return nil }
        }
        var adopted = self
        adopted.sharedAt = sharedAt ?? now
        adopted.sharedMoment = current
        return adopted
    }

    /// Returns whether other processes would fail in the same way. A mistake of one command line or process
    /// does not affect them.
    package static func isShared(_ error: OIDCError) -> Bool {
        switch error.kind {
        case .refused, .unreachable, .untrusted: true
        case .loginRequired: error.endsSession || error.code == .signInAgain
        case .failed, .usage, .timedOut, .interrupted: false
        }
    }
}

extension SharedFailure {
    /// The stored form.
    package var json: JSONValue {
        var object = JSONObject()
        object["kind"] = .string(error.kind.rawValue)
        object["message"] = .string(error.message)
        object["hint"] = error.hint?.stored
        object["cause"] = error.cause?.stored
        object["stage"] = error.stage.map { .string($0.rawValue) }
        object["oauth_error"] = error.oauthError.map { .string($0) }
        object["oauth_description"] = error.oauthDescription.map { .string($0) }
        object["code"] = error.code.map { .string($0.rawValue) }
        object["retry_after"] = error.retryAfter.map { JSONValue(Int64($0)) }
        object["time"] = JSONValue(time.secondsSinceEpoch)
        object["id"] = .string(id)
        object["refresh_token_hash"] = refreshTokenHash.map { .string($0) }
        object["request"] = request.map { .string($0) }
        object["moment"] = moment.map { JSONValue($0) }
        object["machine"] = machine.map { .string($0) }
        object["credentials"] = credentials.map { .string($0) }
        object["confirmed"] = isConfirmed ? true : nil
        object["shared_at"] = sharedAt.map { JSONValue($0.secondsSinceEpoch) }
        object["shared_moment"] = sharedMoment.map { JSONValue($0) }
        return .object(object)
    }

    /// Parses the stored form; returns nil for any other content.
    package init?(stored bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes),
            let kind = json["kind"]?.string.flatMap(OIDCError.Kind.init),
            let message = json["message"]?.string, let time = json["time"]?.integer,
            let id = json["id"]?.string
        else { return nil }
        let oauthError = json["oauth_error"]?.string
        // Earlier versions stored no code.
        let isEnd = kind == .loginRequired && oauthError == "invalid_grant"
        var error = OIDCError(
            kind, message, hint: json["hint"].flatMap(Hint.init(stored:)),
            stage: json["stage"]?.string.map { Stage(rawValue: $0) }, oauthError: oauthError,
            retryAfter: json["retry_after"]?.integer.flatMap { Int(exactly: $0) },
            cause: json["cause"].flatMap(OIDCError.Cause.init(stored:)),
            code: json["code"]?.string.map { OIDCError.Code(rawValue: $0) } ?? (isEnd ? .sessionEnded : nil))
        error.oauthDescription = json["oauth_description"]?.string
        self.init(
            error: error,
            time: Instant(secondsSinceEpoch: time), id: id,
            refreshTokenHash: json["refresh_token_hash"]?.string, moment: json["moment"]?.integer)
        machine = json["machine"]?.string
        credentials = json["credentials"]?.string
        isConfirmed = json["confirmed"]?.bool == true
        request = json["request"]?.string
        sharedAt = json["shared_at"]?.integer.map { Instant(secondsSinceEpoch: $0) }
        sharedMoment = json["shared_moment"]?.integer
    }
}
