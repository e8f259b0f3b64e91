package import OIDCCore

/// An event of a sign-in, to be reported to the user.
package enum SignInNotice: Sendable {
    /// The URL to sign in at.
    case url(WebURL)
    /// The URL can be opened until this time only, as it refers to a pushed request (RFC 9126 §2.2). A new
    /// one follows: if `isRenewable`, when the user presses Enter, or else automatically.
    case urlExpires(at: Instant, isRenewable: Bool)
    /// The user asked to see all of the URL.
    case urlRequested(WebURL)
    /// The browser was started.
    case opened
    /// The browser was not started, or ended immediately.
    case notOpened(reason: String)
    /// Other sign-ins use all the ports of the redirect URL; the sign-in waits for one.
    case portsInUse([UInt16])
    /// The listener's port.
    case listening(port: UInt16)
    /// The redirected URL can be pasted; `isOnlyWay` if nothing else can finish the sign-in.
    case pasteOffered(isOnlyWay: Bool)
    /// The code to enter and the URL to enter it at (RFC 8628 §3.3).
    case device(DeviceAuthorization)
    /// The provider refused a device code, or the code has expired; the sign-in continues without it.
    case noDeviceCode(OIDCError)
    /// No answer has arrived for a while: the provider may have refused the redirect URL or the client on its
    /// own page. Reported once.
    case unanswered(redirectURL: String, clientID: String)
    /// This machine cannot connect to the page to sign in at; the user's browser may be on another one.
    case unreachable(OIDCError)
    /// A pasted URL that cannot be used, or a token request that failed for now; the sign-in continues.
    case warning(Warning)
    /// A request to the listener that was not the answer. Report the first callback among them; log the
    /// others.
    case strayRequest(StrayRequest)
    /// A second has passed. `pastedCount` is the length of an unfinished line of input, which is not echoed
    /// on a terminal, as it contains a code; nil if nothing can be pasted.
    case waiting(secondsLeft: Int64, pastedCount: Int?)
    /// The user has signed in; the code is being redeemed.
    case answered
}
