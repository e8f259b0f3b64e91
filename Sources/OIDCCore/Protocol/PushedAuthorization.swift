/// A pushed authorization request (RFC 9126): the provider has its parameters already, and the URL contains
/// only a reference to them.
public struct PushedAuthorization: Hashable, Sendable {
    /// `request_uri`.
    public let requestURI: String
    /// The time until which the URL can be opened; nil if the provider named none.
    public let expiresAt: OIDCInstant?
    /// The URL to open, with `client_id` and `request_uri` only (RFC 9126 §4).
    public let url: WebURL

    /// The longest reference from a provider, in bytes, as it becomes part of a URL that a browser opens.
    static let maximumByteCount = 8_192

    /// The endpoint's answer, unless it is a failure.
    package enum Answer: Sendable {
        case pushed(PushedAuthorization)
        /// The provider demands a proof with this nonce (RFC 9449 §8).
        case nonceDemanded(String)
    }

    /// Pushes the request, and again with a nonce if the provider demands one; a second demand is a refusal.
    public static func push(
        _ pending: PendingAuthorization, to endpoint: WebURL, client: OAuthClient, dpop: DPoPKey? = nil,
        in context: OIDCContext
    ) throws(OIDCError) -> PushedAuthorization {
        var retry = RetryRule()
        while true {
            let call = try call(
                pending, at: endpoint, client: client, dpop: dpop, dpopNonce: retry.nonce,
                now: context.now(),
                random: context.random)
            switch try context.perform(call) {
            case .pushed(let pushed): return pushed
            case .nonceDemanded(let nonce):
                try retry.prove(nonce: nonce, or: DPoP.anotherNonce(.pushedAuthorization))
            }
        }
    }

    /// Returns the request: the parameters as a form, with the client's authentication (RFC 9126 §2.1). For a
    /// bound code, the proof of its key is sent beside `dpop_jkt` (RFC 9449 §10.1): some servers demand it,
    /// as atproto does (2026-11).
    package static func call(
        _ pending: PendingAuthorization, at endpoint: WebURL, client: Client, dpop: DPoPKey? = nil,
        dpopNonce: String? = nil, now: Instant, random: (Int) -> [UInt8]
    ) throws(OIDCError) -> EndpointCall<Answer> {
        var draft = try client.request(to: endpoint, pending.parameters, now: now, random: random)
        if let dpop {
            draft.headers[DPoP.header] = try dpop.proof(
                method: .post, url: endpoint, nonce: dpopNonce, now: now, random: random)
        }
        let (request, isBound) = (draft, dpop != nil)
        return EndpointCall(
            request, stage: .pushedAuthorization, withholding: { client.secrets(in: request) }
        ) { response throws(OIDCError) in
            if isBound, let nonce = DPoP.nonce(demandedBy: response) { return .nonceDemanded(nonce) }
            guard response.isSuccess, OAuthErrorResponse(response) == nil else {
                var error = client.failure(response, to: request, stage: .pushedAuthorization)
                DPoP.explain(&error, isBound: isBound)
                let answer = OAuthErrorResponse(response)
                error.hint = answer?.promptHint(sent: pending.prompt) ?? error.hint
                if error.code == nil, answer?.refusesRedirect == true { error.code = .redirectRefused }
                throw error
            }
            return .pushed(try PushedAuthorization(response, pending, now: now))
        }
    }

    private init(
        _ response: HTTPResponse, _ pending: PendingAuthorization, now: Instant
    ) throws(OIDCError) {
        let answer = try JSONAnswer(response, stage: .pushedAuthorization)
        requestURI = try answer.requiredString("request_uri")
        let count = requestURI.utf8.count
        guard count <= PushedAuthorization.maximumByteCount else {
            throw .protocolViolation(
                .pushedAuthorization, "request_uri",
                expected: "at most \(PushedAuthorization.maximumByteCount) characters", found: "\(count)")
        }
        expiresAt = answer.seconds("expires_in").map { now.adding($0) }
        url = try AuthorizationRequest.url(
            pending.endpoint,
            [
                FormEncoding.Pair("client_id", pending.clientID),
                FormEncoding.Pair("request_uri", requestURI),
            ])
    }
}
