import CPlatform
import OIDCCore
import Posix

/// The postponement of signals while a request redeems a single-use secret.
struct CurlPostponement {
    private let limits: CurlChannel.Limits
    private var isActive = false
    private var isReported = false

    init(_ limits: CurlChannel.Limits) {
        self.limits = limits
    }

    /// Postpones signals before a step that may send the secret: SIGQUIT right after the last byte would end
    /// the process, and lose the answer.
    mutating func prepare() {
        guard limits.isAwaitedOnceSent, !isActive else { return }
        isActive = true
        oidc_postpone_interruptions()
    }

    /// Ends the postponement again if the step has not sent the secret.
    mutating func settle(isSent: Bool) {
        guard isActive, !isSent else { return }
        isActive = false
        oidc_end_postponement(0)
    }

    /// Reports a signal that has to wait, once.
    mutating func reportSignal() {
        guard isActive, !isReported, Interruption.recorded != nil else { return }
        isReported = true
        limits.configuration.onPostponedSignal?()
    }

    /// Ends the postponement. If the caller opened a scope, it ends with the scope, once the answer is saved.
    mutating func end() {
        guard isActive else { return }
        isActive = false
        oidc_end_postponement(1)
    }
}
