package import OIDCCore
import Synchronization

/// A program run to its end without a shell: for secrets from a command, and for credential helpers.
package struct ChildProcess: Sendable {
    /// What became of the program, and what it said.
    package struct Outcome: Hashable, Sendable {
        package var status: ExitStatus
        package var output: [UInt8]
        /// Empty unless it was asked for.
        package var errorOutput: [UInt8]
    }

    /// Why there is no outcome.
    package enum Failure: Error, Hashable, Sendable {
        case notStarted(Errno)
        case timedOut(milliseconds: Int64)
        case deadline
        case tooMuchOutput(limit: Int)
        case interrupted(signal: Int32)
    }

    /// What happens to the standard error of the program.
    package enum ErrorOutput: Hashable, Sendable {
        case discarded, captured, inherited
    }

    /// The program and its arguments.
    package var command: [String]
    /// The whole environment of the program: the caller has removed what it must not see.
    package var environment: [String: String]
    package var input: [UInt8] = []
    package var milliseconds: Int64 = 30_000
    /// When everything must be done of which the program is a part.
    package var deadline: MonotonicTime?
    /// Called once, when the program has run for `noticeAfter` milliseconds.
    package var onWaiting: @Sendable () -> Void = {}
    package var noticeAfter: Int64 = 3_000
    /// Of output and error output, each.
    package var outputLimit = 1 << 20
    package var errorOutput = ErrorOutput.discarded

    package init(_ command: [String], environment: [String: String]) {
        self.command = command
        self.environment = environment
    }

    /// Runs the program and returns when it has ended, even if it left another one behind. On a time-out, too
    /// much output or a signal to us, it is terminated together with the programs that it started.
    package func run() throws(Failure) -> Outcome {
        Platform.secureStandardDescriptors()
        var exchange: ChildExchange
        do throws(Errno) {
            exchange = try ChildExchange(self)
        } catch {
            throw .notStarted(error)
        }
        defer { exchange.close() }
        do throws(Failure) {
            return try exchange.finish()
        } catch {
            exchange.stop()
            throw error
        }
    }
}

extension ChildProcess.Failure {
    /// In words, for the program of a setting: `client_secret_command`.
    package func error(setting: String, command: [String]) -> OIDCError {
        let program = DisplayText.quoted(command.first ?? "")
        switch self {
        case .notStarted(let reason):
            return OIDCError(
                reason.isShortage ? .failed : .usage, "\(setting): \(program) can't be run: \(reason)",
                hint: reason.shortageHint ?? "check the program in \(setting)", stage: .settings)
        case .timedOut(let milliseconds):
            return OIDCError(
                .failed, "\(setting): \(program) did not end within \(milliseconds / 1000) s",
                stage: .settings)
        case .deadline:
            return OIDCError(
                .timedOut, "\(setting): the time for the sign-in is over, waiting for \(program)",
                stage: .settings)
        case .tooMuchOutput(let limit):
            return OIDCError(
                .failed, "\(setting): \(program) wrote more than \(limit) bytes", stage: .settings)
        case .interrupted(let signal):
            return Interruption.error(signal: signal)
        }
    }
}

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
