import Foundation
import LoopbackHTTP
import OIDCCore
import OIDCCrypto
import Posix
import Synchronization

/// An authorization server on loopback that follows its rules, right or wrong, and keeps every request. Its user
/// allows everything at once.
final class ServerStandIn: Sendable {
    /// How the server behaves. The defaults are those of a small, correct server.
    struct Rules: Sendable {
        /// The path of the metadata; all other well-known places answer 404.
        var metadataPath = "/.well-known/oauth-authorization-server"
        /// The path of the issuer, before that of each endpoint.
        var prefix = ""
        /// The `issuer` in the metadata, if not the server's own.
        var issuer: String?
        /// Members of the metadata to add or change; null removes one.
        var metadata: [String: JSONValue] = [:]
        /// Whether clients can register themselves.
        var registers = true
        /// The status of the answer to a registration; all but 201 are refusals with an empty body.
        var registrationStatus = 201
        /// Members of the answer to a registration to add or change; null removes one.
        var registered: [String: JSONValue] = [:]
        /// The `iss` of authorization responses, of the server's own issuer; nil sends none.
        var responseIssuer: @Sendable (String) -> String? = { $0 }
        /// The error of authorization responses, instead of a code.
        var responseError: [String: String]?
        /// Scopes that no client gets.
        var refusedScopes: Set<String> = []
        /// Scopes that no client can register.
        var unregistrableScopes: Set<String> = []
        /// Whether a client gets only scopes that it registered for.
        var checksRegisteredScope = false
        var revocationStatus = 200
        /// Answers a token request instead of the server, if it returns something.
        var token: @Sendable (TokenRequest) -> HTTPResponse? = { _ in nil }
        /// Whether refresh tokens are issued.
        var issuesRefreshTokens = false
        /// Whether token requests must have a proof, and this nonce in it.
        var requiresProof = false
        var nonce: String?
    }

    /// A request to the token endpoint.
    struct TokenRequest: Sendable {
        let form: [String: String]
        let request: HTTPRequest

        /// The user name and password of HTTP Basic.
        var basic: [String]? {
            guard let value = request.headers["Authorization"], value.hasPrefix("Basic "),
                let bytes = Base64.decode(String(value.dropFirst(6)))
            else { return nil }
            return String(decoding: bytes, as: UTF8.self).split(separator: ":", maxSplits: 1)
                .map { FormEncoding.decode("v=\($0)")?.first?.value ?? "" }
        }
    }

    fileprivate struct State: Sendable {
        var rules = Rules()
        var origin = ""
        var log: [HTTPRequest] = []
        /// The authorization requests behind the codes.
        var codes: [String: [String: String]] = [:]
        /// The scopes that clients registered for.
        var registeredScopes: [String: Scope] = [:]
        /// The scopes of the access tokens.
        var tokens: [String: Scope] = [:]
        /// The keys that access tokens are bound to.
        var thumbprints: [String: String] = [:]
        var count = 0
    }

    private final class Box: Sendable { let state = Mutex(State()) }

    private let box = Box()
    private let server: BackgroundServer
    var origin: String { server.origin }
    var issuer: String { origin + rules.prefix }

    init(_ change: (inout Rules) -> Void = { _ in }) throws {
        let box = self.box
        server = try BackgroundServer { request in
            box.state.withLock { $0.answer(request) }
        }
        box.state.withLock { change(&$0.rules) }
    }

    deinit { server.end() }

    var rules: Rules { box.state.withLock { $0.rules } }
    func change(_ body: (inout Rules) -> Void) { box.state.withLock { body(&$0.rules) } }

    var log: [HTTPRequest] { box.state.withLock { $0.log } }
    var paths: [String] { log.map(\.url.path) }
    func forget() { box.state.withLock { $0.log = [] } }

    /// The parameters of each authorization request.
    var authorizations: [[String: String]] {
        requests("/authorize").map { ServerStandIn.parameters($0.url.query ?? "") }
    }

    /// What clients sent to register.
    var registrations: [JSONValue] { requests("/register").compactMap { try? JSONValue(parsing: $0.body) } }

    var tokenRequests: [TokenRequest] {
        requests("/token").map {
            TokenRequest(
                form: ServerStandIn.parameters(String(decoding: $0.body, as: UTF8.self)), request: $0)
        }
    }

    /// The parameters of each revocation.
    var revocations: [[String: String]] {
        requests("/revoke").map { ServerStandIn.parameters(String(decoding: $0.body, as: UTF8.self)) }
    }

    private func requests(_ path: String) -> [HTTPRequest] {
        let path = rules.prefix + path
        return log.filter { $0.url.path == path }
    }

    func scope(of token: String) -> Scope? { box.state.withLock { $0.tokens[token] } }
    func thumbprint(of token: String) -> String? { box.state.withLock { $0.thumbprints[token] } }

    /// Ends every access token.
    func revokeTokens() { box.state.withLock { $0.tokens = [:] } }

    fileprivate static func parameters(_ text: String) -> [String: String] {
        Dictionary((FormEncoding.decode(text) ?? []).map { ($0.name, $0.value) }) { "\($0) and \($1)" }
    }
}

extension ServerStandIn.State {
    private var issuer: String { rules.issuer ?? origin + rules.prefix }

    fileprivate mutating func answer(_ request: HTTPRequest) -> HTTPResponse {
        log.append(request)
        origin = request.url.origin
        let path = request.url.path
        if path == rules.metadataPath { return .value(metadata) }
        guard path.hasPrefix(rules.prefix) else { return HTTPResponse(status: 404) }
        switch path.dropFirst(rules.prefix.count) {
        case "/register" where rules.registers: return register(request)
        case "/authorize": return authorize(ServerStandIn.parameters(request.url.query ?? ""))
        case "/token": return token(request)
        case "/revoke": return HTTPResponse(status: rules.revocationStatus)
        default: return HTTPResponse(status: 404)
        }
    }

    private var metadata: JSONValue {
        let base = origin + rules.prefix
        var members: [String: JSONValue] = [
            "issuer": .string(issuer), "authorization_endpoint": .string("\(base)/authorize"),
            "token_endpoint": .string("\(base)/token"), "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"], "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        ]
        if rules.registers { members["registration_endpoint"] = .string("\(base)/register") }
        return .members(members, rules.metadata)
    }

    private mutating func register(_ request: HTTPRequest) -> HTTPResponse {
        guard rules.registrationStatus == 201 else { return HTTPResponse(status: rules.registrationStatus) }
        count += 1
        var members: [String: JSONValue] = ["client_id": .string("registered-\(count)")]
        let asked = try? JSONValue(parsing: request.body)
        guard rules.unregistrableScopes.isDisjoint(with: Scope(asked?["scope"]?.string ?? "").tokens) else {
            return .oauth("invalid_client_metadata")
        }
        members["redirect_uris"] = asked?["redirect_uris"] ?? []
        registeredScopes["registered-\(count)"] = Scope(asked?["scope"]?.string ?? "")
        return .value(.members(members, rules.registered), status: 201)
    }

    private mutating func authorize(_ parameters: [String: String]) -> HTTPResponse {
        count += 1
        let code = "code-\(count)"
        codes[code] = parameters
        var answer = rules.responseError ?? ["code": code]
        if !allows(parameters) { answer = ["error": "invalid_scope"] }
        answer["state"] = parameters["state"]
        answer["iss"] = rules.responseIssuer(issuer)
        let query = FormEncoding.encode(answer.map { FormEncoding.Pair($0.key, $0.value) })
        let location = "\(parameters["redirect_uri"] ?? "/")?\(query)"
        return HTTPResponse(status: 302, headers: HTTPHeaders([("Location", location)]))
    }

    private func allows(_ parameters: [String: String]) -> Bool {
        let asked = Scope(parameters["scope"] ?? "")
        guard rules.refusedScopes.isDisjoint(with: asked.tokens) else { return false }
        guard rules.checksRegisteredScope else { return true }
        return asked.isSubset(of: registeredScopes[parameters["client_id"] ?? ""] ?? Scope(""))
    }

    private mutating func token(_ request: HTTPRequest) -> HTTPResponse {
        let form = ServerStandIn.parameters(String(decoding: request.body, as: UTF8.self))
        var thumbprint: String?
        if rules.requiresProof {
            switch checkedProof(request, nonce: rules.nonce) {
            case .success(let found): thumbprint = found
            case .failure(let refusal):
                var answer = HTTPResponse.oauth(refusal.wantsNonce ? "use_dpop_nonce" : "invalid_dpop_proof")
                answer.headers["DPoP-Nonce"] = rules.nonce
                return answer
            }
        }
        if let answer = rules.token(ServerStandIn.TokenRequest(form: form, request: request)) {
            note(answer)
            return answer
        }
        return granted(form, thumbprint)
    }

    private mutating func granted(_ form: [String: String], _ thumbprint: String?) -> HTTPResponse {
        var scope = form["scope"] ?? ""
        if form["grant_type"] == "authorization_code" {
            guard let asked = codes[form["code"] ?? ""], asked["redirect_uri"] == form["redirect_uri"],
                let verifier = form["code_verifier"],
                let digest = try? Digest.hash(Array(verifier.utf8), .sha256),
                asked["code_challenge"] == Base64URL.encode(digest)
            else { return .oauth("invalid_grant") }
            scope = asked["scope"] ?? ""
        }
        count += 1
        let token = "token-\(count)"
        thumbprints[token] = thumbprint
        var members: [String: JSONValue] = [
            "access_token": .string(token), "token_type": thumbprint == nil ? "Bearer" : "DPoP",
            "expires_in": 3_600,
        ]
        if !scope.isEmpty { members["scope"] = .string(scope) }
        if rules.issuesRefreshTokens { members["refresh_token"] = .string("refresh-\(count)") }
        let answer = HTTPResponse.value(.members(members, [:]))
        note(answer)
        return answer
    }

    private mutating func note(_ answer: HTTPResponse) {
        guard let json = try? JSONValue(parsing: answer.body), let token = json["access_token"]?.string else {
            return
        }
        tokens[token] = Scope(json["scope"]?.string ?? "")
    }
}

/// Checks the proof of a request (RFC 9449 §4.3), and returns the thumbprint of its key.
func checkedProof(
    _ request: HTTPRequest, accessToken: String? = nil, nonce: String?
) -> Result<String, DPoP.Refusal> {
    Result { () throws(DPoP.Refusal) in
        try DPoP.verify(
            request.headers.values("DPoP").joined(separator: ","), method: request.method, url: request.url,
            accessToken: accessToken, expectedNonce: nonce, now: Clock.now()
        ).thumbprint
    }
}

extension HTTPResponse {
    static func value(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: HTTPHeaders([("Content-Type", "application/json")]), body: value.bytes)
    }

    /// An error answer of a token endpoint (RFC 6749 §5.2).
    static func oauth(_ error: String, status: Int = 400) -> HTTPResponse {
        .value(["error": .string(error)], status: status)
    }
}

extension JSONValue {
    /// An object of members, some of which are changed; null removes one.
    static func members(_ members: [String: JSONValue], _ changes: [String: JSONValue]) -> JSONValue {
        var object = JSONObject()
        for (name, value) in members.merging(changes, uniquingKeysWith: { $1 }) where value != .null {
            object[name] = value
        }
        return .object(object)
    }
}
