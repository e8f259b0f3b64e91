package import OIDCCore

/// A program to run without a shell, such as a command that prints a secret or a credential helper.
package struct ChildProcess: Sendable {
    /// The exit status and output of a program.
    package struct Outcome: Hashable, Sendable {
        package var status: ExitStatus
        package var output: [UInt8]
        /// The error output; empty unless it is captured.
        package var errorOutput: [UInt8]
    }

    /// The reason why there is no outcome.
    package enum Failure: Error, Hashable, Sendable {
        case notStarted(Errno)
        case timedOut(milliseconds: Int64)
        case deadline
        case tooMuchOutput(limit: Int)
        case interrupted(signal: Int32)
    }

    /// The handling of the program's stderr.
    package enum ErrorOutput: Hashable, Sendable {
        case discarded, captured, inherited
    }

    /// The program and its arguments.
    package var command: [String]
    /// The program's environment, from which the caller has removed secrets.
    package var environment: Variables
    package var input: [UInt8] = []
    package var milliseconds: Int64 = 30_000
    /// The deadline of the operation that the program is a part of.
    package var deadline: MonotonicTime?
    /// Whether to end the program early, as at a deadline; called several times a second.
    package var isCancelled: @Sendable () -> Bool = { false }
    /// Called once if the program runs for longer than `noticeAfter` milliseconds.
    package var onWaiting: @Sendable () -> Void = {}
    package var noticeAfter: Int64 = 3_000
    /// The size limit of the output, and of the error output.
    package var outputLimit = 1 << 20
    package var errorOutput = ErrorOutput.discarded

    package init(_ command: [String], environment: Variables) {
        self.command = command
        self.environment = environment
    }

    /// Runs the program and returns when it has ended, even if processes that it started are still running.
    /// On a time-out, too much output or a signal, the program and its descendants are terminated.
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
    /// Returns the error for the program in a setting such as `client_secret_command`.
    package func error(setting: String, command: [String]) -> OIDCError {
        let program = DisplayText.quoted(command.first ?? "")
        switch self {
        case .notStarted(let reason):
            return OIDCError(
                reason.startHint == nil ? .usage : .failed, "\(setting): \(program) cannot be run: \(reason)",
                hint: reason.startHint ?? "check the program in \(setting)", stage: .settings)
        case .timedOut(let milliseconds):
            return OIDCError(
                .failed, "\(setting): \(program) did not end within \(milliseconds / 1000) s",
                stage: .settings)
        case .deadline:
            return OIDCError(
                .timedOut, "\(setting): timed out waiting for \(program)",
                stage: .settings)
        case .tooMuchOutput(let limit):
            return OIDCError(
                .failed, "\(setting): \(program) wrote more than \(limit) bytes", stage: .settings)
        case .interrupted(let signal):
            return Interruption.error(signal: signal)
        }
    }
}
