import OIDCCore
import Posix
import Synchronization

/// Runs blocking work on its own thread, outside the cooperative pool. If the task is canceled, `isCancelled`
/// returns true from then on.
func blocking<Value: Sendable>(
    _ work: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws(OIDCError) -> Value
) async throws(OIDCError) -> Value {
    let flag = CancellationFlag()
    let result: Result<Value, OIDCError> = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
            let failure = startThread {
                continuation.resume(returning: Result { () throws(OIDCError) in try work { flag.isRaised } })
            }
            if let failure { continuation.resume(returning: .failure(failure)) }
        }
    } onCancel: {
        flag.raise()
    }
    return try result.get()
}

/// Runs `body` on its own thread; returns an error if no thread can be started.
private func startThread(_ body: @escaping @Sendable () -> Void) -> OIDCError? {
    do throws(Errno) {
        try BackgroundThread(body).detach()
        return nil
    } catch {
        return OIDCError(.failed, "no thread: \(error)")
    }
}

final class CancellationFlag: Sendable {
    private let value = Atomic(false)

    var isRaised: Bool { value.load(ordering: .relaxed) }

    func raise() { value.store(true, ordering: .relaxed) }
}
