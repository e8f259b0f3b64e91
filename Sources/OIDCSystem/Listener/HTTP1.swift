package import OIDCCore

/// HTTP/1.1 as a server on loopback speaks it (RFC 9112): requests in, answers out, no transfer codings.
package enum HTTP1 {
    /// What a request may cost. Headers are wide because browsers send the cookies of every port of 127.0.0.1.
    package struct Limits: Hashable, Sendable {
        package var requestLine = 16_384
        /// All header lines together.
        package var headerBytes = 65_536
        package var headerCount = 100
        package var body = 65_536

        package init() {}
    }

    /// A request that is not served: the status that says so, and why.
    package struct Rejection: Error, Hashable, Sendable {
        package let status: Int
        package let reason: String

        init(_ status: Int, _ reason: String) {
            self.status = status
            self.reason = reason
        }
    }

    /// An answer as bytes. Length and connection are stated here, whatever the headers say of them. Refused:
    /// header fields that would end early or hold another field (CWE-113).
    package static func serialize(
        _ response: HTTPResponse, toHead isHead: Bool = false, closes: Bool
    ) throws(OIDCError) -> [UInt8] {
        guard (200..<600).contains(response.status) else {
            throw OIDCError(.failed, "an HTTP answer has the impossible status \(response.status)")
        }
        var head = "HTTP/1.1 \(response.status) \(reasonPhrase(response.status))\r\n"
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

    /// RFC 9110 §5.6.2.
    static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { ASCII.isAlphanumeric($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    /// RFC 9110 §5.5: no control but the tab.
    static func isFieldValue(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
    }

    private static func reasonPhrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Status \(status)"
        }
    }
}
