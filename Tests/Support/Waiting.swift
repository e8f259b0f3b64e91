import Foundation
import Synchronization
public import Testing

/// For suites whose tests wait for other processes: they run on threads of their own, and leave those of Swift
/// concurrency to the tests that compute.
public struct WaitingTrait: SuiteTrait, TestTrait, TestScoping {
    public var isRecursive: Bool { true }

    private static let threads = WaitingThreads(count: 8)

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(WaitingTrait.threads) { try await function() }
    }
}

extension Trait where Self == WaitingTrait {
    public static var waiting: Self { WaitingTrait() }
}

/// A few threads that take jobs in turn, and may block in them.
private final class WaitingThreads: TaskExecutor {
    private let queue: OperationQueue

    init(count: Int) {
        queue = OperationQueue()
        queue.maxConcurrentOperationCount = count
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedTaskExecutor()
        queue.addOperation { job.runSynchronously(on: executor) }
    }
}
