import OIDCCore
import Synchronization

/// A request for a device code that runs on its own thread, so a slow provider does not delay the rest of the
/// sign-in.
///
/// An abandoned request ends without effect: it obtains a code that is never shown, and no tokens.
final class DeviceCodeRequest: Sendable {
    private let answer = Mutex<Result<DeviceAuthorization, OIDCError>?>(nil)

    /// Starts the request.
    init(_ flow: SignInFlow) throws(OIDCError) {
        do throws(Errno) {
            let thread = try BackgroundThread { [self] in
                let result = Result { () throws(OIDCError) in try flow.beginOnDevice() }
                answer.withLock { $0 = result }
            }
            thread.detach()
        } catch {
            throw OIDCError(
                .failed, "no thread for the request: \(error)", hint: error.startHint,
                stage: .deviceAuthorization)
        }
    }

    /// The answer; nil if there is none yet.
    var result: Result<DeviceAuthorization, OIDCError>? { answer.withLock { $0 } }
}
