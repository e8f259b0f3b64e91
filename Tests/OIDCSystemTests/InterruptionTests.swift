import Foundation
import OIDCCore
import OIDCSystem
import Testing

@Suite("Signals")
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

    @Test("the third signal ends the process")
    func third() async {
        await #expect(processExitsWith: .signal(SIGINT)) {
            try Interruption.install()
            for _ in 0..<3 {
                kill(getpid(), SIGINT)
                usleep(20_000)
            }
        }
    }

    @Test("SIGHUP stays ignored where it was so at the start, SIGINT does not")
    func ignored() async {
        await #expect(processExitsWith: .exitCode(9)) {
            signal(SIGHUP, SIG_IGN)
            signal(SIGINT, SIG_IGN)
            try Interruption.install()
            kill(getpid(), SIGHUP)
            kill(getpid(), SIGINT)
            Poll.sleep(until: MonotonicTime.now().adding(seconds: 60))
            exit(Interruption.pending == SIGINT ? 9 : 1)
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

    @Test("a write to a pipe that nobody reads is an error, not the end")
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
