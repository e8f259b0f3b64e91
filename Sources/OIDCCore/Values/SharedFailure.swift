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
    /// When a process last took the failure as its own without having waited for it to happen.
    public var sharedAt: Instant?

    /// Makes a failure of its parts.
    public init(
        error: OIDCError, time: Instant, id: String, refreshTokenHash: String?, sharedAt: Instant? = nil
    ) {
        self.error = error
        self.time = time
        self.id = id
        self.refreshTokenHash = refreshTokenHash
        self.sharedAt = sharedAt
    }

    /// The longest that a provider's Retry-After is honored.
    private static let longestRetryAfter: Int64 = 300
    /// How long a crowd's failure counts after the last of the crowd came, and at most after it happened.
    private static let crowd: (pause: Int64, limit: Int64) = (2, 30)

    /// Whether the failure answers a process that comes now: while the provider asked for patience, or while
    /// a crowd of processes that were started together is still coming in. A time in the future was noted by a
    /// wrong clock and is not believed.
    public func answersNewcomer(at now: Instant) -> Bool {
        guard now >= time else { return false }
        let age = now.seconds(since: time)
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
            refreshTokenHash: json["refresh_token_hash"]?.string,
            sharedAt: json["shared_at"]?.integer.map { Instant(secondsSinceEpoch: $0) })
    }
}
