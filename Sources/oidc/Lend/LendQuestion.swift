import OIDCCore
import Posix

/// The question whether a new caller may have tokens, to the user who lends them.
struct LendQuestion: Sendable {
    private enum Way: Sendable {
        case terminal
        /// A program that shows the question, as ssh uses it.
        case program(String)
    }

    private let way: Way
    private let environment: Variables
    /// More variables that the program does not get.
    var withheld: [String] = []

    /// Milliseconds that a question may wait for the user; callers wait a little longer.
    private static let patience: Int64 = 110_000

    /// Chooses the terminal, or the program of SSH_ASKPASS as ssh does (ssh(1), ENVIRONMENT). Throws if neither can ask.
    init(_ environment: Variables, ownsTerminal: Bool) throws(OIDCError) {
        self.environment = ProcessEnvironment.withoutOurs(environment)
        let program = environment["SSH_ASKPASS"].flatMap { $0.isEmpty ? nil : $0 }
        let requirement = environment["SSH_ASKPASS_REQUIRE"] ?? ""
        let hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
        let hasTerminal = ownsTerminal && TerminalQuestion.isPossible
        if let program, requirement == "force" || requirement == "prefer" || !hasTerminal && hasDisplay,
            requirement != "never"
        {
            way = .program(program)
        } else if hasTerminal {
            way = .terminal
        } else {
            throw .usage(
                ownsTerminal
                    ? "--ask needs a terminal, or a program in SSH_ASKPASS"
                    : "--ask with --to needs a program in SSH_ASKPASS, as the terminal is the far command's",
                hint: "set SSH_ASKPASS, and SSH_ASKPASS_REQUIRE=force if there is no display")
        }
    }

    /// Asks, and returns whether the answer is yes. Returns nil if there is no answer in time, or once
    /// `isWithdrawn` returns true.
    func ask(_ text: String, isWithdrawn: @escaping @Sendable () -> Bool) -> Bool? {
        switch way {
        case .terminal:
            let end = MonotonicTime.now().adding(milliseconds: Self.patience)
            let answer = Result { () throws(OIDCError) in
                try TerminalQuestion.isAllowed(Self.prompt(text)) { isWithdrawn() || .now() >= end }
            }
            return (try? answer.get()).flatMap { $0 }
        case .program(let program):
            var own = environment.filter { !withheld.contains($0) }
            own["SSH_ASKPASS_PROMPT"] = "confirm"
            var process = ChildProcess([program, text], environment: own)
            process.milliseconds = Self.patience
            process.outputLimit = 4_096
            process.isCancelled = isWithdrawn
            let outcome: ChildProcess.Outcome
            do throws(ChildProcess.Failure) { outcome = try process.run() } catch {
                return nil
            }
            guard outcome.status.isSuccess else { return false }
            let answer = ASCII.trimmed(String(decoding: outcome.output, as: UTF8.self))
            return ["", "y", "yes"].contains(ASCII.lowercased(answer))
        }
    }

    /// Returns the question as the terminal shows it; nil if a program asks.
    func prompt(_ text: String) -> String? {
        if case .terminal = way { Self.prompt(text) } else { nil }
    }

    private static func prompt(_ text: String) -> String {
        WrappedText(.standardError).text(
            Terminal.text("\(text) [y/N] ", environment: ProcessEnvironment.current))
    }
}
