import CommandLineKit
import OIDCCore

/// The options of a call to an API.
struct RequestOptions: OptionGroup {
    static let title = "Request options"

    static let options: [Option<RequestOptions>] = [
        .repeated(\.headers, "--header", "NAME: VALUE", "a header to add", short: "H"),
        .value(
            \.data, "--data", "DATA", "a body: text, @FILE, or - for stdin", short: "d", completion: .file),
        .flag(\.includesHead, "--include", "print status and headers too", short: "i"),
    ]

    var headers: [String] = []
    var data: String?
    var includesHead = false

    func validate(with common: CommonOptions) throws(UsageError) {
        _ = try parsedHeaders()
        if includesHead, common.output == .json {
            throw UsageError("--include and -o json cannot be used together: headers have no JSON form")
        }
    }

    /// Parses the headers (RFC 9110 §5). Refuses line ends, and headers that this program sets itself.
    private func parsedHeaders() throws(UsageError) -> HTTPHeaders {
        var parsed = HTTPHeaders()
        for text in headers {
            guard let colon = text.utf8.firstIndex(of: .colon) else {
                throw UsageError("--header takes NAME: VALUE, as in -H 'Accept: text/plain'")
            }
            let name = String(text[..<colon])
            let value = ASCII.trimmed(text[text.utf8.index(after: colon)...])
            guard !name.isEmpty, name.utf8.allSatisfy(ASCII.isTokenCharacter) else {
                throw UsageError("--header: \(UsageError.quoted(name)) is not a header name")
            }
            guard value.utf8.allSatisfy({ !ASCII.isControl($0) || $0 == .tab }) else {
                throw UsageError(
                    "--header \(name): the value contains a line break or another control character")
            }
            guard !Self.ours.contains(ASCII.lowercased(name)) else {
                throw UsageError("--header: \(name) cannot be set, because oidc sets it")
            }
            parsed.append(name, value)
        }
        return parsed
    }

    private static let ours = [
        "authorization", "dpop", "host", "content-length", "transfer-encoding", "expect", "connection",
    ]
}

extension RequestOptions {
    /// Checks that a token may be sent to a URL of this scheme.
    static func checkScheme(_ url: WebURL, allowsInsecureHTTP: Bool) throws(OIDCError) {
        guard !url.isSecure, !url.isLoopback, !allowsInsecureHTTP else { return }
        throw .usage(
            "\(url.origin) is plain http, which is for this machine only: the token would be readable",
            hint: "use https")
    }

    /// Returns the call to make. Without `method`, it is GET, or POST with a body.
    func call(_ url: WebURL, _ method: String?, isJSON: Bool) throws(OIDCError) -> ResourceCall {
        let fields: HTTPHeaders
        let chosen: HTTPMethod
        do throws(UsageError) {
            fields = try parsedHeaders()
            chosen = try HTTPMethod(operand: method ?? (data == nil ? "GET" : "POST"))
        } catch {
            throw OIDCError(error)
        }
        let body: RequestData = if let data { try RequestData(data) } else { .none }
        return ResourceCall(
            method: chosen, url: url, headers: fields, body: body, includesHead: includesHead, isJSON: isJSON)
    }
}

extension HTTPMethod {
    /// Parses a method (RFC 9110 §9.1). TRACE and CONNECT are for proxies, and TRACE would echo the token.
    init(operand: String) throws(UsageError) {
        let name = String(decoding: operand.utf8.map { ASCII.uppercased($0) }, as: UTF8.self)
        guard !name.isEmpty, name.utf8.count <= 32,
            name.utf8.allSatisfy({ ASCII.isAlphanumeric($0) || $0 == .hyphen || $0 == .underscore }),
            !["TRACE", "CONNECT"].contains(name)
        else { throw UsageError("\(UsageError.quoted(operand)) is not a method for an API") }
        self.init(name)
    }
}
