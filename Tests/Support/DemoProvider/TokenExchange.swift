import DemoProvider
import OIDCCore

/// Token exchange (RFC 8693 §2) for the tests: the program's own demo does not need it.
extension GrantHandler {
    static let exchange = GrantHandler("urn:ietf:params:oauth:grant-type:token-exchange") {
        demo, call throws(Refusal) in
        try demo.exchangeToken(call)
    }
}

/// The token types of RFC 8693 §3.
enum ExchangeType: String {
    case accessToken = "urn:ietf:params:oauth:token-type:access_token"
    case idToken = "urn:ietf:params:oauth:token-type:id_token"
    case jwt = "urn:ietf:params:oauth:token-type:jwt"
    case refreshToken = "urn:ietf:params:oauth:token-type:refresh_token"
    case identityAssertion = "urn:ietf:params:oauth:token-type:id-jag"

    init(_ text: String) throws(Refusal) {
        guard let type = ExchangeType(rawValue: text) else {
            throw .invalidRequest("the token type \(DisplayText.quoted(text, limit: 100)) is not supported")
        }
        self = type
    }
}

/// The subject of a token that was sent for exchange.
private struct TokenSubject {
    var name: String
    /// The largest scope that the token permits; nil sets no bound.
    var scope: Scope?

    init(_ claims: JSONObject, scope: Scope? = nil) {
        name = claims["sub"]?.string ?? ""
        self.scope = scope
    }
}

extension DemoProvider {
    fileprivate mutating func exchangeToken(_ request: TokenCall) throws(Refusal) -> JSONObject {
        let subject = try subject(request)
        let wanted = try ExchangeType(
            request.parameters["requested_token_type"] ?? ExchangeType.accessToken.rawValue)
        var scope = try allowedScope(request.parameters["scope"])
        if let bound = subject.scope {
            if request.parameters["scope"] == nil { scope = bound }
            guard scope.isSubset(of: bound) else {
                throw .invalidScope("the scope is wider than the subject token's")
            }
        }
        if wanted == .identityAssertion {
            return try identityAssertion(for: subject.name, scope, request)
        }
        guard wanted == .accessToken else {
            throw .invalidRequest("only access tokens and identity assertions are issued by exchange")
        }
        var answer = try issueAlone(
            request, subject: subject.name, scope: scope, audience: try audience(request.parameters))
        answer["issued_token_type"] = .string(wanted.rawValue)
        return answer
    }

    /// Returns the subject of the token, which is the client's own, or that of a trusted issuer. Any other
    /// is refused with `invalid_request` (RFC 8693 §2.2.2).
    private func subject(_ request: TokenCall) throws(Refusal) -> TokenSubject {
        let token = try request.parameters.required("subject_token")
        let type = try ExchangeType(try request.parameters.required("subject_token_type"))
        let own = introspection(token, request.now)
        if type == .refreshToken {
            guard let own, own["token_type"] == nil, own["client_id"]?.string == request.client.id else {
                throw .invalidRequest("the refresh token is unknown, has expired or was revoked")
            }
            return TokenSubject(own)
        }
        if type != .idToken, let own, own["token_type"] != nil {
            return TokenSubject(own, scope: Scope(own["scope"]?.string ?? ""))
        }
        if type == .idToken, let claims = ownIDToken(token) {
            guard audience(of: claims).contains(request.client.id) else {
                throw .invalidRequest("the ID token was issued to another client")
            }
            guard let expiry = claims["exp"]?.integer, expiry > request.now.secondsSinceEpoch else {
                throw .invalidRequest("the ID token has expired")
            }
            return TokenSubject(claims)
        }
        do {
            return TokenSubject(
                try trustedToken(token, from: configuration.trustedIssuers, at: request.now))
        } catch {
            throw .invalidRequest("subject_token: \(error.description)")
        }
    }
}
