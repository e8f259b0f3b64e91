import Synchronization

/// Output for a reader that may be slow, or may not read at all. A thread of its own writes, so nobody else waits
/// for the reader. Text is kept up to a limit; of what comes then, only the latest is.
package final class Backlog: Sendable {
    private struct State {
        var pending: ArraySlice<UInt8> = []
        /// The latest text that found no room.
        var latest: String?
        /// The number of texts that found no room and were dropped for the latest.
        var dropped = 0
        var isWriting = false
        var failure: Errno?
    }

    private let descriptor: FileDescriptor
    /// The function that returns what is written instead of so many dropped texts.
    private let notice: @Sendable (Int) -> String
    private let state = Mutex(State())

    /// The maximum number of bytes that wait for the reader.
    private static let limit = 1 << 20
    /// The number of bytes that are written at once.
    private static let portion = 4_096

    package init(_ descriptor: FileDescriptor, notice: @escaping @Sendable (Int) -> String = { _ in "" }) {
        self.descriptor = descriptor
        self.notice = notice
    }

    /// The error of the last write that failed. What waited then was dropped.
    package var failure: Errno? { state.withLock { $0.failure } }

    /// Whether all there was is written.
    package var isWritten: Bool { state.withLock { !$0.isWriting } }

    /// Adds text. Returns false if there is no room for it, and only the latest of such texts is kept.
    @discardableResult
    package func add(_ text: String) -> Bool {
        let (hasRoom, isWriting) = state.withLock { state in
            defer { state.isWriting = true }
            return (add(text, to: &state), state.isWriting)
        }
        if !isWriting { start() }
        return hasRoom
    }

    private func add(_ text: String, to state: inout State) -> Bool {
        let count = state.pending.count + (state.latest?.utf8.count ?? 0) + text.utf8.count
        guard count <= Backlog.limit else {
            if state.latest != nil { state.dropped += 1 }
            state.latest = text
            return false
        }
        admitLatest(&state)
        state.pending += text.utf8
        return true
    }

    private func admitLatest(_ state: inout State) {
        guard let latest = state.latest else { return }
        if state.dropped > 0 { state.pending += notice(state.dropped).utf8 }
        state.pending += latest.utf8
        (state.latest, state.dropped) = (nil, 0)
    }

    /// Starts the thread that writes all there is. If there is no thread, the text waits for the next one.
    private func start() {
        do throws(Errno) {
            try BackgroundThread { [self] in while let portion = nextPortion() { write(portion) } }.detach()
        } catch {
            state.withLock { $0.isWriting = false }
        }
    }

    private func nextPortion() -> [UInt8]? {
        state.withLock { state in
            if state.pending.isEmpty { admitLatest(&state) }
            guard !state.pending.isEmpty else {
                state.isWriting = false
                return nil
            }
            let portion = Array(state.pending.prefix(Backlog.portion))
            state.pending = state.pending.dropFirst(portion.count)
            return portion
        }
    }

    private func write(_ portion: [UInt8]) {
        do throws(Errno) { try descriptor.writeAll(portion) } catch {
            state.withLock { state in
                (state.pending, state.latest, state.dropped) = ([], nil, 0)
                state.failure = error
            }
        }
    }

    /// Waits until everything is written, but no longer than this.
    package func finish(milliseconds: Int64) {
        let end = MonotonicTime.now().adding(milliseconds: milliseconds)
        while !isWritten, MonotonicTime.now() < end {
            Poll.pause(until: .now().adding(milliseconds: 5))
        }
    }
}
