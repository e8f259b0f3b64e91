/// A sign-in that is finished on another device (RFC 8628).
public struct DeviceAuthorization: Sendable {
    /// `device_code`, which the token request presents.
    public let deviceCode: Redacted<String>
    /// `user_code`, safe to show on a terminal.
    public let userCode: String
    /// The URL to open.
    public let verificationURI: WebURL
    /// The URL that contains the code, if the provider sent one.
    public let verificationURIComplete: WebURL?
    /// The time when the code expires.
    public let expiresAt: OIDCInstant
    /// The time between two polls of the token endpoint.
    public let interval: Duration
    /// The scope that was requested.
    public let scope: OAuthScope

    /// The request to the device authorization endpoint (RFC 8628 §3.1).
    package struct Request: Sendable {
        package var scope: Scope
        package var audience: String?
        package var resources: [String] = []
        package var acrValues: String?
        package var authorizationDetails: JSONValue?
        package var extraParameters: [FormEncoding.Pair] = []

        package init(scope: Scope) {
            self.scope = scope
        }

        fileprivate func parameters(_ client: Client) throws(OIDCError) -> [FormEncoding.Pair] {
            try scope.check()
            var pairs = [FormEncoding.Pair("client_id", client.id)]
            func add(_ name: String, _ value: String?) {
                if let value, !value.isEmpty { pairs.append(FormEncoding.Pair(name, value)) }
            }
            add("scope", scope.text)
            add("audience", audience)
            for resource in resources {
                try ResourceIndicator.check(resource)
                add("resource", resource)
            }
            add("acr_values", acrValues)
            add("authorization_details", authorizationDetails?.compact)
            return try ExtraParameters.authorize.adding(extraParameters, to: pairs)
        }
    }

    /// The endpoint's answer, unless it is a failure.
    package enum Answer: Sendable {
        case issued(DeviceAuthorization)
        /// The provider demands a proof with this nonce (RFC 9449 §8).
        case nonceDemanded(String)
    }

    /// Requests a code, and again with a nonce if the provider demands one; a second demand is a refusal.
    package static func request(
        _ request: Request, from endpoint: WebURL, client: Client, dpop: DPoPKey? = nil,
        allowsInsecureHTTP: Bool = false, _ context: OIDCContext
    ) throws(OIDCError) -> DeviceAuthorization {
        var retry = RetryRule()
        while true {
            let call = try call(
                request, at: endpoint, client: client, dpop: dpop, dpopNonce: retry.nonce,
                allowsInsecureHTTP: allowsInsecureHTTP, now: context.now(), random: context.random)
            switch try context.transport.perform(call) {
            case .issued(let authorization): return authorization
            case .nonceDemanded(let nonce):
                try retry.prove(nonce: nonce, or: DPoP.anotherNonce(.deviceAuthorization))
            }
        }
    }

    /// Returns the request for a code, with the function that reads its answer. `dpop` is the key that the
    /// tokens will be bound to: its proof is sent, as a server may bind the code to it.
    package static func call(
        _ request: Request, at endpoint: WebURL, client: Client, dpop: DPoPKey? = nil,
        dpopNonce: String? = nil, allowsInsecureHTTP: Bool = false, now: Instant, random: (Int) -> [UInt8]
    ) throws(OIDCError) -> EndpointCall<Answer> {
        var draft = try client.request(to: endpoint, request.parameters(client), now: now, random: random)
        if let dpop {
            draft.headers[DPoP.header] = try dpop.proof(
                method: .post, url: endpoint, nonce: dpopNonce, now: now, random: random)
        }
        let (message, isBound) = (draft, dpop != nil)
        return EndpointCall(
            message, stage: .deviceAuthorization, withholding: { client.secrets(in: message) }
        ) { response throws(OIDCError) in
            if isBound, let nonce = DPoP.nonce(demandedBy: response) { return .nonceDemanded(nonce) }
            guard response.isSuccess, OAuthErrorResponse(response) == nil else {
                let sendsOpenID = request.scope.contains("openid")
                var error = client.failure(
                    response, to: message, stage: .deviceAuthorization,
                    hint: { OAuthErrorResponse.deviceHint($0, sendsOpenID: sendsOpenID) })
                DPoP.explain(&error, isBound: isBound)
                throw error
            }
            return .issued(
                try DeviceAuthorization(
                    JSONAnswer(formOrJSON: response, having: "device_code", stage: .deviceAuthorization),
                    from: endpoint, scope: request.scope, allowsInsecureHTTP: allowsInsecureHTTP, now: now))
        }
    }

    /// Parses the answer (RFC 8628 §3.2). Google names the URL `verification_url`, as drafts of the RFC did
    /// (2026-11).
    ///
    /// The URL that includes the code is used only on the origin of the other one: as a QR code, it would
    /// lead to a host that the user does not see (RFC 10027).
    private init(
        _ answer: JSONAnswer, from endpoint: WebURL, scope: Scope, allowsInsecureHTTP: Bool, now: Instant
    ) throws(OIDCError) {
        let code = try answer.requiredString("device_code")
        let userCode = DisplayText.clean(try answer.requiredString("user_code"), limit: 64)
        guard !userCode.allSatisfy({ $0 == " " }) else {
            throw .protocolViolation(
                .deviceAuthorization, "user_code", expected: "a code that can be read", found: "none")
        }
        let names = ["verification_uri", "verification_url"]
        let name = names.first { answer[$0] != nil } ?? names[0]
        let verificationURI = try answer.required(name, answer.url)
        guard verificationURI.isSafe(allowsInsecureHTTP: allowsInsecureHTTP) else {
            throw .protocolViolation(
                .deviceAuthorization, name, expected: "an https URL", found: verificationURI.text)
        }
        try endpoint.checkReach(of: verificationURI, named: name, .deviceAuthorization)
        deviceCode = Redacted(code)
        self.userCode = userCode
        self.verificationURI = verificationURI
        verificationURIComplete = try answer.string("verification_uri_complete").flatMap { WebURL($0) }
            .flatMap { $0.origin == verificationURI.origin ? $0 : nil }
        expiresAt = now.adding(DeviceAuthorization.lifetime(answer.seconds("expires_in")))
        interval = .seconds(DeviceAuthorization.interval(answer.seconds("interval")))
        self.scope = scope
    }

    /// Returns whether the page is neither on the provider's host nor on a domain above it.
    package func isElsewhere(than provider: WebURL) -> Bool {
        let (page, host) = (ASCII.lowercased(verificationURI.host), ASCII.lowercased(provider.host))
        return page != host && !(page.includes(".") && host.hasSuffix(".\(page)"))
    }

    /// Returns the code's lifetime in seconds: ten minutes if the provider sends no valid one, and at most a
    /// day.
    private static func lifetime(_ seconds: Int64?) -> Int64 {
        guard let seconds, seconds > 0 else { return 600 }
        return min(seconds, 86_400)
    }

    /// Returns the seconds between polls: five if the provider sends no valid number, and at most five
    /// minutes (RFC 8628 §3.5).
    private static func interval(_ seconds: Int64?) -> Int64 {
        guard let seconds, seconds > 0 else { return 5 }
        return min(seconds, 300)
    }
}
