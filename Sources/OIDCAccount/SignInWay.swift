package import OIDCCore
import OIDCSignIn

/// A way to sign in a user. `keep` stores the session before the user is told.
package protocol SignInWay {
    func run(keep: (SignInFlow.Outcome) throws(OIDCError) -> Void) throws(OIDCError) -> SignInFlow.Outcome
}

extension BrowserSignIn: SignInWay {}
extension DeviceSignIn: SignInWay {}
extension RedirectedURL: SignInWay {}
