import OIDCCore
import OIDCAccount

/// A request to a resource, and the sign-ins that its responses require.
struct ResourceRequest {
    let call: ResourceCall
    var mayLogIn = false
    /// The resource as a URL operand, at whose own server --login may sign in; nil if options name the
    /// resource or the origin.
    var operand: ResourceOperand?

    /// The maximum number of sign-ins for one request.
    private static let roundLimit = 3

    /// Sends the request with a session's token.
    @discardableResult
    func run(_ account: Account) throws(OIDCError) -> Int32 {
        var progress = Progress(account: account)
        return try run(&progress)
    }

    /// Sends the request without a token first, because only its response names the server to sign in at.
    func runWithoutSession(_ operand: ResourceOperand) throws(OIDCError) -> Int32 {
        if operand.isForMachine {
            return try run(try Account(try operand.resolved()))
        }
        guard mayLogIn else { throw operand.notSignedIn }
        let reach = operand.reach
        var rules = ResourceCall.Rules()
        rules.isHeld = { answer in
            // Some resources answer a request without a token as one whose token lacks scope.
            let challenge = answer.head.status == 403 ? try? ResourceChallenge(answer.head) : nil
            let isScopeDemanded = challenge?.isScopeInsufficient == true && challenge?.metadataURL != nil
            return (answer.head.status == 401 || isScopeDemanded) && call.body.isRepeatable
        }
        let answer = try call.runWithoutToken(rules, try reach.transport())
        guard answer.isHeld else {
            guard answer.head.isSuccess else {
                throw ResourceRefusal(provider: reach, call: call, answer: answer).error
            }
            return 0
        }
        let evidence = ResourceOperand.Evidence(response: answer.head)
        var progress = Progress(
            account: try operand.signedInOnDemand(evidence, replacing: nil, key: nil), rounds: 1)
        return try run(&progress)
    }

    /// The state of a request between attempts.
    private struct Progress {
        var account: Account
        /// The number of sign-ins so far.
        var rounds = 0
        /// Whether to use the session's own token, although the settings name a narrower scope.
        var usesOwnToken = false
        /// The scope of the last sign-in.
        var requested: Scope?
    }

    private func run(_ progress: inout Progress) throws(OIDCError) -> Int32 {
        while true {
            let demand: ResourceDemand
            switch try attempt(progress) {
            case .done: return 0
            case .ownToken:
                progress.usesOwnToken = true
                continue
            case .demand(let found): demand = found
            }
            progress.rounds += 1
            progress.requested = demand.scope
            progress.usesOwnToken = true
            progress.account = try demand.nextAccount(after: progress.account, operand)
        }
    }

    private enum Attempt {
        case done
        /// The refused token lacks scope that the session's own token has.
        case ownToken
        case demand(ResourceDemand)
    }

    /// Sends the request once, or twice if the token is refreshed in between.
    private func attempt(_ progress: Progress) throws(OIDCError) -> Attempt {
        let account = progress.account
        let provider = account.provider
        let transport = try provider.transport()
        var rules = ResourceCall.Rules()
        var found: ResourceDemand?
        var last: ResourceCall.Answer?
        var isNarrow = false
        if let target = provider.target { rules.covers = { target.covers($0) } }
        rules.onAnswer = { last = $0 }
        rules.isHeld = { answer in
            found = ResourceDemand(answer, of: account, operand)
            guard let demand = found else { return false }
            isNarrow =
                !progress.usesOwnToken && demand.isMetByOwnToken && !provider.settings.isScopeAnOption
            return isNarrow || (maySignIn(progress, demand) && call.body.isRepeatable)
        }
        var demand = account.demand()
        if progress.usesOwnToken { demand.scope = nil }
        let request = ProtectedRequest(
            account, environment: provider.environment(over: transport), demand: demand,
            isRepeatable: call.body.isRepeatable)
        let answer: ResourceCall.Answer
        do throws(OIDCError) { answer = try call.run(request, rules, transport) } catch {
            guard error.kind == .loginRequired, mayFollow(progress, error) else { throw error }
            let answer = provider.target == nil ? nil : last
            return .demand(ResourceDemand(session: try? account.load(), after: answer))
        }
        if isNarrow { return .ownToken }
        if answer.isHeld, let found { return .demand(found) }
        guard !answer.head.isSuccess else { return .done }
        var refusal = ResourceRefusal(provider: provider, call: call, answer: answer)
        refusal.demand = found
        if found?.leadsElsewhere == true { refusal.loginLine = operand?.loginLine }
        refusal.rounds = progress.rounds
        throw refusal.error
    }

    /// Returns whether to sign in for a demand. Another sign-in for the same scope would not help.
    private func maySignIn(_ progress: Progress, _ demand: ResourceDemand) -> Bool {
        guard mayLogIn, progress.account.key.grant.needsUser, progress.rounds < Self.roundLimit else {
            return false
        }
        guard let scope = demand.scope, let requested = progress.requested else { return true }
        return demand.stepUp != nil || !scope.isSubset(of: requested)
    }

    /// Returns whether a sign-in or another search can follow an error about a missing session.
    private func mayFollow(_ progress: Progress, _ error: OIDCError) -> Bool {
        guard progress.rounds < Self.roundLimit, call.body.isRepeatable else { return false }
        return progress.account.key.grant.needsUser ? mayLogIn : error.stage == .resource && operand != nil
    }
}
