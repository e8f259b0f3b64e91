import Synchronization

/// A program that nobody waits for: a thread of its own sees its end, so it leaves no zombie behind however
/// long it runs.
final class WatchedChild: Sendable {
    private let ended = Mutex<ExitStatus?>(nil)

    init(_ child: Child) throws(Errno) {
        try BackgroundThread { [self] in
            let status = child.awaitEnd()
            ended.withLock { $0 = status }
        }.detach()
    }

    /// Nil while it runs.
    var status: ExitStatus? { ended.withLock { $0 } }
}
