import OIDCCore
import OIDCSystem

/// Shows the session's token to a resource: once more with a proof of its nonce where one is demanded
/// (RFC 9449 §9), and once more with another token where this one is not taken any longer.
struct ProtectedRequest {
    let access: SessionAccess
    let environment: LoginEnvironment
    let demand: TokenDemand
    /// Whether what is sent can be sent a second time.
    var isRepeatable = true

    enum Next: Hashable {
        case proof(nonce: String)
        case anotherToken
    }

    enum Outcome<Value> {
        case done(Value)
        /// As the attempt itself allowed.
        case again(Next)
    }

    /// One try: the token that it carries, and what may follow it.
    struct Attempt {
        let delivery: SessionTokens.Delivery
        let nonce: String?
        let mayProveAgain: Bool
        let mayRenew: Bool
        fileprivate let environment: LoginEnvironment

        func proof(_ method: HTTPMethod, _ url: WebURL) throws(OIDCError) -> String? {
            try delivery.session.proof(method, url, delivery.access, nonce: nonce, environment)
        }

        /// RFC 6750 §2.1, RFC 9449 §7.1; whatever the caller has put there goes.
        func authorize(_ request: inout HTTPRequest) throws(OIDCError) {
            let token = delivery.access.token.revealed
            guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw OIDCError(
                    .refused, "resource: access_token: expected printable ASCII characters", stage: .resource)
            }
            request.headers["Authorization"] = "\(delivery.access.type) \(token)"
            request.headers[DPoP.header] = try proof(request.method, request.url)
        }

        /// What the head of an answer asks for, as far as it may be tried; nil where the answer stands.
        func next(after head: HTTPResponse) -> Next? {
            guard head.status == 401 else { return nil }
            if delivery.access.type == .dpop, DPoP.isNonceDemand(resourceResponse: head) {
                guard mayProveAgain else { return nil }
                return DPoP.nonce(in: head).map { .proof(nonce: $0) }
            }
            return mayRenew && StepUp(head.challenges) == nil ? .anotherToken : nil
        }
    }

    func send<Value>(
        _ exchange: (Attempt) throws(OIDCError) -> Outcome<Value>
    ) throws(OIDCError) -> Value {
        var delivery = try access.token(demand)
        var nonce: String?
        var mayProveAgain = isRepeatable
        var mayRenew = isRepeatable && access.canRenew(delivery.session)
        while true {
            let attempt = Attempt(
                delivery: delivery, nonce: nonce, mayProveAgain: mayProveAgain, mayRenew: mayRenew,
                environment: environment)
            switch try exchange(attempt) {
            case .done(let value): return value
            case .again(.proof(let demanded)):
                nonce = demanded
                mayProveAgain = false
            case .again(.anotherToken):
                delivery = try access.token(demand, insteadOf: delivery)
                mayRenew = false
                mayProveAgain = true
            }
        }
    }
}

extension SessionAccess {
    /// Whether another token can be had without a person.
    func canRenew(_ session: Session) -> Bool {
        session.tokens.refreshToken != nil || !key.grant.needsPerson
    }
}

extension Session {
    /// The proof that a token bound to a key needs (RFC 9449 §7.1); nil for a bearer token.
    fileprivate func proof(
        _ method: HTTPMethod, _ url: WebURL, _ access: AccessToken, nonce: String?,
        _ environment: LoginEnvironment
    ) throws(OIDCError) -> String? {
        guard access.type == .dpop else { return nil }
        guard let dpopKey else {
            throw OIDCError(
                .failed, "the session has lost the key that its token is bound to", hint: "oidc login",
                stage: .store)
        }
        return try DPoPKey(pem: dpopKey).proof(
            method: method, url: url, accessToken: access.token.revealed, nonce: nonce,
            now: environment.now(), random: environment.random)
    }
}

extension ProviderSetup {
    /// The sign-in that a resource asks for, being stronger or more recent (RFC 9470 §3).
    func loginLine(for stepUp: StepUp) -> String {
        var line = loginLine
        if let values = stepUp.acrValues { line += " --set \(ShellWord.quoted("acr_values=\(values)"))" }
        if let age = stepUp.maxAge { line += " --set max_age=\(age)" }
        return stepUp.acrValues == nil && stepUp.maxAge == nil ? "\(line) --prompt login" : line
    }
}
