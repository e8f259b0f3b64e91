#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The wait for descriptors; nothing else in this program sleeps.
package enum Poll {
    package struct Direction: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        package static let reading = Direction(rawValue: 1)
        package static let writing = Direction(rawValue: 2)
    }

    /// A descriptor, with the awaited and the actual events.
    package struct Interest: Hashable, Sendable {
        package let descriptor: Int32
        package let direction: Direction
        /// The events that occurred. A closed connection also counts; the next read or write reports it.
        package fileprivate(set) var ready: Direction = []

        package init(_ descriptor: Int32, _ direction: Direction) {
            self.descriptor = descriptor
            self.direction = direction
        }
    }

    /// Waits until a descriptor is ready, a signal comes or the deadline passes. Returns whether a descriptor
    /// is ready.
    @discardableResult
    package static func wait(_ interests: inout [Interest], until deadline: MonotonicTime?) -> Bool {
        var entries = interests.map { interest in
            var events: Int32 = 0
            if interest.direction.contains(.reading) { events |= Int32(POLLIN) }
            if interest.direction.contains(.writing) { events |= Int32(POLLOUT) }
            return pollfd(fd: interest.descriptor, events: Int16(events), revents: 0)
        }
        let timeout = deadline.map { Int32(clamping: $0.milliseconds(from: .now())) } ?? -1
        let count = poll(&entries, nfds_t(entries.count), timeout)
        for index in interests.indices {
            interests[index].ready = count > 0 ? ready(entries[index], interests[index].direction) : []
        }
        return count > 0
    }

    /// Returns whether the peer of a Unix socket has closed it, and not only its sending side.
    package static func isClosed(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&entry, 1, 0) > 0 && Int32(entry.revents) & Int32(POLLERR | POLLHUP) != 0
    }

    /// Waits for one descriptor and returns whether it is ready. A signal ends the wait, unless `isInterruptible` is
    /// false.
    @discardableResult
    package static func wait(
        for descriptor: Int32, _ direction: Direction, until deadline: MonotonicTime?,
        isInterruptible: Bool = true
    ) -> Bool {
        var interests = [Interest(descriptor, direction)]
        if isInterruptible, let wakeUp = Interruption.wakeUpDescriptor {
            interests.append(Interest(wakeUp, .reading))
        }
        wait(&interests, until: deadline)
        return !interests[0].ready.isEmpty
    }

    /// Returns whether a descriptor is ready now.
    package static func isReady(_ descriptor: Int32, _ direction: Direction) -> Bool {
        wait(for: descriptor, direction, until: .now(), isInterruptible: false)
    }

    /// Sleeps until the deadline or a signal.
    package static func sleep(until deadline: MonotonicTime) {
        var interests = Interruption.wakeUpDescriptor.map { [Interest($0, .reading)] } ?? []
        wait(&interests, until: deadline)
    }

    /// Sleeps until the deadline or the next signal. Signals that came before are ignored.
    package static func pause(until deadline: MonotonicTime) {
        var nothing: [Interest] = []
        wait(&nothing, until: deadline)
    }

    private static func ready(_ entry: pollfd, _ wanted: Direction) -> Direction {
        let events = Int32(entry.revents)
        if events & Int32(POLLERR | POLLHUP | POLLNVAL) != 0 { return wanted }
        var ready: Direction = []
        if events & Int32(POLLIN) != 0 { ready.insert(.reading) }
        if events & Int32(POLLOUT) != 0 { ready.insert(.writing) }
        return ready
    }
}
