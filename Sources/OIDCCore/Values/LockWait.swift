/// The limits and callbacks of a wait for another process.
public struct LockWait {
    /// The time limit.
    public var limit: Duration
    /// Called once, after `noticeAfter`.
    public var onWaiting: () -> Void
    /// The time after which the wait is reported.
    public var noticeAfter: Duration
    /// Called twice a second and after a signal; if it returns true, the wait ends with an error of kind
    /// `interrupted`.
    public var isCancelled: () -> Bool

    /// Creates a wait with a time limit.
    public init(
        limit: Duration, noticeAfter: Duration = .seconds(1), onWaiting: @escaping () -> Void = {},
        isCancelled: @escaping () -> Bool
    ) {
        self.limit = limit
        self.noticeAfter = noticeAfter
        self.onWaiting = onWaiting
        self.isCancelled = isCancelled
    }
}
