package import OIDCCore

/// HTTP/1.1 for a loopback server (RFC 9112), without transfer codings.
package enum HTTP1 {
    /// The size limits of a request. Headers may be large, as browsers send the cookies of all ports of
    /// 127.0.0.1.
    package struct Limits: Hashable, Sendable {
        package var requestLine = 16_384
        /// The size of all header lines together.
        package var headerBytes = 65_536
        /// The size of the header lines from which the parser asks whether they may be longer.
        package var shortHeaders = 16_384
        /// The size of the values of Connection, and of Upgrade.
        package var optionBytes = 1_024
        package var headerCount = 100
        package var body = 65_536

        package init() {}
    }

    /// A rejected request, with the status and the reason.
    package struct Rejection: Error, Hashable, Sendable {
        package let status: Int
        package let reason: String

        package init(_ status: Int, _ reason: String) {
            self.status = status
            self.reason = reason
        }
    }

    /// Returns the bytes of an answer; Content-Length and Connection are set here. Throws if a header field
    /// has a control character, which could end the field and add another (CWE-113).
    package static func serialize(
        _ response: HTTPResponse, reason: String? = nil, toHead isHead: Bool = false, closes: Bool
    ) throws(OIDCError) -> [UInt8] {
        guard (200..<600).contains(response.status) else {
            throw OIDCError(.failed, "an HTTP answer has the impossible status \(response.status)")
        }
        var head = "HTTP/1.1 \(response.status) \(reason ?? reasonPhrase(response.status))\r\n"
        let ours = ["content-length", "transfer-encoding", "connection"]
        for field in response.headers.fields where !ours.contains(ASCII.lowercased(field.name)) {
            guard isToken(field.name.utf8), isFieldValue(field.value.utf8) else {
                let name = DisplayText.quoted(field.name)
                throw OIDCError(.failed, "an HTTP answer has an unfit header \(name)")
            }
            head += "\(field.name): \(field.value)\r\n"
        }
        let hasBody = response.status != 204 && response.status != 304
        if hasBody { head += "Content-Length: \(response.body.count)\r\n" }
        head += closes ? "Connection: close\r\n\r\n" : "Connection: keep-alive\r\n\r\n"
        return Array(head.utf8) + (hasBody && !isHead ? response.body : [])
    }

    /// Returns whether a Host header is one of the names with the port; the scheme's own port may be left out.
    package static func isHost(
        _ value: String?, port: UInt16, among names: [String], schemePort: UInt16 = 80
    ) -> Bool {
        guard let value else { return false }
        return names.contains { name in
            ASCII.isSameIgnoringCase(value, "\(name):\(port)")
                || (port == schemePort && ASCII.isSameIgnoringCase(value, name))
        }
    }

    /// Returns whether bytes are a token (RFC 9110 §5.6.2).
    package static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { ASCII.isTokenCharacter($0) }
    }

    /// Returns whether bytes are a field value: no control character except the tab (RFC 9110 §5.5).
    package static func isFieldValue(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.allSatisfy { !ASCII.isControl($0) || $0 == .tab }
    }

    package static func reasonPhrase(_ status: Int) -> String {
        switch status {
        case 103: "Early Hints"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 406: "Not Acceptable"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        default: "Status \(status)"
        }
    }
}
