package import OIDCCore
import Posix

/// A sign-in that another process began, finished with the URL that the browser was redirected to.
package struct RedirectedURL {
    package let flow: SignInFlow
    package let code: AuthorizationCode

    package init(flow: SignInFlow, code: AuthorizationCode) {
        self.flow = flow
        self.code = code
    }

    /// Redeems the code. `keep` stores the session.
    package func run(
        keep: (SignInFlow.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> SignInFlow.Outcome {
        try Interruption.postponedOnceRedeeming { () throws(OIDCError) in
            let outcome = try flow.finish(code)
            try flow.store(outcome, with: keep)
            return outcome
        }
    }
}
