import Dispatch
import OIDCCore
@testable import Posix
import Synchronization

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
/// seed alone. What has not started needs no thread, and one thread runs many bodies in turn.
///
/// Unchecked, because only the thread whose turn it is uses the state.
final class VirtualTime: @unchecked Sendable {
    /// A thread that runs bodies, and waits when it is not its turn.
    private final class Worker: @unchecked Sendable {
        let turn = DispatchSemaphore(value: 0)
        /// What to run when its turn comes; nil if it goes on with what it was doing.
        var body: (() -> Void)?
    }

    private enum Event {
        case resume(Worker)
        case start(() -> Void)
        case call(() -> Void)
    }

    private(set) var milliseconds: Int64 = 0
    private(set) var random: SeededRandom
    /// Whether a call of the scheduler runs, which must not wait.
    private(set) var isInCall = false
    /// The largest number of threads that were needed at once.
    private(set) var threads = 0
    private var events = Heap()
    private var number = 0
    private var idle: [Worker] = []
    private let end = DispatchSemaphore(value: 0)
    private var running: Worker?

    init(seed: UInt64) { random = SeededRandom(state: seed) }

    func below(_ bound: Int64) -> Int64 { Int64(random.next() % UInt64(max(1, bound))) }
    func happens(oneIn count: Int64) -> Bool { below(count) == 0 }

    /// Calls the body at a time, in the scheduler.
    func call(at time: Int64, _ body: @escaping () -> Void) { add(time, .call(body)) }

    /// Runs the body on a thread, from a time on.
    func start(at time: Int64, _ body: @escaping () -> Void) { add(time, .start(body)) }

    /// Lets the others go on until so many milliseconds have passed.
    func pause(_ duration: Int64) {
        guard let worker = running else { return }
        add(milliseconds + max(0, duration), .resume(worker))
        if next(after: worker) { worker.turn.wait() }
    }

    /// Runs all events.
    func run() {
        if next(after: nil) { end.wait() }
        // The threads end.
        for worker in idle { worker.turn.signal() }
        idle = []
    }

    private func add(_ time: Int64, _ event: Event) {
        number += 1
        events.add(Heap.Entry(time: time, number: number, event: event))
    }

    /// Gives the turn to whoever is next. Returns whether that is another thread than the caller's.
    private func next(after worker: Worker?) -> Bool {
        while let entry = events.take() {
            milliseconds = entry.time
            switch entry.event {
            case .resume(let other):
                running = other
                guard other !== worker else { return false }
                other.turn.signal()
                return true
            case .start(let body):
                let other = idle.popLast() ?? makeWorker()
                other.body = body
                running = other
                guard other !== worker else { return false }
                other.turn.signal()
                return true
            case .call(let body):
                isInCall = true
                body()
                isInCall = false
            }
        }
        running = nil
        if worker == nil { return false }
        end.signal()
        return true
    }

    private func makeWorker() -> Worker {
        let worker = Worker()
        threads += 1
        _ = try? BackgroundThread { [self] in
            worker.turn.wait()
            while let body = worker.body {
                worker.body = nil
                body()
                // This thread may be the next to run.
                idle.append(worker)
                if next(after: worker) { worker.turn.wait() }
            }
        }.detach()
        return worker
    }
}

extension VirtualTime {
    /// Events in the order of their times, then of their numbers.
    private struct Heap {
        struct Entry {
            let time: Int64
            let number: Int
            let event: Event
        }
        private var entries: [Entry] = []

        mutating func add(_ entry: Entry) {
            entries.append(entry)
            var child = entries.count - 1
            while child > 0, case let parent = (child - 1) / 2, isBefore(child, parent) {
                entries.swapAt(child, parent)
                child = parent
            }
        }

        mutating func take() -> Entry? {
            guard let first = entries.first else { return nil }
            let last = entries.removeLast()
            guard !entries.isEmpty else { return first }
            entries[0] = last
            var parent = 0
            while true {
                var least = parent
                let child = 2 * parent + 1
                if child < entries.count, isBefore(child, least) { least = child }
                if child + 1 < entries.count, isBefore(child + 1, least) { least = child + 1 }
                guard least != parent else { return first }
                entries.swapAt(parent, least)
                parent = least
            }
        }

        private func isBefore(_ left: Int, _ right: Int) -> Bool {
            (entries[left].time, entries[left].number) < (entries[right].time, entries[right].number)
        }
    }
}
