import CPlatform

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A program that has our terminal and gets our signals, while this process serves it.
package struct ForegroundChild {
    private let child: Child
    private let ended: FileDescriptor
    private let thread: BackgroundThread

    /// Takes over a program that was just started. From now on, signals to this process are passed on to it, or kept for
    /// `signalGrandchild` if `keepsSignals` is true.
    init(_ child: Child, keepsSignals: Bool = false) throws(Errno) {
        self.child = child
        oidc_pass_signals_on(0, 0)
        if let signal = Interruption.recorded { oidc_keep_signal(signal) }
        if !keepsSignals { oidc_pass_signals_on(child.processID, 0) }
        Interruption.uninstall()
        do throws(Errno) {
            let (reading, writing) = try FileDescriptor.pipe()
            ended = reading
            do throws(Errno) {
                thread = try BackgroundThread {
                    oidc_await_exit(child.processID)
                    writing.close()
                }
            } catch {
                reading.close()
                writing.close()
                throw error
            }
        } catch {
            oidc_stop_passing_signals_on()
            child.kill()
            _ = child.awaitEnd()
            throw error
        }
    }

    /// Passes signals on to the program's first grandchild, as bubblewrap's own child only waits for the command, which may
    /// be in a session of its own. If there is none within ten seconds, the program gets them, though bubblewrap ignores most.
    func signalGrandchild() {
        let deadline = MonotonicTime.now().adding(seconds: 10)
        var lastLook: MonotonicTime?
        while MonotonicTime.now() < deadline {
            if let grandchild = ProcessFamily.firstGrandchild(of: child.processID) {
                // A command that ignores signals itself is not waited for any longer.
                let last = lastLook ?? MonotonicTime.now().adding(seconds: 1)
                lastLook = last
                if ForegroundChild.takesSignals(grandchild) || MonotonicTime.now() >= last {
                    return oidc_pass_signals_on(grandchild, 1)
                }
            }
            let moment = MonotonicTime.now().adding(milliseconds: 10)
            if Poll.wait(for: ended.rawValue, .reading, until: moment, isInterruptible: false) { break }
        }
        oidc_pass_signals_on(child.processID, 0)
    }

    /// Returns whether a process no longer ignores the signals that bubblewrap does; true if the system does not say.
    private static func takesSignals(_ processID: Int32) -> Bool {
        guard let file = try? UserFile.read("/proc/\(processID)/status", limit: 1 << 16, named: "status"),
            let line = String(decoding: file.bytes, as: UTF8.self).split(separator: "\n").first(where: {
                $0.hasPrefix("SigIgn:")
            }), let mask = UInt64(line.dropFirst(7).drop { $0 == "\t" || $0 == " " }, radix: 16)
        else { return true }
        return [SIGINT, SIGQUIT, SIGTERM, SIGHUP].allSatisfy {
            Interruption.isIgnored($0) || mask & (1 << UInt64($0 - 1)) == 0
        }
    }

    /// A descriptor that is readable when the program has ended.
    package var endDescriptor: Int32 { ended.rawValue }

    /// Waits for the program's end and returns its exit status as a shell does: 128 plus the signal's number
    /// if a signal ended it.
    package func finish() -> Int32 {
        thread.join()
        oidc_stop_passing_signals_on()
        ended.close()
        // Otherwise Main would return the code of the interruption that ended the proxy's jobs.
        Interruption.uninstall()
        switch child.awaitEnd() {
        case .exited(let status): return status
        case .signaled(let number): return 128 + number
        }
    }
}
