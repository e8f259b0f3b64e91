import CPlatform
package import OIDCCore

/// The recorded signals SIGINT, SIGTERM and SIGHUP. The handler only records them, so every wait can end at
/// once and clean up.
///
/// A second signal, half a second or more after the first, ends the process. Other signals that end a
/// process, such as SIGQUIT, are recorded only while a thread postpones them.
package enum Interruption {
    /// Starts recording. Signals that were ignored at the start stay ignored.
    package static func install() throws(OIDCError) {
        let code = oidc_record_interruptions()
        guard code == 0 else {
            throw OIDCError(
                .failed, "signals cannot be recorded: \(Errno(code))", hint: Errno(code).shortageHint)
        }
    }

    /// The number of the first signal; nil if there is none, or while this thread postpones it.
    package static var pending: Int32? { isPostponed ? nil : recorded }

    /// The number of the first signal, postponed or not.
    package static var recorded: Int32? {
        let number = oidc_recorded_interruption()
        return number == 0 ? nil : number
    }

    /// A descriptor that is readable after the first signal; nil before `install`, and while this thread
    /// postpones signals.
    package static var wakeUpDescriptor: Int32? {
        let descriptor = oidc_interruption_descriptor()
        return descriptor < 0 || isPostponed ? nil : descriptor
    }

    /// Returns whether a signal is ignored, as under `nohup`.
    package static func isIgnored(_ signal: Int32) -> Bool { oidc_is_ignored(signal) != 0 }

    package static func throwIfPending() throws(OIDCError) {
        if let pending { throw error(signal: pending) }
    }

    package static func error(signal: Int32) -> OIDCError {
        OIDCError(.interrupted, "interrupted by \(name(ofSignal: signal))")
    }

    /// Forgets recorded signals and lets signals end the process again.
    package static func uninstall() {
        oidc_forget_interruptions()
    }

    /// Whether this thread currently postpones signals and cancellation.
    package static var isPostponed: Bool { oidc_interruptions_are_postponed() != 0 }

    /// Whether a thread postponed the first signal.
    package static var wasPostponed: Bool { oidc_interruption_was_postponed() != 0 }

    /// Ends the waits of all threads within a second, as a signal would, until `uninstall`.
    package static func begin() {
        oidc_interrupt(15)
    }

    /// Runs `body` to its end despite signals and cancellation, to save received data.
    package static func postponed<Value, Failure>(
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        postpone()
        defer { endPostponement() }
        return try body()
    }

    /// Postpones signals and cancellation on this thread, until `endPostponement` is called as often.
    package static func postpone() { oidc_postpone_interruptions() }

    package static func endPostponement() { oidc_end_postponement(0) }

    /// Runs `body`, which sends a request and saves its answer. Once it has sent a single-use secret
    /// (`HTTPRequest.redeemsSingleUseSecret`), neither a signal nor a cancellation ends it.
    package static func postponedOnceRedeeming<Value, Failure>(
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        oidc_begin_postponement_scope()
        defer { oidc_end_postponement_scope() }
        return try body()
    }

    static func name(ofSignal number: Int32) -> String {
        switch number {
        case 1: "SIGHUP"
        case 2: "SIGINT"
        case 3: "SIGQUIT"
        case 9: "SIGKILL"
        case 15: "SIGTERM"
        default: "signal \(number)"
        }
    }
}
