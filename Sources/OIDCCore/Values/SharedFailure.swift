/// A failed token request, left beside the session for the processes that wanted the same: one request, whether
/// it succeeds or fails, for any number of them.
public struct SharedFailure: Hashable, Sendable {
    /// The error of the request.
    public var error: OIDCError
    /// When the request failed.
    public var time: Instant
    /// Tells two failures apart that happened in the same second.
    public var id: String
    /// A hash of the refresh token that the session holds since; nil for a grant without one.
    public var refreshTokenHash: String?
    /// What was asked for besides the session's own token, as `TokenSource.text`; nil for the own token.
    public var request: String?
    /// When it happened by the clock of the machine that is never set, in nanoseconds; nil if that is not known.
    public var moment: Int64?
    /// When a process last took the failure as its own.
    public var sharedAt: Instant?

    /// Makes a failure of its parts.
    package init(
        error: OIDCError, time: Instant, id: String, refreshTokenHash: String?, of source: TokenSource = .own,
        moment: Int64? = nil
    ) {
        self.error = error
        self.time = time
        self.id = id
        self.refreshTokenHash = refreshTokenHash
        request = source.text
        self.moment = moment
    }

    /// The longest that a provider's Retry-After is honored.
    private static let longestRetryAfter: Int64 = 300
    /// How long a crowd's failure counts after the last of the crowd came, and at most after it happened.
    private static let crowd: (pause: Int64, limit: Int64) = (2, 6)

    /// Whether the failure was noted lately. A time in the future, or far back, was noted by a wrong clock.
    package func isRecent(at now: Instant) -> Bool {
        (0...SharedFailure.longestRetryAfter).contains(now.seconds(since: time))
    }

    /// Whether the failure is also what a request for `source` would end with: always if the provider is out of
    /// reach or the session is over, otherwise if the same was asked for.
    package func concerns(_ source: TokenSource) -> Bool {
        error.kind == .unreachable || error.endsSession || request == source.text
    }

    /// Whether the failure answers a process that comes now: while the provider asked for patience, or while
    /// a crowd of processes that were started together is still coming in, or if it happened only after the process
    /// was started.
    package func answersNewcomer(at now: Instant, startedAt start: Int64? = nil) -> Bool {
        guard isRecent(at: now) else { return false }
        let age = now.seconds(since: time)
        // Another machine's moments mean nothing here, which is why the age counts too.
        if let moment, let start, start < moment, age < SharedFailure.crowd.pause { return true }
        if let pause = error.retryAfter, age < min(Int64(pause), SharedFailure.longestRetryAfter) {
            return true
        }
        guard let sharedAt, sharedAt >= time, now >= sharedAt else { return false }
        return now.seconds(since: sharedAt) < SharedFailure.crowd.pause && age < SharedFailure.crowd.limit
    }

    /// Whether another process's failure of this kind says what would happen to us. What is wrong on one command
    /// line or in one process says nothing about another.
    public static func isShared(_ error: OIDCError) -> Bool {
        switch error.kind {
        case .refused, .unreachable, .untrusted: true
        case .loginRequired: error.endsSession
        case .failed, .usage, .timedOut, .interrupted: false
        }
    }
}

extension SharedFailure {
    /// The stored form.
    public var json: JSONValue {
        var object = JSONObject()
        object["kind"] = .string(error.kind.rawValue)
        object["message"] = .string(error.message)
        object["hint"] = error.hint?.stored
        object["cause"] = error.cause?.stored
        object["stage"] = error.stage.map { .string($0.rawValue) }
        object["oauth_error"] = error.oauthError.map { .string($0) }
        object["retry_after"] = error.retryAfter.map { JSONValue(Int64($0)) }
        object["time"] = JSONValue(time.secondsSinceEpoch)
        object["id"] = .string(id)
        object["refresh_token_hash"] = refreshTokenHash.map { .string($0) }
        object["request"] = request.map { .string($0) }
        object["moment"] = moment.map { JSONValue($0) }
        object["shared_at"] = sharedAt.map { JSONValue($0.secondsSinceEpoch) }
        return .object(object)
    }

    /// Reads the stored form; nil if it is anything else.
    public init?(stored bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes),
            let kind = json["kind"]?.string.flatMap(OIDCError.Kind.init),
            let message = json["message"]?.string, let time = json["time"]?.integer,
            let id = json["id"]?.string
        else { return nil }
        self.init(
            error: OIDCError(
                kind, message, hint: json["hint"].flatMap(Hint.init(stored:)),
                stage: json["stage"]?.string.map { Stage(rawValue: $0) },
                oauthError: json["oauth_error"]?.string,
                retryAfter: json["retry_after"]?.integer.flatMap { Int(exactly: $0) },
                cause: json["cause"].flatMap(OIDCError.Cause.init(stored:))),
            time: Instant(secondsSinceEpoch: time), id: id,
            refreshTokenHash: json["refresh_token_hash"]?.string, moment: json["moment"]?.integer)
        request = json["request"]?.string
        sharedAt = json["shared_at"]?.integer.map { Instant(secondsSinceEpoch: $0) }
    }
}
