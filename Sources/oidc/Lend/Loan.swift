import OIDCCore
import OIDCSessions
import OIDCAccount
import Posix
import Synchronization

/// One profile whose tokens are lent: access tokens, ID tokens if that was said, and proofs. Nothing else leaves.
final class Loan: Sendable {
    /// Who may have what, for how long.
    struct Conditions: Sendable {
        var end: Instant
        /// The scope that every token is narrowed to; nil for the session's own.
        var scope: Scope?
        var minimumValidity: Int64 = 60
        var givesIDTokens = false
        var lender: String
    }

    let name: String
    private let target: Target
    private let conditions: Conditions
    private let memory = Mutex(Memory())

    /// What is kept between requests.
    private struct Memory {
        /// The tokens that are bound to a key and were handed out, the latest last. A proof for any other is refused.
        var bound: [(token: Redacted<String>, key: DPoPKey)] = []
        /// When tokens were replaced before their end.
        var replacements: [MonotonicTime] = []
    }

    private static let boundLimit = 64
    /// The number of tokens that callers may have replaced within a minute. One that claims each token to be refused
    /// would cause any number of requests.
    private static let replacementLimit = 6

    init(_ target: Target, named name: String, _ conditions: Conditions) {
        self.target = target
        self.name = name
        self.conditions = conditions
    }

    /// Looks up the account again, as a newly started command would.
    private func account() throws(OIDCError) -> Account {
        try target.renewed(target.context.restarted).account()
    }

    /// Checks, before anything is lent, that a token is there and may be lent. If the provider is unreachable,
    /// requests will try again.
    func check(reporting console: Console) throws(OIDCError) {
        do throws(OIDCError) {
            _ = try token(of: try account(), scope: nil, minimumValidity: 0, isRenewed: false, refused: nil)
        } catch {
            guard error.kind == .unreachable else { throw error }
            console.warn(error)
        }
    }

    /// Returns the answer to a request. `profiles` are the names of all that are lent.
    func answer(_ matter: LendRequest.Matter, profiles: [String]) -> Result<JSONObject, OIDCError> {
        Result { () throws(OIDCError) in
            let account = try account()
            switch matter {
            case .terms: return try terms(account, profiles).json.object ?? JSONObject()
            case .accessToken(let scope, let minimumValidity, let isRenewed, let refused):
                let delivery = try token(
                    of: account, scope: scope, minimumValidity: minimumValidity, isRenewed: isRenewed,
                    refused: refused)
                var object = try terms(account, profiles).json.object ?? JSONObject()
                object["access"] = delivery.access.lent(at: Clock.now())
                return object
            case .idToken(let minimumValidity, let isRenewed):
                guard conditions.givesIDTokens else {
                    throw OIDCError(.refused, "ID tokens are not lent", stage: .idToken)
                }
                if isRenewed { try allowReplacement() }
                var object = JSONObject()
                object["id_token"] = .string(
                    try account.idToken(minimumValidity: minimumValidity, forced: isRenewed).compact)
                return object
            case .proof(let method, let url, let nonce, let token):
                var object = JSONObject()
                object["proof"] = .string(try proof(account, method, url, nonce, token))
                return object
            }
        }
    }

    // MARK: Tokens

    private func token(
        of account: Account, scope wanted: Scope?, minimumValidity: Int64, isRenewed: Bool,
        refused: Redacted<String>?
    ) throws(OIDCError) -> SessionTokens.Delivery {
        var demand = account.demand(minimumValidity: max(minimumValidity, conditions.minimumValidity))
        let narrowed = try narrowed(wanted, account)
        if account.key.grant.needsUser, let narrowed { demand.scope = narrowed }
        let session = try account.load()
        let current = session.flatMap { $0.accessToken(from: $0.source(for: demand)) }
        let delivery: SessionTokens.Delivery
        if isRenewed || refused != nil && refused == current?.token {
            try allowReplacement()
            if session != nil, account.key.grant.needsUser { try account.checkServer() }
            let refusal: SessionTokens.Refusal =
                isRenewed ? .of(current) : current.map { .refused($0) } ?? .none
            delivery = try account.refreshed(demand, loaded: session, refusing: refusal)
        } else {
            delivery = try account.token(demand)
        }
        try check(delivery, narrowed)
        if delivery.access.type == .dpop, let key = try delivery.session.dpopKey(of: delivery.access) {
            remember(delivery.access.token, key)
        }
        return delivery
    }

    /// Returns the scope of the token to hand out; nil for the session's own.
    private func narrowed(_ wanted: Scope?, _ account: Account) throws(OIDCError) -> Scope? {
        guard let wanted, !wanted.isEmpty else { return conditions.scope }
        guard account.key.grant.needsUser, conditions.scope.map({ wanted.isSubset(of: $0) }) ?? true else {
            throw OIDCError(
                .refused,
                "the scope \(DisplayText.quoted(wanted.text)) is not lent"
                    + (conditions.scope.map { ", only \(DisplayText.quoted($0.text))" } ?? ""), stage: .token)
        }
        return wanted
    }

    /// Refuses to hand out a token that is bound to a certificate of this machine, or that the provider did not narrow.
    private func check(_ delivery: SessionTokens.Delivery, _ narrowed: Scope?) throws(OIDCError) {
        guard !delivery.session.isBoundToCertificate(delivery.access) else {
            throw .usage(
                "the token of profile \(DisplayText.clean(name)) is bound to the client certificate, which stays here: "
                    + "it cannot be lent")
        }
        guard let narrowed else { return }
        for scope in [delivery.access.scope, delivery.access.claimedScope].compactMap({ $0 })
        where !scope.isSubset(of: narrowed) {
            throw OIDCError(
                .refused,
                "the provider does not narrow the scope: asked for \(DisplayText.quoted(narrowed.text)), the token is for "
                    + DisplayText.quoted(scope.text), stage: .token)
        }
    }

    private func allowReplacement() throws(OIDCError) {
        let now = MonotonicTime.now()
        let isAllowed = memory.withLock { memory in
            memory.replacements.removeAll { now >= $0.adding(seconds: 60) }
            guard memory.replacements.count < Loan.replacementLimit else { return false }
            memory.replacements.append(now)
            return true
        }
        guard isAllowed else {
            throw OIDCError(
                .unreachable, "too many tokens were replaced within a minute", stage: .token, retryAfter: 60)
        }
    }

    private func remember(_ token: Redacted<String>, _ key: DPoPKey) {
        memory.withLock { memory in
            memory.bound.removeAll { $0.token == token }
            memory.bound.append((token, key))
            if memory.bound.count > Loan.boundLimit { memory.bound.removeFirst() }
        }
    }

    // MARK: Proofs

    private func proof(
        _ account: Account, _ method: HTTPMethod, _ url: WebURL, _ nonce: String?, _ token: Redacted<String>
    ) throws(OIDCError) -> String {
        // A sign-out here ends the proofs, too.
        guard let session = try account.load() else { throw account.noSession }
        guard let key = memory.withLock({ memory in memory.bound.last { $0.token == token }?.key }) else {
            throw OIDCError(.refused, "a proof is signed only for a token that was lent here", stage: .token)
        }
        try LentProof(account, session).check(url)
        let environment = try account.provider.environment()
        return try key.proof(
            method: method, url: url, accessToken: token.revealed, nonce: nonce, now: environment.now(),
            random: environment.random)
    }

    // MARK: Terms

    private func terms(_ account: Account, _ profiles: [String]) throws(OIDCError) -> LentTerms {
        let now = Clock.now()
        let session = try account.load()
        if session == nil, account.key.grant.needsUser { throw account.noSession }
        let provider = account.provider
        let configured = provider.settings.provider.endpoint(.token).flatMap { WebURL($0) }
        guard let token = session?.endpoints.token ?? configured ?? WebURL(account.key.provider) else {
            throw account.noSession
        }
        let report = session.map { SessionReport(session: $0, profile: nil, location: "", now: now) }
        var terms = LentTerms(
            profile: name, profiles: profiles, lender: conditions.lender, tokenEndpoint: token,
            isUsable: report?.isUsable ?? true, secondsLeft: max(0, conditions.end.seconds(since: now)),
            givesIDTokens: conditions.givesIDTokens)
        terms.settings = settings(account)
        terms.issuer = session?.endpoints.issuer ?? provider.settings.provider.issuer
        terms.userInfoEndpoint = session?.endpoints.userInfo
        terms.keysEndpoint = session?.endpoints.keys
        terms.subject = session?.subject
        terms.displayName = session?.displayName
        terms.scope = conditions.scope ?? session?.grantedScope
        if let access = session?.tokens.access, session?.hasAccessToken == true, conditions.scope == nil {
            terms.tokenType = access.type
            terms.tokenSeconds = access.expiresAt.map { $0.seconds(since: now) }
        }
        return terms
    }

    /// The settings that the far side needs: the provider's name, the origins that may get the token, and the programs'.
    private func settings(_ account: Account) -> JSONObject {
        let (key, provider) = (account.key, account.provider)
        var object = JSONObject()
        for setting in Setting.tools + [.keyringHosts] {
            object[setting.name] = provider.settings.layers[setting]
        }
        let isIssuer = provider.settings.provider.issuer != nil
        object[(isIssuer ? Setting.issuer : .tokenEndpoint).name] = .string(key.provider)
        object[Setting.clientID.name] = .string(key.clientID)
        object[Setting.account.name] = key.account.map { .string($0) }
        object[Setting.audience.name] = key.audience.map { .string($0) }
        guard let target = provider.target else { return object }
        // The token of a resource is for that resource, and what is below it.
        object[Setting.resource.name] = [.string(target.link.resource)]
        object[Setting.resources.name] = [
            ["title": .string(target.link.resource), "url": .string(target.link.resource)]
        ]
        return object
    }
}

/// The URLs that a lender signs proofs for.
struct LentProof {
    private let account: Account
    private let session: Session
    private let allowed: AllowedOrigins
    /// The endpoints that a token is never for.
    private let endpoints: [WebURL]

    init(_ account: Account, _ session: Session) throws(OIDCError) {
        self.account = account
        self.session = session
        let provider = account.provider
        allowed = try AllowedOrigins(provider, session, naming: [])
        let stored = session.endpoints
        let metadata = try provider.metadata(try provider.environment(), for: ProviderEndpoint.allCases)
        let named = ProviderEndpoint.allCases.filter { $0 != .userInfo }
        endpoints =
            ([stored.token, stored.refresh, stored.revocation, stored.introspection, stored.endSession]
            + named.map { metadata[$0] }
            + named.map { provider.settings.provider.endpoint($0).flatMap { WebURL($0) } })
            .compactMap { $0 }
    }

    /// Refuses a URL that the profile's token may not go to, and every endpoint of the provider but UserInfo: a proof
    /// there could bind a new token, or register a client (RFC 9449 §5, §10; RFC 7591).
    func check(_ url: WebURL) throws(OIDCError) {
        let shown = DisplayText.clean(url.withoutQuery)
        let isForbidden = OIDCError(.refused, "no proof is signed for \(shown)", stage: .resource)
        if let target = account.provider.target {
            guard target.covers(url) else { throw isForbidden }
        } else if session.endpoints.userInfo.map({ isSame($0, url) }) == true {
            return
        } else {
            guard allowed.contains(url) else { throw isForbidden }
        }
        guard !url.hasDotSegments else { throw isForbidden }
        guard providerOrigins.contains(url.origin) else { return }
        // Beside the provider's own endpoints, only what the profile names counts.
        let isNamed =
            account.provider.target != nil
            || account.provider.settings.tools.resources.contains { resource in
                !resource.url.pathWithoutLastSlash.isEmpty
                    && ResourceIdentifier(resource.url.withoutQuery)?.covers(url) == true
            }
        guard isNamed, !endpoints.contains(where: { isSame($0, url) }) else { throw isForbidden }
    }

    private var providerOrigins: Set<String> {
        let issuer = [session.endpoints.issuer, session.key.provider].map { $0.flatMap { WebURL($0) } }
        return Set((issuer + endpoints).compactMap { $0?.origin })
    }

    /// Returns whether a server may read two paths as the same one.
    private func isSame(_ one: WebURL, _ other: WebURL) -> Bool {
        func reading(_ url: WebURL) -> String {
            let path = String(decoding: PathReadings(url.path).all.last ?? [], as: UTF8.self)
            let words = path.split { "/\\".contains($0) }.map { $0.prefix { $0 != ";" } }
            return ASCII.lowercased(words.joined(separator: "/"))
        }
        return one.origin == other.origin && reading(one) == reading(other)
    }
}

extension AccessToken {
    /// The scope that a JWT names (RFC 9068 §2.2.3; `scp` at Entra and Okta); nil if the token does not say.
    fileprivate var claimedScope: Scope? {
        guard let claims = (try? JWS(compact: token.revealed))?.claims else { return nil }
        for name in ["scope", "scp"] {
            if let text = claims[name]?.string { return Scope(text) }
            if let list = claims[name]?.array { return Scope(tokens: list.compactMap(\.string)) }
        }
        return nil
    }
}
