import Foundation
import OIDCCore
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("A program run to its end", .serialized, .waiting)
struct ChildProcessTests {
    private let environment: Variables = ["PATH": "/usr/bin:/bin", "GREETING": "hello"]

    private func shell(_ script: String) -> ChildProcess {
        ChildProcess(["/bin/sh", "-c", script], environment: environment)
    }

    @Test("output, error output and status come back, and the environment is the one given")
    func outcome() throws {
        var process = shell("printf '%s' \"$GREETING\"; printf oops >&2; env | grep -c HOME; exit 3")
        process.errorOutput = .captured
        let outcome = try process.run()
        #expect(
            outcome
                == ChildProcess.Outcome(
                    status: .exited(3), output: Array("hello0\n".utf8), errorOutput: Array("oops".utf8)))
    }

    @Test("a program inherits none of our descriptors, also those that stay open across its start")
    func inherited() throws {
        let copy = fcntl(0, F_DUPFD, 200)
        try #require(copy >= 200)
        defer { close(copy) }
        let outcome = try shell("test -e /dev/fd/1 && echo one; test -e /dev/fd/\(copy) && echo ours; true")
            .run()
        #expect(outcome.output == Array("one\n".utf8))
    }

    @Test("a machine that lacks processes is no fault of the settings, and has a hint of its own")
    func shortage() {
        let failure = ChildProcess.Failure.notStarted(Errno(EAGAIN))
        let error = failure.error(setting: "client_secret_command", command: ["pass"])
        #expect(error.kind == .failed)
        #expect(error.hint == "end other programs, or raise the limit (ulimit -u)")
        #expect(
            [EAGAIN, EMFILE, ENOENT, EACCES].map { Executable.status(Errno($0)) } == [1, 1, 127, 126])
        #expect(Errno(EAGAIN).shortageHint == nil)
    }

    @Test("error output is kept only on request")
    func discardedErrors() throws {
        #expect(try shell("echo secret >&2").run().errorOutput == [])
    }

    @Test("a program on PATH gets its whole input, with any size of input and output")
    func largeInput() throws {
        var process = ChildProcess(["cat"], environment: environment)
        process.input = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let outcome = try process.run()
        #expect(outcome.output == process.input)
        #expect(outcome.status.isSuccess)
    }

    @Test("a program that does not read its input is not an error")
    func unreadInput() throws {
        var process = shell("echo done")
        process.input = [UInt8](repeating: 0x41, count: 1 << 20)
        #expect(try process.run().output == Array("done\n".utf8))
    }

    @Test("an argument stays one argument, with any characters")
    func argumentsAreNotWords() throws {
        let process = ChildProcess(["printf", "%s|", "a b", "$HOME", "; rm"], environment: environment)
        #expect(try process.run().output == Array("a b|$HOME|; rm|".utf8))
    }

    @Test("a program that hangs is ended at the time-out")
    func timeOut() throws {
        var process = shell("exec sleep 100")
        process.milliseconds = 50
        #expect(throws: ChildProcess.Failure.timedOut(milliseconds: 50)) { try process.run() }
    }

    @Test("a program that ignores SIGTERM is killed")
    func stubborn() throws {
        var process = shell("trap '' TERM; while :; do sleep 0.05; done")
        process.milliseconds = 100
        #expect(throws: ChildProcess.Failure.timedOut(milliseconds: 100)) { try process.run() }
    }

    @Test(
        "the programs that it started are ended with it",
        arguments: [
            "sleep 60", "(sleep 60 & : > READY; wait)",
            "sh -c 'trap \"\" TERM; : > READY; while :; do sleep 0.05; done'",
        ])
    func descendants(program: String) throws {
        let scratch = ScratchDirectory()
        let ready = "\"\(scratch["ready"])\""
        // A program that is started while they are being ended would not be found, and stay.
        let wait = program.contains("READY") ? "until [ -e \(ready) ]; do :; done; " : ""
        let program = program.replacing("READY", with: ready)
        var process = shell("\(program) & echo $! > '\(scratch["started"])'; \(wait)exec yes")
        process.outputLimit = 10_000
        #expect(throws: ChildProcess.Failure.tooMuchOutput(limit: 10_000)) { try process.run() }
        let text = try #require(scratch.text("started")).split(separator: "\n").first
        let started = try #require(text.flatMap { Int32($0) })
        #expect(ProcessFamily.entry(started).map(\.isZombie) ?? true)
    }

    @Test("descendants are found through every generation, and nothing else is")
    func family() throws {
        let script = "sh -c 'sleep 60 & echo $!; wait' & read -r _"
        let pipes = (input: try FileDescriptor.pipe(), output: try FileDescriptor.pipe())
        let child = try Spawn.start(
            "/bin/sh", arguments: ["sh", "-c", script], environment: environment,
            streams: StandardStreams(input: pipes.input.reading, output: pipes.output.writing))
        let text = String(decoding: try pipes.output.reading.read(), as: UTF8.self)
        let grandchild = try #require(Int32(text.split(separator: "\n").joined()))
        var family = ProcessFamily()
        family.addDescendants(of: child.processID)
        #expect(family.members.count == 2)
        #expect(family.members.contains { $0.processID == grandchild })
        #expect(!family.members.contains { $0.processID == child.processID || $0.processID == getpid() })
        family.signal(SIGKILL)
        child.kill()
        _ = child.awaitEnd()
        for descriptor in [pipes.input, pipes.output].flatMap({ [$0.reading, $0.writing] }) {
            descriptor.close()
        }
    }

    @Test("a program that takes long is reported once", arguments: [(0, 1), (600_000, 0)] as [(Int64, Int)])
    func notice(after milliseconds: Int64, count: Int) throws {
        let calls = Mutex(0)
        var process = ChildProcess(["cat"], environment: environment)
        process.noticeAfter = milliseconds
        process.onWaiting = { calls.withLock { $0 += 1 } }
        _ = try process.run()
        #expect(calls.withLock { $0 } == count)
    }

    @Test("a program that it left behind with the pipes open is not waited for")
    func leftBehind() throws {
        var process = shell("sleep 5 & echo ready")
        process.milliseconds = 3000
        #expect(try process.run().output == Array("ready\n".utf8))
    }

    @Test("endless output is cut off")
    func endlessOutput() throws {
        var process = shell("yes")
        process.outputLimit = 10_000
        #expect(throws: ChildProcess.Failure.tooMuchOutput(limit: 10_000)) { try process.run() }
    }

    @Test("a signal that ends the program is reported")
    func signaled() throws {
        #expect(try shell("kill -9 $$").run().status == .signaled(9))
    }

    @Test(
        "a program that cannot be run is an error with the reason",
        arguments: [
            (["no-such-program-here"], Errno.noSuchFile), (["/etc/passwd"], .permissionDenied),
            (["/tmp"], .permissionDenied), ([], .noSuchFile), ([""], .noSuchFile),
        ] as [([String], Errno)])
    func notStarted(command: [String], reason: Errno) {
        #expect(throws: ChildProcess.Failure.notStarted(reason)) {
            try ChildProcess(command, environment: environment).run()
        }
    }

    @Test("a program of the working directory is not found through an empty or relative PATH entry")
    func relativePath() {
        #expect(throws: Errno.noSuchFile) { try Executable.find("sh", in: ["PATH": ":.:bin"]) }
    }

    @Test("our descriptors are not inherited")
    func descriptors() throws {
        let pipe = try FileDescriptor.pipe()
        defer {
            pipe.reading.close()
            pipe.writing.close()
        }
        let script = "[ -e /proc/self/fd/\(pipe.reading.rawValue) ] && echo leaked; :"
        #expect(try shell(script).run().output == [])
    }

    @Test("failures read as sentences that name the setting")
    func messages() {
        #expect(
            ChildProcess.Failure.notStarted(.noSuchFile).error(
                setting: "client_secret_command", command: ["pass"])
                == OIDCError(
                    .usage, "client_secret_command: \"pass\" cannot be run: No such file or directory",
                    hint: "check the program in client_secret_command", stage: .settings))
        #expect(
            ChildProcess.Failure.timedOut(milliseconds: 30_000).error(setting: "store", command: ["x"])
                == OIDCError(.failed, "store: \"x\" did not end within 30 s", stage: .settings))
    }
}

@Suite("Replacing this process by another program")
struct ReplacementTests {
    @Test(
        "a program that cannot be run has the exit status of env",
        arguments: [
            ("no-such-program-here", 127), ("/etc/passwd", 126), ("/no/such", 127), ("/etc/passwd/x", 126),
            ("/etc", 126), ("", 127),
        ] as [(String, Int32)])
    func failures(program: String, status: Int32) {
        #expect(Executable.replaceThisProcess([RawArgument(program)]).status == status)
        #expect(Executable.problem(program, in: ["PATH": "/bin"])?.status == status)
    }

    @Test("a program that can be run is not an error")
    func found() {
        #expect(Executable.problem("sh", in: ["PATH": "/bin"]) == nil)
    }

    @Test("the program gets its own environment, and its status becomes ours", .waiting)
    func replaces() async {
        await #expect(processExitsWith: .exitCode(7)) {
            Platform.secureStandardDescriptors()
            let command = ["sh", "-c", "exit $CODE$HOME"].map { RawArgument($0) }
            _ = Executable.replaceThisProcess(command, setting: ["CODE": "7"], removing: ["HOME"])
        }
    }
}
