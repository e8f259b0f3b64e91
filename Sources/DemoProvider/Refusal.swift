import OIDCCore
import OIDCCrypto

/// A refused request, with an OAuth error code (RFC 6749 §4.1.2.1, §5.2).
package struct Refusal: Error {
    var code: String
    package var description: String
    var status = 400
    /// Additional headers, such as challenges and nonces.
    var headers: [(String, String)] = []

    /// Creates a refusal; the description is reduced to the alphabet of RFC 6749 §5.2.
    init(_ code: String, _ description: String, status: Int = 400, headers: [(String, String)] = []) {
        self.code = code
        self.description = Refusal.plain(description)
        self.status = status
        self.headers = headers
    }

    private static func plain(_ text: String) -> String {
        let characters = text.unicodeScalars.map { character -> Unicode.Scalar in
            switch character {
            case "\"", "“", "”", "’": "'"
            case "\\": "/"
            case " "..."~": character
            default: "?"
            }
        }
        return String(String.UnicodeScalarView(characters))
    }

    package static func invalidRequest(_ description: String) -> Refusal {
        Refusal("invalid_request", description)
    }
    package static func invalidGrant(_ description: String) -> Refusal {
        Refusal("invalid_grant", description)
    }
    package static func invalidScope(_ description: String) -> Refusal {
        Refusal("invalid_scope", description)
    }
    package static func invalidTarget(_ description: String) -> Refusal {
        Refusal("invalid_target", description)
    }
    static func unauthorizedClient(_ description: String) -> Refusal {
        Refusal("unauthorized_client", description)
    }

    var response: HTTPResponse {
        var response = HTTPResponse.json(
            ["error": .string(code), "error_description": .string(description)], status: status)
        for (name, value) in headers { response.headers.append(name, value) }
        return response
    }
}

/// Runs a cryptographic operation; its failure becomes a server error.
func crypto<Value>(_ work: () throws(CryptoError) -> Value) throws(Refusal) -> Value {
    do { return try work() } catch { throw Refusal("server_error", "\(error)", status: 500) }
}

extension HTTPResponse {
    static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: HTTPHeaders([("Content-Type", "application/json"), ("Cache-Control", "no-store")]),
            body: value.bytes)
    }

    /// Returns a redirect with 303, which is always followed by GET, even after a POST (RFC 9700 §4.12).
    static func redirect(to location: String) -> HTTPResponse {
        HTTPResponse(
            status: 303,
            headers: HTTPHeaders([
                ("Location", location), ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"),
            ]))
    }

    static func text(_ text: String, status: Int) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: HTTPHeaders([
                ("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store"),
            ]),
            body: Array("\(text)\n".utf8))
    }
}
