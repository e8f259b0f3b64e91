import CPlatform
import OIDCCore

/// The postponement of signals while a request redeems a single-use secret.
struct CurlPostponement {
    private let limits: CurlChannel.Limits
    private var isUnderWay = false
    private var isTold = false

    init(_ limits: CurlChannel.Limits) {
        self.limits = limits
    }

    mutating func begin() {
        guard limits.isAwaitedOnceSent, !isUnderWay else { return }
        isUnderWay = true
        oidc_postpone_interruptions()
    }

    /// Reports a signal that has to wait, once.
    mutating func look() {
        guard isUnderWay, !isTold, Interruption.recorded != nil else { return }
        isTold = true
        limits.configuration.onPostponedSignal?()
    }

    /// Ends the postponement. If the caller opened a scope, it lasts until the caller has saved the answer.
    mutating func end() {
        guard isUnderWay else { return }
        isUnderWay = false
        oidc_end_postponement(1)
    }
}
