package import OIDCCore
package import OIDCSessions

/// A key-value server that several machines share, such as Redis or etcd. Each call is atomic, and can be
/// repeated if its answer was lost.
///
/// The server measures all times, so the machines' clocks do not matter.
package protocol SharedEngine: Sendable {
    /// The server's URL without password.
    var description: String { get }

    /// Reads a value; returns nil if there is none.
    func read(_ name: String) throws(OIDCError) -> SharedValue?

    /// Writes a value if `current` is still the stored one, or if there is none and `current` is nil. Returns
    /// the value as it is stored, or nil if another one is.
    ///
    /// The server removes the value after `lifetime`, or never if that is nil.
    func write(
        _ name: String, _ bytes: [UInt8], replacing current: SharedValue?, lifetime: Duration?
    ) throws(OIDCError) -> SharedValue?

    /// Removes a value, which need not exist.
    func remove(_ name: String) throws(OIDCError)

    /// Lists the names of values that start with a prefix.
    func names(_ prefix: String) throws(OIDCError) -> [String]

    /// Gives a lease to its owner until `duration` has passed, unless another owner has it, and reads values in the
    /// same step.
    ///
    /// If the lease is given and `checksWrites` is true, the first value is written unchanged, if there is one: a
    /// server that refuses writes does so before a refresh token is presented, and the lease is not given.
    func acquire(
        _ lease: String, owner: String, for duration: Duration, reading names: [String], checksWrites: Bool
    ) throws(OIDCError) -> LeaseAnswer

    /// Extends a lease to `duration` from now; returns false if the owner no longer has it. Throws if the
    /// server would not accept a write.
    func extend(_ lease: String, owner: String, to duration: Duration) throws(OIDCError) -> Bool

    /// Ends a lease, unless another owner has it. Waits no longer than `limit` for an answer.
    func release(_ lease: String, owner: String, within limit: Duration) throws(OIDCError)

    /// Returns the server's text with the store's secrets removed, so it can be shown.
    func withoutSecrets(_ text: String) -> String

    /// Returns a name or message from the server with the store's password removed. Passwords under eight bytes stay, as
    /// they may be part of a name by chance.
    func withoutPassword(_ text: String) -> String

    /// Returns the words of the command that deletes a value at the server, by hand.
    func deletion(of name: String) -> [String]

    /// Checks the server for `oidc doctor`.
    func health(now: Instant) throws(OIDCError) -> [HealthReport]
}

/// The answer to the request for a lease.
package struct LeaseAnswer: Sendable {
    /// Whether the owner has the lease.
    package var isOurs: Bool
    /// The values by name; nil for one that does not exist. One that cannot be read is left out.
    package var values: [String: SharedValue?]

    package init(isOurs: Bool, values: [String: SharedValue?] = [:]) {
        self.isOurs = isOurs
        self.values = values
    }
}

extension SharedEngine {
    /// Gives a lease to its owner, without reading anything. Returns false if another owner has it.
    func acquire(_ lease: String, owner: String, for duration: Duration) throws(OIDCError) -> Bool {
        try acquire(lease, owner: owner, for: duration, reading: [], checksWrites: false).isOurs
    }
}

/// A value and its revision.
package struct SharedValue: Hashable, Sendable {
    package var bytes: [UInt8]
    /// A number that distinguishes this value from others of the same name. It is 0 if the server compares
    /// the bytes, which are unique as each record has a random nonce.
    package var revision: Int64

    package init(bytes: [UInt8], revision: Int64 = 0) {
        self.bytes = bytes
        self.revision = revision
    }
}

extension HealthReport {
    /// Returns the report about the difference between the server's clock and ours.
    static func clock(differingBy seconds: Int64) -> HealthReport {
        let isClose = (-5...5).contains(seconds)
        return HealthReport(
            isClose ? "same time" : "its clock differs by \(seconds) s",
            warning: isClose ? nil : "set the clock of this machine or of the server")
    }

    /// Returns the report about a server in the URL that does not answer, although another one does.
    static func unreachable(_ error: OIDCError) -> HealthReport {
        HealthReport(
            error.message, warning: "start this server, or remove it from the store's URL")
    }

    /// Returns the report about a connection without TLS.
    static func unencrypted(secureScheme scheme: String) -> HealthReport {
        HealthReport(
            "the connection is not encrypted: sessions are sealed, the password is not",
            warning: "use \(scheme)://")
    }
}

extension OIDCError {
    /// Returns the error about a shared store that cannot be used now.
    static func sharedStore(_ server: String, _ message: String) -> OIDCError {
        OIDCError(
            .unreachable, "store: \(DisplayText.clean(server)): \(message)", hint: .tryAgain(seconds: nil),
            stage: .store)
    }

    /// Returns the error about a shared store that was asked and did not answer.
    static func noAnswer(of server: String, _ message: String) -> OIDCError {
        sharedStore(server, message).unanswered(true)
    }

    /// Returns the error about a shared store that refuses us.
    static func sharedStoreRefusal(_ server: String, _ message: String, hint: Hint) -> OIDCError {
        OIDCError(
            .usage, "store: \(DisplayText.clean(server)): \(message)", hint: hint, stage: .store)
    }
}
