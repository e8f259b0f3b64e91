package import LoopbackHTTP
package import OIDCCore

/// A sign-in whose first requests another process has made, which may also have bound the listener.
package struct BegunSignIn {
    /// The authorization request; nil if there is only a device code.
    package var pending: PendingAuthorization?
    package var device: DeviceAuthorization?
    package var listener: LoopbackListener?

    package init(
        pending: PendingAuthorization?, device: DeviceAuthorization?, listener: LoopbackListener? = nil
    ) {
        self.pending = pending
        self.device = device
        self.listener = listener
    }
}
