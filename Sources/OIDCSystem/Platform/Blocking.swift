public import OIDCCore
import Synchronization

/// Runs work that blocks on a thread of its own, off the cooperative pool. Cancelling the task is seen by the
/// work through the flag that it is given.
///
/// Emitted into its callers alone: a program that never awaits does not link the concurrency runtime, which
/// would cost it at every start.
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

/// Runs `body` on a thread of its own; returns the error if there can be none.
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
