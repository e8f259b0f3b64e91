package import OIDCCore

/// A whole request as it came in, before anybody has judged it.
package struct HTTPServerRequest: Hashable, Sendable {
    package var method: HTTPMethod
    /// In origin form, exactly as sent: visible ASCII that begins with `/` (RFC 9112 §3.2.1).
    package var target: String
    /// 0 or 1.
    package var minorVersion: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// Who sent it, where the server was made to ask.
    package var peer = PeerOwner.unknown

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

    /// Not decoded: `%2e` stays `%2e`.
    package var path: String { String(target.prefix { $0 != "?" }) }

    /// What follows the first `?`, not decoded.
    package var query: String? {
        guard let mark = target.utf8.firstIndex(of: 0x3F) else { return nil }
        return String(target[target.utf8.index(after: mark)...])
    }

    package var host: String? { headers["Host"] }

    /// The media type of the body in lower case, without parameters.
    package var mediaType: String? {
        headers["Content-Type"].map {
            ASCII.lowercased(ASCII.trimmed($0.prefix { $0 != ";" }))
        }
    }

    /// As a request to a server with that origin, for a provider that is a pure function of such requests;
    /// nil where the target is not part of a URL.
    package func request(to origin: String) -> HTTPRequest? {
        WebURL(origin + target).map { HTTPRequest(method, $0, headers: headers, body: body) }
    }

    /// Whether the peer sends nothing more on this connection (RFC 9112 §9.3).
    var closesConnection: Bool {
        minorVersion == 0
            || headers.values("Connection").contains { value in
                value.split(separator: ",").contains {
                    ASCII.isSameIgnoringCase(ASCII.trimmed($0), "close")
                }
            }
    }

    /// The same request again from the same user, by whichever connection: headers may differ when a browser
    /// repeats it.
    func isRepeated(by other: HTTPServerRequest) -> Bool {
        method == other.method && target == other.target && body == other.body && peer == other.peer
    }
}
