#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Runs `body` with SIGPIPE blocked on this thread, and discards one that came meanwhile. A TLS library may
/// write to a closed connection without `MSG_NOSIGNAL`, which would end the process.
func withoutBrokenPipeSignal<Result>(_ body: () -> Result) -> Result {
    var brokenPipe = sigset_t()
    sigemptyset(&brokenPipe)
    sigaddset(&brokenPipe, SIGPIPE)
    var pending = sigset_t()
    sigemptyset(&pending)
    sigpending(&pending)
    let wasPending = sigismember(&pending, SIGPIPE) == 1
    var previous = sigset_t()
    guard !wasPending, pthread_sigmask(SIG_BLOCK, &brokenPipe, &previous) == 0 else { return body() }
    defer {
        sigpending(&pending)
        var number: Int32 = 0
        if sigismember(&pending, SIGPIPE) == 1 { sigwait(&brokenPipe, &number) }
        pthread_sigmask(SIG_SETMASK, &previous, nil)
    }
    return body()
}
