package import OIDCCore

/// The log entry of a request, without secrets.
package struct ProxyLogEntry: Hashable, Sendable {
    package var time: Instant
    /// The URL of the route; nil for a caller without the secret.
    package var route: WebURL?
    package var method: String
    /// The path below the route's own, without the query; nil for a caller without the secret.
    package var path: String?
    /// The status of the answer; nil if the caller left before it.
    package var status: Int?
    /// The number of bytes of the answer's body.
    package var bytes: Int
    package var milliseconds: Int64
    /// The number of refreshes that the request waited for.
    package var refreshes: Int
}
