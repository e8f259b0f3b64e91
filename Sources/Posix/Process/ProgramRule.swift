import Synchronization

/// Which programs this process runs by their names. A command that runs beside it could put programs of its own into
/// `PATH`, and change what others call, load and read.
package enum ProgramRule: Sendable {
    /// Programs are searched in `PATH` each time.
    case any
    /// As `any`, and what they answer is kept in memory.
    case keepingAnswers
    /// Only these programs run, by their names. Everything else must have been answered before.
    case only([String: String])

    private static let current = Mutex(ProgramRule.any)

    /// Sets the rule of this process.
    package static func use(_ rule: ProgramRule) { current.withLock { $0 = rule } }

    /// Whether the answers of programs are kept.
    package static var keepsAnswers: Bool {
        current.withLock { if case .any = $0 { false } else { true } }
    }

    /// Whether only some programs run, so the kept answers count for all others.
    package static var hasOnlyKeptAnswers: Bool { programs != nil }

    /// The programs that `Executable.find` returns; nil if it searches.
    static var programs: [String: String]? {
        current.withLock { if case .only(let programs) = $0 { programs } else { nil } }
    }
}
