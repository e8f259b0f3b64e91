/// The rule for sending a refused request again, as its answer asks: with a proof, another token or a new
/// sign-in. Each is done once, except a proof, which another token may need again.
package struct RetryRule: Hashable, Sendable {
    package enum Demand: Hashable, Sendable {
        /// The same request, with a proof that has this nonce (RFC 9449 §8, §9).
        case proof(nonce: String)
        /// A token in place of the one that was refused.
        case anotherToken
        /// A token from a sign-in that has more scope (RFC 6750 §3.1), is stronger or is more recent (RFC 9470 §3).
        case stepUp

        /// Reads a resource's answer; `isBound` is whether the request had a proof. Returns nil if the answer asks
        /// for nothing.
        package init?(_ response: HTTPResponse, isBound: Bool) {
            switch response.status {
            case 401:
                if isBound, DPoP.isNonceDemand(resourceResponse: response),
                    let nonce = DPoP.nonce(in: response)
                {
                    self = .proof(nonce: nonce)
                } else {
                    self.init(refusal: response.challenges)
                }
            case 403 where (try? ResourceChallenge(response))?.isScopeInsufficient == true: self = .stepUp
            default: return nil
            }
        }

        /// Reads the challenges to a token that is no longer accepted.
        package init(refusal challenges: [AuthenticationChallenge]) {
            self = StepUp(challenges) == nil ? .anotherToken : .stepUp
        }
    }

    /// The nonce for the next proof.
    package private(set) var nonce: String?
    private var mayProve: Bool
    private var mayRefresh: Bool
    private var mayStepUp: Bool

    package init(proves: Bool = true, refreshes: Bool = false, stepsUp: Bool = false) {
        mayProve = proves
        mayRefresh = refreshes
        mayStepUp = stepsUp
    }

    /// Returns whether a demand can still be met.
    package func allows(_ demand: Demand) -> Bool {
        switch demand {
        case .proof: mayProve
        case .anotherToken: mayRefresh
        case .stepUp: mayStepUp
        }
    }

    /// Records that a demand is being met. Another token may need a proof of its own.
    package mutating func use(_ demand: Demand) {
        switch demand {
        case .proof(let nonce):
            self.nonce = nonce
            mayProve = false
        case .anotherToken:
            mayRefresh = false
            mayProve = true
        case .stepUp:
            mayStepUp = false
            mayRefresh = false
            mayProve = true
        }
    }

    /// Allows another proof, as another request used up the nonce of the last one.
    package mutating func allowProof() { mayProve = true }

    /// Allows another refresh, as the token of the last one was not obtained by it.
    package mutating func allowRefresh() { mayRefresh = true }

    /// Records the nonce for another proof; throws if a proof was already repeated.
    mutating func prove(nonce: String, or refusal: @autoclosure () -> OIDCError) throws(OIDCError) {
        let demand = Demand.proof(nonce: nonce)
        guard allows(demand) else { throw refusal() }
        use(demand)
    }
}
