package import OIDCCore

/// A source of access tokens for requests, which provides another token if one was refused.
package protocol AccessTokenSource {
    func token(_ demand: TokenDemand) throws(OIDCError) -> SessionTokens.Delivery
    func token(
        _ demand: TokenDemand, insteadOf refused: SessionTokens.Delivery
    ) throws(OIDCError) -> SessionTokens.Delivery
}

/// A request to a resource with the session's token. It is repeated with the resource's nonce if one is
/// required (RFC 9449 §9), and with another token if this one is no longer accepted.
package struct ProtectedRequest {
    let tokens: any AccessTokenSource
    let environment: OIDCContext
    let demand: TokenDemand
    let isRepeatable: Bool

    /// Creates a request; `isRepeatable` says whether its body can be sent again.
    package init(
        _ tokens: any AccessTokenSource, environment: OIDCContext,
        demand: TokenDemand = TokenDemand(),
        isRepeatable: Bool = true
    ) {
        self.tokens = tokens
        self.environment = environment
        self.demand = demand
        self.isRepeatable = isRepeatable
    }

    package enum Outcome<Value> {
        case done(Value)
        /// Another attempt after a response, which the rule of this one allowed.
        case again(RetryRule.Demand, after: HTTPResponse? = nil)
    }

    /// One attempt, with its token and the rule for those that may follow it.
    package struct Attempt {
        package let delivery: SessionTokens.Delivery
        let retry: RetryRule
        fileprivate let environment: OIDCContext

        package func proof(_ method: HTTPMethod, _ url: WebURL) throws(OIDCError) -> String? {
            if let signing = delivery.signing, delivery.access.type == .dpop {
                return try signing(method, url, retry.nonce)
            }
            return try delivery.session.proof(method, url, delivery.access, nonce: retry.nonce, environment)
        }

        /// Whether the token is bound to the client certificate (RFC 8705 §3).
        package var isBoundToCertificate: Bool { delivery.session.isBoundToCertificate(delivery.access) }

        /// Adds the token and its proof (RFC 6750 §2.1, RFC 9449 §7.1), in place of the caller's own headers, and
        /// the client certificate if the token is bound to it.
        package func authorize(_ request: inout HTTPRequest) throws(OIDCError) {
            request.headers["Authorization"] = try delivery.access.credentials(.resource)
            request.headers[DPoP.header] = try proof(request.method, request.url)
            if isBoundToCertificate { request.usesClientCertificate = true }
        }

        /// Returns the next attempt that a response requires; nil if there is none or it was already made.
        package func next(after head: HTTPResponse) -> RetryRule.Demand? {
            let demand = RetryRule.Demand(head, isBound: delivery.access.type == .dpop)
            return demand.flatMap { retry.allows($0) ? $0 : nil }
        }
    }

    /// Calls `exchange` until it is done.
    package func send<Value>(
        _ exchange: (Attempt) throws(OIDCError) -> Outcome<Value>
    ) throws(OIDCError) -> Value {
        var delivery = try tokens.token(demand)
        var retry = RetryRule(proves: isRepeatable, refreshes: isRepeatable)
        while true {
            let attempt = Attempt(delivery: delivery, retry: retry, environment: environment)
            switch try exchange(attempt) {
            case .done(let value): return value
            case .again(let demanded, let response):
                retry.use(demanded)
                guard demanded == .anotherToken else { continue }
                delivery.refusal = response
                delivery = try tokens.token(demand, insteadOf: delivery)
            }
        }
    }
}

extension Session {
    /// Returns the proof for a token that is bound to a key (RFC 9449 §7.1); nil for a bearer token.
    fileprivate func proof(
        _ method: HTTPMethod, _ url: WebURL, _ access: AccessToken, nonce: String?,
        _ environment: OIDCContext
    ) throws(OIDCError) -> String? {
        try dpopKey(of: access)?.proof(
            method: method, url: url, accessToken: access.token.revealed, nonce: nonce,
            now: environment.now(), random: environment.random)
    }
}
