/// The claims about a user that other issuers make: aggregated ones came along as tokens, distributed ones are fetched
/// (OpenID Connect Core §5.6.2).
///
/// The provider names the sources, but only a source's own signature says that it makes a claim. So a claim counts if
/// its token is signed with the published keys of the issuer that the token names.
package struct ClaimSources {
    /// The claims with those of the sources that were verified.
    package struct Outcome {
        /// The provider's own claims and the verified ones. `_claim_names` has the verified ones only, and
        /// `_claim_sources` the issuer of each.
        package fileprivate(set) var claims: JSONObject
        /// The claims that are left out, and why.
        package fileprivate(set) var refusals: [(claims: [String], error: OIDCError)] = []
    }

    /// The sources that are read, the bytes of a fetched token, and the seconds for all of them. The transport ends a
    /// request at that time, and no other is sent after it.
    package static let limits = (sources: 10, bytes: 65_536, seconds: Int64(30))

    private static let names = "_claim_names"
    private static let sources = "_claim_sources"
    /// The claims that are about the provider's answer or a token itself, which no source can make.
    private static let reserved = ["sub", "iss", "aud", "exp", "nbf", "iat", "jti", names, sources]

    /// The endpoint that named the sources, which decides where they may be; nil allows public https URLs only.
    private let provider: WebURL?
    private let clientID: String
    private let leeway: Int64
    private let context: OIDCContext

    package init(namedBy provider: WebURL?, clientID: String, leeway: Int64 = 60, context: OIDCContext) {
        self.provider = provider
        self.clientID = clientID
        self.leeway = leeway
        self.context = context
    }

    /// Returns the names of the claims that other issuers make.
    package static func names(in claims: JSONObject) -> [String] {
        claims[names]?.object?.members.map(\.name) ?? []
    }

    /// Verifies the claims of all sources, or only the claim `name`, and fetches those that did not come along.
    package func resolve(_ claims: JSONObject, only name: String? = nil) -> Outcome {
        var own = claims
        (own[ClaimSources.names], own[ClaimSources.sources]) = (nil, nil)
        var outcome = Outcome(claims: own)
        var issuers = JSONObject()
        var verified = JSONObject()
        let end = context.now().adding(ClaimSources.limits.seconds)
        let wanted = wanted(claims, own, only: name, &outcome)
        for (count, source) in wanted.enumerated() {
            do throws(OIDCError) {
                guard count < ClaimSources.limits.sources else {
                    throw refused("more than \(ClaimSources.limits.sources) sources are not read")
                }
                guard context.now() < end else {
                    throw OIDCError(
                        .unreachable, "claims: the sources together took too long", stage: .claims)
                }
                let (made, issuer) = try claimsMade(by: claims[ClaimSources.sources]?[source.name])
                let absent = source.claims.filter { made[$0] == nil || made[$0] == .null }
                for claim in source.claims where !absent.contains(claim) {
                    outcome.claims[claim] = made[claim]
                    verified[claim] = .string(source.name)
                    issuers[source.name] = ["iss": .string(issuer)]
                }
                if !absent.isEmpty {
                    let found = DisplayText.clean(issuer, limit: 200)
                    outcome.refusals.append((absent, refused("\(found) does not make this claim")))
                }
            } catch {
                var error = error
                if error.kind == .timedOut { error.kind = .unreachable }
                // The hints are about the user's own provider.
                if error.kind == .refused || error.stage == .discovery { error.hint = nil }
                outcome.refusals.append((source.claims, error))
            }
        }
        if !verified.isEmpty {
            outcome.claims[ClaimSources.names] = .object(verified)
            outcome.claims[ClaimSources.sources] = .object(issuers)
        }
        return outcome
    }

    /// Returns the sources in their order, each with its claims. A source makes none of the provider's own.
    private func wanted(
        _ claims: JSONObject, _ own: JSONObject, only name: String?, _ outcome: inout Outcome
    ) -> [(name: String, claims: [String])] {
        var wanted: [(name: String, claims: [String])] = []
        for member in claims[ClaimSources.names]?.object?.members ?? []
        where name.map({ $0 == member.name }) ?? true {
            guard let source = member.value.string else {
                outcome.refusals.append(([member.name], refused("its source has no name")))
                continue
            }
            guard own[member.name] == nil, !ClaimSources.reserved.contains(member.name) else {
                outcome.refusals.append(
                    ([member.name], refused("only the provider itself makes this claim")))
                continue
            }
            if let index = wanted.firstIndex(where: { $0.name == source }) {
                wanted[index].claims.append(member.name)
            } else {
                wanted.append((source, [member.name]))
            }
        }
        return wanted
    }

    /// Returns the verified claims of a source and its issuer.
    private func claimsMade(by source: JSONValue?) throws(OIDCError) -> (JSONObject, issuer: String) {
        if let token = source?["JWT"]?.string { return try verified(token) }
        guard let endpoint = source?["endpoint"]?.string else {
            throw refused("its source has neither JWT nor endpoint")
        }
        let url = try checked(endpoint, "endpoint")
        return try verified(try fetch(url, source?["access_token"]?.string))
    }

    /// Fetches a source's token. The only token that is sent is the one that the provider gave for this source.
    private func fetch(_ url: WebURL, _ token: String?) throws(OIDCError) -> String {
        var request = HTTPRequest(.get, url, headers: HTTPHeaders([("Accept", "application/jwt")]))
        if let token {
            let access = AccessToken(
                token: Redacted(token), type: .bearer, obtainedAt: context.now(), expiresAt: nil, scope: nil)
            request.headers["Authorization"] = try access.credentials(.claims)
        }
        let response = try context.transport.send(request, stage: .claims)
        guard response.isSuccess else {
            throw OAuthErrorResponse.failure(
                response, stage: .claims, url: url, withholding: WithheldSecrets(token.map { [$0] } ?? []),
                hint: { _ in nil })
        }
        guard response.body.count <= ClaimSources.limits.bytes else {
            throw refused(
                "the answer of \(url.hostAndPort) is larger than \(ClaimSources.limits.bytes) bytes")
        }
        return ASCII.trimmed(response.text)
    }

    /// Verifies a source's token with the keys that its issuer publishes. It is not about our client or our user, so
    /// `sub` is the source's own and `aud` may be missing, but another client's is refused (RFC 7519 §4.1.3).
    private func verified(_ compact: String) throws(OIDCError) -> (JSONObject, issuer: String) {
        let token: JWS
        do throws(JWS.Malformed) { token = try JWS(compact: compact) } catch {
            throw .untrusted(.claims, error.reason)
        }
        let signature = SignatureRules(stage: .claims)
        try signature.checkHeader(token)
        guard let members = token.claims else {
            throw .untrusted(.claims, token.claimsProblem ?? "the payload is not a JSON object")
        }
        let claims = TokenClaims(members: members, stage: .claims)
        let issuer = try claims.reader.required("iss", expected: "an issuer", claims.string)
        if members["aud"] != nil { _ = try claims.checkAudience(clientID) }
        try claims.checkTimes(now: context.now(), leeway: leeway)
        _ = try checked(issuer, "iss")
        let documents = ProviderDocuments(context: context)
        guard let keys = try documents.metadata(issuer: issuer).jwksURI else {
            throw .untrusted(.claims, "\(DisplayText.clean(issuer, limit: 200)) publishes no keys")
        }
        try signature.checkSignature(token, keys: documents.keys(try checked(keys.text, "jwks_uri")))
        return (members, issuer)
    }

    /// Checks a URL of a source before anything is sent to it. A provider must not make this machine ask servers that
    /// only this machine can reach: only a provider on loopback may name loopback, and only one that is in a private
    /// network by its own address another address there.
    private func checked(_ text: String, _ member: String) throws(OIDCError) -> WebURL {
        let isLocal = provider?.leadsToThisMachine ?? false
        let isPrivate = isLocal || provider?.isPrivateAddress == true
        guard let url = WebURL(text), url.fragment == nil, url.isSecure || isLocal && url.isLoopback,
            isLocal || !url.leadsToThisMachine, isPrivate || !url.isPrivateAddress
        else {
            throw .untrusted(
                .claims, member, expected: "a public https URL", found: DisplayText.quoted(text, limit: 200))
        }
        return url
    }

    private func refused(_ message: String) -> OIDCError {
        OIDCError(.refused, "claims: \(message)", stage: .claims)
    }
}
