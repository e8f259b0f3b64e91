package import OIDCCore
package import Posix

/// A complete request as it was received, before any check of its content.
package struct HTTPServerRequest: Hashable, Sendable {
    package var method: HTTPMethod
    /// The target in origin form, exactly as it was sent: visible ASCII that starts with `/` (RFC 9112
    /// §3.2.1).
    package var target: String
    /// The minor HTTP version, 0 or 1.
    package var minorVersion: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// The user who sent the request, if the server identifies users.
    package var peer = PeerOwner.unknown
    /// The address at which the request arrived, if the server listens on all of them.
    package var ownAddress: NumericAddress?

    package init(
        _ method: HTTPMethod, _ target: String, minorVersion: Int = 1, headers: HTTPHeaders = HTTPHeaders(),
        body: [UInt8] = []
    ) {
        self.method = method
        self.target = target
        self.minorVersion = minorVersion
        self.headers = headers
        self.body = body
    }

    /// The path, not decoded: `%2e` stays `%2e`.
    package var path: String { String(Substring(target.utf8.prefix { $0 != .questionMark })) }

    /// The part after the first `?`, not decoded.
    package var query: String? {
        guard let mark = target.utf8.firstIndex(of: .questionMark) else { return nil }
        return String(target[target.utf8.index(after: mark)...])
    }

    package var host: String? { headers["Host"] }

    /// The media type of the body in lower case, without parameters.
    package var mediaType: String? {
        headers["Content-Type"].map {
            ASCII.lowercased(ASCII.trimmed(Substring($0.utf8.prefix { $0 != .semicolon })))
        }
    }

    /// Whether a browser requests a page.
    package var wantsPage: Bool { headers["Accept"]?.includes("text/html") == true }

    /// Returns the request in the form for a provider that is a pure function; nil if `origin` and the target
    /// do not form a URL.
    package func request(to origin: String) -> HTTPRequest? {
        WebURL(origin + target).map { HTTPRequest(method, $0, headers: headers, body: body) }
    }

    /// Whether the peer sends no further request on this connection (RFC 9112 §9.3).
    package var closesConnection: Bool {
        minorVersion == 0
            || headers.values("Connection").contains { value in
                value.split(separator: ",").contains {
                    ASCII.isSameIgnoringCase(ASCII.trimmed($0), "close")
                }
            }
    }

    /// Returns whether another request, on any connection, repeats this one: it has the same method, target,
    /// body and user. A browser may repeat a request with other headers.
    func isRepeated(by other: HTTPServerRequest) -> Bool {
        method == other.method && target == other.target && body == other.body && peer == other.peer
    }
}
