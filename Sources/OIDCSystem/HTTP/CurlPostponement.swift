import CPlatform
import OIDCCore

/// The time in which a request that redeems a single-use secret is waited for.
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

    /// What was received has yet to be saved by whoever opened a scope for it.
    mutating func end() {
        guard isUnderWay else { return }
        isUnderWay = false
        oidc_end_postponement(1)
    }
}
