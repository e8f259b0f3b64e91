import OIDCCore
import OIDCCrypto

/// The token types of RFC 8693 §3.
enum ExchangeType: String {
    case accessToken = "urn:ietf:params:oauth:token-type:access_token"
    case idToken = "urn:ietf:params:oauth:token-type:id_token"
    case jwt = "urn:ietf:params:oauth:token-type:jwt"
    case refreshToken = "urn:ietf:params:oauth:token-type:refresh_token"
    case identityAssertion = "urn:ietf:params:oauth:token-type:id-jag"
}

/// The subject of a token that was sent for exchange.
private struct TokenSubject {
    var subject: String
    var account: Account?
    /// The largest scope that the token permits; nil sets no bound.
    var scope: Scope?
}

extension DemoProvider {
    /// Exchanges a token (RFC 8693 §2).
    mutating func exchangeToken(_ request: TokenCall) throws(Refusal) -> JSONObject {
        let subject = try exchanged("subject_token", request)
        var actor: JSONValue?
        if request.parameters["actor_token"] != nil {
            actor = ["sub": .string(try exchanged("actor_token", request).subject)]
        }
        let wanted = try type(request.parameters["requested_token_type"] ?? ExchangeType.accessToken.rawValue)
        guard wanted != .refreshToken else {
            throw .invalidRequest("refresh tokens are not issued by exchange")
        }
        var scope = try allowedScope(request.parameters["scope"])
        if let bound = subject.scope {
            if request.parameters["scope"] == nil { scope = bound }
            guard scope.isSubset(of: bound) else {
                throw .invalidScope("the scope is wider than the subject token's")
            }
        }
        let grant = Grant(
            client: request.client.id, subject: subject.subject, account: subject.account, scope: scope,
            authenticatedAt: request.now)
        if wanted == .identityAssertion { return try identityAssertion(grant, request) }
        return try answer(grant, wanted, actor, request)
    }

    private mutating func answer(
        _ grant: Grant, _ wanted: ExchangeType, _ actor: JSONValue?, _ request: TokenCall
    ) throws(Refusal) -> JSONObject {
        let audience = try audience(request.parameters)
        let id = state.add(grant)
        guard wanted == .idToken else {
            var answer = try issue(
                Issue(
                    grant: id, scope: grant.scope, audience: audience, binding: request.binding,
                    actor: actor, asJWT: wanted == .jwt), request)
            answer["refresh_token"] = nil
            answer["issued_token_type"] = .string(wanted.rawValue)
            return answer
        }
        let token = try idToken(grant, request.client, accessToken: nil, isRefresh: false, request.now)
        return exchangeAnswer(token, wanted, configuration.idTokenLifetime)
    }

    /// Returns the answer with a token that is not an access token. It is in `access_token`, whatever its
    /// type is (RFC 8693 §2.2.1).
    func exchangeAnswer(_ token: String, _ type: ExchangeType, _ lifetime: Int64) -> JSONObject {
        var answer = JSONObject()
        answer["access_token"] = .string(token)
        answer["issued_token_type"] = .string(type.rawValue)
        answer["token_type"] = "N_A"
        answer["expires_in"] = JSONValue(lifetime)
        return answer
    }

    private func type(_ text: String) throws(Refusal) -> ExchangeType {
        guard let type = ExchangeType(rawValue: text) else {
            throw .invalidRequest("the token type \(DisplayText.quoted(text, limit: 100)) is not supported")
        }
        return type
    }

    private func exchanged(_ name: String, _ request: TokenCall) throws(Refusal) -> TokenSubject {
        let token = try request.parameters.required(name)
        let type = try type(try request.parameters.required("\(name)_type"))
        if type != .idToken, let record = state.access[token] {
            guard let grant = state.grants[record.grant], !grant.isRevoked, !record.isRevoked,
                record.expiresAt > request.now
            else { throw .invalidRequest("\(name) has expired or was revoked") }
            return TokenSubject(subject: grant.subject, account: grant.account, scope: record.scope)
        }
        if type == .refreshToken { return try exchangedRefreshToken(token, name, request) }
        if type == .idToken, let claims = ownIDToken(token) {
            guard audience(of: claims).contains(request.client.id) else {
                throw .invalidRequest("\(name) was issued to another client")
            }
            guard let expiry = claims["exp"]?.integer, expiry > request.now.secondsSinceEpoch else {
                throw .invalidRequest("\(name) has expired")
            }
            let subject = claims["sub"]?.string ?? ""
            return TokenSubject(subject: subject, account: Account(subject))
        }
        do {
            return TokenSubject(subject: try trustedToken(token, request.now)["sub"]?.string ?? "")
        } catch {
            // An unusable subject token is invalid_request (RFC 8693 §2.2.2).
            throw .invalidRequest("\(name): \(error.description)")
        }
    }

    /// Returns the subject of the client's own refresh token, which stays valid.
    private func exchangedRefreshToken(
        _ token: String, _ name: String, _ request: TokenCall
    ) throws(Refusal) -> TokenSubject {
        guard let record = state.refresh[token], let grant = state.grants[record.grant], !grant.isRevoked,
            grant.client == request.client.id, record.usedAt == nil, record.expiresAt > request.now
        else { throw .invalidRequest("\(name) is unknown, has expired or was revoked") }
        return TokenSubject(subject: grant.subject, account: grant.account)
    }

    /// Returns the claims of an ID token that this provider signed, even if it has expired; nil for any other
    /// token.
    func ownIDToken(_ text: String) -> JSONObject? {
        guard let token = try? JWS(compact: text), let claims = token.claims,
            claims["iss"]?.string == issuer.text,
            (try? token.verify(keys: publishedKeys)) == .valid
        else { return nil }
        return claims
    }
}
