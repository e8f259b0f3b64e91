import OIDCCore

/// A parsed request: its endpoint, parameters and cookies.
struct Call: Sendable {
    let request: HTTPRequest
    let endpoint: Endpoint
    /// The path below the issuer's path.
    let path: String
    let now: Instant

    var isPost: Bool { request.method == .post }

    func query() throws(Refusal) -> Parameters {
        guard let pairs = FormEncoding.decode(request.url.query ?? "") else {
            throw .invalidRequest("the query is not form-encoded UTF-8")
        }
        return try Parameters(pairs)
    }

    /// Returns the parameters of a form body, or of a JSON object if the endpoint accepts one.
    func body(acceptingJSON: Bool = false) throws(Refusal) -> Parameters {
        switch mediaType {
        case "application/x-www-form-urlencoded":
            guard let text = String(validating: request.body, as: UTF8.self),
                let pairs = FormEncoding.decode(text)
            else { throw .invalidRequest("the body is not form-encoded UTF-8") }
            return try Parameters(pairs)
        case "application/json" where acceptingJSON:
            return try Parameters(json: request.body)
        default:
            throw .invalidRequest("unexpected Content-Type \(mediaType ?? "(none)")")
        }
    }

    /// Returns a browser's parameters: the query of a GET or the form of a POST (OIDC Core §3.1.2.1).
    func parameters() throws(Refusal) -> Parameters {
        isPost ? try body() : try query()
    }

    func cookie(_ name: String) -> String? {
        for header in request.headers.values("Cookie") {
            for part in header.split(separator: ";") {
                let sides = part.split(separator: "=", maxSplits: 1).map { ASCII.trimmed($0) }
                if sides.count == 2, sides[0] == name { return sides[1] }
            }
        }
        return nil
    }

    /// Returns the credentials of an `Authorization` header with this scheme (RFC 9110 §11.4).
    func credentials(_ scheme: String) -> String? {
        guard let header = request.headers["Authorization"],
            let blank = header.firstIndex(of: " "),
            ASCII.isSameIgnoringCase(header[..<blank], scheme)
        else { return nil }
        return ASCII.trimmed(header[blank...])
    }

    private var mediaType: String? {
        guard let value = request.headers["Content-Type"], let type = value.split(separator: ";").first else {
            return nil
        }
        return ASCII.lowercased(ASCII.trimmed(type))
    }
}

/// Request parameters. Only `resource` and `audience` may be repeated (RFC 6749 §3.1, RFC 8707 §2).
package struct Parameters: Sendable {
    private(set) var pairs: [FormEncoding.Pair]

    init(_ pairs: [FormEncoding.Pair]) throws(Refusal) {
        var named: Set<String> = ["resource", "audience"]
        for pair in pairs where !named.insert(pair.name).inserted {
            guard pair.name == "resource" || pair.name == "audience" else {
                throw .invalidRequest("the parameter \(pair.name) is repeated")
            }
        }
        self.pairs = pairs
    }

    init(json bytes: [UInt8]) throws(Refusal) {
        guard let object = (try? JSONValue(parsing: bytes))?.object else {
            throw .invalidRequest("the body is not a JSON object")
        }
        var pairs: [FormEncoding.Pair] = []
        for member in object.members {
            for value in member.value.array ?? [member.value] {
                guard let text = value.string ?? value.number?.text else {
                    throw .invalidRequest("the member \(member.name) is \(value.typeName)")
                }
                pairs.append(FormEncoding.Pair(member.name, text))
            }
        }
        try self.init(pairs)
    }

    /// The value of a parameter; an empty value counts as absent (RFC 6749 §3.1).
    package internal(set) subscript(name: String) -> String? {
        get { pairs.first { $0.name == name && !$0.value.isEmpty }?.value }
        set {
            pairs.removeAll { $0.name == name }
            if let newValue { pairs.append(FormEncoding.Pair(name, newValue)) }
        }
    }

    package func values(_ name: String) -> [String] {
        pairs.filter { $0.name == name && !$0.value.isEmpty }.map(\.value)
    }

    package func required(_ name: String) throws(Refusal) -> String {
        guard let value = self[name] else { throw .invalidRequest("\(name) is missing") }
        return value
    }
}
