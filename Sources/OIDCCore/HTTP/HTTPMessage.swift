/// An HTTP method (RFC 9110 §9); an open set.
public struct HTTPMethod: Hashable, Sendable, CustomStringConvertible {
    /// The name, in upper case.
    public let name: String

    /// Creates a method from its name.
    public init(_ name: String) {
        self.name = name
    }

    /// `GET`.
    public static let get = HTTPMethod("GET")
    /// `POST`.
    public static let post = HTTPMethod("POST")
    /// `PUT`.
    public static let put = HTTPMethod("PUT")
    /// `DELETE`.
    public static let delete = HTTPMethod("DELETE")

    /// The name.
    public var description: String { name }
}

/// Header fields in their order; names are compared without regard to case (RFC 9110 §5.1).
public struct HTTPHeaders: Hashable, Sendable {
    /// A name and its value.
    public struct Field: Hashable, Sendable {
        /// The name as it was written.
        public var name: String
        /// The value.
        public var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The fields in their order.
    public private(set) var fields: [Field] = []

    /// Creates headers from names and values.
    public init(_ fields: [(String, String)] = []) {
        self.fields = fields.map { Field(name: $0.0, value: $0.1) }
    }

    /// The first value with that name; setting replaces all of them.
    public subscript(name: String) -> String? {
        get { fields.first { ASCII.isSameIgnoringCase($0.name, name) }?.value }
        set {
            fields.removeAll { ASCII.isSameIgnoringCase($0.name, name) }
            if let newValue { fields.append(Field(name: name, value: newValue)) }
        }
    }

    /// Returns all values of a field, without regard to the case of its name.
    public func values(_ name: String) -> [String] {
        fields.filter { ASCII.isSameIgnoringCase($0.name, name) }.map(\.value)
    }

    /// Adds a field after the others.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// Splits a value at the commas outside quoted strings (RFC 9110 §5.6.1).
    package static func elements(_ value: [UInt8]) -> [ArraySlice<UInt8>] {
        var elements: [ArraySlice<UInt8>] = []
        var (start, index, isQuoted) = (0, 0, false)
        while index < value.count {
            switch value[index] {
            case .quote: isQuoted.toggle()
            case .backslash where isQuoted: index += 1
            case .comma where !isQuoted:
                elements.append(value[start..<index])
                start = index + 1
            default: break
            }
            index += 1
        }
        return elements + [value[start...]]
    }
}

/// A request as a value, independent of how it is sent.
public struct HTTPRequest: Hashable, Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The URL.
    public var url: WebURL
    /// The headers.
    public var headers: HTTPHeaders
    /// The body; empty if there is none.
    public var body: [UInt8]
    /// Whether the client certificate is presented, if one is configured (RFC 8705 §2).
    public var usesClientCertificate: Bool
    /// Whether the body contains a secret that the answer replaces, such as a rotated refresh token. Once the
    /// request is sent, neither a signal nor a cancellation ends the wait, as losing the answer would lose
    /// the session.
    public var redeemsSingleUseSecret = false
    /// Whether the status and the headers suffice, as the body of a stream may never end.
    package var needsOnlyHead = false
    /// Whether only a connection is opened, with TLS for https, and no request is sent.
    package var onlyConnects = false

    /// Creates a request from its parts.
    public init(
        _ method: HTTPMethod, _ url: WebURL, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = [],
        usesClientCertificate: Bool = false
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.usesClientCertificate = usesClientCertificate
    }

    /// Returns a GET request for JSON.
    public static func json(_ url: WebURL) -> HTTPRequest {
        HTTPRequest(.get, url, headers: HTTPHeaders([("Accept", "application/json")]))
    }

    /// Returns a POST request that sends a form and accepts JSON. GitHub's token endpoint answers
    /// form-encoded otherwise.
    public static func form(_ url: WebURL, _ pairs: [FormEncoding.Pair]) -> HTTPRequest {
        HTTPRequest(
            .post, url,
            headers: HTTPHeaders([
                ("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json"),
            ]),
            body: Array(FormEncoding.encode(pairs).utf8))
    }
}

/// A complete answer, of bounded size.
public struct HTTPResponse: Hashable, Sendable {
    /// The status code.
    public var status: Int
    /// The headers.
    public var headers: HTTPHeaders
    /// The body; empty if there is none.
    public var body: [UInt8]
    /// The time of arrival by our clock, which replaces a missing `Date` (RFC 9110 §6.6.1).
    public var receivedAt: OIDCInstant?

    /// Creates an answer from its parts.
    public init(
        status: Int, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = [], receivedAt: OIDCInstant? = nil
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.receivedAt = receivedAt
    }

    /// The reason why the body is incomplete; nil if it is complete. Only answers that may contain a new
    /// refresh token are returned incomplete.
    package var failure: OIDCError?

    /// Whether the status is 2xx.
    public var isSuccess: Bool { (200..<300).contains(status) }

    /// Whether the status means that a later attempt may succeed: 408, 425, 429 or 5xx.
    package var isTemporaryFailure: Bool { [408, 425, 429].contains(status) || status >= 500 }

    /// The media type in lower case, without parameters.
    public var mediaType: String? {
        guard let value = headers["Content-Type"], let type = value.split(separator: ";").first else {
            return nil
        }
        return ASCII.lowercased(ASCII.trimmed(type))
    }

    /// Seconds to wait (RFC 9110 §10.2.3), at most a day. A date is counted from the answer's own `Date`, or
    /// from its arrival.
    public var retryAfter: Int? {
        guard let text = headers["Retry-After"].map({ ASCII.trimmed($0) }) else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy(ASCII.isDigit) { return min(Int(text) ?? .max, 86_400) }
        guard let end = HTTPDate.instant(text),
            let start = headers["Date"].flatMap(HTTPDate.instant) ?? receivedAt, end >= start
        else { return nil }
        return Int(min(end.seconds(since: start), 86_400))
    }
}
