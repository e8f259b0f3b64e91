public import OIDCCore
import Posix
import Synchronization

/// Runs blocking work on its own thread, outside the cooperative pool. If the task is canceled, `isCancelled`
/// returns true from then on.
///
/// The function is emitted only into its callers, so a program that never awaits does not link the
/// concurrency runtime, which would slow down each of its starts.
@_alwaysEmitIntoClient
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
@usableFromInline
func startThread(_ body: @escaping @Sendable () -> Void) -> OIDCError? {
    do throws(Errno) {
        try BackgroundThread(body).detach()
        return nil
    } catch {
        return OIDCError(.failed, "no thread: \(error)")
    }
}

@usableFromInline
final class CancellationFlag: Sendable {
    private let value = Atomic(false)

    @usableFromInline
    init() {}

    @usableFromInline
    var isRaised: Bool { value.load(ordering: .relaxed) }

    @usableFromInline
    func raise() { value.store(true, ordering: .relaxed) }
}
