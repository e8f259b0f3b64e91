/// The claims about a user that other issuers make (OpenID Connect Core §5.6.2): the provider sends the tokens of
/// aggregated ones, and distributed ones are fetched.
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

    /// The limits: the claims and sources that are read, the bytes of a fetched token, and the seconds for all sources.
    ///
    /// No request starts after those seconds. The transport ends one that is running.
    package static let limits = (claims: 100, sources: 10, bytes: 65_536, seconds: Int64(30))

    private static let names = "_claim_names"
    private static let sources = "_claim_sources"
    /// The claims that are about the provider's answer or a token itself, which no source can make.
    private static let reserved = ["sub", "iss", "aud", "exp", "nbf", "iat", "jti", names, sources]
    /// The claims that only other kinds of tokens have, such as ID tokens, security events and introspection answers.
    private static let foreign = ["nonce", "at_hash", "events", "token_introspection"]

    /// The endpoint that named the sources, which decides where they may be; nil allows public https URLs only.
    private let provider: WebURL?
    private let clientID: String
    private let leeway: Int64
    /// The accepted algorithms; nil accepts every known asymmetric one.
    private let algorithms: [String]?
    private let context: OIDCContext

    /// Creates sources whose metadata and keys are not cached: nothing that other issuers publish is kept.
    package init(
        namedBy provider: WebURL?, clientID: String, leeway: Int64 = 60, algorithms: [String]? = nil,
        context: OIDCContext
    ) {
        self.provider = provider
        self.clientID = clientID
        self.leeway = leeway
        self.algorithms = algorithms
        self.context = OIDCContext(
            transport: context.transport, now: context.now, random: context.random)
    }

    /// Returns whether another issuer makes the claim.
    package static func isNamed(_ name: String, in claims: JSONObject) -> Bool {
        claims[names]?[name] != nil
    }

    /// Returns whether the claim is about the sources themselves.
    package static func isAboutSources(_ name: String) -> Bool { name == names || name == sources }

    /// Verifies the claims of all sources, or only the claim `name`, and fetches tokens that the provider did not send.
    package func resolve(_ claims: JSONObject, only name: String? = nil) -> Outcome {
        var own = claims
        (own[ClaimSources.names], own[ClaimSources.sources]) = (nil, nil)
        var outcome = Outcome(claims: own)
        var issuers = JSONObject()
        var verified = JSONObject()
        let end = context.now().adding(ClaimSources.limits.seconds)
        let wanted = wanted(claims, own, only: name, &outcome)
        for (count, source) in wanted.enumerated() {
            let isLate = context.now() >= end
            guard count < ClaimSources.limits.sources, !isLate else {
                let error =
                    isLate
                    ? OIDCError(.unreachable, "claims: the sources together took too long", stage: .claims)
                    : refused("more than \(ClaimSources.limits.sources) sources are not read")
                outcome.refusals.append((wanted[count...].flatMap(\.claims), error))
                break
            }
            do throws(OIDCError) {
                let (made, issuer) = try claimsMade(by: claims[ClaimSources.sources]?[source.name])
                var absent: [String] = []
                for claim in source.claims {
                    guard let value = made[claim], value != .null else {
                        absent.append(claim)
                        continue
                    }
                    outcome.claims[claim] = value
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
                // Other hints are about the user's own provider, and some quote what the source sent.
                switch error.hint {
                case .tryAgain, .advice(.checkClock): break
                default: error.hint = nil
                }
                outcome.refusals.append((source.claims, error))
            }
        }
        if !verified.isEmpty {
            outcome.claims[ClaimSources.names] = .object(verified)
            outcome.claims[ClaimSources.sources] = .object(issuers)
        }
        return outcome
    }

    /// Returns the sources in their order, each with its claims. Claims that the provider makes itself are
    /// left out.
    private func wanted(
        _ claims: JSONObject, _ own: JSONObject, only name: String?, _ outcome: inout Outcome
    ) -> [(name: String, claims: [String])] {
        var members = claims[ClaimSources.names]?.object?.members[...] ?? []
        if let name { members = members.filter { ExactText.isSame($0.name, name) }[...] }
        let limit = ClaimSources.limits.claims
        var wanted: [(name: String, claims: [String])] = []
        var nameless: [String] = []
        var reserved: [String] = []
        for member in members.prefix(limit) {
            if (own[member.name] ?? .null) != .null || ClaimSources.reserved.contains(member.name) {
                reserved.append(member.name)
            } else if let source = member.value.string {
                if let index = wanted.firstIndex(where: { $0.name == source }) {
                    wanted[index].claims.append(member.name)
                } else {
                    wanted.append((source, [member.name]))
                }
            } else {
                nameless.append(member.name)
            }
        }
        for (claims, message) in [
            (reserved, "only the provider itself makes this claim"),
            (nameless, "`_claim_names` has no string for it"),
            (members.dropFirst(limit).map(\.name), "more than \(limit) claims of other issuers are not read"),
        ] where !claims.isEmpty {
            outcome.refusals.append((claims, refused(message)))
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
        let signature = SignatureRules(
            allowedAlgorithms: algorithms, type: "JWT", mayLackType: true, stage: .claims)
        let (token, claims) = try signature.read(compact)
        // Another kind of token may have the issuer's signature, too (RFC 8725 §3.12).
        for name in ClaimSources.foreign where claims.members[name] != nil {
            throw claims.refusal(name, expected: "a token of claims", found: "another kind of token")
        }
        let issuer = try claims.reader.required("iss", expected: "an issuer", claims.string)
        if claims.members["aud"] != nil { _ = try claims.checkAudience(clientID) }
        try claims.checkTimes(now: context.now(), leeway: leeway)
        _ = try checked(issuer, "iss")
        guard let urls = try? ProviderMetadata.wellKnownURLs(issuer: issuer) else {
            throw claims.refusal("iss", expected: "an issuer", found: claims.found("iss"))
        }
        let documents = ProviderDocuments(context: context)
        let metadata = try documents.metadata(
            issuer: issuer, at: urls, notFound: ProviderMetadata.notFound(issuer: issuer))
        guard let keys = metadata.jwksURI else {
            throw .untrusted(.claims, "\(DisplayText.clean(issuer, limit: 200)) publishes no keys")
        }
        try signature.checkSignature(token, keys: documents.keys(try checked(keys.text, "jwks_uri")))
        return (claims.members, issuer)
    }

    /// Checks a URL of a source before anything is sent to it. A provider must not make this machine send
    /// requests to servers that only this machine can reach: only a provider on loopback may name loopback,
    /// and only one in a private network, by its own address or name, may name another server there. Names
    /// are not resolved, so a public name may still lead to a private address.
    private func checked(_ text: String, _ member: String) throws(OIDCError) -> WebURL {
        let isLocal = provider?.leadsToThisMachine ?? false
        let isPrivate = isLocal || provider.map { $0.isPrivateAddress || $0.hasPrivateName } == true
        guard let url = WebURL(text), url.fragment == nil, url.isSecure || isLocal && url.isLoopback,
            isLocal || !url.leadsToThisMachine, isPrivate || !url.isPrivateAddress && !url.hasPrivateName
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
