import CPlatform
import OIDCCore

/// The postponement of signals while a request redeems a single-use secret.
struct CurlPostponement {
    private let limits: CurlChannel.Limits
    private var isActive = false
    private var isReported = false

    init(_ limits: CurlChannel.Limits) {
        self.limits = limits
    }

    mutating func begin() {
        guard limits.isAwaitedOnceSent, !isActive else { return }
        isActive = true
        oidc_postpone_interruptions()
    }

    /// Reports a signal that has to wait, once.
    mutating func reportSignal() {
        guard isActive, !isReported, Interruption.recorded != nil else { return }
        isReported = true
        limits.configuration.onPostponedSignal?()
    }

    /// Ends the postponement. If the caller opened a scope, it lasts until the caller has saved the answer.
    mutating func end() {
        guard isActive else { return }
        isActive = false
        oidc_end_postponement(1)
    }
}
