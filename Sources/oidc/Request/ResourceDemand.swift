import OIDCCore
import OIDCAccount
import OIDCSessions
import Posix

/// The demand in a resource's response: a new sign-in, more scope, or a stronger or more recent sign-in.
struct ResourceDemand {
    /// The session whose token was refused.
    var session: Session?
    /// The response; nil if no request was sent.
    var head: HTTPResponse?
    /// The token that was sent, which the response may repeat.
    var secrets = WithheldSecrets()
    /// The scope to request, which includes the session's; nil if the search chooses it.
    var scope: Scope?
    var stepUp: StepUp?
    var hasRefetched = false
    /// Whether the refused token lacks scope that the session's own token has.
    var isMetByOwnToken = false
    /// The URL that answered, which may be outside the profile's origins.
    var url: WebURL?
    /// Whether the resource refused a token of the profile, and names a server of its own (RFC 9728 §5.1).
    var leadsElsewhere = false

    /// Creates the demand for a session without a token, after the last answer.
    init(session: Session?, after answer: ResourceCall.Answer?) {
        self.session = session
        head = answer?.head
        secrets = answer?.delivery?.secrets ?? WithheldSecrets()
        hasRefetched = head != nil
    }

    /// Parses a response; returns nil if no sign-in can help. A 401 counts only if the token is for this
    /// resource, or if `operand` can lead to its own server: other APIs may refuse it for their own reasons.
    init?(
        _ answer: ResourceCall.Answer, of account: Account, _ operand: ResourceOperand?
    ) {
        guard let delivery = answer.delivery, answer.head.status == 401 || answer.head.status == 403,
            let challenge = try? ResourceChallenge(answer.head),
            // A proof with this nonce was already refused; a new session's would be too.
            !DPoP.isNonceDemand(resourceResponse: answer.head)
        else { return nil }
        session = delivery.session
        head = answer.head
        url = answer.url
        secrets = delivery.secrets
        hasRefetched = delivery.isServerChecked
        stepUp = challenge.stepUp
        let isOfResource = account.provider.target != nil
        guard challenge.isScopeInsufficient || stepUp != nil else {
            leadsElsewhere = !isOfResource && operand != nil && challenge.metadataURL != nil
            guard answer.head.status == 401, isOfResource || leadsElsewhere else { return nil }
            return
        }
        let session = delivery.session
        guard stepUp != nil || ResourceDemand.namesMore(challenge, than: delivery) else { return nil }
        scope = try? ScopeChoice.stepUp(
            requested: session.requestedScope, granted: session.grantedScope, challenge: challenge)
        if let needed = challenge.scope, let granted = session.grantedScope, challenge.isScopeInsufficient {
            isMetByOwnToken =
                delivery.access.token != session.tokens.access.token && granted.missing(from: needed).isEmpty
        }
    }

    /// Returns whether a challenge names scope that the token lacks. RFC 6750 §3 leaves it to the resource to name
    /// any; Spring Security 7.1 names none (2026-11). A sign-in for what the session has would change nothing.
    private static func namesMore(
        _ challenge: ResourceChallenge, than delivery: SessionTokens.Delivery
    ) -> Bool {
        guard let needed = challenge.scope, !needed.isEmpty else { return false }
        let session = delivery.session
        guard delivery.access.token == session.tokens.access.token else { return true }
        return session.grantedScope.map { !needed.isSubset(of: $0) } ?? true
    }

    /// The evidence for the search that the sign-in starts with.
    var evidence: ResourceOperand.Evidence {
        ResourceOperand.Evidence(
            response: head?.withoutFields(repeating: secrets),
            isRefetching: head?.status == 401 && !hasRefetched, scope: scope)
    }

    /// The settings of a stronger or more recent sign-in (RFC 9470 §3).
    var entries: [SettingLayers.Entry] {
        guard let stepUp else { return [] }
        let origin = SettingLayers.Origin.challenge
        var entries: [SettingLayers.Entry] = []
        if let values = stepUp.acrValues {
            entries.append(SettingLayers.Entry(setting: .acrValues, value: .string(values), origin: origin))
        }
        if let age = stepUp.maxAge, let value = Setting.maxAge.kind.normalized(JSONValue(age)) {
            entries.append(SettingLayers.Entry(setting: .maxAge, value: value, origin: origin))
        }
        if entries.isEmpty {
            entries.append(SettingLayers.Entry(setting: .prompt, value: "login", origin: origin))
        }
        return entries
    }

    /// Returns the account to continue with: after a sign-in, or, if the grant needs no user, after another
    /// search.
    func nextAccount(
        after account: Account, _ operand: ResourceOperand?
    ) throws(OIDCError) -> Account {
        do throws(OIDCError) {
            guard account.key.grant.needsUser else {
                guard let operand else { throw account.noSession }
                return try Account(try operand.resolved(evidence))
            }
            return try signedIn(account, operand)
        } catch {
            throw error.withholding(secrets)
        }
    }

    /// Asks the user if a URL outside the profile's origins would get a token with more scope: the profile's client signs
    /// in for it, and the browser may answer by itself.
    private func confirm(_ scope: Scope, _ account: Account) throws(OIDCError) {
        let (provider, settings) = (account.provider, account.provider.settings)
        let requested = session?.requestedScope ?? Scope("")
        guard let url, !settings.isScopeAnOption, !scope.isSubset(of: requested), !settings.lists(url),
            !(try AllowedOrigins(provider, session, naming: []).contains(url))
        else { return }
        let question = ScopeQuestion(
            asker: DisplayText.clean(url.withoutQuery), issuer: account.key.provider,
            clientID: account.key.clientID, scope: scope)
        try question.confirm(
            provider.context,
            orThrow: OIDCError(
                .loginRequired, "\(question.subject): sign in to allow it",
                hint: settings.loginLine.adding("--scope", scope.text), stage: .authorization))
    }

    /// Signs in as the response requires, once for all waiting processes.
    private func signedIn(
        _ account: Account, _ operand: ResourceOperand?
    ) throws(OIDCError) -> Account {
        if let operand, account.provider.target != nil || leadsElsewhere {
            return try operand.adding(entries).signedInOnDemand(
                evidence, replacing: session, key: account.key)
        }
        if let scope {
            try account.provider.settings.checkScope(scope)
            try confirm(scope, account)
        }
        var entries = self.entries
        if let scope {
            entries.append(
                SettingLayers.Entry(setting: .scope, value: .string(scope.text), origin: .challenge))
        }
        let provider = account.provider.adding(entries)
        var signIn = SignInOnDemand(
            provider: provider, account: try Account(provider, mayKeepNothing: true),
            earlier: session)
        signIn.takesAny = head != nil
        signIn.needed = scope
        return try signIn.run()
    }
}
