import CurlHTTP
import LoopbackHTTP
import OIDCCore

/// The header fields that are passed on, in both directions (RFC 9110 §7.6.1).
enum ProxyHeaders {
    /// Fields for one connection only.
    private static let hopByHop: Set<String> = [
        "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings",
    ]

    /// Fields of the caller that the proxy sets itself, or that would claim another caller, host or path.
    private static let ours: Set<String> = [
        "host", "content-length", "expect", "authorization", "dpop", "forwarded", "via", "x-real-ip",
        "x-host", "x-original-host", "x-original-url", "x-original-uri", "x-original-path", "x-rewrite-url",
        "x-rewrite-uri", "x-override-url", "x-envoy-original-path", "x-http-host-override",
    ]

    /// Returns the fields of a request that the server gets, with only the cookies that `acceptsCookie`
    /// accepts.
    static func request(
        _ headers: HTTPHeaders, acceptsCookie: (Cookie) -> Bool
    ) -> [HTTPHeaders.Field] {
        let named = connectionOptions(headers.values("Connection"))
        return headers.fields.compactMap { field in
            let name = named.isEmpty ? "" : ASCII.lowercased(field.name)
            // Many servers make one variable of `X-Name` and `X_Name` (RFC 3875 §4.1.18).
            let letters = Array(field.name.utf8).map { $0 == .underscore ? .hyphen : ASCII.lowercased($0) }
            let variable = String(decoding: letters, as: UTF8.self)
            guard !hopByHop.contains(variable), !ours.contains(variable), !named.contains(name),
                !variable.hasPrefix("proxy-"), !variable.hasPrefix("x-forwarded")
            else { return nil }
            guard variable == "cookie" else { return field }
            let value = accepted(Array(field.value.utf8), by: acceptsCookie)
            return value.map { HTTPHeaders.Field(name: field.name, value: $0) }
        }
    }

    /// Returns the pairs of a Cookie field that are accepted; nil if there are none.
    private static func accepted(_ value: [UInt8], by accepts: (Cookie) -> Bool) -> String? {
        var kept: [UInt8] = []
        kept.reserveCapacity(value.count)
        var start = 0
        while start < value.count {
            let end = value[start...].firstIndex(of: semicolon) ?? value.endIndex
            if start < end, accepts(Cookie(value[start..<end])) {
                if !kept.isEmpty { kept.append(semicolon) }
                kept += value[start..<end]
            }
            start = end + 1
        }
        return kept.isEmpty ? nil : ASCII.trimmed(String(decoding: kept, as: UTF8.self))
    }

    private static let semicolon = UInt8(ascii: ";")
    /// The largest number of cookies of a request. Browsers keep at most 180 for a host.
    private static let cookieLimit = 1_000

    /// Checks that there are not too many cookies to compare them with those of other routes.
    static func checkCookies(_ headers: HTTPHeaders) throws(HTTP1.Rejection) {
        let count = headers.values("Cookie").reduce(0) { count, value in
            count + 1 + value.utf8.count(where: { $0 == semicolon })
        }
        guard count <= cookieLimit else { throw HTTP1.Rejection(431, "there are too many cookies") }
    }

    /// A cookie as clients send it back: without the white space around name and value, and one without a name as its
    /// value alone (RFC 6265 §5.2, draft-ietf-httpbis-rfc6265bis §5.7).
    struct Cookie: Hashable {
        let name: String
        let value: String

        /// Parses the UTF-8 of a pair whose characters are Latin-1.
        init(_ pair: ArraySlice<UInt8>) {
            var pair = Self.trimmed(pair)
            if pair.first == .equals { pair = Self.trimmed(pair.dropFirst()) }
            let end = pair.firstIndex(of: .equals) ?? pair.endIndex
            name = String(decoding: Self.trimmed(pair[..<end]), as: UTF8.self)
            value = String(decoding: Self.trimmed(pair[end...].dropFirst()), as: UTF8.self)
        }

        init(_ pair: some StringProtocol) { self.init(Array(pair.utf8)[...]) }

        /// Returns a text without control characters, spaces, U+0085 and U+00A0 at either end.
        private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
            func isBlank(_ lead: UInt8, _ last: UInt8) -> Bool {
                lead == 0xC2 && (last == 0x85 || last == 0xA0)
            }
            var (start, end) = (text.startIndex, text.endIndex)
            while start < end {
                if text[start] <= .space {
                    start += 1
                } else if start + 1 < end, isBlank(text[start], text[start + 1]) {
                    start += 2
                } else {
                    break
                }
            }
            while start < end {
                if text[end - 1] <= .space {
                    end -= 1
                } else if start + 1 < end, isBlank(text[end - 2], text[end - 1]) {
                    end -= 2
                } else {
                    break
                }
            }
            return text[start..<end]
        }
    }

    /// Fields of the server that are about its own connection, other origins or web pages.
    private static let theirs: Set<String> = [
        "content-length", "proxy-authenticate", "proxy-connection", "proxy-authentication-info", "dpop-nonce",
        "alt-svc", "strict-transport-security",
    ]

    /// Returns whether the caller gets a field of the server's answer; `named` are the options of its
    /// Connection field.
    static func passes(_ name: String, named: Set<String>) -> Bool {
        let name = ASCII.lowercased(name)
        return !hopByHop.contains(name) && !theirs.contains(name) && !named.contains(name)
            && !name.hasPrefix("access-control-")
    }

    /// Returns the value of an answer's Content-Length; nil if there is none or a Transfer-Encoding. Throws if it
    /// is malformed or has two values.
    static func bodyLength(of head: ResponseHead) throws(HTTP1.Rejection) -> Int? {
        guard head.values("Transfer-Encoding").isEmpty else { return nil }
        let lengths = Set(head.values("Content-Length"))
        guard let text = lengths.first else { return nil }
        guard lengths.count == 1, (1...18).contains(text.utf8.count),
            text.utf8.allSatisfy({ ASCII.isDigit($0) }), let length = Int(text)
        else { throw HTTP1.Rejection(502, "Content-Length is malformed, or given twice") }
        return length
    }

    static func connectionOptions(_ values: [String]) -> Set<String> {
        Set(values.flatMap { $0.split(separator: ",") }.map { ASCII.lowercased(ASCII.trimmed($0)) })
    }

    /// Returns a `Set-Cookie` value for a cookie that the caller sends back on this route only (RFC 6265
    /// §5.2): without Domain, below the route's path, and without Secure, as the proxy is plain http on this
    /// machine.
    static func cookie(_ value: String, prefix: String, route: ProxyRoute) -> String {
        var parts = value.split(separator: ";", omittingEmptySubsequences: false).map(ASCII.trimmed)
        var path = "\(prefix)/"
        parts = parts.enumerated().compactMap { index, part in
            guard index > 0 else { return part }
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            switch ASCII.lowercased(pair.first ?? "") {
            case "domain", "secure", "partitioned": return nil
            case "path":
                let given = pair.count > 1 ? String(pair[1]) : ""
                let url = given.hasPrefix("/") ? route.url.replacingPath(given) : nil
                if let rest = url.flatMap(route.rest) { path = "\(prefix)/\(rest)" }
                return nil
            default: return part
            }
        }
        return (parts + ["Path=\(path)"]).joined(separator: "; ")
    }

    /// Returns a `Location` for the caller: the proxy's URL if the target is on the route and `leadsHere` returns true
    /// for the proxy's path of it, else the server's, made absolute, as a relative one would lead to the proxy.
    ///
    /// Returns nil for one that may lead to the proxy all the same: a URL of the proxy itself, for whose host `isOurs`
    /// returns true, or a string that is not a URL, which every client reads in its own way.
    static func location(
        _ value: String, from target: WebURL, prefix: String, route: ProxyRoute, origin: String,
        isOurs: (String) -> Bool = { _ in false }, leadsHere: (String) -> Bool = { _ in true }
    ) -> String? {
        guard let text = [value, escaped(value)].first(where: { target.resolving($0) != nil }),
            let url = target.resolving(text)
        else { return isOfOtherScheme(value) ? value : nil }
        let fragment = text.utf8.firstIndex(of: .hash).map { text[$0...] } ?? ""
        if let rest = route.rest(of: url), leadsHere("\(prefix)/\(rest)") {
            return "\(origin)\(prefix)/\(rest)\(fragment)"
        }
        guard url.isSecure || !isOurs(url.hostAndPort) else { return nil }
        // Only a scheme makes it absolute, not a URL within its query (RFC 3986 §4.2).
        return text.dropFirst(scheme(of: text).count).hasPrefix("://") ? text : url.text + fragment
    }

    /// Returns what comes before the first delimiter.
    private static func scheme(of text: String) -> Substring {
        text.prefix { $0 != ":" && $0 != "/" && $0 != "?" && $0 != "#" }
    }

    /// Returns whether a string has a scheme with which no client comes back to the proxy.
    private static func isOfOtherScheme(_ text: String) -> Bool {
        let scheme = scheme(of: text)
        return text.dropFirst(scheme.count).hasPrefix(":") && !scheme.isEmpty
            && scheme.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "+-.".utf8.contains($0) }
            && !["http", "https"].contains(ASCII.lowercased(scheme))
    }

    /// Returns a URL reference with the bytes escaped that none contains (RFC 3986 §2), as clients do.
    private static func escaped(_ latin1: String) -> String {
        let bytes = Latin1.encode(latin1).flatMap { byte -> [UInt8] in
            guard !ASCII.isVisible(byte) || "\"<>\\^`{|}".utf8.contains(byte) else { return [byte] }
            return [
                .percent, ASCII.uppercased(ASCII.hexDigit(byte >> 4)),
                ASCII.uppercased(ASCII.hexDigit(byte & 15)),
            ]
        }
        return Latin1.decode(bytes)
    }
}
