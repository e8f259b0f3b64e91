public import OIDCCore

/// What happens during a sign-in, for whoever tells the user.
public enum SignInNotice: Sendable {
    /// The address to sign in at; always reported.
    case address(WebURL)
    /// The browser was started.
    case opened
    /// It was not, or it ended at once.
    case notOpened(reason: String)
    /// Where the listener waits.
    case listening(port: UInt16)
    /// The redirected address can be pasted; `isOnlyWay` where no listener can receive it.
    case pasteOffered(isOnlyWay: Bool)
    /// The code to enter, and where (RFC 8628 §3.3).
    case device(DeviceAuthorization)
    /// A pasted URL that cannot be used, or a token request that failed for now; the sign-in continues.
    case warning(Warning)
    /// A request to the listener that was not the answer. Report the first callback among them; log the others.
    case turnedAway(TurnedAwayRequest)
    /// Once a second, with the seconds that are left and how much of an unfinished line was typed or pasted: on
    /// a terminal it is not echoed, as it holds a code.
    case waiting(secondsLeft: Int64, pastedCount: Int = 0)
    /// The person is back: the code is being redeemed.
    case answered
}
