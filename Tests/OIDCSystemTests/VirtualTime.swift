import Dispatch
import OIDCCore
import Synchronization

@testable import OIDCSystem

/// A random generator that repeats itself for the same seed (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A clock that jumps from event to event. Threads take turns, in the order of their times, so a run depends on the
/// seed alone.
///
/// Unchecked, because only the thread whose turn it is uses the state.
final class VirtualTime: @unchecked Sendable {
    private enum Event {
        case resume(DispatchSemaphore)
        case call(() -> Void)
    }

    private(set) var milliseconds: Int64 = 0
    private(set) var random: SeededRandom
    /// Whether a call of the scheduler runs, which must not wait.
    private(set) var isInCall = false
    private var events: [(time: Int64, number: Int, event: Event)] = []
    private var number = 0
    private let turn = DispatchSemaphore(value: 0)

    init(seed: UInt64) { random = SeededRandom(state: seed) }

    func below(_ bound: Int64) -> Int64 { Int64.random(in: 0..<max(1, bound), using: &random) }
    func happens(oneIn count: Int64) -> Bool { below(count) == 0 }

    /// Calls the body at a time, in the scheduler.
    func call(at time: Int64, _ body: @escaping () -> Void) { add(time, .call(body)) }

    /// Runs the body on a thread of its own, from a time on.
    func start(at time: Int64, _ body: @escaping @Sendable () -> Void) {
        let semaphore = DispatchSemaphore(value: 0)
        add(time, .resume(semaphore))
        let turn = turn
        _ = try? BackgroundThread {
            semaphore.wait()
            body()
            turn.signal()
        }.detach()
    }

    /// Lets the others go on until so many milliseconds have passed.
    func pause(_ duration: Int64) {
        let semaphore = DispatchSemaphore(value: 0)
        add(milliseconds + max(0, duration), .resume(semaphore))
        turn.signal()
        semaphore.wait()
    }

    /// Runs all events.
    func run() {
        while let (time, _, event) = take() {
            milliseconds = time
            switch event {
            case .resume(let semaphore):
                semaphore.signal()
                turn.wait()
            case .call(let body):
                isInCall = true
                body()
                isInCall = false
            }
        }
    }

    private func add(_ time: Int64, _ event: Event) {
        number += 1
        events.append((time, number, event))
        var child = events.count - 1
        while child > 0, case let parent = (child - 1) / 2, isBefore(child, parent) {
            events.swapAt(child, parent)
            child = parent
        }
    }

    private func take() -> (time: Int64, number: Int, event: Event)? {
        guard let first = events.first else { return nil }
        let last = events.removeLast()
        guard !events.isEmpty else { return first }
        events[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < events.count && isBefore(child, least)
            {
                least = child
            }
            guard least != parent else { return first }
            events.swapAt(parent, least)
            parent = least
        }
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (events[left].time, events[left].number) < (events[right].time, events[right].number)
    }
}
