import Foundation
import Synchronization
package import Testing

/// For suites whose tests wait for other processes: a few suites run at once, each on a thread of its own.
///
/// Tests block while they wait, so they stay off the threads of Swift concurrency. Use it with `.serialized`: a test
/// then starts when the one before it ends, and the time printed for it is its own. A test that expects a process to
/// exit takes it too: until its task goes on, Swift Testing looks for ended processes without a pause.
package struct WaitingTrait: SuiteTrait, TestTrait, TestScoping {
    /// Suites that run at once. Most of the time a test waits, so two cores take more than two.
    private static let limit = 8
    private static let threads = WaitingThreads(count: limit)
    private static let turns = Turns(limit)

    /// Starts before shorter suites, so no long suite is left to run on its own at the end.
    let isLong: Bool

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await WaitingTrait.turns.take(first: isLong)
        defer { WaitingTrait.turns.give() }
        try await withTaskExecutorPreference(WaitingTrait.threads) { try await function() }
    }
}

extension Trait where Self == WaitingTrait {
    package static var waiting: Self { WaitingTrait(isLong: false) }
    package static var waitingLong: Self { WaitingTrait(isLong: true) }
}

/// A semaphore that suspends tasks instead of blocking threads.
private final class Turns: Sendable {
    private struct State {
        var free: Int
        var first: [CheckedContinuation<Void, Never>] = []
        var others: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(free: count)) }

    func take(first: Bool) async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                if first { state.first.append(continuation) } else { state.others.append(continuation) }
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func give() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            if !state.first.isEmpty { return state.first.removeFirst() }
            if !state.others.isEmpty { return state.others.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
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
