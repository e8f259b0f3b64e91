import CPlatform
public import OIDCCore

/// SIGINT, SIGTERM and SIGHUP: recorded, never acted upon inside the handler, so that every wait can end at
/// once and clean up. The third signal ends the process by itself.
public enum Interruption {
    /// Until then signals end the process as usual. A SIGHUP that was ignored at the start (`nohup`) stays so.
    public static func install() throws(OIDCError) {
        let code = oidc_record_interruptions()
        guard code == 0 else {
            throw OIDCError(.failed, "signals cannot be recorded: \(Errno(code))")
        }
    }

    /// The number of the first signal that came.
    public static var pending: Int32? {
        let number = oidc_recorded_interruption()
        return number == 0 ? nil : number
    }

    /// Readable from the first signal on, for `Poll`; nil before `install`.
    public static var wakeUpDescriptor: Int32? {
        let descriptor = oidc_interruption_descriptor()
        return descriptor < 0 ? nil : descriptor
    }

    public static func throwIfPending() throws(OIDCError) {
        if let pending { throw error(signal: pending) }
    }

    public static func error(signal: Int32) -> OIDCError {
        OIDCError(.interrupted, "interrupted by \(name(ofSignal: signal))")
    }

    /// Forgets what came and lets signals end the process again.
    public static func uninstall() {
        oidc_forget_interruptions()
    }

    static func name(ofSignal number: Int32) -> String {
        switch number {
        case 1: "SIGHUP"
        case 2: "SIGINT"
        case 9: "SIGKILL"
        case 15: "SIGTERM"
        default: "signal \(number)"
        }
    }
}
