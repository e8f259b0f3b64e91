import Foundation
import OIDCCore
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("Signals", .serialized, .waiting)
struct InterruptionTests {
    @Test("a signal is recorded, and ends a wait at once")
    func recorded() async {
        await #expect(processExitsWith: .success) {
            #expect(Interruption.wakeUpDescriptor == nil)
            try Interruption.install()
            #expect(Interruption.pending == nil)
            kill(getpid(), SIGTERM)
            let start = MonotonicTime.now()
            Poll.sleep(until: start.adding(seconds: 60))
            #expect(MonotonicTime.now() < start.adding(seconds: 30))
            kill(getpid(), SIGINT)
            #expect(throws: OIDCError(.interrupted, "interrupted by SIGTERM")) {
                try Interruption.throwIfPending()
            }
            guard Interruption.pending == SIGTERM else { exit(1) }
        }
    }

    @Test("a second signal half a second after the first ends the process at once")
    func second() async {
        await #expect(processExitsWith: .exitCode(130)) {
            try Interruption.install()
            sendToUs(SIGTERM)
            usleep(600_000)
            Interruption.postponed {
                kill(getpid(), SIGINT)
                usleep(30_000_000)
            }
            exit(1)
        }
    }

    @Test("signals within half a second of the first count as one")
    func burst() async {
        await #expect(processExitsWith: .exitCode(9)) {
            let start = MonotonicTime.now()
            try Interruption.install()
            for _ in 0..<20 { sendToUs(SIGTERM) }
            // On a machine so busy that half a second went by, the twenty may be two.
            exit(Interruption.pending == SIGTERM || start.adding(milliseconds: 400) < .now() ? 9 : 1)
        }
    }

    @Test(
        "signals that were ignored at the start stay ignored",
        arguments: [SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1])
    func ignored(number: Int32) async {
        await #expect(processExitsWith: .exitCode(9)) { [number] in
            signal(number, SIG_IGN)
            try Interruption.install()
            kill(getpid(), number)
            let isIgnored = Interruption.recorded == nil
            sendToUs(number == SIGTERM ? SIGINT : SIGTERM)
            exit(isIgnored && Interruption.pending != nil ? 9 : 1)
        }
    }

    @Test("programs get the dispositions that this one was started with", arguments: [true, false])
    func dispositions(isIgnored: Bool) async {
        await #expect(processExitsWith: .exitCode(9)) { [isIgnored] in
            if isIgnored { signal(SIGINT, SIG_IGN) }
            try Interruption.install()
            let process = ChildProcess(
                ["sh", "-c", "kill -INT $$; exit 3"], environment: ["PATH": "/usr/bin:/bin"])
            let expected = isIgnored ? ExitStatus.exited(3) : .signaled(SIGINT)
            exit(try process.run().status == expected ? 9 : 1)
        }
    }

    @Test("postponed, a signal ends no wait, lock or program; afterwards it is pending")
    func postponed() async {
        await #expect(processExitsWith: .exitCode(9)) {
            try Interruption.install()
            sendToUs(SIGTERM)
            let output = try Interruption.postponed { () throws(ChildProcess.Failure) in
                guard Interruption.pending == nil, Interruption.wakeUpDescriptor == nil else { exit(1) }
                return try ChildProcess(["echo", "saved"], environment: ["PATH": "/usr/bin:/bin"]).run()
                    .output
            }
            guard Interruption.pending == SIGTERM, Interruption.wakeUpDescriptor != nil else { exit(2) }
            exit(output == Array("saved\n".utf8) && Interruption.wasPostponed ? 9 : 3)
        }
    }

    #if os(Linux)
        /// The first and the last, and one that systemd may stop a container by.
        static let realTimeSignals: [Int32] = [34, 37, 64]
    #else
        static let realTimeSignals: [Int32] = []
    #endif

    static let otherSignals =
        [SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGVTALRM, SIGPROF, SIGABRT] + realTimeSignals

    @Test("any other signal that ends a process does so at once", arguments: [SIGQUIT, SIGUSR1, SIGXCPU])
    func other(number: Int32) async {
        await #expect(processExitsWith: .signal(number)) { [number] in
            Platform.forbidDumps()
            unblock(number)
            try Interruption.install()
            kill(getpid(), number)
            usleep(30_000_000)
            exit(1)
        }
    }

    @Test("a postponed signal stays recorded until the end", arguments: otherSignals)
    func otherPostponed(number: Int32) async {
        await #expect(processExitsWith: .exitCode(9)) { [number] in
            unblock(number)
            try Interruption.install()
            Interruption.postponed {
                sendToUs(number)
                guard Interruption.pending == nil, Interruption.recorded == number else { exit(1) }
            }
            exit(Interruption.pending == number && Interruption.wasPostponed ? 9 : 2)
        }
    }

    @Test("a signal is postponed only for its own thread, and recorded")
    func otherThread() async {
        await #expect(processExitsWith: .exitCode(9)) {
            try Interruption.install()
            let isSeen = try Interruption.postponed {
                sendToUs(SIGHUP)
                let other = Mutex<Int32?>(nil)
                try BackgroundThread { other.withLock { $0 = Interruption.pending } }.join()
                return other.withLock { $0 } == SIGHUP
            }
            exit(isSeen && Interruption.wasPostponed && Interruption.pending == SIGHUP ? 9 : 1)
        }
    }

    @Test("a program that is being waited for is ended by a signal to us")
    func child() async {
        await #expect(processExitsWith: .exitCode(9)) {
            try Interruption.install()
            let process = ChildProcess(
                ["sh", "-c", "kill -HUP $PPID; exec sleep 100"], environment: ["PATH": "/usr/bin:/bin"])
            do {
                _ = try process.run()
            } catch ChildProcess.Failure.interrupted(signal: 1) {
                exit(9)
            }
        }
    }

    @Test("a write to a broken pipe is an error, and does not end the process")
    func brokenPipe() async {
        await #expect(processExitsWith: .exitCode(9)) {
            Platform.secureStandardDescriptors()
            let pipe = try FileDescriptor.pipe()
            pipe.reading.close()
            do {
                _ = try pipe.writing.write([1])
            } catch let failure as Errno {
                exit(failure == Errno(EPIPE) ? 9 : 1)
            }
        }
    }
}

/// The process that runs the tests may have blocked the signal, and the mask is inherited.
private func unblock(_ number: Int32) {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, number)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
}

/// Any thread may get the signal; this waits until one has.
private func sendToUs(_ number: Int32) {
    kill(getpid(), number)
    let end = MonotonicTime.now().adding(seconds: 30)
    while Interruption.recorded == nil, MonotonicTime.now() < end { usleep(1_000) }
}
