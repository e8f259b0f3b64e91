import Posix

/// What libcurl waits for on a socket.
///
/// While an HTTP/2 server opens no window for the body of a request, libcurl 7.88 waits until it can write, and
/// then writes nothing. So a socket on which it repeatedly wrote nothing rests for a moment; what arrives is read
/// at once.
struct SocketWait {
    /// The transfer.
    let easy: OpaquePointer
    let libcurls: Poll.Direction
    private var vainWrites = 0
    private(set) var restEnd: MonotonicTime?

    /// The number of vain writes before a rest.
    private static let patience = 8
    /// The length of a rest, in milliseconds.
    private static let rest: Int64 = 20

    init(easy: OpaquePointer, libcurls: Poll.Direction) {
        self.easy = easy
        self.libcurls = libcurls
    }

    func direction(now: MonotonicTime) -> Poll.Direction {
        guard let restEnd, now < restEnd else { return libcurls }
        return libcurls.subtracting(.writing)
    }

    /// Notes an event: whether the socket could only be written to, and nothing was.
    mutating func note(isVain: Bool, now: MonotonicTime) {
        restEnd = nil
        vainWrites = isVain ? vainWrites + 1 : 0
        if vainWrites >= Self.patience { restEnd = now.adding(milliseconds: Self.rest) }
    }
}
