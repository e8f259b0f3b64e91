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
        "host", "content-length", "expect", "authorization", "dpop", "forwarded", "via", "proxy", "x-real-ip",
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
            let end = value[start...].firstIndex(of: .semicolon) ?? value.endIndex
            if start < end, accepts(Cookie(value[start..<end])) {
                if !kept.isEmpty { kept.append(.semicolon) }
                kept += value[start..<end]
            }
            start = end + 1
        }
        return kept.isEmpty ? nil : ASCII.trimmed(String(decoding: kept, as: UTF8.self))
    }

    /// The largest number of cookies of a request. Browsers keep at most 180 for a host.
    private static let cookieLimit = 1_000

    /// Checks that there are not too many cookies to compare them with those of other routes.
    static func checkCookies(_ headers: HTTPHeaders) throws(HTTP1.Rejection) {
        let count = headers.values("Cookie").reduce(0) { count, value in
            count + 1 + value.utf8.count(where: { $0 == .semicolon })
        }
        guard count <= cookieLimit else { throw HTTP1.Rejection(431, "there are too many cookies") }
    }

    /// A cookie as clients send it back: without the white space around name and value, and one without a name as its
    /// value alone (RFC 6265 §5.2, draft-ietf-httpbis-rfc6265bis §5.7). Of the value, only the characters count that all
    /// clients keep: Go (before 1.23) and Java drop quotation marks around it, Python's requests those within it.
    struct Cookie: Hashable {
        let name: String
        let value: String

        /// Parses the UTF-8 of a pair whose characters are Latin-1.
        init(_ pair: ArraySlice<UInt8>) {
            var pair = Self.trimmed(pair)
            if pair.first == .equals { pair = Self.trimmed(pair.dropFirst()) }
            let end = pair.firstIndex(of: .equals) ?? pair.endIndex
            name = String(decoding: Self.trimmed(pair[..<end]), as: UTF8.self)
            let kept = pair[end...].dropFirst().filter {
                ASCII.isVisible($0) && $0 != .quote && $0 != .backslash
            }
            value = String(decoding: kept, as: UTF8.self)
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
        "alt-svc", "strict-transport-security", "service-worker-allowed", "clear-site-data", "nel",
        "report-to", "reporting-endpoints", "referrer-policy", "content-security-policy-report-only",
    ]

    /// Returns whether the caller gets a field of the server's answer; `named` are the options of its
    /// Connection field.
    static func passes(_ name: String, named: Set<String>) -> Bool {
        let name = ASCII.lowercased(name)
        return !hopByHop.contains(name) && !theirs.contains(name) && !named.contains(name)
            && !name.hasPrefix("access-control-")
    }

    /// Returns whether a Link field has a referrer policy, which applies to its loads as `Referrer-Policy` does to all
    /// (HTML §4.2.4.4).
    static func setsReferrerPolicy(link value: [UInt8]) -> Bool {
        let letters = String(decoding: value.filter { $0 > .space }, as: UTF8.self)
        return ASCII.lowercased(letters).includes("referrerpolicy=")
    }

    /// Returns a Content-Security-Policy field without the directives by which the browser tells another server the page's
    /// URL (CSP Level 3 §6.5); nil if nothing is left.
    static func withoutReports(policies value: [UInt8]) -> [UInt8]? {
        let policies = value.split(separator: .comma).map { policy in
            policy.split(separator: .semicolon).filter { directive in
                let name = directive.split { $0 <= .space }.first ?? []
                return !["report-uri", "report-to"].contains(
                    ASCII.lowercased(String(decoding: name, as: UTF8.self)))
            }
        }
        let kept = policies.filter { $0.contains { $0.contains { $0 > .space } } }
        guard !kept.isEmpty else { return nil }
        return Array(kept.map { Array($0.joined(separator: [.semicolon])) }.joined(separator: [.comma]))
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

    /// The size limit of a cookie with its attributes, in bytes. Clients ignore one whose name and value have more than
    /// 4096 (draft-ietf-httpbis-rfc6265bis §5.6).
    static let cookieSizeLimit = 8_192
    /// The limits for all fields with one of these names, of which the proxy reads the value: their bytes and number.
    private static let limits: [String: (bytes: Int, count: Int)] = [
        "connection": (4_096, 64), "location": (16_384, 4), "content-location": (16_384, 4),
        "set-cookie": (ResponseHead.byteLimit, 200),
    ]

    /// Returns the name of a field of which an answer has more than the proxy reads; nil if there is none.
    static func excessiveField(of head: ResponseHead) -> String? {
        var sums: [String: (bytes: Int, count: Int)] = [:]
        return head.fields.first { field in
            let name = ASCII.lowercased(field.name)
            guard let limit = limits[name] else { return false }
            var sum = sums[name] ?? (0, 0)
            sum.bytes += field.value.count
            sum.count += 1
            sums[name] = sum
            return sum.bytes > limit.bytes || sum.count > limit.count
        }?.name
    }

    /// Returns a `Set-Cookie` value for a cookie that the caller sends back on this route only (RFC 6265
    /// §5.2): without Domain, below the route's path, and without Secure, as the proxy is plain http on this
    /// machine.
    static func cookie(_ value: String, prefix: String, route: ProxyRoute) -> String {
        let parts = value.utf8.split(separator: .semicolon, omittingEmptySubsequences: false)
        var kept = [ASCII.trimmed(Substring(parts[0]))]
        // Of several paths, the last one counts.
        var given: Substring?
        for part in parts.dropFirst() {
            let name = part.prefix { $0 != .equals }
            switch ASCII.lowercased(ASCII.trimmed(Substring(name))) {
            case "domain", "secure", "partitioned": break
            case "path": given = Substring(part.dropFirst(name.count + 1))
            default: kept.append(ASCII.trimmed(Substring(part)))
            }
        }
        let path = given.map(ASCII.trimmed) ?? ""
        let url = path.hasPrefix("/") ? route.url.replacingPath(path) : nil
        // `/` stands for the route's path with a slash at its end.
        let rest = url.flatMap(route.rest) ?? ""
        kept.append("Path=\(prefix)/\(rest == "/" ? "" : rest)")
        return kept.joined(separator: "; ")
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
        var text = value
        var resolved = target.resolving(text)
        if resolved == nil {
            text = escaped(value)
            resolved = target.resolving(text)
        }
        guard let url = resolved else { return isOfOtherScheme(value) ? value : nil }
        let fragment = text.utf8.firstIndex(of: .hash).map { text[$0...] } ?? ""
        if let rest = route.rest(of: url), leadsHere("\(prefix)/\(rest)") {
            return "\(origin)\(prefix)/\(rest)\(fragment)"
        }
        guard url.isSecure || !isOurs(url.hostAndPort) else { return nil }
        // Only a scheme makes it absolute, not a URL within its query (RFC 3986 §4.2).
        return text[scheme(of: text).endIndex...].hasPrefix("://") ? text : url.text + fragment
    }

    /// Returns what comes before the first delimiter.
    private static func scheme(of text: String) -> Substring {
        Substring(
            text.utf8.prefix { $0 != .colon && $0 != .slash && $0 != .questionMark && $0 != .hash })
    }

    /// Returns whether a string has a scheme with which no client comes back to the proxy.
    private static func isOfOtherScheme(_ text: String) -> Bool {
        let scheme = scheme(of: text)
        return text[scheme.endIndex...].hasPrefix(":") && !scheme.isEmpty
            && scheme.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "+-.".utf8.contains($0) }
            && !["http", "https"].contains(ASCII.lowercased(scheme))
    }

    /// Returns a URL reference with the bytes escaped that none contains (RFC 3986 §2), as clients do.
    private static func escaped(_ latin1: String) -> String {
        var bytes: [UInt8] = []
        for byte in Latin1.encode(latin1) {
            switch byte {
            case .quote, .lessThan, .greaterThan, .backslash, .caret, .backtick, .leftBrace, .verticalBar,
                .rightBrace, ...(.space), .delete...:
                ASCII.appendEscape(of: byte, to: &bytes)
            default: bytes.append(byte)
            }
        }
        return Latin1.decode(bytes)
    }
}
