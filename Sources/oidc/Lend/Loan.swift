import OIDCCore
import OIDCSessions
import OIDCAccount
import Posix
import Synchronization

/// A profile whose tokens are lent: access tokens, proofs and, if the user allows them, ID tokens. Nothing
/// else is.
final class Loan: Sendable {
    /// The limits of what is lent.
    struct Conditions: Sendable {
        var end: Instant
        /// The scope that every token is narrowed to; nil for the session's own.
        var scope: Scope?
        var minimumValidity: Int64 = 60
        var givesIDTokens = false
        var lender: String
        /// The number of users that may call.
        var users = 1
    }

    let name: String
    private let target: Target
    private let conditions: Conditions
    private let memory: Mutex<Memory>

    /// The caller of a request, its time of arrival, and the purpose of a request to the provider for it.
    struct Call: Sendable {
        /// The calling program; nil for the lender itself.
        var caller: LendCaller?
        var arrivedAt = MonotonicTime.now()
        fileprivate var purpose = LendBudget.Purpose.own

        init(caller: LendCaller? = nil, arrivedAt: MonotonicTime = .now()) {
            self.caller = caller
            self.arrivedAt = arrivedAt
        }
    }

    /// The requested access token.
    private struct Wish {
        var scope: Scope?
        var minimumValidity: Int64 = 0
        var isRenewed = false
        var refused: Redacted<String>?
    }

    /// The state between requests.
    private struct Memory {
        /// The bound tokens that were handed out, the latest last. Proofs for other tokens are refused.
        var bound: [(token: Redacted<String>, key: DPoPKey)] = []
        /// The tokens that the session does not store, such as those whose scope differs from the requested
        /// one. Without them, each call would need a request to the provider.
        var unstored: [(scope: Scope?, delivery: SessionTokens.Delivery)] = []
        /// The scopes that callers narrowed tokens to, the most recently requested one last.
        var scopes: [Scope] = []
        var budget: LendBudget
        /// The last token from the provider, and the time when it was obtained.
        var obtained: (token: Redacted<String>, moment: MonotonicTime)?
        /// The last failure to reach the provider, and its time.
        var failure: (error: OIDCError, moment: MonotonicTime)?
        /// An ID token that a refresh did not replace.
        var lastIDToken: String?
        var endpoints = KnownEndpoints()
    }

    private static let boundLimit = 64
    /// The number of scopes for which the session stores narrowed tokens of callers. It stores 64 in total.
    private static let scopeLimit = 16

    init(_ target: Target, named name: String, _ conditions: Conditions) {
        self.target = target
        self.name = name
        self.conditions = conditions
        memory = Mutex(Memory(budget: LendBudget(users: conditions.users)))
    }

    /// The variables with secrets that settings name, which other programs must not get.
    var secretVariables: [String] { target.reach.settings.secretVariables }

    /// Looks up the account again, as a newly started command would. Failures of the provider since the
    /// request arrived apply to it, and its requests to the provider are counted.
    private func account(_ call: Call) throws(OIDCError) -> Account {
        var context = target.context
        context.startedAt = call.arrivedAt
        context.onTokenRequest = { [self] in spend(call) }
        return try target.renewed(context).account()
    }

    /// Checks, before anything is lent, that a token is available and may be lent. If the provider is
    /// unreachable, requests will try again.
    func check(reporting console: Console) throws(OIDCError) {
        let call = Call()
        do throws(OIDCError) {
            _ = try token(of: try account(call), Wish(), call)
        } catch {
            guard error.kind == .unreachable else { throw error }
            console.warn(error)
        }
    }

    /// Returns the answer to a request that the store can answer; nil if it needs the provider. `profiles`
    /// are the names of all lent profiles.
    func storedAnswer(
        _ matter: LendRequest.Matter, _ call: Call, profiles: [String]
    ) -> Result<JSONObject, OIDCError>? {
        do throws(OIDCError) {
            let account = try account(call)
            switch matter {
            case .terms:
                return .success(try members(account, try account.load(), profiles))
            case .accessToken(let scope, let minimumValidity, let isRenewed, let refused):
                let wish = Wish(
                    scope: scope, minimumValidity: minimumValidity, isRenewed: isRenewed, refused: refused)
                guard let delivery = try storedToken(of: account, wish, call) else { return nil }
                return .success(try members(account, delivery, profiles))
            case .idToken(let minimumValidity, let isRenewed):
                guard conditions.givesIDTokens else {
                    throw OIDCError(.refused, "ID tokens are not lent", stage: .idToken)
                }
                guard !isRenewed, let token = try storedIDToken(of: account, minimumValidity) else {
                    return nil
                }
                return .success(members(token))
            case .proof: return nil
            }
        } catch {
            return .failure(error)
        }
    }

    /// Returns the answer to a request, which may need a request to the provider.
    func answer(
        _ matter: LendRequest.Matter, _ call: Call, profiles: [String]
    ) -> Result<JSONObject, OIDCError> {
        if let stored = storedAnswer(matter, call, profiles: profiles) { return stored }
        return Result { () throws(OIDCError) in
            var call = call
            call.purpose = purpose(of: matter)
            let account = try account(call)
            switch matter {
            case .terms: return JSONObject()
            case .accessToken(let scope, let minimumValidity, let isRenewed, let refused):
                let wish = Wish(
                    scope: scope, minimumValidity: minimumValidity, isRenewed: isRenewed, refused: refused)
                return try members(account, try token(of: account, wish, call), profiles)
            case .idToken(let minimumValidity, let isRenewed):
                return members(try idToken(of: account, minimumValidity, isRenewed, call))
            case .proof(let method, let url, let nonce, let token):
                var object = JSONObject()
                object["proof"] = .string(try proof(account, method, url, nonce, token))
                return object
            }
        }
    }

    // MARK: Answers

    private func members(
        _ account: Account, _ session: Session?, _ profiles: [String]
    ) throws(OIDCError) -> JSONObject {
        try terms(account, session, profiles).json.object ?? JSONObject()
    }

    private func members(
        _ account: Account, _ delivery: SessionTokens.Delivery, _ profiles: [String]
    ) throws(OIDCError) -> JSONObject {
        var object = try members(account, delivery.session, profiles)
        object["access"] = delivery.access.lent(at: Clock.now())
        return object
    }

    private func members(_ token: IDToken) -> JSONObject {
        var object = JSONObject()
        object["id_token"] = .string(token.compact)
        return object
    }

    // MARK: The provider

    private func spend(_ call: Call) {
        guard let caller = call.caller else { return }
        memory.withLock { $0.budget.spend(caller, call.purpose, at: .now()) }
    }

    /// Returns the purpose of the request to the provider if no stored token can answer this request.
    private func purpose(of matter: LendRequest.Matter) -> LendBudget.Purpose {
        switch matter {
        case .terms, .proof: return .own
        case .accessToken(let scope, _, let isRenewed, let refused):
            let isOwn = scope.map { $0.isEmpty || $0 == conditions.scope } ?? true
            return isOwn && !isRenewed && refused == nil ? .own : .chosen
        case .idToken(_, let isRenewed): return isRenewed ? .chosen : .own
        }
    }

    /// Runs `body`, which sends a request to the provider, if the caller's budget allows that. If the
    /// provider is unreachable, all requests that arrived before the failure fail with it: they do not wait
    /// for the provider again, and do not present the refresh token again.
    private func asking<Value>(
        _ call: Call, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        let known = memory.withLock { memory in
            memory.failure.flatMap { call.arrivedAt < $0.moment ? $0.error : nil }
        }
        if let known { throw known }
        if let caller = call.caller,
            !memory.withLock({ $0.budget.allows(caller, call.purpose, at: .now()) })
        {
            throw Loan.exhausted
        }
        do throws(OIDCError) { return try body() } catch {
            if error.kind == .unreachable { memory.withLock { $0.failure = (error, .now()) } }
            throw error
        }
    }

    private static let exhausted = OIDCError(
        .unreachable, "too many tokens were requested within a minute", stage: .token, retryAfter: 60)

    // MARK: Tokens

    private func demand(
        of account: Account, _ wish: Wish
    ) throws(OIDCError) -> (demand: TokenDemand, narrowed: Scope?) {
        var demand = account.demand(minimumValidity: max(wish.minimumValidity, conditions.minimumValidity))
        let narrowed = try narrowed(wish.scope, account)
        if account.key.grant.needsUser, let narrowed { demand.scope = narrowed }
        return (demand, narrowed)
    }

    /// Returns a token without a request to the provider; nil if there is none.
    private func storedToken(
        of account: Account, _ wish: Wish, _ call: Call
    ) throws(OIDCError) -> SessionTokens.Delivery? {
        let (demand, narrowed) = try demand(of: account, wish)
        var found = try account.freshToken(demand)
        if found == nil { found = try unstored(account, narrowed, demand) }
        guard let delivery = found, delivery.access.token != wish.refused else { return nil }
        // A token that was obtained while this request waited is new enough.
        let isNew = memory.withLock { memory in
            memory.obtained.map { $0.token == delivery.access.token && call.arrivedAt < $0.moment } ?? false
        }
        guard isNew || !wish.isRenewed else { return nil }
        touch(narrowed)
        return try checked(delivery, narrowed)
    }

    private func token(
        of account: Account, _ wish: Wish, _ call: Call
    ) throws(OIDCError) -> SessionTokens.Delivery {
        let (demand, narrowed) = try demand(of: account, wish)
        let delivery = try asking(call) { () throws(OIDCError) in
            let session = try account.load()
            let current = session.flatMap { $0.accessToken(from: $0.source(for: demand)) }
            guard wish.isRenewed || wish.refused != nil && wish.refused == current?.token else {
                return try account.token(demand)
            }
            if session != nil, account.key.grant.needsUser {
                do throws(OIDCError) { try account.checkServer() } catch {
                    spend(call)
                    throw error
                }
            }
            let refusal: SessionTokens.Refusal =
                wish.isRenewed ? .of(current) : current.map { .refused($0) } ?? .none
            return try account.refreshed(demand, loaded: session, refusing: refusal)
        }
        keep(delivery, account, demand, narrowed)
        note(narrowed, account)
        return try checked(delivery, narrowed)
    }

    /// Returns a token that the session does not store, if it is fresh and the session still exists.
    private func unstored(
        _ account: Account, _ narrowed: Scope?, _ demand: TokenDemand
    ) throws(OIDCError) -> SessionTokens.Delivery? {
        guard let kept = memory.withLock({ $0.unstored.first { $0.scope == narrowed }?.delivery }),
            kept.access.isFresh(at: Clock.now(), minimum: demand.minimumValidity)
        else { return nil }
        guard let session = try account.load() else { return account.key.grant.needsUser ? nil : kept }
        return session.createdAt == kept.session.createdAt ? kept : nil
    }

    private func keep(
        _ delivery: SessionTokens.Delivery, _ account: Account, _ demand: TokenDemand, _ narrowed: Scope?
    ) {
        let session = (try? account.load()) ?? nil
        let isStored =
            session.flatMap { $0.accessToken(from: $0.source(for: demand)) }?.token == delivery.access.token
        memory.withLock { memory in
            memory.obtained = (delivery.access.token, .now())
            memory.unstored.removeAll { $0.scope == narrowed }
            if !isStored { memory.unstored.append((narrowed, delivery)) }
        }
    }

    /// Records that a token of a scope was obtained. If there are too many, removes that of the scope that
    /// was requested least recently, as the session also stores its owner's tokens.
    private func note(_ narrowed: Scope?, _ account: Account) {
        guard let narrowed else { return }
        let excess: Scope? = memory.withLock { memory in
            memory.scopes.removeAll { $0 == narrowed }
            memory.scopes.append(narrowed)
            guard memory.scopes.count > Loan.scopeLimit else { return nil }
            let first = memory.scopes.removeFirst()
            memory.unstored.removeAll { $0.scope == first }
            return first
        }
        guard let excess, account.key.grant.needsUser else { return }
        var demand = account.demand()
        demand.scope = excess
        // If this fails, the session's own limit drops the token later.
        try? account.store.withLock(account.key, LockWait(limit: .zero)) { () throws(OIDCError) in
            guard let current = try account.store.load(account.key) else { return }
            var rest = current
            rest.removeToken(from: current.source(for: demand))
            if rest != current { _ = try account.store.replace(current, with: rest) }
        }
    }

    /// Records that a scope was requested again.
    private func touch(_ narrowed: Scope?) {
        memory.withLock { memory in
            guard let index = memory.scopes.firstIndex(where: { $0 == narrowed }) else { return }
            memory.scopes.append(memory.scopes.remove(at: index))
        }
    }

    // MARK: ID tokens

    private func storedIDToken(
        of account: Account, _ minimumValidity: Int64
    ) throws(OIDCError) -> IDToken? {
        guard let token = try account.storedIDToken().token else { return nil }
        let minimum = max(minimumValidity, conditions.minimumValidity)
        if account.isFresh(token, minimum) { return token }
        // A refresh has not replaced this one.
        let isLast = memory.withLock { $0.lastIDToken == token.compact }
        return isLast && token.expiresAt > Clock.now() ? token : nil
    }

    private func idToken(
        of account: Account, _ minimumValidity: Int64, _ isRenewed: Bool, _ call: Call
    ) throws(OIDCError) -> IDToken {
        let before = try account.storedIDToken().token
        let token = try asking(call) { () throws(OIDCError) in
            try account.idToken(
                minimumValidity: max(minimumValidity, conditions.minimumValidity), forced: isRenewed)
        }
        if token.compact == before?.compact { memory.withLock { $0.lastIDToken = token.compact } }
        return token
    }

    // MARK: Conditions

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
    private func checked(
        _ delivery: SessionTokens.Delivery, _ narrowed: Scope?
    ) throws(OIDCError) -> SessionTokens.Delivery {
        guard !delivery.session.isBoundToCertificate(delivery.access) else {
            throw .usage(
                "the token of profile \(DisplayText.clean(name)) is bound to the client certificate, which stays here: "
                    + "it cannot be lent")
        }
        if let narrowed {
            for scope in [delivery.access.scope, delivery.access.claimedScope].compactMap({ $0 })
            where !scope.isSubset(of: narrowed) {
                throw OIDCError(
                    .refused,
                    "the provider does not narrow the scope: asked for \(DisplayText.quoted(narrowed.text)), the token is "
                        + "for \(DisplayText.quoted(scope.text))", stage: .token)
            }
        }
        if delivery.access.type == .dpop, let key = try delivery.session.dpopKey(of: delivery.access) {
            remember(delivery.access.token, key)
        }
        return delivery
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
        // A sign-out here also ends the proofs.
        guard let session = try account.load() else { throw account.noSession }
        guard let key = memory.withLock({ memory in memory.bound.last { $0.token == token }?.key }) else {
            throw OIDCError(.refused, "a proof is signed only for a token that was lent here", stage: .token)
        }
        try LentProof(account, session, try discoveredEndpoints(account)).check(url)
        let environment = try account.provider.environment()
        return try key.proof(
            method: method, url: url, accessToken: token.revealed, nonce: nonce, now: environment.now(),
            random: environment.random)
    }

    /// Returns the endpoints in the metadata of the account's provider.
    private func discoveredEndpoints(_ account: Account) throws(OIDCError) -> [WebURL] {
        let (provider, now) = (account.key.provider, MonotonicTime.now())
        var known = memory.withLock { $0.endpoints }
        defer { memory.withLock { $0.endpoints = known } }
        return try known.urls(of: provider, at: now) { () throws(OIDCError) in
            let provider = account.provider
            let metadata = try provider.metadata(try provider.environment(), for: ProviderEndpoint.allCases)
            return LentProof.withoutProof.compactMap { metadata[$0] }
        }
    }

    // MARK: Terms

    private func terms(
        _ account: Account, _ session: Session?, _ profiles: [String]
    ) throws(OIDCError) -> LentTerms {
        let now = Clock.now()
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

    /// Returns the settings that the far side needs: provider and client, the origins that may get the token,
    /// and those for other programs.
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
        // The token of a resource is only for the resource and what is below it.
        object[Setting.resource.name] = [.string(target.link.resource)]
        object[Setting.resources.name] = [
            ["title": .string(target.link.resource), "url": .string(target.link.resource)]
        ]
        return object
    }
}

/// The endpoints in a provider's metadata. They are kept for ten minutes, as every request to an API may need a proof, and
/// longer while the provider does not answer.
struct KnownEndpoints {
    private var provider = ""
    private var urls: [WebURL] = []
    /// The time until which the URLs are used; nil if there are none.
    private var end: MonotonicTime?
    /// The last failure to get the first ones, and the time until which it is the answer.
    private var failure: (error: OIDCError, end: MonotonicTime)?

    private static let seconds: Int64 = 600
    private static let failureSeconds: Int64 = 10

    /// Returns the endpoints of a provider; asks for them if they are not known.
    mutating func urls(
        of provider: String, at now: MonotonicTime, _ ask: () throws(OIDCError) -> [WebURL]
    ) throws(OIDCError) -> [WebURL] {
        if self.provider != provider { self = KnownEndpoints() }
        self.provider = provider
        if let end, now < end { return urls }
        if let failure, now < failure.end { throw failure.error }
        do throws(OIDCError) { urls = try ask() } catch {
            guard [.unreachable, .timedOut].contains(error.kind) else { throw error }
            if end == nil {
                failure = (error, now.adding(seconds: KnownEndpoints.failureSeconds))
                throw error
            }
        }
        failure = nil
        end = now.adding(seconds: KnownEndpoints.seconds)
        return urls
    }
}

/// The URLs that a lender signs proofs for.
struct LentProof {
    private let account: Account
    private let session: Session
    private let allowed: AllowedOrigins
    /// The endpoints that a token is never for.
    private let endpoints: [WebURL]

    /// The longest path; most servers take less.
    private static let pathLimit = 16_384

    /// The kinds of endpoints that get no proof: all but UserInfo.
    static let withoutProof = ProviderEndpoint.allCases.filter { $0 != .userInfo }

    /// `discovered` are the endpoints in the provider's metadata.
    init(_ account: Account, _ session: Session, _ discovered: [WebURL]) throws(OIDCError) {
        self.account = account
        self.session = session
        let provider = account.provider
        allowed = try AllowedOrigins(provider, session, naming: [])
        let stored = session.endpoints
        let configured = LentProof.withoutProof.map {
            provider.settings.provider.endpoint($0).flatMap { WebURL($0) }
        }
        endpoints =
            ([stored.token, stored.refresh, stored.revocation, stored.introspection, stored.endSession]
            + configured).compactMap { $0 } + discovered
    }

    /// Refuses a URL that the profile's token may not go to, and every endpoint of the provider but UserInfo: a proof
    /// there could bind a new token, or register a client (RFC 9449 §5, §10; RFC 7591).
    func check(_ url: WebURL) throws(OIDCError) {
        let shown = DisplayText.clean(url.withoutQuery)
        let isForbidden = OIDCError(.refused, "no proof is signed for \(shown)", stage: .resource)
        // Reading a path takes time, for which the proofs of others wait.
        guard url.path.utf8.count <= LentProof.pathLimit, !url.hasDotSegments else { throw isForbidden }
        if let target = account.provider.target {
            guard target.covers(url) else { throw isForbidden }
        } else if session.endpoints.userInfo.map({ $0.withoutQuery == url.withoutQuery }) == true {
            return
        } else {
            guard allowed.contains(url) else { throw isForbidden }
        }
        guard providerOrigins.contains(url.origin) else { return }
        // Apart from the provider's own endpoints, only URLs that the profile names are allowed.
        let isNamed =
            account.provider.target != nil
            || account.provider.settings.tools.resources.contains { resource in
                !resource.url.pathWithoutLastSlash.isEmpty
                    && ResourceIdentifier(resource.url.withoutQuery)?.covers(url) == true
            }
        guard isNamed, !url.mayBeRead(asOneOf: endpoints) else { throw isForbidden }
    }

    private var providerOrigins: Set<String> {
        let issuer = [session.endpoints.issuer, session.key.provider].map { $0.flatMap { WebURL($0) } }
        return Set((issuer + endpoints).compactMap { $0?.origin })
    }
}

extension WebURL {
    /// Returns whether a server may read this URL as one of the others, apart from the query.
    func mayBeRead(asOneOf others: [WebURL]) -> Bool {
        let segments = PathReadings(path).lenientSegments
        return others.contains { $0.origin == origin && PathReadings($0.path).lenientSegments == segments }
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
